package cache

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func compareKeys(a, b object.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// tokenPrefix begins the continue tokens of cached lists. Those of the API server have no colon.
const tokenPrefix = "cached:"

// tokenAfter is the continue token of a page that ends with last.
func tokenAfter(last object.Object) string { return tokenPrefix + object.KeyOf(last).String() }

// afterToken returns the last key of the page before, or the zero key for the first page. It reports whether token is
// one of a cached list, or empty.
func afterToken(token string) (object.Key, bool) {
	if token == "" {
		return object.Key{}, true
	}
	text, ok := strings.CutPrefix(token, tokenPrefix)
	namespace, name, _ := strings.Cut(text, "/")
	return object.Key{Namespace: namespace, Name: name}, ok
}

// selectsKey reports whether an object with that key may be one that o asks for.
func selectsKey(o client.ListOptions, key object.Key) bool {
	if o.Namespace != "" && key.Namespace != o.Namespace {
		return false
	}
	return o.FieldSelector == nil || o.FieldSelector.Matches(fields.Set{nameField: key.Name, namespaceField: key.Namespace})
}

func matches(cached object.Object, o client.ListOptions) bool {
	return selectsKey(o, object.KeyOf(cached)) && (o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(cached.GetLabels())))
}

const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// selectsByName reports whether the cache has all the fields that selector asks about.
func selectsByName(selector fields.Selector) bool {
	if selector == nil {
		return true
	}
	return !slices.ContainsFunc(selector.Requirements(), func(r fields.Requirement) bool {
		return r.Field != nameField && r.Field != namespaceField
	})
}
