package sim

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Rule is a property of one operator. kctrl sim checks it in all runs, in addition to its own rules. [Always] and
// [Eventually] return rules.
type Rule struct {
	// Name is the property in a sentence. It identifies the rule in reports and in --disable.
	Name string
	// Always makes kctrl sim check the rule after each write. Otherwise it checks the rule at the end of each run.
	Always bool
	// Check returns an error if the objects violate the rule. It runs in virtual time, one call at a time. It must not
	// keep state between calls, because each run has different objects.
	Check func(Objects) error
}

// Always returns a rule that holds after each write of the operator, the user or the cluster, such as "no order is
// shipped before it is paid".
func Always(name string, check func(Objects) error) Rule {
	return Rule{Name: name, Always: true, Check: check}
}

// Eventually returns a rule that holds at the end of each run, when the operator is at rest, such as "each order has a
// Secret". In some runs, the user deletes all samples before the end. The rule is not checked in runs in which the
// server rejects requests of the operator permanently (--only reject).
func Eventually(name string, check func(Objects) error) Rule {
	return Rule{Name: name, Check: check}
}

// Objects has all objects of the API server at one moment of a run. Tests of rules can create such values.
type Objects struct {
	// Scheme has the types of the operator, and in kctrl sim also Kubernetes' own types.
	Scheme *runtime.Scheme
	// Items has the objects of all kinds, in the API versions in which clients have written them. Do not modify them.
	Items []*unstructured.Unstructured
}

// List returns the objects of a type, ordered by namespace and name. The caller owns them. List panics if the scheme
// does not have the type; the panic ends the simulation with an error.
func List[T object.Object](o Objects) []T {
	gvk, err := object.GVK(object.New[T](), o.Scheme)
	if err != nil {
		panic(err)
	}
	var all []T
	for _, u := range o.Items {
		if u.GroupVersionKind() != gvk {
			continue
		}
		item := object.New[T]()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, item); err != nil {
			panic(fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err))
		}
		all = append(all, item)
	}
	slices.SortFunc(all, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// Find returns the object of a type with the namespace and name in key, and reports whether it exists. The caller owns
// the object. Find panics in the same cases as [List].
func Find[T object.Object](o Objects, key object.Key) (found T, ok bool) {
	for _, item := range List[T](o) {
		if object.KeyOf(item) == key {
			return item, true
		}
	}
	return found, false
}
