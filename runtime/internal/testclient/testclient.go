// Package testclient creates clients for tests of single functions. Each client has an API server of its own, in the
// process of package testhost. The server stops after the client has become unreachable.
package testclient

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/configuration"
	"github.com/kctrl-dev/kctrl/runtime/internal/testhost"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Options are the options of client builders.
type Options struct {
	// Scheme has the Go types of kinds. It is required.
	Scheme *runtime.Scheme
	// Mapper specifies the resources and scopes of kinds that have no definition, and is the mapper of the client. If it
	// is nil, these kinds are namespaced.
	Mapper meta.RESTMapper
	// Statuses contains an object of each kind that has no definition but has the status subresource.
	Statuses []object.Object
	// Indexes are additional fields by which lists can select objects.
	Indexes []Index
}

// Index is a field by which lists of a kind can select objects.
type Index struct {
	Prototype object.Object
	Field     string
	Values    func(object.Object) []string
}

// Client is a client with its own server, which serves undefined kinds with a schema that accepts any fields.
type Client struct {
	client.WithWatch
	// Config is the configuration of the server. It does not keep the server alive.
	Config *rest.Config
	// HTTP sends requests to the server, and keeps it alive.
	HTTP *http.Client
	// Mapper maps all kinds.
	Mapper  meta.RESTMapper
	server  *testhost.Server
	shown   meta.RESTMapper // returned by RESTMapper
	indexes map[indexed]func(object.Object) []string
}

// indexed is a field of a kind.
type indexed struct {
	kind  schema.GroupKind
	field string
}

// New returns a client whose server is empty.
func New(opts Options) (*Client, error) {
	server, err := testhost.Start(nil)
	if err != nil {
		return nil, fmt.Errorf("start an API server: %w", err)
	}
	config := server.Config()
	http, err := server.OwningClient()
	if err != nil {
		return nil, err
	}
	mapper, err := newOpenMapper(config, http, opts.Scheme, opts.Mapper)
	if err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{Scheme: opts.Scheme, Mapper: mapper, HTTPClient: http})
	if err != nil {
		return nil, err
	}
	c := &Client{
		WithWatch: live, Config: config, HTTP: http, Mapper: mapper, server: server,
		shown: cmp.Or[meta.RESTMapper](opts.Mapper, mapper.Mapper), indexes: map[indexed]func(object.Object) []string{},
	}
	for _, obj := range opts.Statuses {
		kind, err := object.GVK(obj, opts.Scheme)
		if err != nil {
			return nil, err
		}
		mapper.statuses[kind.GroupKind()] = true
	}
	for _, index := range opts.Indexes {
		kind, err := object.GVK(index.Prototype, opts.Scheme)
		if err != nil {
			return nil, err
		}
		c.indexes[indexed{kind.GroupKind(), index.Field}] = index.Values
	}
	return c, nil
}

// RESTMapper returns the mapper of the options or, if that is nil, a mapper of the served kinds.
func (c *Client) RESTMapper() meta.RESTMapper { return c.shown }

// Unstructured returns a copy of an object with its kind.
func Unstructured(obj runtime.Object, scheme *runtime.Scheme) (*unstructured.Unstructured, error) {
	kind, err := object.GVK(obj, scheme)
	if err != nil {
		return nil, err
	}
	content, err := configuration.Map(obj)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// Put stores an object unchanged, see [testhost.Server.Put].
func (c *Client) Put(resource schema.GroupVersionResource, u *unstructured.Unstructured) error {
	if err := c.server.Put(resource, u); err != nil {
		return fmt.Errorf("%s %s: %w", u.GetKind(), object.KeyOf(u), err)
	}
	return nil
}

// List applies the selectors for indexes itself, and passes other selectors to the server.
func (c *Client) List(ctx context.Context, list object.List, opts ...client.ListOption) error {
	o, err := client.ListOptionsOf(opts...)
	if err != nil {
		return err
	}
	kind, err := object.GVK(list, c.Scheme())
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	wanted, others := c.split(kind, o.FieldSelector)
	o.FieldSelector = others
	if err := c.WithWatch.List(ctx, list, &o); err != nil || len(wanted) == 0 {
		return err
	}
	var kept []runtime.Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		obj := item.(object.Object)
		if !slices.ContainsFunc(wanted, func(c condition) bool { return slices.Contains(c.values(obj), c.value) == c.not }) {
			kept = append(kept, item)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return meta.SetList(list, kept)
}

// condition requires that an index has a value, or that it does not have it.
type condition struct {
	values func(object.Object) []string
	value  string
	not    bool
}

// split returns the requirements of a selector that concern indexes, and a selector with the remaining requirements.
func (c *Client) split(kind schema.GroupVersionKind,
	selector fields.Selector) (wanted []condition, others fields.Selector) {
	if selector == nil || selector.Empty() {
		return nil, selector
	}
	for _, r := range selector.Requirements() {
		values := c.indexes[indexed{kind.GroupKind(), r.Field}]
		switch {
		case values != nil:
			wanted = append(wanted, condition{values, r.Value, r.Operator == selection.NotEquals})
		case r.Operator == selection.NotEquals:
			others = and(others, fields.OneTermNotEqualSelector(r.Field, r.Value))
		default:
			others = and(others, fields.OneTermEqualSelector(r.Field, r.Value))
		}
	}
	return wanted, others
}

func and(a, b fields.Selector) fields.Selector {
	if a == nil {
		return b
	}
	return fields.AndSelectors(a, b)
}
