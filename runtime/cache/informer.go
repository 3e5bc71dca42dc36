package cache

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/partial"
	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// KindOptions are what of one kind is cached. The zero value of a field, those of the scope too, means what [Options] say. With
// selectors the cache is the whole truth for its readers: an object that they do not select is not found.
type KindOptions struct {
	// Object is of the kind: a typed object, or one with its kind set.
	Object object.Object
	// Scope is what is cached: which objects, and what of them. Its Namespace is one of Namespaces. labels.Everything() and
	// fields.Everything() select all, where Options would select some. What is read from a cache with a Mask is not the whole
	// object: change it by patches and apply. It is marked, see [object.Mask], and an Update of it or of a copy is a
	// [*client.MaskedError]; one that is read with [client.Live] is whole.
	client.Scope
	// Namespaces are the namespaces, in place of those of the cache; "" is all.
	Namespaces []string
	// ByNamespace is what stands over Scope in single namespaces, as Scope does over Options. A namespace that is named here is
	// cached even if Namespaces, when they are some, do not have it.
	ByNamespace map[string]client.Scope
	// Unpacked keeps the objects as Go values, see [Options].Unpacked.
	Unpacked bool
	// Transform is applied to each object before it is cached. It may modify the object, but not its namespace, its
	// name, its UID, or its version.
	Transform func(object.Object) (object.Object, error)
}

// optionsOf returns the options of a kind, with those of the cache where it has none.
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
	if err := errors.Join(oneOrAll(opts.Namespaces, opts.ByNamespace), oneOrAll(withKeys(c.opts.Namespaces, c.opts.ByNamespace), c.opts.ByNamespace)); err != nil {
		return KindOptions{}, err
	}
	opts.Unpacked = opts.Unpacked || c.opts.Unpacked
	return opts, nil
}

// withKeys returns namespaces with those that have scopes.
func withKeys(namespaces []string, scopes map[string]client.Scope) []string {
	return slices.AppendSeq(slices.Clip(namespaces), maps.Keys(scopes))
}

// oneOrAll fails when namespaces are all, and there is a scope of one, and when a scope is of another namespace than its own.
func oneOrAll(namespaces []string, scopes map[string]client.Scope) error {
	for _, namespace := range slices.Sorted(maps.Keys(scopes)) {
		if namespace != metav1.NamespaceAll && restricted(namespaces) == nil {
			return fmt.Errorf("ByNamespace has a scope of namespace %s, but all namespaces are cached together; name each that is to be cached", namespace)
		}
		if other := scopes[namespace].Namespace; other != "" && other != namespace {
			return fmt.Errorf("ByNamespace has a scope of namespace %s for namespace %s", other, namespace)
		}
	}
	return nil
}

// scope returns what of the kind is cached in a namespace, or in all when it is "": what is said about the kind counts before
// what is said about all, and in both what is said about the namespace counts first.
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
	return scope
}

// Informer is the informer of one kind, in the Go type that was asked for: over all namespaces, or over several of them
// as if it were one.
type Informer struct {
	*kind
	prototype object.Object // of what handlers get
}

// kind is what all the Informers of one kind share.
type kind struct {
	gvk      schema.GroupVersionKind
	opts     KindOptions
	live     bool          // reads are for the server
	patience time.Duration // how long a read waits for the writes before it
	logger   *slog.Logger
	begun    <-chan struct{} // closed when the cache runs, or is about to
	removed  chan struct{}   // closed, before the parts go, when the cache has no informer of the kind any more

	stored atomic.Pointer[stored] // replaced under mu

	mu      sync.Mutex
	handled bool // there was a handler
	indexes []index
	fields  map[string]*fieldIndex // replaced when it changes
}

// stored is where the objects of a kind are.
type stored struct {
	prototype object.Object // of the objects in the stores
	informers informers
	packed    bool // the stores keep objects packed
}

// in returns the parts that together have the objects of a namespace, or of all that are cached when it is "". There
// are none when the namespace is not cached.
func (k *kind) in(namespace string) []*part { return k.stored.Load().informers.in(namespace) }

