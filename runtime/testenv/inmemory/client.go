package inmemory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kctrl-dev/kctrl/runtime/apiserver"
	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/configuration"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// ClientBuilder builds clients for tests of one function, in the form of controller-runtime's fake client. Each client has an API server
// in memory of its own, which starts nothing and has no sockets: it is gone when nobody holds the client. Make one by
// [NewClientBuilder]. It is used by one goroutine; a method returns the builder itself, which may build any number of clients.
//
// The server does what a real one does. Namespaces are made when something is put into them. A kind that has no definition, by
// [ClientBuilder.WithCRDs], is served with a schema that takes anything, as one of namespaces unless [ClientBuilder.WithRESTMapper]
// says otherwise. [ClientBuilder.AsGiven] leaves out the checks.
type ClientBuilder struct {
	scheme        *runtime.Scheme
	mapper        meta.RESTMapper
	objects       []runtime.Object
	statuses      []client.Object
	indexes       []fieldIndex
	calls         *client.Interceptor
	crds          []string
	asGiven       bool
	managedFields bool
}

// fieldIndex is a field that lists may select by.
type fieldIndex struct {
	prototype client.Object
	field     string
	values    cache.IndexerFunc
}

// NewClientBuilder returns a builder of clients for the built-in kinds.
func NewClientBuilder() *ClientBuilder { return &ClientBuilder{} }

// WithScheme sets the kinds that the client knows. Without it these are the built-in ones.
func (b *ClientBuilder) WithScheme(scheme *runtime.Scheme) *ClientBuilder {
	b.scheme = scheme
	return b
}

// WithRESTMapper says which resource and scope kinds without a definition have, and is what the client's RESTMapper returns.
func (b *ClientBuilder) WithRESTMapper(mapper meta.RESTMapper) *ClientBuilder {
	b.mapper = mapper
	return b
}

// WithObjects adds objects that there are when the client is built, as they are given: with status, UID, finalizers and times, that of a
// deletion included. They are not changed.
func (b *ClientBuilder) WithObjects(objects ...client.Object) *ClientBuilder {
	for _, obj := range objects {
		b.objects = append(b.objects, obj)
	}
	return b
}

// WithLists adds the items of lists, as WithObjects does.
func (b *ClientBuilder) WithLists(lists ...client.ObjectList) *ClientBuilder {
	for _, list := range lists {
		b.objects = append(b.objects, list)
	}
	return b
}

// WithRuntimeObjects adds objects, and the items of those that are lists, as WithObjects does.
func (b *ClientBuilder) WithRuntimeObjects(objects ...runtime.Object) *ClientBuilder {
	b.objects = append(b.objects, objects...)
	return b
}

// WithStatusSubresource says of which kinds without a definition the status is written by Status() alone. Built-in kinds that have a
// status are so always, others never.
func (b *ClientBuilder) WithStatusSubresource(objects ...client.Object) *ClientBuilder {
	b.statuses = append(b.statuses, objects...)
	return b
}

// WithIndex lets lists of the kind of prototype select by a field with [client.MatchingFields], as [cache.Cache.IndexField] does.
func (b *ClientBuilder) WithIndex(prototype client.Object, field string, values cache.IndexerFunc) *ClientBuilder {
	b.indexes = append(b.indexes, fieldIndex{prototype, field, values})
	return b
}

// WithInterceptorFuncs puts functions before the calls of the client, see [client.Intercept].
func (b *ClientBuilder) WithInterceptorFuncs(calls client.Interceptor) *ClientBuilder {
	b.calls = &calls
	return b
}

// WithCRDs installs the CustomResourceDefinitions in files and folders.
func (b *ClientBuilder) WithCRDs(paths ...string) *ClientBuilder {
	b.crds = append(b.crds, paths...)
	return b
}

