package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/internal/partial"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func TestMasksKeepTheSameInEachFormat(t *testing.T) {
	servers := binaryServers(t)
	for _, paths := range [][]string{
		{"metadata", "status.conditions"}, {"metadata.labels", "spec.containers.image", "spec.nodeName"},
		{"spec.volumes.hostPath"}, {"status"},
		{"kind"}, {"metadata.managedFields"}, {"spec.containers.resources", "spec", "spec.containers.name"},
	} {
		opts := Options{GVK: podKind, Mask: paths, Formats: []Format{Protobuf}}
		binary, want := servers[Protobuf].pods(t, 5)
		plain, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		bodies := map[string][]byte{jsonType: plain, string(Protobuf): binary}
		for contentType, body := range bodies {
			page, err := decoderOf(t, &corev1.Pod{}, opts).List(bytes.NewReader(body), contentType, nil)
			if err != nil {
				t.Fatalf("%v %s: %v", paths, contentType, err)
			}
			untyped, err := decoderOf(t, untypedPrototype(), opts).List(bytes.NewReader(plain), jsonType, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, item := range page.Items {
				if got, want := item.(*corev1.Pod), filtered(t, &want.Items[i], opts.Mask); !equality.Semantic.DeepEqual(got,
					want) {
					t.Errorf("%v %s:\ngot  %s\nwant %s", paths, contentType, text(got), text(want))
				}
				if got, want := typed(t, untyped.Items[i]), filtered(t, &want.Items[i],
					opts.Mask); !equality.Semantic.DeepEqual(got, want) {
					t.Errorf("%v untyped:\ngot  %s\nwant %s", paths, text(got), text(want))
				}
			}
		}
	}
}

func typed(t *testing.T, obj object.Object) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.(*unstructured.Unstructured).Object,
		pod); err != nil {
		t.Fatal(err)
	}
	pod.TypeMeta = podType // keep drops the kind, because unstructured items of built-in kinds have none
	return pod
}

// filtered returns pod with its identity, the fields at paths, and the annotation that marks a masked object.
func filtered(t *testing.T, pod *corev1.Pod, paths []string) *corev1.Pod {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		t.Fatal(err)
	}
	var split [][]string
	for _, path := range append(append([]string{}, paths...), identity...) {
		split = append(split, strings.Split(path, "."))
	}
	kept := keep(fields, split).(map[string]any)
	if metadata, ok := kept["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	whole := typed(t, &unstructured.Unstructured{Object: kept})
	partial.New(paths).Put(whole)
	return whole
}

// keep returns the parts of value at paths.
func keep(value any, paths [][]string) any {
	switch value := value.(type) {
	case []any:
		var list []any
		for _, element := range value {
			list = append(list, keep(element, paths))
		}
		return list
	case map[string]any:
		kept := map[string]any{}
		for name, member := range value {
			var below [][]string
			whole := false
			for _, path := range paths {
				if path[0] == name {
					whole = whole || len(path) == 1
					below = append(below, path[1:])
				}
			}
			if whole {
				kept[name] = member
			} else if len(below) > 0 {
				kept[name] = keep(member, below)
			}
		}
		return kept
	}
	return value
}

func TestMaskThatLeadsNowhereIsAnError(t *testing.T) {
	for want, paths := range map[string][]string{
		"has no field spec.nodename": {"spec.nodename"}, "has no field statuss": {"metadata", "statuss"},
		"empty name":                             {"spec..x"},
		"metadata.labels is a map[string]string": {"metadata.labels.app"},
		"metadata.creationTimestamp is a":        {"metadata.creationTimestamp.time"},
		"spec.nodeName is a string":              {"spec.nodeName.x"},
	} {
		if _, err := NewDecoder(&corev1.Pod{}, Options{Mask: paths}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v", paths, err)
		}
	}
	for _, prototype := range []object.Object{&sealed{}, &metav1.PartialObjectMetadata{}} {
		if _, err := NewDecoder(prototype, Options{Mask: []string{"spec.color"}}); err == nil {
			t.Errorf("%T: no error", prototype)
		}
	}
}
