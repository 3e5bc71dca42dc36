package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Scope is which objects of a kind are listed and watched, and what of them. The zero value is all objects, without
// their managedFields.
type Scope struct {
	// Namespace is the only namespace; empty is all. It must be empty for a cluster-scoped kind.
	Namespace string
	// Labels selects by labels; nil selects all.
	Labels labels.Selector
	// Fields selects by fields; nil selects all.
	Fields fields.Selector
	// KeepManagedFields keeps metadata.managedFields, which are left out of what a [ListWatcher] returns otherwise.
	KeepManagedFields bool
	// Mask are the only fields that the objects have, with all that is below them, such as "metadata" and
	// "status.conditions"; none means all. A path goes through lists. What identifies an object and its state is always
	// there: apiVersion, kind, and of metadata name, namespace, uid, resourceVersion, generation and deletionTimestamp.
	// Such an object says so, see [object.Mask], and is not written as a whole: that is a [*MaskedError].
	// Informers and caches can keep what is left packed, which takes least memory.
	Mask []string
	// Formats are the encodings that the server is asked for, in order of preference. JSON, which every server has, comes
	// last if it is not named. None means Protobuf and JSON. Protobuf is only asked for if the Go type has that form, as
	// those of built-in kinds do.
	Formats []Format
}

// Format is an encoding of the API, by the media type that servers know it by.
type Format string

// The formats.
const (
	JSON     = Format(wire.JSON)
	Protobuf = Format(wire.Protobuf)
)

// ListWatcher lists and watches the objects of one kind within a [Scope]. It is safe for concurrent use and keeps no
// state: each call is one request. A request is given up when the server sends nothing for two minutes: no answer, or no more of a
// list. An open watch is quiet for as long as nothing happens.
type ListWatcher[T object.Object] struct {
	client  *REST
	gvk     schema.GroupVersionKind
	scope   Scope
	decoder *wire.Decoder[T]
}

// NewListWatcher returns a ListWatcher for the kind of prototype: the Go type of a typed object, the kind that an
// *unstructured.Unstructured or *metav1.PartialObjectMetadata has set. T may be that pointer type or an interface such
// as object.Object. It makes no request, and fails when the kind of prototype cannot be told.
func NewListWatcher[T object.Object](c *REST, prototype T, scope Scope) (*ListWatcher[T], error) {
	if v := reflect.ValueOf(prototype); v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, fmt.Errorf("list and watch: the prototype is %T, which is nil or no pointer", prototype)
	}
	gvk, err := object.GVK(prototype, c.scheme)
	if err != nil {
		return nil, fmt.Errorf("list and watch: %w", err)
	}
	var formats []wire.Format
	for _, format := range scope.Formats {
		formats = append(formats, wire.Format(format))
	}
	decoder, err := wire.NewDecoder(prototype, wire.Options{
		GVK:               gvk,
		Serves:            c.serves(gvk.GroupVersion()),
		KeepManagedFields: scope.KeepManagedFields,
		Mask:              scope.Mask,
		Formats:           formats,
	})
	if err != nil {
		return nil, fmt.Errorf("list and watch: %w", err)
	}
	return &ListWatcher[T]{client: c, gvk: gvk, scope: scope, decoder: decoder}, nil
}

// List returns one page of the objects in scope. The scope and the selectors of opts must both match.
func (lw *ListWatcher[T]) List(ctx context.Context, opts metav1.ListOptions) (*Page[T], error) {
	r, err := lw.request(ctx, "list", opts)
	if err != nil {
		return nil, err
	}
	r.accept = lw.decoder.Accept(true)
	resp, err := lw.client.conn.open(ctx, r)
	if err != nil {
		lw.client.learn(r, err)
		return nil, err
	}
	defer resp.Body.Close()
	page, err := lw.decoder.List(resp.Body, resp.Header.Get("Content-Type"), wire.KnownBy[T](ctx))
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return nil, err
	}
	if malformed, ok := errors.AsType[*wire.Error](err); ok {
		return nil, &DecodeError{What: r.String(), Err: malformed.Err}
	}
	if err != nil {
		return nil, networkError(ctx, r.String(), err)
	}
	return (*Page[T])(page), nil
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
	r.accept = lw.decoder.Accept(false)
	watchCtx, cancel := context.WithCancel(ctx)
	resp, err := lw.client.conn.open(watchCtx, r)
	if err != nil {
		cancel()
		lw.client.learn(r, err)
		return nil, err
	}
	var known wire.Known[T]
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		known = wire.KnownBy[T](ctx)
	}
	events := lw.decoder.Watch(resp.Body, resp.Header.Get("Content-Type"), known)
	return &stream[T]{ctx: ctx, cancel: cancel, what: r.String(), body: resp.Body, events: events}, nil
}

// request begins a request for the objects in scope.
func (lw *ListWatcher[T]) request(ctx context.Context, verb string, opts metav1.ListOptions) (*request, error) {
	res, err := lw.client.locate(ctx, lw.gvk, func(res resource) error { return res.checkSurplus(lw.scope.Namespace) })
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
	r := &request{verb: verb, method: http.MethodGet, resource: res, namespace: o.Namespace, query: query, idleTimeout: maxIdle}
	for name, values := range o.query() {
		query[name] = values
	}
	return r, r.checkCollection(o)
}

// Page is one page of a list, as the API server returned it.
type Page[T object.Object] struct {
	// Items are the objects in the order of the server. The caller owns them.
	Items []T
	// ResourceVersion is that of the list: a watch started here misses nothing.
	ResourceVersion string
	// Continue is the token of the next page, empty on the last.
	Continue string
}
