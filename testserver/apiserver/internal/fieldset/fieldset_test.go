package fieldset

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// TestManagersAreTheLibrarys writes random objects of random schemas, by several managers, and compares what is certain with what
// upstream makes of the same write.
func TestManagersAreTheLibrarys(t *testing.T) {
	certain, all := 0, 0
	seeds.Each(t, 4, func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			for n := range uint64(25) {
				w := newWorld(t, seed, n)
				for range 14 {
					time.Sleep(time.Duration(w.IntN(3)) * time.Second)
					all++
					if w.step(t) {
						certain++
					}
				}
			}
		})
	})
	t.Logf("%d of %d writes were certain", certain, all)
	if certain < all/3 {
		t.Errorf("%d of %d writes were certain: hardly anything was tested", certain, all)
	}
}

// world is an object and what knows its schema.
type world struct {
	*rand.Rand
	types   map[string]*generated
	root    *generated
	schema  *schema.Schema
	library *managedfields.FieldManager
	own     *Type
	live    map[string]any
	sub     string // the subresource that is written
}

const version = "example.com/v1"

var gvk = runtimeschema.FromAPIVersionAndKind(version, "Thing")

// generated is a type with what makes values of it.
type generated struct {
	reference schema.TypeRef
	value     func(w *world, depth int) any
}

func newWorld(t *testing.T, seed, n uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, n)), schema: &schema.Schema{}, types: map[string]*generated{}}
	untyped, deduced, atomic := schema.Untyped, "__untyped_deduced_", "__untyped_atomic_"
	w.schema.Types = []schema.TypeDef{
		{Name: atomic, Atom: schema.Atom{Scalar: &untyped, List: &schema.List{ElementType: schema.TypeRef{NamedType: &atomic}, ElementRelationship: schema.Atomic}, Map: &schema.Map{ElementType: schema.TypeRef{NamedType: &atomic}, ElementRelationship: schema.Atomic}}},
		{Name: deduced, Atom: schema.Atom{Scalar: &untyped, List: &schema.List{ElementType: schema.TypeRef{NamedType: &atomic}, ElementRelationship: schema.Atomic}, Map: &schema.Map{ElementType: schema.TypeRef{NamedType: &deduced}, ElementRelationship: schema.Separable}}},
	}
	text := scalar(schema.String)
	metadata := w.structure(map[string]*generated{
		"name": text, "uid": text, "resourceVersion": text, "generation": scalar(schema.Numeric), "labels": w.mapping(text, false), "finalizers": w.set(text),
		"managedFields": {reference: schema.TypeRef{NamedType: &deduced}, value: func(*world, int) any { return nil }},
	}, false)
	w.root = w.structure(map[string]*generated{
		"apiVersion": text, "kind": text, "metadata": metadata, "spec": w.random(3), "status": w.random(2), "data": w.random(2),
	}, false)
	if w.IntN(3) == 0 {
		w.sub = "status"
	}
	reset := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	if w.sub != "" {
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
	}
	var err error
	w.library, err = managedfields.NewDefaultCRDFieldManager(w, w, w, w, gvk, gvk.GroupVersion(), w.sub, fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{version: reset}))
	if err != nil {
		t.Fatal(err)
	}
	w.own = New(w.schema, w.root.reference)
	return w
}

// What the library asks of those around it.

func (w *world) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	p := typed.ParseableType{Schema: w.schema, TypeRef: w.root.reference}
	return p.FromUnstructured(object.(*unstructured.Unstructured).Object, options...)
}

func (w *world) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return &unstructured.Unstructured{Object: value.AsValue().Unstructured().(map[string]any)}, nil
}

func (w *world) Convert(in, out, context any) error { return fmt.Errorf("not needed") }

func (w *world) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in.DeepCopyObject(), nil
}

