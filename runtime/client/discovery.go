package client

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// apiVersion holds the resources of one group version.
type apiVersion struct {
	kinds     map[string]*served // by kind
	resources map[string]*served // by plural and by singular name
}

// served is one resource. It is shared and immutable.
type served struct {
	mapping  meta.RESTMapping
	singular string
}

// names holds the versions of one group, the preferred version first, or the server's groups except the core group, in
// the server's order. It is empty for a group that does not exist.
type names []string

// loadVersion requests the resources of gv. The result is empty for a version that does not exist.
func (c *conn) loadVersion(ctx context.Context, gv schema.GroupVersion) (*apiVersion, error) {
	var list metav1.APIResourceList
	if err := c.discover(ctx, versionPath(gv), "APIResourceList", &list,
		func() bool { return list.APIResources != nil }); err != nil {
		return nil, err
	}
	v := &apiVersion{kinds: map[string]*served{}, resources: map[string]*served{}}
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			v.add(gv, r)
		}
	}
	return v, nil
}

// add adds a resource. If two resources have the same kind, the kind maps to the first.
func (v *apiVersion) add(gv schema.GroupVersion, r metav1.APIResource) {
	s := &served{
		mapping: meta.RESTMapping{
			Resource:         gv.WithResource(r.Name),
			GroupVersionKind: gv.WithKind(r.Kind),
			Scope:            meta.RESTScopeRoot,
		},
		singular: cmp.Or(r.SingularName, strings.ToLower(r.Kind)),
	}
	if r.Namespaced {
		s.mapping.Scope = meta.RESTScopeNamespace
	}
	if v.kinds[r.Kind] == nil {
		v.kinds[r.Kind] = s
	}
	v.resources[r.Name] = s
	if v.resources[s.singular] == nil {
		v.resources[s.singular] = s
	}
}

// loadGroup requests the versions of group.
func (c *conn) loadGroup(ctx context.Context, group string) (*names, error) {
	if group == "" {
		var core metav1.APIVersions
		err := c.discover(ctx, "/api", "APIVersions", &core, func() bool { return core.Versions != nil })
		return (*names)(&core.Versions), err
	}
	var g metav1.APIGroup
	if err := c.discover(ctx, "/apis/"+group, "APIGroup", &g, func() bool { return g.Versions != nil }); err != nil {
		return nil, err
	}
	var versions names
	for _, v := range g.Versions {
		versions = append(versions, v.Version)
	}
	preferred := g.PreferredVersion.Version
	if i := slices.Index(versions, preferred); i > 0 {
		versions = slices.Insert(slices.Delete(versions, i, i+1), 0, preferred)
	}
	return &versions, nil
}

// loadGroups requests the names of all groups.
func (c *conn) loadGroups(ctx context.Context) (*names, error) {
	var list metav1.APIGroupList
	err := c.discover(ctx, "/apis", "APIGroupList", &list, func() bool { return list.Groups != nil })
	var groups names
	for _, g := range list.Groups {
		groups = append(groups, g.Name)
	}
	return &groups, err
}

// discover reads the discovery document at path, which is of the given kind, into doc. It leaves doc empty if the
// server does not have the document. Any other answer is an error, because an empty document would mean that kinds do
// not exist. A document without a kind is accepted if hasContent returns true.
func (c *conn) discover(ctx context.Context, path, kind string, doc runtime.Object, hasContent func() bool) error {
	r := &request{verb: "discover", method: http.MethodGet, raw: path, accept: acceptJSON, idleTimeout: maxIdle}
	body, err := c.do(ctx, r)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return named(r, err)
	}
	if err := statusError(body); err != nil {
		return named(r, answerError(r, err))
	}
	if err := utiljson.Unmarshal(body, doc); err != nil {
		return &DecodeError{What: r.String(), Err: err}
	}
	if got := doc.GetObjectKind().GroupVersionKind(); got.Kind != kind && (got.Kind != "" || !hasContent()) {
		return &DecodeError{What: r.String(), Err: fmt.Errorf("the server sent something with apiVersion %q and kind %q, "+
			"not %s", got.GroupVersion(), got.Kind, kind)}
	}
	return nil
}

