package wire

import (
	"fmt"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
)

func same(a, b string) bool { return a == b && unsafe.StringData(a) == unsafe.StringData(b) }

// TestStringsThatRepeatAreAllocatedOnce reads two objects with each of many decoders, because in one of them two strings may
// have the same place.
func TestStringsThatRepeatAreAllocatedOnce(t *testing.T) {
	shared := 0
	for range 20 {
		d := decoderOf(t, &corev1.Pod{}, Options{})
		var pods [3]*corev1.Pod
		for i := range pods {
			data := fmt.Sprintf(`{"metadata":{"name":"pod-%d","namespace":"team","labels":{"app":"shop"}}}`, i)
			obj, err := decodeObject(d, []byte(data))
			if err != nil {
				t.Fatal(err)
			}
			pods[i] = obj.(*corev1.Pod)
		}
		if same(pods[1].Namespace, pods[2].Namespace) && same(pods[1].Labels["app"], pods[2].Labels["app"]) {
			shared++
		}
	}
	if shared < 10 {
		t.Errorf("the strings are there once in %d of 20 decoders", shared)
	}
}

func TestTableOfStringsIsBounded(t *testing.T) {
	var table interner
	for i := range 10 * maxSlots {
		text := fmt.Sprint("text ", i)
		if got := table.text([]byte(text)); got != text {
			t.Fatalf("got %q", got)
		}
		if got := table.boxed([]byte(text)); got != text {
			t.Fatalf("got %q", got)
		}
	}
	if len(table.slots) != maxSlots {
		t.Errorf("there are %d", len(table.slots))
	}
	long := make([]byte, internLongest+1)
	if same(table.text(long), table.text(long)) {
		t.Error("a long string is kept")
	}
}
