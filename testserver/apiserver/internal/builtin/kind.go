package builtin

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// Kind is a kind that is there without a CustomResourceDefinition: one row for each. Its rules are for objects of its Go type, which is
// that of the version that is stored.
type Kind struct {
	GVK        schema.GroupVersionKind
	Resource   string
	Singular   string // nothing for the kind in lower case
	Short      []string
	Categories []string
	Namespaced bool
	Uncached   bool                                                   // is read from the storage alone, whose errors differ from those of a cache
	Shown      func(object runtime.Object)                            // makes of what is written what readers find
	unshown    string                                                 // an annotation that tables do not have
	Verbs      []string                                               // nil for all
	Columns    []Column                                               // of tables; nil for names and creation times
	conditions func(object runtime.Object) []metav1.TableRowCondition // of their rows
	Rules      Rules
	Status     *Rules                                      // of the subresource, if there is one
	Scale      func(object runtime.Object) Scaled          // where the scale subresource is, if there is one
	Fields     func(object runtime.Object, set fields.Set) // that selectors may name, besides those of each object
	Returned   bool                                        // a deletion answers with the object
	Deletable  func(updated, existing runtime.Object) bool // whether an object whose finalizers are gone may go

	// Allocate fills in what an object does not say itself and no other has; existing is nil for creations.
	Allocate func(cluster Cluster, object, existing runtime.Object, dryRun bool) error

	// Admit is what the admission plugins do that each server has, before webhooks: for creations and updates, of subresources too.
	Admit func(cluster Cluster, a admission.Attributes) error
	// Review is what they refuse of what webhooks have made of it.
	Review func(cluster Cluster, a admission.Attributes) error

	Of  *Kind               // the kind of which this is another version
	Hub schema.GroupVersion // of it: under which the scheme has the Go type of that kind; empty for its own version

	ModelName string // of a generated model, of a kind whose Go type is not among those of the others
}

// Cluster is what rules may ask of the server that they are in.
type Cluster struct {
	Authorizer authorizer.Authorizer
	Read       func(group, version, resource, namespace, name string) (runtime.Object, error)
	ReadAll    func(group, version, resource, namespace string) []runtime.Object // without a namespace, of all
}

// CoreV1 is the core group.
var CoreV1 = corev1.SchemeGroupVersion

// Column of a table. One without a name is in rows alone.
type Column struct {
	metav1.TableColumnDefinition
	value func(object runtime.Object) any
}

// Rules of a kind for its writes. They are there for all kinds that are stored.
type Rules struct {
	*Strategy
	Reset []string // the fields that a write does not set; nil for those that the strategy names
}

var (
	nameColumn = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}
	// SinceColumn has how long ago an object was made.
	SinceColumn = Column{
		metav1.TableColumnDefinition{Name: "Age", Type: "string", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]},
		func(object runtime.Object) any { return since(must.Access(object).GetCreationTimestamp()) },
	}
)

func since(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

// Col is a column of a table whose value is of a Go type; one that is wide is only shown when it is asked for.
func Col[T runtime.Object](name, format, description string, value func(object T) any) Column {
	kind, format, _ := strings.Cut(format, " ")
	c := Column{metav1.TableColumnDefinition{Name: name, Type: kind, Description: description}, func(object runtime.Object) any { return value(object.(T)) }}
	if format == "wide" {
		c.Priority = 1
	}
	return c
}

// ConvertToTable shows objects in the columns of the kind.
func (k *Kind) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	first := !slices.ContainsFunc(k.Columns, func(c Column) bool { return c.Name == "Name" })
	if o, ok := options.(*metav1.TableOptions); !ok || !o.NoHeaders {
		if first {
			table.ColumnDefinitions = append(table.ColumnDefinitions, nameColumn)
		}
		for _, c := range k.Columns {
			if c.Name != "" {
				table.ColumnDefinitions = append(table.ColumnDefinitions, c.TableColumnDefinition)
			}
		}
	}
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion, table.Continue, table.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
	} else if one, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = one.GetResourceVersion()
	}
	var err error
	table.Rows, err = metatable.MetaToTableRow(object, func(object runtime.Object, _ metav1.Object, name, _ string) ([]any, error) {
		var cells []any
		if first {
			cells = append(cells, name)
		}
		for _, c := range k.Columns {
			cells = append(cells, c.value(object))
		}
		return cells, nil
	})
	for i := range table.Rows {
		if k.unshown != "" {
			object := table.Rows[i].Object.Object.DeepCopyObject()
			annotations := must.Access(object).GetAnnotations()
			delete(annotations, k.unshown)
			if len(annotations) == 0 {
				annotations = nil
			}
			must.Access(object).SetAnnotations(annotations)
			table.Rows[i].Object.Object = object
		}
	}
	if k.conditions != nil {
		for i := range table.Rows {
			table.Rows[i].Conditions = k.conditions(table.Rows[i].Object.Object)
		}
	}
	return table, err
}

// Attributes are what selectors select an object by.
func (k *Kind) Attributes(object runtime.Object) (labels.Set, fields.Set, error) {
	accessor := must.Access(object)
	set := fields.Set{"metadata.name": accessor.GetName()}
	if k.Namespaced {
		set["metadata.namespace"] = accessor.GetNamespace()
	}
	if k.Fields != nil {
		k.Fields(object, set)
	}
	return accessor.GetLabels(), set, nil
}

// SingularName is what the kind is called in lower case.
func (k *Kind) SingularName() string {
	if k.Singular != "" {
		return k.Singular
	}
	return strings.ToLower(k.GVK.Kind)
}

// Answers reports whether the kind is answered and not stored.
func (k *Kind) Answers() bool { return slices.Equal(k.Verbs, []string{"create"}) }

// Scaled is where an object of a built-in kind has what its scale subresource shows.
type Scaled struct {
	Replicas *int32 // in the object
	Current  int32
	Selector string
}
