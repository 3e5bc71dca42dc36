package cache

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/internal/partial"
	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// KindOptions configure the cache of one kind: which objects are cached, and which of their fields. Zero fields,
// including the fields of the scope, default to [Options]. Reads do not find objects that the selectors exclude.
type KindOptions struct {
	// Object identifies the kind. It is a typed object, or an unstructured or metadata-only object with its kind set.
	Object object.Object
	// Scope selects which objects are cached, and which of their fields. Its Namespace must be one of Namespaces.
	// labels.Everything() and fields.Everything() override selectors of Options. If Mask is set, cached objects are
	// incomplete: change them with Patch or Apply. They are marked, see [object.Mask], and an Update of such an object or
	// of its copy fails with a [*client.MaskedError]. Reads with [client.Live] return complete objects.
	client.Scope
	// Namespaces override the namespaces of the cache; "" means all.
	Namespaces []string
	// ByNamespace overrides Scope in single namespaces, as Scope overrides Options. Its keys are cached in addition to
	// Namespaces. If the map has other keys, the key "" means all namespaces that are not keys.
	ByNamespace map[string]client.Scope
	// Unpacked keeps the objects as Go values, see [Options].Unpacked.
	Unpacked bool
	// Transform is called for each object before it is cached. It may modify the object, except its namespace, name, UID
	// and resource version.
	Transform func(object.Object) (object.Object, error)
}

// optionsOf returns the options of a kind, with defaults from the cache's options.
func (c *Cache) optionsOf(gvk schema.GroupVersionKind) (KindOptions, error) {
	var opts KindOptions
	for _, of := range c.opts.ByKind {
		kind, err := object.GVK(of.Object, c.live.Scheme())
		if err != nil {
			return KindOptions{}, fmt.Errorf("ByKind: %w", err)
		}
		if kind == gvk {
			opts = of
			break
		}
	}
	if opts.Namespace != "" {
		opts.Namespaces = append(slices.Clip(opts.Namespaces), opts.Namespace)
	}
	opts.Namespaces = withKeys(opts.Namespaces, opts.ByNamespace)
	if err := errors.Join(
		oneOrAll(opts.cachedNamespaces() == nil, opts.ByNamespace),
		oneOrAll(c.everywhere, c.opts.ByNamespace),
	); err != nil {
		return KindOptions{}, err
	}
	opts.Unpacked = opts.Unpacked || c.opts.Unpacked
	return opts, nil
}

// withKeys returns namespaces and the keys of scopes.
func withKeys(namespaces []string, scopes map[string]client.Scope) []string {
	return slices.AppendSeq(slices.Clip(namespaces), maps.Keys(scopes))
}

// oneOrAll returns an error if scopes has single namespaces although all are cached together, or if the Namespace of a
// scope differs from its key.
func oneOrAll(together bool, scopes map[string]client.Scope) error {
	for _, namespace := range slices.Sorted(maps.Keys(scopes)) {
		if namespace != metav1.NamespaceAll && together {
			return fmt.Errorf("ByNamespace has a scope of namespace %s, but all namespaces are cached together; name each "+
				"that is to be cached", namespace)
		}
		if other := scopes[namespace].Namespace; other != "" && other != namespace {
			return fmt.Errorf("ByNamespace has a scope of namespace %s for namespace %s", other, namespace)
		}
	}
	return nil
}

// cachedNamespaces returns the kind's namespaces, sorted and without duplicates, or nil if all are cached together.
func (o KindOptions) cachedNamespaces() []string {
	if _, others := o.ByNamespace[metav1.NamespaceAll]; others && len(o.ByNamespace) > 1 {
		return slices.Sorted(maps.Keys(o.ByNamespace))
	}
	return restricted(o.Namespaces)
}

