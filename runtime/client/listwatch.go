package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// Scope selects which objects of a kind are listed and watched, and which of their fields are kept. The zero value
// selects all objects without their managedFields.
type Scope struct {
	// Namespace is the only namespace; empty means all. It must be empty for a cluster-scoped kind.
	Namespace string
	// Labels selects by labels; nil selects all.
	Labels labels.Selector
	// Fields selects by fields; nil selects all.
	Fields fields.Selector
	// KeepManagedFields keeps metadata.managedFields, which a [ListWatcher] otherwise omits.
	KeepManagedFields bool
	// Mask lists the paths of the fields to keep, such as "metadata" and "status.conditions". Everything below a path is
	// kept, and a path continues through the items of lists. An empty mask keeps all fields. These fields are always kept:
	// apiVersion, kind, and in metadata name, namespace, uid, resourceVersion, generation and deletionTimestamp. Masked
	// objects are marked, see [object.Mask]; writing one as a whole fails with a [*MaskedError]. Memory use is lowest if a
	// mask is combined with packing in informers and caches.
	Mask []string
	// Formats are the accepted encodings in order of preference. JSON is always accepted as the last one, because every
	// server supports it. Empty means Protobuf and JSON. Protobuf is used only for Go types that implement it, such as the
	// types of the built-in kinds.
	Formats []Format
}

// Format is an encoding of the API, identified by its media type.
type Format string

// Formats of the API.
const (
	JSON     = Format(wire.JSON)
	Protobuf = Format(wire.Protobuf)
)

// ListWatcher lists and watches the objects of one kind within a [Scope]. It is safe for concurrent use and stateless:
// each call is one request. A request fails if the server sends nothing for two minutes, whether before its answer or
// in the middle of a list. The limit does not apply to an open watch.
type ListWatcher[T object.Object] struct {
	client  *REST
	gvk     schema.GroupVersionKind
	scope   Scope
	decoder *wire.Decoder[T]
}

// NewListWatcher returns a ListWatcher for the kind of prototype. A typed object has the kind of its Go type; an
// *unstructured.Unstructured or *metav1.PartialObjectMetadata must have its kind set. T may be the pointer type of
// prototype or an interface such as object.Object. NewListWatcher sends no request. It fails if the kind of prototype
// is unknown.
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

// List returns one page of the objects in scope that also match the selectors of opts.
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

// Watch opens a watch of the objects in scope. The watch lasts until ctx ends, the server ends it, or the caller closes
// it. It requests bookmarks if opts does, and always with SendInitialEvents, because a bookmark marks the end of the
// initial events.
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

// request returns a request for the objects in scope.
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
	r := &request{verb: verb, method: http.MethodGet, resource: res, wanted: o.Namespace, query: query,
		idleTimeout: maxIdle}
	maps.Copy(query, o.query())
	return r, r.checkCollection(o)
}

// Page is one page of a list, as the API server returned it.
type Page[T object.Object] struct {
	// Items are the objects in the server's order. The caller owns them.
	Items []T
	// ResourceVersion is the version of the list. A watch that starts from this version misses no change.
	ResourceVersion string
	// Continue is the token of the next page. It is empty on the last page.
	Continue string
}