func (w *world) ConvertFieldLabel(_ runtimeschema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (w *world) Default(runtime.Object) {}

func (w *world) New(kind runtimeschema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// Random types, and values of them.

func scalar(s schema.Scalar) *generated {
	return &generated{schema.TypeRef{Inlined: schema.Atom{Scalar: &s}}, func(w *world, _ int) any {
		if w.IntN(60) == 0 {
			return nil
		}
		switch s {
		case schema.String:
			return w.pick("a", "b", "c")
		case schema.Boolean:
			return w.IntN(2) == 0
		case schema.Numeric:
			if w.IntN(4) == 0 {
				return float64(w.IntN(3)) + 0.5
			}
			return int64(w.IntN(3))
		}
		return w.pick("x", int64(1), true)
	}}
}

func (w *world) pick(values ...any) any { return values[w.IntN(len(values))] }

func (w *world) structure(fields map[string]*generated, atomic bool) *generated {
	m := &schema.Map{}
	if atomic {
		m.ElementRelationship = schema.Atomic
	}
	var names []string
	for _, name := range []string{"apiVersion", "kind", "metadata", "name", "uid", "resourceVersion", "generation", "labels", "finalizers", "managedFields", "spec", "status", "data", "key", "other", "f0", "f1", "f2"} {
		if fields[name] == nil {
			continue
		}
		names = append(names, name)
		field := schema.StructField{Name: name, Type: fields[name].reference}
		if name == "other" {
			field.Default = "a"
		}
		m.Fields = append(m.Fields, field)
	}
	name := fmt.Sprintf("struct%d", len(w.schema.Types))
	w.schema.Types = append(w.schema.Types, schema.TypeDef{Name: name, Atom: schema.Atom{Map: m}})
	return &generated{schema.TypeRef{NamedType: &name}, func(w *world, depth int) any {
		value := map[string]any{}
		for _, name := range names {
			if w.IntN(3) > 0 || name == "key" && w.IntN(20) > 0 {
				value[name] = fields[name].value(w, depth+1)
			}
		}
		if w.IntN(150) == 0 {
			value["unknown"] = int64(1)
		}
		return value
	}}
}

func (w *world) mapping(of *generated, atomic bool) *generated {
	m := &schema.Map{ElementType: of.reference}
	if atomic {
		m.ElementRelationship = schema.Atomic
	}
	return &generated{schema.TypeRef{Inlined: schema.Atom{Map: m}}, func(w *world, depth int) any {
		value := map[string]any{}
		for range w.IntN(4) {
			value[w.pick("a", "b", "x.y/z", "quote\"d").(string)] = of.value(w, depth+1)
		}
		return value
	}}
}

func (w *world) items(of *generated, l *schema.List, distinct func(any) any) *generated {
	l.ElementType = of.reference
	return &generated{schema.TypeRef{Inlined: schema.Atom{List: l}}, func(w *world, depth int) any {
		items, seen := []any{}, map[any]bool{}
		for range w.IntN(4) {
			item := of.value(w, depth+1)
			if key := distinct(item); key == nil || !seen[key] || w.IntN(30) == 0 {
				items, seen[key] = append(items, item), true
			}
		}
		return items
	}}
}

func (w *world) set(of *generated) *generated {
	return w.items(of, &schema.List{ElementRelationship: schema.Associative}, func(item any) any { return item })
}

func (w *world) random(depth int) *generated {
	if depth == 0 {
		return scalar(w.pick(schema.String, schema.Numeric, schema.Boolean, schema.Untyped).(schema.Scalar))
	}
	atomic := w.IntN(5) == 0
	switch w.IntN(8) {
	case 0, 1, 2:
		return w.structure(map[string]*generated{"f0": w.random(depth - 1), "f1": w.random(depth - 1), "f2": w.random(depth - 1)}, atomic)
	case 3:
		return w.mapping(w.random(depth-1), atomic)
	case 4:
		return w.set(scalar(w.pick(schema.String, schema.Numeric).(schema.Scalar)))
	case 5:
		item := w.structure(map[string]*generated{"key": scalar(schema.String), "other": scalar(schema.String), "f0": w.random(depth - 1), "f1": w.random(0)}, false)
		keys := [][]string{{"key"}, {"other", "key"}, {"key", "other"}}[w.IntN(3)]
		return w.items(item, &schema.List{ElementRelationship: schema.Associative, Keys: keys}, func(item any) any {
			return fmt.Sprint(item.(map[string]any)["key"], item.(map[string]any)["other"])
		})
	case 6:
		return w.items(w.random(depth-1), &schema.List{ElementRelationship: schema.Atomic}, func(any) any { return nil })
	}
	deduced := "__untyped_deduced_"
	return &generated{schema.TypeRef{NamedType: &deduced}, func(w *world, _ int) any {
		return w.pick("text", int64(3), map[string]any{"a": "b", "c": map[string]any{"d": []any{"e", map[string]any{}}}}, map[string]any{"c": map[string]any{}}, []any{int64(1), int64(1)})
	}}
}

// object is a random one, without the metadata that a server keeps.
func (w *world) object() map[string]any {
	object := w.root.value(w, 0).(map[string]any)
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
	}
	for _, name := range []string{"uid", "resourceVersion", "generation", "managedFields"} {
		delete(metadata, name)
	}
	metadata["name"] = "thing"
	object["apiVersion"], object["kind"], object["metadata"] = version, "Thing", metadata
	return object
}

// step writes the object, and reports whether that was certain.
func (w *world) step(t *testing.T) bool {
	writer := Writer{Manager: w.pick("one", "two", "three").(string), Version: version, Subresource: w.sub, Reset: []string{"status"}, Time: time.Now().UTC().Format(time.RFC3339)}
	if w.sub != "" {
		writer.Reset = []string{"metadata", "spec"}
	}
	var managed []any
	if w.live != nil {
		managed, _ = w.live["metadata"].(map[string]any)["managedFields"].([]any)
	}
	if w.IntN(2) == 0 {
		return w.update(t, managed, writer)
	}
	return w.apply(t, managed, writer)
}

func (w *world) before() *unstructured.Unstructured {
	if w.live == nil {
		u, _ := w.New(gvk)
		return u.(*unstructured.Unstructured)
	}
	return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(w.live)}
}

