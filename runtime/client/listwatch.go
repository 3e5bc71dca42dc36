package client

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Scope is which objects of a kind are listed and watched. The zero value is all.
type Scope struct {
	// Namespace is the only namespace; empty is all. It must be empty for a cluster-scoped kind.
	Namespace string
	// Labels selects by labels; nil selects all.
	Labels labels.Selector
	// Fields selects by fields; nil selects all.
	Fields fields.Selector
}

// ListWatcher lists and watches the objects of one kind within a [Scope]. It is safe for concurrent use and keeps no
// state: each call is one request.
type ListWatcher[T object.Object] struct {
	client *REST
	gvk    schema.GroupVersionKind
	form   reflect.Type // the struct type that T points to
	scope  Scope
}

// NewListWatcher returns a ListWatcher for the kind of prototype: the Go type of a typed object, the kind that an
// *unstructured.Unstructured or *metav1.PartialObjectMetadata has set. T may be that pointer type or an interface such
// as object.Object. It makes no request, and fails when the kind of prototype cannot be told.
func NewListWatcher[T object.Object](c *REST, prototype T, scope Scope) (*ListWatcher[T], error) {
	form := reflect.TypeOf(prototype)
	if form == nil || form.Kind() != reflect.Pointer || reflect.ValueOf(prototype).IsNil() {
		return nil, fmt.Errorf("list and watch: the prototype is %T, which is nil or no pointer", prototype)
	}
	gvk, err := object.GVK(prototype, c.scheme)
	if err != nil {
		return nil, fmt.Errorf("list and watch: %w", err)
	}
	return &ListWatcher[T]{client: c, gvk: gvk, form: form.Elem(), scope: scope}, nil
}

// List returns one page of the objects in scope. The scope and the selectors of opts must both match.
func (lw *ListWatcher[T]) List(ctx context.Context, opts metav1.ListOptions) (*Page[T], error) {
	r, err := lw.request(ctx, "list", opts)
	if err != nil {
		return nil, err
	}
	r.accept = accept(lw.newObject())
	if r.accept == acceptMetadata {
		r.accept = acceptMetadataList
	}
	body, err := lw.client.send(ctx, r)
	if err != nil {
		return nil, err
	}
	page, err := lw.decodePage(body)
	if err != nil {
		return nil, &DecodeError{What: r.String(), Err: err}
	}
	return page, nil
}

// Watch opens a watch of the objects in scope, which lasts until ctx ends, the server ends it or it is closed. Bookmarks
// are asked for when opts says so, and always with SendInitialEvents: the end of the initial events is a bookmark.
func (lw *ListWatcher[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	opts.Watch = true
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		opts.AllowWatchBookmarks = true
	}
	r, err := lw.request(ctx, "watch", opts)
	if err != nil {
		return nil, err
	}
	r.accept = accept(lw.newObject())
	watchCtx, cancel := context.WithCancel(ctx)
	resp, err := lw.client.conn.open(watchCtx, r)
	if err != nil {
		cancel()
		lw.client.learn(r, err)
		return nil, err
	}
	return &stream[T]{
		ctx:    ctx,
		cancel: cancel,
		what:   r.String(),
		body:   resp.Body,
		frames: frameReader{body: resp.Body},
		decode: lw.decodeObject,
	}, nil
}

// request begins a request for the objects in scope.
func (lw *ListWatcher[T]) request(ctx context.Context, verb string, opts metav1.ListOptions) (*request, error) {
	res, err := lw.client.resourceOfKind(ctx, lw.gvk)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, lw.gvk.Kind, err)
	}
	o := ListOptions{Namespace: lw.scope.Namespace, LabelSelector: lw.scope.Labels, FieldSelector: lw.scope.Fields}
	if o.LabelSelector != nil && opts.LabelSelector != "" {
		selector, err := labels.Parse(opts.LabelSelector)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", verb, lw.gvk.Kind, err)
		}
		o.andLabels(selector)
	}
	if o.FieldSelector != nil && opts.FieldSelector != "" {
		selector, err := fields.ParseSelector(opts.FieldSelector)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", verb, lw.gvk.Kind, err)
		}
		o.andFields(selector)
	}
	query, err := queryparams.Convert(&opts)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, lw.gvk.Kind, err)
	}
	r := &request{verb: verb, method: http.MethodGet, resource: res, namespace: o.Namespace, query: query}
	for name, values := range o.query() {
		query[name] = values
	}
	return r, r.checkCollection(o)
}

// newObject returns an empty object as the prototype was.
func (lw *ListWatcher[T]) newObject() T { return reflect.New(lw.form).Interface().(T) }

// decodeObject returns the object that data is.
func (lw *ListWatcher[T]) decodeObject(data []byte) (T, error) {
	obj := lw.newObject()
	if err := unmarshal(data, obj); err != nil {
		var none T
		return none, err
	}
	return obj, settleKind(obj, lw.gvk)
}

// decodePage returns the page that data is. Each item is allocated by itself, so that keeping one does not keep all.
func (lw *ListWatcher[T]) decodePage(data []byte) (*Page[T], error) {
	if lw.form == reflect.TypeFor[unstructured.Unstructured]() {
		return lw.decodeUnstructuredPage(data)
	}
	list := reflect.New(listType(lw.form))
	if err := utiljson.Unmarshal(data, list.Interface()); err != nil {
		return nil, err
	}
	if kind := list.Elem().FieldByName("Kind").String(); kind == "Status" || kind == "" {
		return nil, fmt.Errorf("the server sent kind %q, not a list", kind)
	}
	meta := list.Elem().FieldByName("Metadata").Interface().(metav1.ListMeta)
	items := list.Elem().FieldByName("Items")
	page := &Page[T]{Items: make([]T, items.Len()), ResourceVersion: meta.ResourceVersion, Continue: meta.Continue}
	for i := range page.Items {
		if items.Index(i).IsNil() {
			return nil, fmt.Errorf("item %d is null", i)
		}
		item := items.Index(i).Interface().(T)
		if err := settleKind(item, lw.gvk); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		page.Items[i] = item
	}
	return page, nil
}

// decodeUnstructuredPage is decodePage for unstructured items, whose kind the server leaves out of lists of built-in
// kinds.
func (lw *ListWatcher[T]) decodeUnstructuredPage(data []byte) (*Page[T], error) {
	var list unstructured.UnstructuredList
	if err := unmarshal(data, &list); err != nil {
		return nil, err
	}
	page := &Page[T]{Items: make([]T, len(list.Items)), ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue()}
	for i := range list.Items {
		item := runtime.Object(&unstructured.Unstructured{Object: list.Items[i].Object})
		if err := settleKind(item, lw.gvk); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		page.Items[i] = item.(T)
	}
	return page, nil
}

// listType returns the type of a list whose items are pointers to item.
func listType(item reflect.Type) reflect.Type {
	return reflect.StructOf([]reflect.StructField{
		{Name: "Kind", Type: reflect.TypeFor[string](), Tag: `json:"kind"`},
		{Name: "Metadata", Type: reflect.TypeFor[metav1.ListMeta](), Tag: `json:"metadata"`},
		{Name: "Items", Type: reflect.SliceOf(reflect.PointerTo(item)), Tag: `json:"items"`},
	})
}
