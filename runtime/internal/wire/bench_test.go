package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// benchPods returns a list of pods of a few deployments. As in a real cluster, the pods share most strings.
func benchPods(count int) []byte {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for i := range count {
		app := fmt.Sprint("app-", i%40)
		list.Items = append(list.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%x", app, i*7919), Namespace: fmt.Sprint("team-", i%20),
				UID:             types.UID(fmt.Sprintf("%08x-6c1d-4f43-9d43-%012x", i, i*104729)),
				ResourceVersion: fmt.Sprint(1000 + i), Labels: map[string]string{"app": app, "tier": "backend",
					"pod-template-hash": fmt.Sprintf("%x", i%40*7919)},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app,
					UID: types.UID(app)}},
			},
			Spec: corev1.PodSpec{
				NodeName: fmt.Sprint("node-", i%100), ServiceAccountName: "default", DNSPolicy: corev1.DNSClusterFirst,
				SchedulerName: "default-scheduler",
				Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/" + app + ":v1.2.3",
					ImagePullPolicy: corev1.PullAlways, Env: []corev1.EnvVar{{Name: "MODE", Value: "fast"},
						{Name: "ID", Value: fmt.Sprint(i)}}}},
				Tolerations: []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists,
					Effect: corev1.TaintEffectNoExecute}},
			},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.0.%d.%d", i/256, i%256),
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, Reason: "Ready"},
					{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}},
			},
		})
	}
	data, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return data
}

// BenchmarkList decodes a list in which most strings repeat.
func BenchmarkList(b *testing.B) {
	data := benchPods(2000)
	for form, prototype := range map[string]object.Object{"typed": &corev1.Pod{}, "untyped": untypedPrototype()} {
		b.Run(form, func(b *testing.B) {
			d, err := NewDecoder(prototype, Options{GVK: podKind, Formats: []Format{JSON}})
			if err != nil {
				b.Fatal(err)
			}
			d.backlog = 1 << 40 // disables the other goroutines
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := d.List(bytes.NewReader(data), jsonType, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPlaces decodes lists with the buffers in which a cursor collects the elements of slices, and without them,
// so that each slice grows with its elements.
func BenchmarkPlaces(b *testing.B) {
	data := benchPods(500)
	for _, places := range []bool{true, false} {
		b.Run(fmt.Sprintf("places=%v", places), func(b *testing.B) {
			d, err := NewDecoder(object.Object(&corev1.Pod{}), Options{GVK: podKind, Formats: []Format{JSON}})
			if err != nil {
				b.Fatal(err)
			}
			d.backlog = 1 << 40 // disables the other goroutines
			list := func() {
				if _, err := d.List(bytes.NewReader(data), jsonType, nil); err != nil {
					b.Fatal(err)
				}
			}
			list()
			for _, place := range d.idle[0].places {
				place.used = !places
			}
			b.ReportAllocs()
			for b.Loop() {
				list()
			}
		})
	}
}

// BenchmarkBacklog decodes a list that has already arrived, on one processor and on all processors.
func BenchmarkBacklog(b *testing.B) {
	page, err := json.Marshal(json.RawMessage(benchPods(2000)))
	if err != nil {
		b.Fatal(err)
	}
	for name, backlog := range map[string]int{"all": backlogBytes, "one": 1 << 40} {
		d, err := NewDecoder(object.Object(&corev1.Pod{}), Options{GVK: podKind, Formats: []Format{JSON}})
		if err != nil {
			b.Fatal(err)
		}
		d.backlog = backlog
		b.Run("processors="+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := d.List(bytes.NewReader(page), jsonType, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