// AsGiven makes the client take and return objects as controller-runtime's fake client does: nothing is checked and nothing is given a
// default, a UID or a time of creation; objects may lack what their kind requires, and a namespace; and what is read has no
// apiVersion, kind and managedFields if it is of a Go type. Resource versions are those of that client: an object that is created has 1,
// one that the client begins with 999 or its own, which it is told, and each change counts one up. It is for tests that were written
// for that client.
func (b *ClientBuilder) AsGiven() *ClientBuilder {
	b.asGiven = true
	return b
}

// WithReturnManagedFields leaves managedFields in what is read by a client [ClientBuilder.AsGiven], as they are in what others read.
func (b *ClientBuilder) WithReturnManagedFields() *ClientBuilder {
	b.managedFields = true
	return b
}

// Build returns a client, and panics when there is an object that cannot be stored.
func (b *ClientBuilder) Build() client.WithWatch {
	c, err := b.build(context.Background())
	if err != nil {
		panic(fmt.Errorf("build a client: %w", err))
	}
	if b.calls != nil {
		return client.Intercept(c, *b.calls).(client.WithWatch)
	}
	return c
}

func (b *ClientBuilder) build(ctx context.Context) (*fakeClient, error) {
	server := apiserver.New(apiserver.Options{Unchecked: b.asGiven})
	scheme := b.scheme
	if scheme == nil {
		scheme = apiserver.BuiltinScheme()
	}
	if err := install(server, b.crds); err != nil {
		return nil, err
	}
	mapper, err := newOpenMapper(server, scheme, b.mapper)
	if err != nil {
		return nil, err
	}
	live, err := client.New(server.Config(), client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, err
	}
	c := &fakeClient{WithWatch: live, server: server, mapper: mapper, given: b.mapper, asGiven: b.asGiven, managedFields: b.managedFields, indexes: map[schema.GroupKind]map[string]cache.IndexerFunc{}}
	for _, obj := range b.statuses {
		kind, err := object.GVK(obj, scheme)
		if err != nil {
			return nil, err
		}
		mapper.statuses[kind.GroupKind()] = true
	}
	for _, index := range b.indexes {
		kind, err := object.GVK(index.prototype, scheme)
		if err != nil {
			return nil, err
		}
		if c.indexes[kind.GroupKind()] == nil {
			c.indexes[kind.GroupKind()] = map[string]cache.IndexerFunc{}
		}
		c.indexes[kind.GroupKind()][index.field] = index.values
	}
	for _, obj := range b.objects {
		if err := c.put(ctx, obj); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// install installs definitions.
func install(server *apiserver.Server, paths []string) (err error) {
	if len(paths) == 0 {
		return nil
	}
	t := newSuite()
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = failed.error
		}
		err = errors.Join(err, t.end())
	}()
	testenv.Attach(t, server.Config(), testenv.WithCRDs(paths...))
	return nil
}

// openMapper knows where kinds are served, and has those served that are not.
type openMapper struct {
	*client.Mapper
	live     client.Client
	scheme   *runtime.Scheme
	given    meta.RESTMapper // nil if the author gave none
	statuses map[schema.GroupKind]bool
	mu       sync.Mutex // held while a kind is defined
}

func newOpenMapper(server *apiserver.Server, scheme *runtime.Scheme, given meta.RESTMapper) (*openMapper, error) {
	served, err := client.NewMapper(server.Config(), nil)
	if err != nil {
		return nil, err
	}
	live, err := client.New(server.Config(), client.Options{Scheme: runtime.NewScheme(), Mapper: served})
	if err != nil {
		return nil, err
	}
	return &openMapper{Mapper: served, live: live, scheme: scheme, given: given, statuses: map[schema.GroupKind]bool{}}, nil
}

// RESTMapping implements [meta.RESTMapper].
func (m *openMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return m.RESTMappingWithContext(context.Background(), kind, versions...)
}