// scope returns the scope of the kind in a namespace, or in all namespaces if namespace is "". The kind's options
// override the cache's options. Within each of them, the options of the namespace override the general ones.
func (o KindOptions) scope(namespace string, all Options) client.Scope {
	var scope client.Scope
	of := client.Scope{Labels: all.DefaultLabels, KeepManagedFields: all.KeepManagedFields}
	for _, s := range []client.Scope{o.ByNamespace[namespace], o.Scope, all.ByNamespace[namespace], of} {
		if scope.Labels == nil {
			scope.Labels = s.Labels
		}
		if scope.Fields == nil {
			scope.Fields = s.Fields
		}
		if scope.Mask == nil {
			scope.Mask = s.Mask
		}
		if scope.Formats == nil {
			scope.Formats = s.Formats
		}
		scope.KeepManagedFields = scope.KeepManagedFields || s.KeepManagedFields
	}
	scope.Namespace = namespace
	if namespace == metav1.NamespaceAll {
		scope.Fields = o.exceptNamed(scope.Fields)
	}
	return scope
}

// exceptNamed returns a selector that restricts selected to namespaces that are not keys of ByNamespace.
func (o KindOptions) exceptNamed(selected fields.Selector) fields.Selector {
	for _, namespace := range slices.Sorted(maps.Keys(o.ByNamespace)) {
		if namespace == metav1.NamespaceAll {
			continue
		}
		except := fields.OneTermNotEqualSelector("metadata.namespace", namespace)
		if selected == nil {
			selected = except
		} else {
			selected = fields.AndSelectors(selected, except)
		}
	}
	return selected
}

// Informer is the informer of one kind, in the requested Go type. It covers all namespaces, or the cached namespaces as
// if they were one.
type Informer struct {
	*kind
	prototype object.Object // Go type of the objects that handlers receive
}

// kind is the state that all values of type Informer for one kind share.
type kind struct {
	gvk      schema.GroupVersionKind
	opts     KindOptions
	live     bool          // reads go to the server
	patience time.Duration // how long a read waits for earlier writes
	logger   *slog.Logger
	begun    <-chan struct{} // closed when the cache runs or is about to run
	removed  chan struct{}   // closed before the parts are removed with the informer

	stored atomic.Pointer[stored] // replaced under mu

	mu      sync.Mutex
	handled bool // a handler was added
	indexes []index
	fields  map[string]*fieldIndex // replaced on changes
}

// stored has the informers of a kind in one Go type.
type stored struct {
	prototype object.Object // Go type of the objects in the stores
	informers informers
	packed    bool // the stores keep objects packed
}

// in returns the parts that together hold the objects of a namespace, or of all cached namespaces if namespace is "".
// It returns no parts if the namespace is not cached.
func (k *kind) in(namespace string) []*part { return k.stored.Load().informers.in(namespace) }

// Informer declares the kind of prototype and returns its informer, which runs as long as the cache. prototype is a
// typed object, or an unstructured or metadata-only object with its kind set. Handlers receive objects of the Go type
// of prototype.
//
// The objects of a kind are cached in one Go type. Until the cache runs or a handler is added, this is the most
// complete type in which the kind was declared: unstructured is more complete than typed, and typed more complete than
// metadata-only. After that it does not change. Handlers of another type receive converted objects: unstructured
// objects can be converted to typed ones, and all objects to metadata. Informer fails if the conversion is not
// possible. A kind that has a Transform and was declared typed does not become unstructured, because Transform would
// receive objects of another type.
//
// If [Options].Namespaces is set, Informer may request from the API server whether the kind is namespaced. After the
// cache has ended, Informer fails with [ErrEnded] for a kind that was not declared before.
func (c *Cache) Informer(prototype object.Object) (*Informer, error) {
	gvk, err := object.GVK(prototype, c.live.Scheme())
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	opts, err := c.optionsOf(gvk)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	opts.Namespaces, err = c.namespacesOf(gvk, opts) // may send a request, so it runs without mu
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, known := c.informers[gvk]
	if known {
		i, err = c.viewLocked(i, prototype)
	} else if i, err = c.newInformerLocked(gvk, prototype, opts); err == nil {
		c.informers[gvk] = i
	}
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	return i, nil
}

