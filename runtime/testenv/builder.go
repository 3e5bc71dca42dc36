package testenv

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/testclient"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// ClientBuilder builds clients for tests of single functions. Use [NewClientBuilder] to create one. Each client has an
// in-memory API server of its own. The servers run in the process that [Start] uses, and ignore [ServerVariable] and
// [KubeconfigVariable]. A server stops after its client has become unreachable, or at the latest when the test binary
// ends. Neither the builder nor a client works in a synctest bubble.
//
// The server validates objects as a real server does. It creates a namespace when an object is written into it. A kind
// without a definition is served with a schema that accepts any fields. Such a kind is namespaced unless
// [ClientBuilder.WithRESTMapper] specifies otherwise.
//
// A builder is not safe for concurrent use. Its methods return the builder itself. A builder can build several clients.
type ClientBuilder struct {
	builder
	crds []string
}

type builder = testclient.Builder[*ClientBuilder]

// NewClientBuilder returns a builder of clients for unstructured objects. [ClientBuilder.WithScheme] adds Go types.
func NewClientBuilder() *ClientBuilder {
	b := &ClientBuilder{}
	b.builder = testclient.NewBuilder(b, b.connect)
	return b
}

// WithCRDs installs the CustomResourceDefinitions in files and directories, as the option [WithCRDs] does.
func (b *ClientBuilder) WithCRDs(paths ...string) *ClientBuilder {
	b.crds = append(b.crds, paths...)
	return b
}

func (b *ClientBuilder) connect(opts testclient.Options, objects []runtime.Object) (client.WithWatch, error) {
	opts.Scheme = cmp.Or(opts.Scheme, runtime.NewScheme())
	built, err := testclient.New(opts)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if len(b.crds) > 0 {
		if err := createAll(ctx, built.Config, b.crds); err != nil {
			return nil, fmt.Errorf("install CRDs: %w", err)
		}
	}
	live, err := client.New(built.Config, client.Options{Scheme: runtime.NewScheme(), Mapper: built.Mapper,
		HTTPClient: built.HTTP})
	if err != nil {
		return nil, err
	}
	c := &builtClient{Client: built, live: live}
	for _, obj := range objects {
		if err := c.put(ctx, obj); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// builtClient creates the namespaces of the objects that it writes.
type builtClient struct {
	*testclient.Client
	live       *client.REST
	namespaces sync.Map // names of existing namespaces
}

// put stores an object, or the items of a list, unchanged.
func (c *builtClient) put(ctx context.Context, obj runtime.Object) error {
	if meta.IsListType(obj) {
		return meta.EachListItem(obj, func(item runtime.Object) error { return c.put(ctx, item) })
	}
	u, err := testclient.Unstructured(obj, c.Scheme())
	if err != nil {
		return err
	}
	kind := u.GroupVersionKind()
	mapping, err := c.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		u.SetNamespace("")
	} else if err := c.ensureNamespace(ctx, u.GetNamespace()); err != nil {
		return err
	}
	return c.Put(mapping.Resource, u)
}

// ensureNamespace creates a namespace if it does not exist.
func (c *builtClient) ensureNamespace(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	if _, known := c.namespaces.Load(name); known {
		return nil
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	if err := c.live.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	c.namespaces.Store(name, true)
	return nil
}

// ensureNamespaceOf creates the namespace of an object. For an unknown kind, the following call returns the error.
func (c *builtClient) ensureNamespaceOf(ctx context.Context, obj object.Object) error {
	if namespaced, err := c.IsObjectNamespaced(obj); err != nil || !namespaced {
		return nil
	}
	return c.ensureNamespace(ctx, obj.GetNamespace())
}

func (c *builtClient) Create(ctx context.Context, obj object.Object, opts ...client.CreateOption) error {
	if err := c.ensureNamespaceOf(ctx, obj); err != nil {
		return err
	}
	return c.Client.Create(ctx, obj, opts...)
}

func (c *builtClient) Update(ctx context.Context, obj object.Object, opts ...client.UpdateOption) error {
	if err := c.ensureNamespaceOf(ctx, obj); err != nil {
		return err
	}
	return c.Client.Update(ctx, obj, opts...)
}

func (c *builtClient) Patch(ctx context.Context, obj object.Object, patch client.Patch,
	opts ...client.PatchOption) error {
	if err := c.ensureNamespaceOf(ctx, obj); err != nil {
		return err
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}

func (c *builtClient) Apply(ctx context.Context, obj object.Object, opts ...client.ApplyOption) error {
	if err := c.ensureNamespaceOf(ctx, obj); err != nil {
		return err
	}
	return c.Client.Apply(ctx, obj, opts...)
}