// named adds a description of r to an error of the server, which lacks one.
func named(r *request, err error) error {
	if _, ok := err.(apierrors.APIStatus); ok {
		return fmt.Errorf("%s: %w", r, err)
	}
	return err
}

const (
	minReload = 250 * time.Millisecond
	maxReload = 2 * time.Second
)

// lazy is a document of the API server that is loaded when it is first needed, and loaded again when a lookup does not
// find an entry. Loads that do not find the entry are repeated at growing intervals, which limits the load on the
// server when a missing kind is looked up repeatedly. Concurrent lookups share one load and its error.
type lazy[T any] struct {
	load func(ctx context.Context) (*T, error)

	current  atomic.Pointer[T]
	failures atomic.Int64  // failed loads, except those that the caller canceled
	turn     chan struct{} // holds one token, taken by the goroutine that loads
	// The goroutine with the token owns the fields below.
	failure error     // error of the last failed load
	loaded  time.Time // time at which current was loaded
	misses  int       // consecutive lookups that a load did not satisfy
	next    time.Time // earliest time of the next load, unless no document is loaded
}

func newLazy[T any](load func(ctx context.Context) (*T, error)) *lazy[T] {
	l := &lazy[T]{load: load, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// lookup returns the result of find for the document. It loads or reloads the document if needed and permitted. found
// is false if the document lacks the entry. err is the error of the load.
func lookup[T, R any](ctx context.Context, l *lazy[T], find func(*T) (R, bool)) (result R, found bool, err error) {
	if doc := l.current.Load(); doc != nil {
		if result, found = find(doc); found {
			return result, true, nil
		}
	}
	failures := l.failures.Load()
	select {
	case <-l.turn:
	case <-ctx.Done():
		return result, false, ctx.Err()
	}
	defer func() { l.turn <- struct{}{} }()
	doc := l.current.Load()
	if doc != nil {
		if result, found = find(doc); found || time.Now().Before(l.next) {
			return result, found, nil
		}
	}
	if l.failures.Load() > failures {
		return result, false, l.failure // another load has failed meanwhile
	}
	if doc, err = l.load(ctx); err != nil {
		if ctx.Err() == nil {
			l.failure = err
			l.failures.Add(1)
		}
		return result, false, err
	}
	l.current.Store(doc)
	l.loaded = time.Now()
	if result, found = find(doc); found {
		l.misses, l.next = 0, time.Time{}
		return result, true, nil
	}
	l.next = time.Now().Add(min(minReload<<min(l.misses, 10), maxReload))
	l.misses++
	return result, false, nil
}

// documents holds a document for each key with which it was requested. It is safe for concurrent use.
type documents[K comparable, T any] struct {
	load    func(ctx context.Context, key K) (*T, error)
	isEmpty func(*T) bool

	mu  sync.Mutex
	all map[K]*lazy[T]
}

// maxDocuments is the number of documents of one type at which a mapper begins to drop empty documents. This limits its
// memory, because callers can look up any number of names that no server has.
const maxDocuments = 1000

// of returns the document for key, which may not be loaded.
func (d *documents[K, T]) of(key K) *lazy[T] {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.all[key]; l != nil {
		return l
	}
	if len(d.all) >= maxDocuments {
		maps.DeleteFunc(d.all, func(_ K, l *lazy[T]) bool {
			doc := l.current.Load()
			return doc == nil || d.isEmpty(doc)
		})
	}
	l := newLazy(func(ctx context.Context) (*T, error) { return d.load(ctx, key) })
	d.all[key] = l
	return l
}

func (d *documents[K, T]) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.all)
}

// forget makes the next lookup load the document again.
func (l *lazy[T]) forget() { l.current.Store(nil) }

// expire calls forget for a document older than maxReload. It reports whether the next lookup loads the document again.
func (l *lazy[T]) expire(ctx context.Context) bool {
	select {
	case <-l.turn:
	case <-ctx.Done():
		return false
	}
	defer func() { l.turn <- struct{}{} }()
	if l.current.Load() != nil && time.Since(l.loaded) < maxReload {
		return false
	}
	l.forget()
	return true
}