// InformerForKind calls [Cache.Informer] with a new object of the Go type that the scheme has for gvk. It fails if the
// scheme does not have the kind; in that case, call Informer with an unstructured object with its kind set.
func (c *Cache) InformerForKind(gvk schema.GroupVersionKind) (*Informer, error) {
	prototype, err := c.live.Scheme().New(gvk)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	o, ok := prototype.(object.Object)
	if !ok {
		return nil, fmt.Errorf("cache: %s is not a kind of objects: %T has no metadata", gvk, prototype)
	}
	return c.Informer(o)
}

// RemoveInformer removes the informer of prototype's kind: the cache stops its watch and drops its objects. It is for
// kinds that are no longer needed, for example because no object refers to them. Later reads of the kind are live. If
// the kind is declared again, it gets a new informer without the old indexes.
//
// Handlers, including the handlers of controllers, receive no further events, and no Deleted events, because no object
// was deleted. A handler call that is in progress may return after RemoveInformer, and [Cache.Run] waits for it. A
// handler may call RemoveInformer. Waits on the old informer and reads of its [Index] fail with [ErrInformerRemoved]. A
// handler that is added to the old informer is never called. RemoveInformer does nothing for an undeclared kind.
func (c *Cache) RemoveInformer(prototype object.Object) error {
	gvk, err := object.GVK(prototype, c.live.Scheme())
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, known := c.informers[gvk]
	if !known {
		return nil
	}
	delete(c.informers, gvk)
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.removed)
	i.stored.Load().informers.forget()
	return nil
}

// viewLocked returns an Informer that shares the kind of known and has the Go type of prototype.
func (c *Cache) viewLocked(known *Informer, prototype object.Object) (*Informer, error) {
	if reflect.TypeOf(known.prototype) == reflect.TypeOf(prototype) {
		return known, nil
	}
	k := known.kind
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.stored.Load()
	if _, ok := converter(was.prototype, prototype, k.gvk); ok {
		return &Informer{kind: k, prototype: prototype}, nil
	}
	if !hasMore(prototype, was.prototype, k.opts) || c.hasBegun() || k.handled {
		return nil, fmt.Errorf("%s is cached as %T and cannot be cached as %T too", k.gvk.Kind, was.prototype, prototype)
	}
	return &Informer{kind: k, prototype: prototype}, c.storeLocked(k, prototype)
}

// hasMore reports whether the Go type of wanted has all fields of the Go type of stored.
func hasMore(wanted, stored object.Object, opts KindOptions) bool {
	if _, onlyMetadata := stored.(*metav1.PartialObjectMetadata); onlyMetadata {
		return true
	}
	_, isUnstructured := wanted.(*unstructured.Unstructured)
	return isUnstructured && opts.Transform == nil
}

func (c *Cache) newInformerLocked(gvk schema.GroupVersionKind, prototype object.Object,
	opts KindOptions) (*Informer, error) {
	k := &kind{
		gvk:      gvk,
		opts:     opts,
		patience: c.opts.ConsistencyTimeout,
		logger:   cmp.Or(c.opts.Logger, slog.Default()),
		begun:    c.begun,
		removed:  make(chan struct{}),
	}
	for _, disabled := range c.opts.DisableFor {
		live, err := object.GVK(disabled, c.live.Scheme())
		if err != nil {
			return nil, fmt.Errorf("DisableFor: %w", err)
		}
		k.live = k.live || live.GroupKind() == gvk.GroupKind()
	}
	return &Informer{kind: k, prototype: prototype}, c.storeLocked(k, prototype)
}

// storeLocked makes k store objects of prototype's Go type. The caller holds k's mutex, or k is not shared yet.
func (c *Cache) storeLocked(k *kind, prototype object.Object) error {
	var packing *informer.Packing[object.Object] // nil keeps the objects as Go values
	if !k.opts.Unpacked {
		packing, _ = informer.NewPacking(prototype) // fails if the Go type cannot be packed
	}
	informers, err := newInformers(c, k, prototype, packing)
	if err != nil {
		return err
	}
	for _, index := range k.indexes {
		index.addTo(informers)
	}
	k.stored.Store(&stored{prototype, informers, packing != nil})
	return nil
}