// Informer declares the kind of prototype and returns its informer, which runs as long as the cache does. prototype is
// a typed object, or an unstructured or metadata-only one with its kind set; its Go type is that of the objects that
// handlers get. A kind is cached in one Go type: before the cache runs and before the first handler, in the one that has
// the most of what was asked for, from the metadata over typed objects to unstructured ones; after that it stays. Where the
// objects can be converted, from an unstructured informer to typed ones and from any to the metadata, handlers get
// objects that were; otherwise it is an error to ask for another type. A kind with a Transform is not cached unstructured
// once it was asked for typed, as that would get objects of another type. With [Options].Namespaces the API server is
// asked whether the kind has namespaces. It fails with [ErrEnded] for a kind that is new to a cache that has ended.
func (c *Cache) Informer(prototype object.Object) (*Informer, error) {
	gvk, err := object.GVK(prototype, c.live.Scheme())
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	opts, err := c.optionsOf(gvk)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	everywhere, err := c.isEverywhere(gvk, opts) // may ask the server, so not under mu
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, known := c.informers[gvk]
	if known {
		i, err = c.viewLocked(i, prototype)
	} else if i, err = c.newInformerLocked(gvk, prototype, opts, everywhere); err == nil {
		c.informers[gvk] = i
	}
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	return i, nil
}

// InformerForKind is [Cache.Informer] for a kind whose Go type the scheme knows. It fails for one that it does not know: an unstructured
// object with its kind set is a prototype of each.
func (c *Cache) InformerForKind(gvk schema.GroupVersionKind) (*Informer, error) {
	prototype, err := c.live.Scheme().New(gvk)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	o, ok := prototype.(object.Object)
	if !ok {
		return nil, fmt.Errorf("cache: %s is no kind of objects: %T has no metadata", gvk, prototype)
	}
	return c.Informer(o)
}

// RemoveInformer makes the cache have no informer of the kind of prototype any more, as for a kind that users name and that nobody asks for
// now: nothing of it is watched and nothing kept. Reads of the kind are live then, until somebody declares it again, which makes a new
// informer without the indexes of this one. Handlers are not told, since nothing was deleted, and hear nothing more; those of controllers
// too. A call of a handler that is under way may go on after RemoveInformer has returned, and a handler may call it; [Cache.Run] waits for
// it. Who holds the informer gets [ErrInformerRemoved] of a wait, and of a read of an [Index]; a handler that is added then hears nothing, and
// its registration has ended. Removing what is not there does nothing.
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

// viewLocked returns known in the Go type of prototype.
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

// hasMore reports whether objects like wanted have all that those like stored have.
func hasMore(wanted, stored object.Object, opts KindOptions) bool {
	if _, onlyMetadata := stored.(*metav1.PartialObjectMetadata); onlyMetadata {
		return true
	}
	_, isUnstructured := wanted.(*unstructured.Unstructured)
	return isUnstructured && opts.Transform == nil
}

