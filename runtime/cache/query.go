package cache

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func compareKeys(a, b object.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// tokenPrefix is the prefix of continue tokens of cached lists, before the last key of the page. Tokens of the API
// server contain no colon.
const tokenPrefix = "cached:"

// afterToken returns the last key of the previous page, or the zero key for the first page. It reports whether token is
// empty or from a cached list.
func afterToken(token string) (object.Key, bool) {
	if token == "" {
		return object.Key{}, true
	}
	text, ok := strings.CutPrefix(token, tokenPrefix)
	namespace, name, _ := strings.Cut(text, "/")
	return object.Key{Namespace: namespace, Name: name}, ok
}

const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// query selects the objects of a cached List.
type query struct {
	client.ListOptions
	after object.Key // last key of the previous page
	// names are requirements on metadata.name and metadata.namespace, values are requirements on indexed fields.
	names, values fields.Requirements
	indexes       map[string]*fieldIndex
	nothing       bool // the field selector selects no object
}

// query returns the query of o. It fails with a [*NotIndexedError] for a field without an index.
func (k *kind) query(o client.ListOptions) (*query, error) {
	k.mu.Lock()
	q := &query{ListOptions: o, indexes: k.fields}
	k.mu.Unlock()
	q.after, _ = afterToken(o.Continue)
	if q.LabelSelector != nil && q.LabelSelector.Empty() {
		q.LabelSelector = nil
	}
	if o.FieldSelector == nil {
		return q, nil
	}
	all := o.FieldSelector.Requirements()
	q.nothing = len(all) == 0 && !o.FieldSelector.Empty()
	for _, r := range all {
		switch {
		case r.Field == nameField || r.Field == namespaceField:
			q.names = append(q.names, r)
		case q.indexes[r.Field] == nil:
			return nil, &NotIndexedError{GVK: k.gvk, Field: r.Field}
		default:
			q.values = append(q.values, r)
		}
	}
	if namespace, ok := q.exactly(namespaceField); ok && q.Namespace == "" {
		q.Namespace = namespace
	}
	return q, nil
}

// exactly returns the name or namespace that the query requires, if it requires exactly one.
func (q *query) exactly(field string) (string, bool) {
	for _, r := range q.names {
		if r.Field == field && r.Operator != selection.NotEquals {
			return r.Value, true
		}
	}
	return "", false
}

// selectsKey reports whether q may select an object with that key.
func (q *query) selectsKey(key object.Key) bool {
	if q.nothing || q.Namespace != "" && key.Namespace != q.Namespace || compareKeys(key, q.after) <= 0 {
		return false
	}
	for _, r := range q.names {
		is := key.Name
		if r.Field == namespaceField {
			is = key.Namespace
		}
		if (is == r.Value) == (r.Operator == selection.NotEquals) {
			return false
		}
	}
	return true
}

// matchesFields reports whether q selects an object, given that q selects its key and labels.
func (q *query) matchesFields(cached object.Object) bool {
	for _, r := range q.values {
		if slices.Contains(q.indexes[r.Field].values(cached), r.Value) == (r.Operator == selection.NotEquals) {
			return false
		}
	}
	return true
}

// each iterates over the selected objects in the store of a part, in their state at the time of the call. It reads as
// few objects as possible: a single key, the objects of a required value from the index that has the fewest of them, or
// all objects of the namespace.
func (q *query) each(p *part) iter.Seq[object.Object] {
	if name, ok := q.exactly(nameField); ok && cmp.Or(q.Namespace, p.informer.Namespace()) != "" {
		key := object.Key{Namespace: cmp.Or(q.Namespace, p.informer.Namespace()), Name: name}
		var named []object.Object
		if cached, has := p.store.Get(key); has {
			named = append(named, cached)
		}
		return q.among(slices.Values(named))
	}
	if index, value := q.shortest(p); index != nil {
		return q.among(index.index.get(p, value))
	}
	selected := q.selectsKey
	if !q.nothing && len(q.names) == 0 && q.after == (object.Key{}) {
		selected = nil // q selects every key of its namespace
	}
	all := p.store.Select(q.Namespace, q.LabelSelector, selected)
	return func(yield func(object.Object) bool) {
		for _, cached := range all {
			if q.matchesFields(cached) && !yield(cached) {
				return
			}
		}
	}
}

// among iterates over the selected objects among objects.
func (q *query) among(objects iter.Seq[object.Object]) iter.Seq[object.Object] {
	return func(yield func(object.Object) bool) {
		for cached := range objects {
			selected := q.selectsKey(object.KeyOf(cached)) &&
				(q.LabelSelector == nil || q.LabelSelector.Matches(labels.Set(cached.GetLabels())))
			if selected && q.matchesFields(cached) && !yield(cached) {
				return
			}
		}
	}
}

// shortest returns the index that has the fewest objects with a required value, and that value.
func (q *query) shortest(p *part) (shortest *fieldIndex, value string) {
	fewest := 0
	for _, r := range q.values {
		if r.Operator == selection.NotEquals {
			continue
		}
		index := q.indexes[r.Field]
		if count := index.index.count(p, r.Value); shortest == nil || count < fewest {
			shortest, value, fewest = index, r.Value, count
		}
	}
	return shortest, value
}