// transform returns a transform that sets the apiVersion and kind of gvk in objects that lack them, calls then, which
// may be nil, and marks objects with a mask. All objects share the strings of the kind. The mark is added last because
// it is stored in managedFields, which transforms often remove.
func transform(gvk schema.GroupVersionKind, then func(object.Object) (object.Object, error),
	mask []string) func(object.Object) (object.Object, error) {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	mark := partial.New(mask)
	return func(o object.Object) (_ object.Object, err error) {
		setKind(o, apiVersion, kind)
		if then != nil {
			if o, err = then(o); err != nil {
				return o, err
			}
		}
		if len(mask) > 0 {
			mark.Share(o)
		}
		return o, nil
	}
}

// setKind sets apiVersion and kind of o if they are unset.
func setKind(o object.Object, apiVersion, kind string) {
	switch is := o.GetObjectKind().(type) {
	case *metav1.TypeMeta:
		if is.Kind == "" || is.APIVersion == "" {
			is.APIVersion, is.Kind = apiVersion, kind
		}
	case *unstructured.Unstructured:
		if is.GetKind() == "" {
			is.SetAPIVersion(apiVersion)
			is.SetKind(kind)
		}
	default:
		if is.GroupVersionKind().Kind == "" {
			is.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
		}
	}
}

// GVK returns the kind.
func (i *Informer) GVK() schema.GroupVersionKind { return i.gvk }

// AddHandler makes the informer call h for every object and every change in all cached namespaces, including namespaces
// that are added later, one event at a time. See [informer.Scoped.AddHandler].
func (i *Informer) AddHandler(h informer.Handler[object.Object]) *informer.Registration {
	return i.addHandler(h, false)
}

// AddKeyHandler is like [Informer.AddHandler], for a handler that reads only the key, UID and resource version of
// objects that have not changed; see [informer.Informer.AddKeyHandler]. The informer does not unpack such objects.
func (i *Informer) AddKeyHandler(h informer.Handler[object.Object]) *informer.Registration {
	return i.addHandler(h, true)
}

func (i *Informer) addHandler(h informer.Handler[object.Object], byKey bool) *informer.Registration {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handled = true
	s := i.stored.Load()
	if convert, ok := converter(s.prototype, i.prototype, i.gvk); ok && convert != nil {
		return s.informers.AddHandler(i.converting(h, convert)) // the conversion requires the complete object
	}
	if byKey {
		return s.informers.AddKeyHandler(h)
	}
	return s.informers.AddHandler(h)
}

// EventHandler is a handler with three methods, like the handlers of client-go's informers. Every ResourceEventHandler
// of client-go's package tools/cache implements it, including ResourceEventHandlerFuncs and
// FilteringResourceEventHandler. Objects have the Go type of the [Informer]. If the watch missed a deletion, OnDelete
// receives the last known state of the object, never a DeletedFinalStateUnknown.
type EventHandler interface {
	OnAdd(obj any, isInInitialList bool)
	OnUpdate(oldObj, newObj any)
	OnDelete(obj any)
}

// AddEventHandler adds a handler with three methods, as [Informer.AddHandler] does. The error is always nil.
func (i *Informer) AddEventHandler(h EventHandler) (*informer.Registration, error) {
	return i.AddHandler(func(e informer.Event[object.Object]) {
		switch e.Type {
		case informer.Added:
			h.OnAdd(e.Object, e.Initial)
		case informer.Updated:
			h.OnUpdate(e.Old, e.Object)
		case informer.Deleted:
			h.OnDelete(e.Object)
		}
	}), nil
}

// Wait blocks until the informer has synced. It may be called before [Cache.Run]. If ctx ends first, the error wraps
// its cause and [Informer.Err]. If the cache ends first, Wait fails with [ErrEnded]. Wait ignores removed namespaces.
// It fails for a kind that the server does not serve, and with [ErrInformerRemoved] for a kind that
// [Cache.RemoveInformer] has removed.
func (i *Informer) Wait(ctx context.Context) error {
	for {
		s := i.stored.Load()
		err := i.wait(ctx)
		if i.stored.Load() == s { // the Go type has not changed during the wait
			return err
		}
	}
}

