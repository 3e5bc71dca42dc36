package builtin

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// Kind is a built-in kind. Its rules apply to objects of its Go type, which is the Go type of the stored version.
type Kind struct {
	GVK        schema.GroupVersionKind
	Resource   string
	Singular   string // empty means the kind in lower case
	Short      []string
	Categories []string
	Namespaced bool
	Uncached   bool // reads bypass the cache and return other errors than it does
	// Shown converts a written object to the form that readers see.
	Shown      func(object runtime.Object)
	unshown    string                                                 // an annotation that tables omit
	Verbs      []string                                               // nil means all
	Columns    []Column                                               // of tables; nil means name and creation time
	conditions func(object runtime.Object) []metav1.TableRowCondition // conditions of table rows
	Rules      Rules
	Status     *Rules                                      // rules of the status subresource; nil means none
	Scale      func(object runtime.Object) Scaled          // values of the scale subresource; nil means none
	Fields     func(object runtime.Object, set fields.Set) // adds fields for field selectors
	Returned   bool                                        // a delete request returns the object
	Deletable  func(updated, existing runtime.Object) bool // whether an object without finalizers may be deleted

	// Allocate sets unique values that an object leaves to the server. existing is nil if the object is created.
	Allocate func(cluster Cluster, object, existing runtime.Object, dryRun bool) error

	// Admit implements the admission plugins of every server that run before webhooks. It is called for creations and
	// updates, including creations and updates of subresources.
	Admit func(cluster Cluster, a admission.Attributes) error
	// Review implements the validating part of these plugins, which runs after webhooks.
	Review func(cluster Cluster, a admission.Attributes) error

	Of *Kind // the kind of which this kind is another version
	// Hub is the version under which the scheme contains the Go type of Of. Empty means the version of the kind itself.
	Hub schema.GroupVersion

	ModelName string // name of the generated model of a kind whose Go type is in another package
}

// Cluster gives rules access to the server's objects and authorizer.
type Cluster struct {
	Authorizer authorizer.Authorizer
	Read       func(group, version, resource, namespace, name string) (runtime.Object, error)
	ReadAll    func(group, version, resource, namespace string) []runtime.Object // an empty namespace means all namespaces
}

// CoreV1 is version v1 of the core group.
var CoreV1 = corev1.SchemeGroupVersion

// Column is a column of a table. A column without a name appears only in the rows.
type Column struct {
	metav1.TableColumnDefinition
	value func(object runtime.Object) any
}

// Rules are the rules for writes of a kind. Every stored kind has rules.
type Rules struct {
	*Strategy
	Reset []string // fields that a write does not change; nil means the strategy's
}

var (
	nameColumn = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name",
		Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}
	// SinceColumn contains the age of an object.
	SinceColumn = Column{
		metav1.TableColumnDefinition{Name: "Age", Type: "string",
			Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]},
		func(object runtime.Object) any { return since(must.Access(object).GetCreationTimestamp()) },
	}
)

// since returns the time since t for tables.
var since = metatable.ConvertToHumanReadableDateType

// Col returns a column whose value is computed from an object of a Go type. A column with the format wide is shown only
// on request.
func Col[T runtime.Object](name, format, description string, value func(object T) any) Column {
	kind, format, _ := strings.Cut(format, " ")
	c := Column{metav1.TableColumnDefinition{Name: name, Type: kind, Description: description},
		func(object runtime.Object) any { return value(object.(T)) }}
	if format == "wide" {
		c.Priority = 1
	}
	return c
}

// ConvertToTable returns objects as a table with the columns of the kind.
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
		table.ResourceVersion, table.Continue, table.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(),
			list.GetRemainingItemCount()
	} else if one, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = one.GetResourceVersion()
	}
	var err error
	table.Rows, err = metatable.MetaToTableRow(object, func(object runtime.Object, _ metav1.Object, name,
		_ string) ([]any, error) {
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
		row := &table.Rows[i]
		if k.unshown != "" {
			row.Object.Object = row.Object.Object.DeepCopyObject()
			delete(must.Access(row.Object.Object).GetAnnotations(), k.unshown)
		}
		if k.conditions != nil {
			row.Conditions = k.conditions(row.Object.Object)
		}
	}
	return table, err
}

// Attributes returns the labels and fields of an object for selectors.
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

// SingularName returns the kind in lower case.
func (k *Kind) SingularName() string {
	if k.Singular != "" {
		return k.Singular
	}
	return strings.ToLower(k.GVK.Kind)
}

// Answers reports whether the server only answers requests for the kind and does not store objects.
func (k *Kind) Answers() bool { return slices.Equal(k.Verbs, []string{"create"}) }

// Scaled contains an object's values for its scale subresource.
type Scaled struct {
	Replicas *int32 // pointer into the object
	Current  int32
	Selector string
}