// RESTMappingWithContext implements meta.RESTMapperWithContext.
func (m *openMapper) RESTMappingWithContext(ctx context.Context, kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := m.Mapper.RESTMappingWithContext(ctx, kind, versions...)
	if !meta.IsNoMatchError(err) || len(versions) == 0 {
		return mapping, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.define(ctx, kind.WithVersion(versions[0])); err != nil {
		return nil, fmt.Errorf("serve %s: %w", kind, err)
	}
	m.Mapper.Reset()
	return m.Mapper.RESTMappingWithContext(ctx, kind, versions...)
}

// define has a kind served, in the versions that the scheme knows, with a schema that takes anything.
func (m *openMapper) define(ctx context.Context, kind schema.GroupVersionKind) error {
	plural, singular := meta.UnsafeGuessKindToResource(kind)
	scope := "Namespaced"
	if m.given != nil {
		if mapping, err := m.given.RESTMapping(kind.GroupKind(), kind.Version); err == nil {
			plural = mapping.Resource
			if mapping.Scope.Name() == meta.RESTScopeNameRoot {
				scope = "Cluster"
			}
		}
	}
	names := []string{kind.Version}
	for known := range m.scheme.AllKnownTypes() {
		if known.GroupKind() == kind.GroupKind() && known.Version != runtime.APIVersionInternal && !slices.Contains(names, known.Version) {
			names = append(names, known.Version)
		}
	}
	slices.Sort(names[1:])
	var versions []any
	for i, name := range names {
		version := map[string]any{
			"name": name, "served": true, "storage": i == 0,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		}
		if m.statuses[kind.GroupKind()] {
			version["subresources"] = map[string]any{"status": map[string]any{}}
		}
		versions = append(versions, version)
	}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name": plural.Resource + "." + kind.Group, "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, of a test"},
		},
		"spec": map[string]any{
			"group": kind.Group, "scope": scope, "versions": versions,
			"names": map[string]any{"kind": kind.Kind, "listKind": kind.Kind + "List", "plural": plural.Resource, "singular": singular.Resource},
		},
	}}
	err := m.live.Create(ctx, crd)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return m.live.Patch(ctx, crd, client.RawPatch("application/json-patch+json", []byte(fmt.Sprintf(
		`[{"op":"add","path":"/spec/versions/-","value":{"name":%q,"served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}]`, kind.Version))))
}

// fakeClient is a client with its server.
type fakeClient struct {
	client.WithWatch
	server        *apiserver.Server
	mapper        *openMapper
	given         meta.RESTMapper
	asGiven       bool
	managedFields bool // are shown
	indexes       map[schema.GroupKind]map[string]cache.IndexerFunc
	spaces        sync.Map // of namespaces that there are
}

// begun is the resource version of objects that a client as given begins with, unless they have one: that of controller-runtime's.
const begun = "999"

// nowhere is the namespace of objects that have none although their kind asks for one.
const nowhere = "kctrl-no-namespace"

// RESTMapper returns what the author has given, or what tells the kinds that are served.
func (c *fakeClient) RESTMapper() meta.RESTMapper {
	if c.given != nil {
		return c.given
	}
	return c.mapper.Mapper
}

// put stores an object, or the items of a list, as they are given.
func (c *fakeClient) put(ctx context.Context, obj runtime.Object) error {
	if meta.IsListType(obj) {
		return meta.EachListItem(obj, func(item runtime.Object) error { return c.put(ctx, item) })
	}
	kind, err := object.GVK(obj, c.Scheme())
	if err != nil {
		return err
	}
	content, err := configuration.Map(obj)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	switch {
	case mapping.Scope.Name() == meta.RESTScopeNameRoot:
		u.SetNamespace("")
	case u.GetNamespace() == "" && c.asGiven:
		u.SetNamespace(nowhere)
	default:
		if err := c.ensureNamespace(ctx, u.GetNamespace()); err != nil {
			return err
		}
	}
	if c.asGiven && u.GetResourceVersion() == "" {
		u.SetResourceVersion(begun)
	}
	if err := c.server.Put(ctx, mapping.Resource, u); err != nil {
		return fmt.Errorf("%s %s: %w", kind.Kind, object.KeyOf(u), err)
	}
	if !c.asGiven {
		return nil
	}
	return c.tellVersion(ctx, obj, u)
}