func (i *Informer) wait(ctx context.Context) error {
	parts := i.in("")
	if life.IsClosed(i.removed) {
		return i.isRemoved()
	}
	for _, p := range parts {
		if err := i.ready(ctx, p); err != nil && !errors.Is(err, ErrNamespaceRemoved) {
			return err
		}
	}
	return nil
}

// ready blocks until p has synced. It fails if p ended before it synced, and if the server does not serve the kind.
func (k *kind) ready(ctx context.Context, p *part) error {
	err := p.informer.Wait(ctx)
	if err != nil && errors.Is(err, ErrEnded) && life.IsClosed(k.removed) {
		return k.isRemoved()
	}
	if err != nil && errors.Is(err, ErrEnded) && !slices.Contains(k.in(""), p) {
		return fmt.Errorf("%s has not synced: %w", p.informer.Name(), ErrNamespaceRemoved)
	}
	return err
}

// isRemoved returns the error of an informer that was removed.
func (k *kind) isRemoved() error { return fmt.Errorf("%s: %w", k.gvk.Kind, ErrInformerRemoved) }

// Err returns nil, or the reason why the informer lags behind the API server: the joined *[reflector.SyncError] of each
// namespace that lags behind.
func (i *Informer) Err() error {
	return i.stored.Load().informers.Err()
}

// namespacesOf returns the namespaces of a kind that does not depend on the cache's namespaces, or nil. If the server
// does not serve the kind yet, namespacesOf assumes that it is namespaced. If the server does not answer, it fails,
// because a wrong result would be permanent.
func (c *Cache) namespacesOf(gvk schema.GroupVersionKind, opts KindOptions) ([]string, error) {
	if namespaces := opts.cachedNamespaces(); namespaces != nil {
		return namespaces, nil
	}
	all := []string{metav1.NamespaceAll}
	if opts.Namespaces != nil {
		return all, nil
	}
	if c.everywhere {
		return nil, nil
	}
	mapping, err := c.live.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil || mapping.Scope.Name() != meta.RESTScopeNameRoot:
		return nil, err
	}
	return all, nil
}

// restricted returns namespaces sorted and without duplicates, or nil if they include all.
func restricted(namespaces []string) []string {
	if len(namespaces) == 0 || slices.Contains(namespaces, metav1.NamespaceAll) {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(namespaces)))
}

// selects reports whether the labels and fields of s select an object. The result is not certain if the value that the
// server compares with a field selector is not known.
func selects(s client.Scope, o object.Object) (selected, certain bool) {
	if s.Labels != nil && !s.Labels.Matches(labels.Set(o.GetLabels())) {
		return false, true
	}
	if s.Fields == nil {
		return true, true
	}
	var content map[string]any
	if data, err := json.Marshal(o); err != nil || utiljson.Unmarshal(data, &content) != nil {
		return true, false
	}
	certain = true
	for _, r := range s.Fields.Requirements() {
		switch value, known := fieldAt(o, content, r.Field); {
		case !known:
			certain = false
		case (value == r.Value) == (r.Operator == selection.NotEquals):
			return false, true
		}
	}
	return true, certain
}

// fieldAt returns the value at a dotted path in an object whose JSON is content, as the string that the server
// compares. known is false if that string is not known. For example, an absent string is empty, while the server may
// compare an absent number or bool as "0", "false" or an empty string.
func fieldAt(o object.Object, content any, path string) (text string, known bool) {
	form := reflect.TypeOf(o)
	for name := range strings.SplitSeq(path, ".") {
		form = memberOf(form, name)
		below, _ := content.(map[string]any)
		content = below[name]
	}
	switch content.(type) {
	case string, bool, int64:
		return fmt.Sprint(content), true
	case nil:
		return "", form != nil && form.Kind() == reflect.String
	}
	return "", false
}

// memberOf returns the type of the field with a JSON name in type t, or nil if it is not known.
func memberOf(t reflect.Type, name string) reflect.Type {
	if t = pointed(t); t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	members, _ := wire.Fields(t)
	for _, member := range members {
		if member.Name == name {
			return pointed(member.Type)
		}
	}
	return nil
}

// pointed returns the type that t points to, through any number of pointers, or t itself. t may be nil.
func pointed(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
