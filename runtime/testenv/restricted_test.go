package testenv_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// TestRestrictedTakesScaffoldedRoles grants the roles of a scaffolded project. One of them is in a namespace that does
// not exist on a new server.
func TestRestrictedTakesScaffoldedRoles(t *testing.T) {
	env := testenv.Start(t)
	restricted, err := client.New(env.Restricted(t, "../../testdata/project/config/rbac"),
		client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	for namespace, want := range map[string]func(error) bool{"system": apierrors.IsNotFound,
		"default": apierrors.IsForbidden} {
		lease := &metav1.PartialObjectMetadata{}
		lease.SetGroupVersionKind(schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"})
		if err := restricted.Get(t.Context(), object.Key{Namespace: namespace, Name: "absent"}, lease); !want(err) {
			t.Errorf("get a lease of the namespace %s: %v", namespace, err)
		}
	}
}
