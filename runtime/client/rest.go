package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Options configure a [REST]. Only Scheme is required.
type Options struct {
	// Scheme maps Go types to kinds. It must be set; an empty scheme suffices for unstructured and metadata-only objects.
	// The package has no default scheme with the built-in kinds, because it would link the code of all their groups into
	// every program.
	Scheme *runtime.Scheme
	// HTTPClient sends the requests. Nil means a new client with the certificates, tokens and timeout of the rest.Config.
	HTTPClient *http.Client
	// Mapper maps kinds to resources. Nil means a new [Mapper].
	Mapper meta.RESTMapper
	// FieldOwner is the default field owner of writes. If it is empty, the server derives an owner from the user agent,
	// and Apply requires [FieldOwner] on each call.
	FieldOwner string
	// Journal records every write, so that the caches of this process know which writes to wait for. All clients of one
	// API server should share a Journal. Nil means a new Journal.
	Journal *Journal
	// Logger logs the server's warnings, each of them once. Nil means slog.Default().
	Logger *slog.Logger
}

// REST is a [Client] that sends one request to the API server per call. It is safe for concurrent use.
type REST struct {
	conn       *conn
	scheme     *runtime.Scheme
	mapper     meta.RESTMapper
	fieldOwner string
	journal    *Journal
}

var _ WithWatch = (*REST)(nil)

// errNoScheme is the error of a client that could not determine the kind of any Go type.
var errNoScheme = errors.New("client: Options.Scheme is nil: pass the scheme that the kinds of the program are " +
	"registered with " +
	"(s := runtime.NewScheme(); corev1.AddToScheme(s); ...), or an empty one for unstructured and metadata-only objects " +
	"alone")

// New returns a client for the API server of config. It sends no request, and fails only if config is invalid or the
// scheme is missing. It ignores QPS, Burst and content type of config, because the server's flow control limits
// requests, and all requests use JSON, except the requests of a [ListWatcher].
func New(config *rest.Config, opts Options) (*REST, error) {
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.Scheme == nil {
		return nil, errNoScheme
	}
	c, err := newConn(config, opts.HTTPClient, opts.Logger)
	if err != nil {
		return nil, err
	}
	if opts.Mapper == nil {
		opts.Mapper = newMapper(c)
	}
	if opts.Journal == nil {
		opts.Journal = &Journal{}
	}
	return &REST{
		conn:       c,
		scheme:     opts.Scheme,
		mapper:     opts.Mapper,
		fieldOwner: opts.FieldOwner,
		journal:    opts.Journal,
	}, nil
}

// Scheme returns the mapping of Go types to kinds.
func (c *REST) Scheme() *runtime.Scheme { return c.scheme }

// RESTMapper returns the mapping of kinds to resources.
func (c *REST) RESTMapper() meta.RESTMapper { return c.mapper }

// Get reads the object named key from the API server, see [Reader].
func (c *REST) Get(ctx context.Context, key object.Key, obj object.Object, opts ...GetOption) error {
	o, err := GetOptionsOf(opts...)
	if err != nil {
		return err
	}
	r, err := c.requestFor(ctx, "get", http.MethodGet, key, obj)
	if err != nil {
		return err
	}
	return c.get(ctx, r, o, obj, r.resource.gvk)
}

// get completes and sends a request for one object of kind gvk.
func (c *REST) get(ctx context.Context, r *request, o GetOptions, obj object.Object,
	gvk schema.GroupVersionKind) error {
	r.query = url.Values{}
	if o.NotOlderThan != "" {
		r.query.Set("resourceVersion", o.NotOlderThan)
	}
	return c.exchange(ctx, r, obj, gvk)
}

// List reads the objects of one kind from the API server, see [Reader].
func (c *REST) List(ctx context.Context, list object.List, opts ...ListOption) error {
	o, err := ListOptionsOf(opts...)
	if err != nil {
		return err
	}
	gvk, err := itemKind(list, c.scheme)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	// locate checks the scope again before the namespace is ignored, because the request then lists all namespaces.
	res, err := c.locate(ctx, gvk, func(res resource) error { return res.checkSurplus(o.Namespace) })
	if err := ignoreSurplus(err); err != nil {
		return fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	r := &request{
		verb: "list", method: http.MethodGet, resource: res, wanted: o.Namespace,
		query: o.query(), accept: accept(list),
	}
	if err := r.checkCollection(o); err != nil {
		return err
	}
	body, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	return answerError(r, decodeList(body, list, gvk.GroupVersion().WithKind(gvk.Kind+listSuffix),
		wire.Asked{GVK: gvk, Serves: c.serves(gvk.GroupVersion())}))
}

// checkCollection returns an error if a request for several objects cannot express o.
func (r *request) checkCollection(o ListOptions) error {
	if err := cmp.Or(o.checkSelectors(), checkSegments(r.namespace())); err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	return nil
}

// exchange sends r and sets obj to the object of kind gvk in the answer. If r posts an action, such as an eviction, the
// answer may be a Status; if it patches a subresource without a body, such as the scale of a Deployment, the answer may
// have the subresource's kind. Then obj is unchanged.
func (c *REST) exchange(ctx context.Context, r *request, obj object.Object, gvk schema.GroupVersionKind) error {
	r.accept = accept(obj)
	base := obj.GetResourceVersion()
	defer c.begin(ctx, r)()
	body, err := c.send(ctx, r)
	if err != nil {
		c.recordLost(ctx, r, err)
		return err
	}
	err = decode(body, obj, gvk)
	_, bare := errors.AsType[*wire.BareStatusError](err)
	_, other := errors.AsType[*wire.OtherKindError](err)
	switch {
	case bare && r.method == http.MethodPost,
		other && gvk == r.resource.gvk && r.patchesOther():
		c.recordUnknown(ctx, r)
		return nil
	case err != nil:
		err = answerError(r, err)
		c.recordLost(ctx, r, err)
		return err
	case r.method != http.MethodGet:
		c.recordWritten(ctx, r, base, obj)
	}
	return nil
}

// patchesOther reports whether r patches a subresource that can have a kind of its own.
func (r *request) patchesOther() bool {
	return r.method == http.MethodPatch && r.subresource != "" && r.subresource != statusSubresource
}

// answerError returns the error for an unexpected answer to r: err if it is nil or a failure that the server reported,
// and otherwise a [*DecodeError].
func answerError(r *request, err error) error {
	if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) {
		return err
	}
	return &DecodeError{What: r.String(), Err: err}
}

// send sends r and returns the body of the answer. If the server does not serve the path, and the kind now has another
// path because its CRD was replaced, send sends r to the new path.
func (c *REST) send(ctx context.Context, r *request) ([]byte, error) {
	body, err := c.conn.do(ctx, r)
	if !c.learn(r, err) {
		return body, err
	}
	moved, misfit := c.relocate(ctx, r)
	switch {
	case misfit != nil:
		return nil, misfit
	case moved:
		body, err = c.conn.do(ctx, r)
		c.learn(r, err)
	}
	return body, err
}