func (c *Cache) newInformerLocked(gvk schema.GroupVersionKind, prototype object.Object, opts KindOptions, everywhere bool) (*Informer, error) {
	if everywhere {
		opts.Namespaces = restricted(opts.Namespaces)
		if opts.Namespaces == nil {
			opts.Namespaces = []string{metav1.NamespaceAll}
		}
	}
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

// storeLocked makes k one that stores objects like prototype, and no others. Its mutex is held, or nobody else knows it.
func (c *Cache) storeLocked(k *kind, prototype object.Object) error {
	packing := packingOf(k.opts, prototype)
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

// named returns the transform that gives objects the apiVersion and the kind of gvk, if they have none, before then, which
// may be nil. The strings are the same for all.
func named(gvk schema.GroupVersionKind, then func(object.Object) (object.Object, error)) func(object.Object) (object.Object, error) {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return func(o object.Object) (object.Object, error) {
		setKind(o, apiVersion, kind)
		if then == nil {
			return o, nil
		}
		return then(o)
	}
}

// setKind makes o say what it is, unless it does.
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

// marking returns transform, behind which a masked object says that it is one, as all of the cache say it: the mark is among
// the managedFields, which many a transform removes.
func marking(transform func(object.Object) (object.Object, error), mask []string) func(object.Object) (object.Object, error) {
	if len(mask) == 0 {
		return transform
	}
	mark := partial.New(mask)
	return func(o object.Object) (object.Object, error) {
		if transform != nil {
			var err error
			if o, err = transform(o); err != nil {
				return o, err
			}
		}
		mark.Share(o)
		return o, nil
	}
}

// GVK returns the kind.
func (i *Informer) GVK() schema.GroupVersionKind { return i.gvk }

// AddHandler makes h be told of every object and of every change, as [informer.Scoped.AddHandler] does: of all namespaces,
// one event at a time, and of a namespace that is added later then.
func (i *Informer) AddHandler(h informer.Handler[object.Object]) *informer.Registration {
	return i.addHandler(h, false)
}

// AddKeyHandler is [Informer.AddHandler] for a handler that reads only the key, the UID and the resource version of an
// object that has not changed, see [informer.Informer.AddKeyHandler]: such objects are not unpacked for it.
func (i *Informer) AddKeyHandler(h informer.Handler[object.Object]) *informer.Registration {
	return i.addHandler(h, true)
}

func (i *Informer) addHandler(h informer.Handler[object.Object], byKey bool) *informer.Registration {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handled = true
	s := i.stored.Load()
	if convert, ok := converter(s.prototype, i.prototype, i.gvk); ok && convert != nil {
		return s.informers.AddHandler(i.converting(h, convert)) // which reads the whole object
	}
	if byKey {
		return s.informers.AddKeyHandler(h)
	}
	return s.informers.AddHandler(h)
}

// Wait blocks until the informer has synced, also before [Cache.Run]. When ctx ends earlier, the error holds its cause and
// that of [Informer.Err]; when the cache does, [ErrEnded]. It does not wait for a namespace that is removed, nor for a kind
// that the server does not know, which is an error, as is one that [Cache.RemoveInformer] has removed.
func (i *Informer) Wait(ctx context.Context) error {
	for {
		s := i.stored.Load()
		err := i.wait(ctx)
		if i.stored.Load() == s { // and not stored in another Go type meanwhile
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

// ready blocks until p has synced. It does not wait for what cannot come any more, nor for a kind that the server does not
// know, or knows no longer.
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

// isRemoved is the error for who holds an informer that was removed.
func (k *kind) isRemoved() error { return fmt.Errorf("%s: %w", k.gvk.Kind, ErrInformerRemoved) }

// Err returns why the informer is not in step with the API server: an *[reflector.SyncError] for each namespace in which it
// is not, joined, or nil.
func (i *Informer) Err() error {
	return i.stored.Load().informers.Err()
}

// isEverywhere reports whether the namespaces of the cache do not matter for a kind. One that the server does not know
// yet is taken for a namespaced one. It fails when the server cannot be asked, since a wrong answer would stay.
func (c *Cache) isEverywhere(gvk schema.GroupVersionKind, opts KindOptions) (bool, error) {
	if opts.Namespaces != nil {
		return true, nil
	}
	if c.everywhere {
		return false, nil
	}
	mapping, err := c.live.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameRoot, nil
}

// restricted returns namespaces in order and each once, or nil if they are all.
func restricted(namespaces []string) []string {
	if len(namespaces) == 0 || slices.Contains(namespaces, metav1.NamespaceAll) {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(namespaces)))
}

// selects reports whether an object is one that the labels and the fields of s select, and whether that is certain: the server may call
// by a field what is another one of the object.
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

// fieldAt returns what an object, whose JSON is content, has at a path of names with dots, as the server compares it. It reports false
// if that cannot be told, as for what is not there: a text is empty then, while a number or a bool is "0", "false" or empty.
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

// memberOf returns the type of what values of type t have by that name in JSON, or nil if that is not known.
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

// pointed returns the type of what pointers of type t lead to, or t, which may be nil.
func pointed(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
