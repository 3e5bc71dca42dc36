// Package client provides clients with controller-runtime's API. They send their requests through kctrl's client.
package client

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"

	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Options are the options of [New].
type Options struct {
	// HTTPClient sends the requests. Nil creates one from the configuration.
	HTTPClient *http.Client
	// Scheme has the Go types of the kinds. Nil means the scheme of client-go.
	Scheme *runtime.Scheme
	// Mapper maps kinds to resources. Nil means discovery on the server.
	Mapper meta.RESTMapper
	// Cache serves reads from a cache.
	Cache *CacheOptions
	// DryRun makes every write a dry run.
	DryRun *bool
	// FieldOwner is the default field owner of writes.
	FieldOwner string
	// FieldValidation is the default field validation of writes, which determines how the server treats unknown fields.
	FieldValidation string
	// Log is the logger of the client, a [logr.Logger].
	Log logger
}

// logger has the methods of a [logr.Logger]. As an interface, it lets go-cmp compare options without a logger. Options
// have none before v0.25, and tests of operators compare them.
type logger interface {
	Enabled() bool
	Error(err error, message string, pairs ...any)
	GetSink() logr.LogSink
	GetV() int
	Info(message string, pairs ...any)
	IsZero() bool
	V(level int) logr.Logger
	WithCallDepth(depth int) logr.Logger
	WithCallStackHelper() (func(), logr.Logger)
	WithName(name string) logr.Logger
	WithSink(sink logr.LogSink) logr.Logger
	WithValues(pairs ...any) logr.Logger
}

// CacheOptions select the reads that a cache serves.
type CacheOptions struct {
	// Reader is the cache.
	Reader Reader
	// DisableFor lists objects whose kinds are read from the server.
	DisableFor []Object
	// Unstructured makes reads of unstructured objects use the cache too.
	Unstructured bool
	// EnableReadYourWritesConsistency makes cached reads wait for earlier writes of this process. Nil means true.
	EnableReadYourWritesConsistency *bool
}

// NewClientFunc creates a client.
type NewClientFunc func(config *rest.Config, options Options) (Client, error)

// New returns a client of the server of config. It sends no request.
func New(config *rest.Config, options Options) (Client, error) {
	c, err := newClient(config, options)
	if err != nil {
		return nil, err
	}
	return decorate(c, options), nil
}

// decorate adds the default options to the writes of c.
func decorate(c Client, options Options) Client {
	if isTrue(options.DryRun) {
		c = NewDryRunClient(c)
	}
	if options.FieldOwner != "" {
		c = WithFieldOwner(c, options.FieldOwner)
	}
	if options.FieldValidation != "" {
		c = WithFieldValidation(c, FieldValidation(options.FieldValidation))
	}
	return c
}

func newClient(config *rest.Config, options Options) (*client, error) {
	if config == nil {
		return nil, errors.New("must provide non-nil rest.Config to client.New")
	}
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandlerWithContext = log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{})
	}
	if options.HTTPClient == nil {
		var err error
		if options.HTTPClient, err = rest.HTTPClientFor(config); err != nil {
			return nil, err
		}
	}
	if options.Scheme == nil {
		options.Scheme = scheme.Scheme
	}
	if options.Mapper == nil {
		var err error
		if options.Mapper, err = apiutil.NewDynamicRESTMapper(config, options.HTTPClient); err != nil {
			return nil, err
		}
	}
	logTo := log.Log.WithName("client")
	if options.Log != nil && !options.Log.IsZero() {
		logTo = options.Log.V(0)
	}
	c := &client{}
	if err := c.cacheReads(options); err != nil {
		return nil, err
	}
	live, err := kclient.New(config, kclient.Options{
		Scheme: options.Scheme, Mapper: options.Mapper, Logger: logf.Slog(logTo),
		HTTPClient: limited(withQueryTransport(CountRequests(options.HTTPClient)), config),
		Journal:    c.journal(),
	})
	if err != nil {
		return nil, err
	}
	c.live = live
	for _, obj := range c.disableFor {
		gvk, err := live.GroupVersionKindFor(obj)
		if err != nil {
			return nil, err
		}
		c.uncached[gvk] = struct{}{}
	}
	return c, nil
}

