package wire_test

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
)

func ExampleDecoder_List() {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	decoder, err := wire.NewDecoder(&metav1.PartialObjectMetadata{}, wire.Options{GVK: gvk})
	if err != nil {
		fmt.Println(err)
		return
	}
	body := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
		{"metadata":{"name":"a","managedFields":[{"manager":"kubectl"}]}}]}`
	page, err := decoder.List(strings.NewReader(body), "application/json", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pod := range page.Items {
		fmt.Println(pod.Kind, pod.Name, len(pod.ManagedFields), "at", page.ResourceVersion)
	}
	// Output: Pod a 0 at 7
}
