package wire

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestSlicesHaveNoMoreRoomThanElements(t *testing.T) {
	d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind})
	c := d.cursor()
	for n := range 40 {
		args := strings.TrimSuffix(strings.Repeat(`"a",`, n), ",")
		containers := strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"args":[%s]},`, args), 3), ",")
		c.reset([]byte(`{"spec":{"containers":[`+containers+`]}}`), 0, true)
		obj, err := d.object(c)
		pod, _ := obj.(*corev1.Pod)
		if err != nil || len(pod.Spec.Containers) != 3 || cap(pod.Spec.Containers) != 3 {
			t.Fatalf("got %v of %d, %v", pod, cap(pod.Spec.Containers), err)
		}
		for _, container := range pod.Spec.Containers {
			want := cap(append([]string(nil), make([]string, n)...)) // what Go allocates for n at once
			if len(container.Args) != n || cap(container.Args) > want {
				t.Errorf("%d elements have room for %d, want %d", n, cap(container.Args), want)
			}
		}
	}
}

func TestElementsThatFailedAreNotLeftToOthers(t *testing.T) {
	d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind})
	c := d.cursor()
	c.reset([]byte(`{"spec":{"containers":[{"name":"a","image":"i"},{"name":7}]}}`), 0, true)
	if _, err := d.object(c); err == nil {
		t.Fatal("a name that is a number was decoded")
	}
	c.reset([]byte(`{"spec":{"containers":[{},{}]}}`), 0, true)
	obj, err := d.object(c)
	pod, _ := obj.(*corev1.Pod)
	if err != nil || len(pod.Spec.Containers) != 2 || pod.Spec.Containers[0].Name != "" || pod.Spec.Containers[0].Image != "" {
		t.Errorf("got %v, %v", pod, err)
	}
}

// TestBuffersOfFullSizeAreUsedAgain counts bytes: the race detector lets the pool forget every fourth buffer.
func TestBuffersOfFullSizeAreUsedAgain(t *testing.T) {
	d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind})
	text := strings.Repeat(" ", 4*fullBuffer)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const bodies = 50
	for range bodies {
		s := d.source(strings.NewReader(text))
		for s.fill() == nil {
			s.start = s.end
		}
		s.close()
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / bodies; n > fullBuffer/2 {
		t.Errorf("%d bytes are allocated for each body", n)
	}
}