// limited returns a client like c whose requests wait for the rate limit of config, if it has one.
func limited(c *http.Client, config *rest.Config) *http.Client {
	limiter := config.RateLimiter
	if limiter == nil && config.QPS > 0 {
		limiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, max(1, config.Burst))
	}
	if limiter == nil {
		return c
	}
	wrapped := *c
	wrapped.Transport = limitedTransport{c.Transport, limiter}
	return &wrapped
}

// limitedTransport makes requests wait for a rate limiter.
type limitedTransport struct {
	next    http.RoundTripper
	limiter flowcontrol.RateLimiter
}

// RoundTrip implements http.RoundTripper.
func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.limiter.Wait(r.Context()); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper returns the next transport.
func (t limitedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// client is a client of one server that can read from a cache.
type client struct {
	live         kclient.WithWatch
	cache        Reader // nil without a cache
	disableFor   []Object
	uncached     map[schema.GroupVersionKind]struct{}
	unstructured bool // unstructured objects are cached
	stale        bool // cached reads do not wait for writes
}

var _ Client = (*client)(nil)

func (c *client) cacheReads(options Options) error {
	c.uncached = map[schema.GroupVersionKind]struct{}{}
	if options.Cache == nil || options.Cache.Reader == nil {
		return nil
	}
	c.cache, c.unstructured, c.disableFor = options.Cache.Reader, options.Cache.Unstructured, options.Cache.DisableFor
	enabled := options.Cache.EnableReadYourWritesConsistency
	c.stale = enabled != nil && !*enabled
	if isTrue(enabled) && c.journal() == nil {
		return errors.New("the cache reader is not a cache of this module and cannot provide ReadYourWritesConsistency")
	}
	return nil
}

// journal returns the journal of the cache, or nil.
func (c *client) journal() *kclient.Journal {
	if follows, ok := c.cache.(interface{ Journal() *kclient.Journal }); ok {
		return follows.Journal()
	}
	return nil
}

// Kctrl returns kctrl's client of the server, for code that has been migrated to kctrl's API.
func (c *client) Kctrl() kclient.WithWatch { return c.live }

// isLive reports whether obj, an object or a list, is read from the server.
func (c *client) isLive(obj runtime.Object) (bool, error) {
	if c.cache == nil {
		return true, nil
	}
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return false, err
	}
	if meta.IsListType(obj) {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	if _, uncached := c.uncached[gvk]; uncached {
		return true, nil
	}
	_, isUnstructured := obj.(runtime.Unstructured)
	return isUnstructured && !c.unstructured, nil
}

// Scheme implements [Client].
func (c *client) Scheme() *runtime.Scheme { return c.live.Scheme() }

// RESTMapper implements [Client].
func (c *client) RESTMapper() meta.RESTMapper { return c.live.RESTMapper() }

// GroupVersionKindFor implements [Client].
func (c *client) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, c.live.Scheme())
}

// IsObjectNamespaced implements [Client].
func (c *client) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(obj, c.live.Scheme(), c.live.RESTMapper())
}

// Get implements [Reader].
func (c *client) Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error {
	isLive, err := c.isLive(obj)
	if err != nil {
		return err
	}
	if !isLive {
		if c.stale {
			opts = append([]GetOption{DisableReadYourWritesConsistency}, opts...)
		}
		return c.cache.Get(ctx, key, obj, opts...)
	}
	ctx, o, err := new(GetOptions).ApplyOptions(opts).convert(ctx)
	if err != nil {
		return err
	}
	return c.fill(obj, func() error { return c.live.Get(ctx, key, obj, o) })
}

// List implements [Reader].
func (c *client) List(ctx context.Context, list ObjectList, opts ...ListOption) error {
	isLive, err := c.isLive(list)
	if err != nil {
		return err
	}
	if !isLive {
		if c.stale {
			opts = append([]ListOption{DisableReadYourWritesConsistency}, opts...)
		}
		return c.cache.List(ctx, list, opts...)
	}
	ctx, o, err := new(ListOptions).ApplyOptions(opts).convert(ctx)
	if err != nil {
		return err
	}
	return c.fill(list, func() error { return c.live.List(ctx, list, withoutNothing(o)) })
}