func (w *world) update(t *testing.T, managed []any, writer Writer) bool {
	next := w.object()
	if w.live != nil && w.IntN(3) > 0 { // some of it stays
		next = runtime.DeepCopyJSON(w.live)
		delete(next["metadata"].(map[string]any), "managedFields")
		for name, value := range w.object() {
			if name != "metadata" && w.IntN(2) == 0 {
				next[name] = value
			}
		}
	}
	live, given := runtime.DeepCopyJSON(w.live), runtime.DeepCopyJSON(next)
	if w.live == nil {
		live = nil
	}
	got, certain := w.own.Update(live, given, managed, writer)
	want := w.library.UpdateNoErrors(w.before(), &unstructured.Unstructured{Object: runtime.DeepCopyJSON(next)}, writer.Manager).(*unstructured.Unstructured)
	if certain {
		w.compare(t, "update", next, want, got)
	}
	w.keep(want)
	return certain
}

func (w *world) apply(t *testing.T, managed []any, writer Writer) bool {
	applied, force := w.object(), w.IntN(2) == 0
	if w.live != nil && w.IntN(2) == 0 { // what is there, with other values of some fields
		applied = runtime.DeepCopyJSON(w.live)
		metadata := applied["metadata"].(map[string]any)
		delete(metadata, "managedFields")
		delete(metadata, "uid")
		if w.IntN(2) == 0 {
			applied["spec"] = w.object()["spec"]
		}
	}
	if spec, there := applied["spec"]; there && spec == nil {
		delete(applied, "spec")
	}
	live := map[string]any{"apiVersion": version, "kind": "Thing"}
	var was map[string]any
	if w.live != nil {
		live = runtime.DeepCopyJSON(w.live)
		was = live
	}
	var got []any
	merged, certain := w.own.Merge(live, runtime.DeepCopyJSON(applied))
	if certain {
		got, certain = w.own.Apply(was, applied, merged.(map[string]any), managed, writer, force)
	}
	object, err := w.library.Apply(w.before(), &unstructured.Unstructured{Object: runtime.DeepCopyJSON(applied)}, writer.Manager, force)
	if err != nil {
		if certain {
			t.Fatalf("an apply that fails is certain: %v", err)
		}
		return false
	}
	want := object.(*unstructured.Unstructured)
	if certain {
		w.compare(t, "apply", merged.(map[string]any), want, got)
	}
	w.keep(want)
	return certain
}

// compare compares what was written, and who manages it.
func (w *world) compare(t *testing.T, what string, object map[string]any, want *unstructured.Unstructured, got []any) {
	t.Helper()
	object = runtime.DeepCopyJSON(object)
	metadata := object["metadata"].(map[string]any)
	if delete(metadata, "managedFields"); got != nil {
		metadata["managedFields"] = got
	}
	if diff := cmp.Diff(text(t, want.Object), text(t, object)); diff != "" {
		t.Fatalf("%s of\n%s\n(-library +own):\n%s", what, text(t, w.live), cmp.Diff(want.Object, object))
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// keep stores an object.
func (w *world) keep(object *unstructured.Unstructured) {
	object.SetUID("uid")
	w.live = object.Object
}