// tellVersion gives an object the resource version that it is stored with, as controller-runtime's fake client does: a test may update it.
func (c *fakeClient) tellVersion(ctx context.Context, obj runtime.Object, stored *unstructured.Unstructured) error {
	given, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if err := c.WithWatch.Get(ctx, object.KeyOf(stored), stored); err != nil {
		return fmt.Errorf("%s %s: %w", stored.GetKind(), object.KeyOf(stored), err)
	}
	given.SetResourceVersion(stored.GetResourceVersion())
	return nil
}

// ensureNamespace makes a namespace that is not there, once.
func (c *fakeClient) ensureNamespace(ctx context.Context, name string) error {
	if name == "" || c.asGiven {
		return nil
	}
	if _, known := c.spaces.Load(name); known {
		return nil
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	if err := c.mapper.live.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	c.spaces.Store(name, true)
	return nil
}

// in brings an object to what the server wants. What is returned is to be called with the error of the call, and brings it back.
func (c *fakeClient) in(ctx context.Context, obj client.Object) (out func(error) error, err error) {
	namespaced, err := c.IsObjectNamespaced(obj)
	switch known := err == nil; { // of what is not, the call itself says what is wrong
	case known && namespaced && !c.asGiven:
		err = c.ensureNamespace(ctx, obj.GetNamespace())
	case known && namespaced && obj.GetNamespace() == "":
		obj.SetNamespace(nowhere)
		fallthrough
	default:
		err = nil
	}
	return func(err error) error {
		if err == nil {
			c.shown(obj)
		} else if obj.GetNamespace() == nowhere {
			obj.SetNamespace("")
		}
		return c.failed(err)
	}, err
}

// shown brings an object to what the client shows.
func (c *fakeClient) shown(obj client.Object) {
	if !c.asGiven {
		return
	}
	if obj.GetNamespace() == nowhere {
		obj.SetNamespace("")
	}
	if obj.GetUID() == apiserver.NoUID {
		obj.SetUID("")
	}
	if !c.managedFields {
		obj.SetManagedFields(nil)
	}
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
	default:
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

func (c *fakeClient) Get(ctx context.Context, key object.Key, obj object.Object, opts ...client.GetOption) error {
	ctx = given(ctx)
	if c.asGiven {
		if err := c.named(obj, key.Name); err != nil {
			return err
		}
		if namespaced, err := c.IsObjectNamespaced(obj); err == nil && namespaced && key.Namespace == "" {
			key.Namespace = nowhere
		}
		opts = slices.DeleteFunc(slices.Clone(opts), func(opt client.GetOption) bool { return opt == nil })
	}
	err := c.WithWatch.Get(ctx, key, obj, opts...)
	if err == nil {
		c.shown(obj)
	}
	return c.failed(err)
}

// given is the context of a call: a test that leaves it out gets one.
func given(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// named is the error of a call for an object without a name, which is not there.
func (c *fakeClient) named(obj runtime.Object, name string) error {
	if name != "" {
		return nil
	}
	kind, err := object.GVK(obj, c.Scheme())
	if err != nil {
		return err
	}
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	return apierrors.NewNotFound(mapping.Resource.GroupResource(), "")
}

// failed is what a client shows of an error: that of the scheme alone, which [runtime.IsNotRegisteredError] knows, where objects are as
// they are given.
func (c *fakeClient) failed(err error) error {
	if cause := errors.Unwrap(err); c.asGiven && (runtime.IsNotRegisteredError(cause) || runtime.IsMissingKind(cause)) {
		return cause
	}
	return err
}

// List selects by the indexes itself.
func (c *fakeClient) List(ctx context.Context, list object.List, opts ...client.ListOption) error {
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
	ctx = given(ctx)
	if err := c.WithWatch.List(ctx, list, &o); err != nil {
		return c.failed(err)
	}
	var kept []runtime.Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if obj := item.(client.Object); selects(wanted, obj) {
			c.shown(obj)
			kept = append(kept, item)
		}
		return nil
	})
	if err == nil && c.asGiven {
		list.SetResourceVersion("")
		if _, isUnstructured := list.(runtime.Unstructured); !isUnstructured {
			list.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		}
	}
	if err != nil || len(wanted) == 0 {
		return err
	}
	return meta.SetList(list, kept)
}

// condition is that an index has a value, or has not.
type condition struct {
	values cache.IndexerFunc
	value  string
	not    bool
}

func selects(wanted []condition, obj client.Object) bool {
	return !slices.ContainsFunc(wanted, func(w condition) bool { return slices.Contains(w.values(obj), w.value) == w.not })
}

// split takes what is asked of indexes out of a selector.
func (c *fakeClient) split(kind schema.GroupVersionKind, selector fields.Selector) (wanted []condition, others fields.Selector) {
	if selector == nil || selector.Empty() {
		return nil, selector
	}
	for _, r := range selector.Requirements() {
		values := c.indexes[kind.GroupKind()][r.Field]
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

func (c *fakeClient) Create(ctx context.Context, obj object.Object, opts ...client.CreateOption) error {
	ctx = given(ctx)
	out, err := c.in(ctx, obj)
	if err != nil {
		return err
	}
	return out(c.WithWatch.Create(ctx, obj, opts...))
}

func (c *fakeClient) Update(ctx context.Context, obj object.Object, opts ...client.UpdateOption) error {
	ctx = given(ctx)
	if c.asGiven {
		if err := c.named(obj, obj.GetName()); err != nil {
			return err
		}
	}
	out, err := c.in(ctx, obj)
	if err != nil {
		return err
	}
	return out(c.WithWatch.Update(ctx, obj, opts...))
}

func (c *fakeClient) Patch(ctx context.Context, obj object.Object, patch client.Patch, opts ...client.PatchOption) error {
	ctx = given(ctx)
	out, err := c.in(ctx, obj)
	if err != nil {
		return err
	}
	return out(c.WithWatch.Patch(ctx, obj, patch, opts...))
}

func (c *fakeClient) Apply(ctx context.Context, obj object.Object, opts ...client.ApplyOption) error {
	ctx = given(ctx)
	out, err := c.in(ctx, obj)
	if err != nil {
		return err
	}
	return out(c.WithWatch.Apply(ctx, obj, opts...))
}

func (c *fakeClient) Delete(ctx context.Context, obj object.Object, opts ...client.DeleteOption) error {
	ctx = given(ctx)
	if c.asGiven {
		if err := c.named(obj, obj.GetName()); err != nil {
			return err
		}
	}
	out, err := c.in(ctx, obj)
	if err != nil {
		return err
	}
	if c.asGiven {
		var o client.DeleteOptions
		for _, opt := range opts {
			opt.ApplyToDelete(&o)
		}
		o.PropagationPolicy = waitsForNobody
		opts = []client.DeleteOption{&o}
	}
	return out(c.WithWatch.Delete(ctx, obj, opts...))
}

// waitsForNobody is how objects as given are deleted: else some would wait for a garbage collector, which is not there, to delete or orphan
// what they own.
const waitsForNobody = metav1.DeletePropagationBackground

// DeleteAllOf deletes in all namespaces what is in none that is named, if objects are as they are given.
func (c *fakeClient) DeleteAllOf(ctx context.Context, obj object.Object, opts ...client.DeleteAllOfOption) error {
	ctx = given(ctx)
	if !c.asGiven {
		return c.WithWatch.DeleteAllOf(ctx, obj, opts...)
	}
	var o client.DeleteAllOfOptions
	for _, opt := range opts {
		opt.ApplyToDeleteAllOf(&o)
	}
	o.DeleteOptions.PropagationPolicy = waitsForNobody
	namespaced, err := c.IsObjectNamespaced(obj)
	if err != nil || !namespaced || o.ListOptions.Namespace != "" {
		return c.failed(c.WithWatch.DeleteAllOf(ctx, obj, &o))
	}
	kind, err := object.GVK(obj, c.Scheme())
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, list, &o.ListOptions); err != nil {
		return err
	}
	for i := range list.Items {
		if err := c.Delete(ctx, &list.Items[i], &o.DeleteOptions); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func (c *fakeClient) Watch(ctx context.Context, list object.List, opts ...client.ListOption) (client.Stream[object.Object], error) {
	ctx = given(ctx)
	events, err := c.WithWatch.Watch(ctx, list, opts...)
	if err != nil {
		return nil, err
	}
	return &fakeStream{events, c}, nil
}

// fakeStream shows the objects of a watch as the client does.
type fakeStream struct {
	client.Stream[object.Object]
	of *fakeClient
}

func (s *fakeStream) Next() (client.WatchEvent[object.Object], error) {
	event, err := s.Stream.Next()
	if err == nil && event.Object != nil {
		s.of.shown(event.Object)
	}
	return event, err
}

func (c *fakeClient) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c *fakeClient) SubResource(name string) client.SubResourceClient {
	return &fakeSubResource{c.WithWatch.SubResource(name), c, name}
}

// fakeSubResource is a subresource of the client's objects.
type fakeSubResource struct {
	client.SubResourceClient
	of   *fakeClient
	name string
}

// writer is what makes a subresource, such as a TokenRequest, which need not be in the scheme where objects are as they are given.
func (s *fakeSubResource) writer(sub object.Object) client.SubResourceClient {
	if _, err := object.GVK(sub, s.of.Scheme()); err == nil || !s.of.asGiven {
		return s.SubResourceClient
	}
	builtin, err := client.New(s.of.server.Config(), client.Options{Scheme: apiserver.BuiltinScheme(), Mapper: s.of.mapper})
	if err != nil {
		return s.SubResourceClient
	}
	return builtin.SubResource(s.name)
}

func (s *fakeSubResource) Get(ctx context.Context, obj, sub object.Object, opts ...client.GetOption) error {
	ctx = given(ctx)
	out, err := s.of.in(ctx, obj)
	if err != nil {
		return err
	}
	return out(s.SubResourceClient.Get(ctx, obj, sub, opts...))
}

func (s *fakeSubResource) Create(ctx context.Context, obj, sub object.Object, opts ...client.CreateOption) error {
	ctx = given(ctx)
	out, err := s.of.in(ctx, obj)
	if err != nil {
		return err
	}
	return out(s.writer(sub).Create(ctx, obj, sub, opts...))
}

func (s *fakeSubResource) Update(ctx context.Context, obj object.Object, opts ...client.UpdateOption) error {
	ctx = given(ctx)
	out, err := s.of.in(ctx, obj)
	if err != nil {
		return err
	}
	return out(s.SubResourceClient.Update(ctx, obj, opts...))
}

func (s *fakeSubResource) Patch(ctx context.Context, obj object.Object, patch client.Patch, opts ...client.PatchOption) error {
	ctx = given(ctx)
	out, err := s.of.in(ctx, obj)
	if err != nil {
		return err
	}
	return out(s.SubResourceClient.Patch(ctx, obj, patch, opts...))
}

func (s *fakeSubResource) Apply(ctx context.Context, obj object.Object, opts ...client.ApplyOption) error {
	ctx = given(ctx)
	out, err := s.of.in(ctx, obj)
	if err != nil {
		return err
	}
	return out(s.SubResourceClient.Apply(ctx, obj, opts...))
}