// Create implements [Writer].
func (c *client) Create(ctx context.Context, obj Object, opts ...CreateOption) error {
	ctx, o, err := new(CreateOptions).ApplyOptions(opts).convert(ctx)
	if err != nil {
		return err
	}
	return c.fill(obj, func() error { return c.live.Create(ctx, obj, o) })
}

// Update implements [Writer].
func (c *client) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	ctx, o, err := new(UpdateOptions).ApplyOptions(opts).convert(ctx)
	if err != nil {
		return err
	}
	return c.call(obj, func() error { return c.live.Update(ctx, obj, o) })
}

// Patch implements [Writer].
func (c *client) Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error {
	ctx, o, err := new(PatchOptions).ApplyOptions(opts).convert(ctx)
	if err != nil {
		return err
	}
	err = c.call(obj, func() error { return c.live.Patch(ctx, obj, patch, o) })
	return c.unscoped(err, http.StatusNotFound, obj, obj.GetNamespace())
}

// Delete implements [Writer].
func (c *client) Delete(ctx context.Context, obj Object, opts ...DeleteOption) error {
	ctx, o, err := new(DeleteOptions).ApplyOptions(opts).convert(ctx)
	if err != nil {
		return err
	}
	return c.call(obj, func() error { return c.live.Delete(ctx, obj, o) })
}

// DeleteAllOf implements [Writer].
func (c *client) DeleteAllOf(ctx context.Context, obj Object, opts ...DeleteAllOfOption) error {
	all := new(DeleteAllOfOptions).ApplyOptions(opts)
	ctx, selection, err := all.ListOptions.convert(ctx)
	if err != nil {
		return err
	}
	ctx, deletion, err := all.DeleteOptions.convert(ctx)
	if err != nil {
		return err
	}
	o := &kclient.DeleteAllOfOptions{ListOptions: *selection, DeleteOptions: *deletion}
	err = c.call(obj, func() error { return c.live.DeleteAllOf(ctx, obj, o) })
	return c.unscoped(err, http.StatusMethodNotAllowed, obj, all.Namespace)
}

// unscoped returns err, or the status with the given code if err means that a namespaced object lacks a namespace.
// kctrl's client does not send such a request. controller-runtime sends some of them, and programs check the status.
func (c *client) unscoped(err error, code int, obj Object, namespace string) error {
	if status := apierrors.APIStatus(nil); err == nil || namespace != "" || errors.As(err, &status) {
		return err
	}
	if code == http.StatusNotFound && obj.GetName() == "" {
		return err // controller-runtime does not send such a request either
	}
	if namespaced, unknown := c.IsObjectNamespaced(obj); unknown != nil || !namespaced {
		return err
	}
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", err.Error(), 0, true)
}

// call calls f, which sends obj to the server. It restores the apiVersion and the kind of obj.
func (c *client) call(obj runtime.Object, f func() error) error {
	kind := obj.GetObjectKind()
	before := kind.GroupVersionKind()
	if err := c.known(obj, f); err != nil {
		return err
	}
	kind.SetGroupVersionKind(before)
	return nil
}

// known calls f if obj has a kind. It does not wrap errors about the kind, because programs check their types.
func (c *client) known(obj runtime.Object, f func() error) error {
	if _, err := c.GroupVersionKindFor(obj); err != nil {
		return err
	}
	return unwrapUnknown(f())
}

// unwrapUnknown returns the error for a kind that the server does not have, if err wraps one.
func unwrapUnknown(err error) error {
	if unknown, ok := errors.AsType[*meta.NoKindMatchError](err); ok {
		return unknown
	}
	return err
}

// fill calls f, which sets obj to the server's answer. As in controller-runtime, a typed object and the items of a
// typed list then have no apiVersion and no kind, and a list of metadata keeps its kind.
func (c *client) fill(obj runtime.Object, f func() error) error {
	kind := obj.GetObjectKind()
	before := kind.GroupVersionKind()
	if err := c.known(obj, f); err != nil {
		return err
	}
	if !isTyped(obj) {
		if _, ok := obj.(runtime.Unstructured); !ok {
			kind.SetGroupVersionKind(before)
		}
		return nil
	}
	kind.SetGroupVersionKind(schema.GroupVersionKind{})
	if _, isList := obj.(ObjectList); !isList {
		return nil
	}
	return meta.EachListItem(obj, func(item runtime.Object) error {
		item.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return nil
	})
}
