package client

import (
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

// Options are what a [REST] is made of. All but Scheme may be left out.
type Options struct {
	// Scheme tells the kinds of typed objects, and must be set. An empty one is good for unstructured and metadata-only
	// objects. There is no scheme that knows the built-in kinds by itself: it would bring the code of all their groups into
	// every program.
	Scheme *runtime.Scheme
	// HTTPClient sends the requests; nil makes one from the rest.Config, with its certificates, tokens and timeout.
	HTTPClient *http.Client
	// Mapper tells the resources of kinds; nil is a [Mapper] that asks the server.
	Mapper meta.RESTMapper
	// FieldOwner is the field owner of writes that do not name one. When it is empty the server derives one from the
	// user agent, and Apply needs [FieldOwner] on each call.
	FieldOwner string
	// Journal is told of every write, which is how caches in this process know what they have to catch up with. Clients
	// for one API server should share one; nil makes a new one.
	Journal *Journal
	// Logger gets the warnings that the server sends, each text once; nil is slog.Default().
	Logger *slog.Logger
}

// REST is a [Client] whose every call is a request to the API server. It is safe for concurrent use.
type REST struct {
	conn       *conn
	scheme     *runtime.Scheme
	mapper     meta.RESTMapper
	fieldOwner string
	journal    *Journal
}

var _ WithWatch = (*REST)(nil)

// errNoScheme is the error of a client that could not tell the kind of any Go type.
var errNoScheme = errors.New("client: Options.Scheme is nil: pass the scheme that the kinds of the program are registered with " +
	"(s := runtime.NewScheme(); corev1.AddToScheme(s); ...), or an empty one for unstructured and metadata-only objects alone")

// New returns a client for the API server of config. It makes no request, and fails only when config cannot be used or
// there is no scheme.
// The QPS, Burst and content type of config are not looked at: the server's own flow control decides, and all is JSON but
// what a [ListWatcher] reads.
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

// Scheme returns the scheme that tells the kinds of typed objects.
func (c *REST) Scheme() *runtime.Scheme { return c.scheme }

// RESTMapper returns what tells the resources of kinds.
func (c *REST) RESTMapper() meta.RESTMapper { return c.mapper }

// Get reads the object named key from the API server, see [Reader].
func (c *REST) Get(ctx context.Context, key object.Key, obj object.Object, opts ...GetOption) error {
	o, err := GetOptionsOf(opts...)
	if err != nil {
		return err
	}
	res, err := c.resourceOf(ctx, "get", key, obj)
	if err != nil {
		return err
	}
	r := &request{resource: res, wanted: key.Namespace, namespace: res.within(key.Namespace), name: key.Name}
	return c.get(ctx, r, o, obj, res.gvk)
}

// get finishes and sends a request for one object of kind gvk.
func (c *REST) get(ctx context.Context, r *request, o GetOptions, obj object.Object, gvk schema.GroupVersionKind) error {
	r.verb, r.method, r.query = "get", http.MethodGet, url.Values{}
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
	wanted := o.Namespace
	// Asked again for a namespace that is dropped: the list would be one of all namespaces.
	res, err := c.locate(ctx, gvk, func(res resource) error { return res.checkSurplus(wanted) })
	if err := ignoreSurplus(err); err != nil {
		return fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	o.Namespace = res.within(wanted)
	r := &request{
		verb: "list", method: http.MethodGet, resource: res, wanted: wanted, namespace: o.Namespace,
		query: o.query(), accept: accept(list),
	}
	if err := r.checkCollection(o); err != nil {
		return err
	}
	body, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	if err := decodeList(body, list, gvk.GroupVersion().WithKind(gvk.Kind+listSuffix), wire.Asked{GVK: res.gvk, Serves: c.serves(res.gvk.GroupVersion())}); err != nil {
		return answerError(r, err)
	}
	return nil
}

// checkCollection reports an error when a request for several objects cannot say what o asks for.
func (r *request) checkCollection(o ListOptions) error {
	if err := o.checkSelectors(); err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	if err := r.resource.checkSurplus(o.Namespace); err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	if err := checkSegments(o.Namespace); err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	return nil
}

// exchange sends r and sets obj to the object of kind gvk in the answer. What is posted may be an order and not an
// object, such as an eviction: then the answer is a Status and obj stays.
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
	switch _, bare := errors.AsType[*bareStatusError](err); {
	case bare && r.method == http.MethodPost:
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

// answerError is the error for an answer to r that is not what was asked for: what the server says of a failure, or that the
// answer cannot be read.
func answerError(r *request, err error) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return err
	}
	return &DecodeError{What: r.String(), Err: err}
}

// send sends r and returns the body of the answer. A server that does not serve the path has done nothing: if the kind
// is served at another path by now, as when its definition was replaced, r is sent there.
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
