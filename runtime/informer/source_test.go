package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// obj is the kind that these tests are about.
type obj = *metav1.PartialObjectMetadata

// source is a resource of an API server: objects with one growing resource version, a history that can be forgotten,
// lists, watches and streaming lists. What a test wants to go wrong it puts into onList and onWatch.
type source struct {
	mu        sync.Mutex
	namespace string
	version   int
	uid       int
	objects   map[object.Key]obj
	history   []change
	forgot    int              // watches from before this version are refused
	streams   []*stream        // that have not ended
	opened    []*stream        // all there were
	snapshots map[string][]obj // of paged lists, by version
	requests  []request

	paging  bool // honours limits even where it could answer from a cache
	noBegin bool // ignores the request for initial events
	onList  func(metav1.ListOptions) error
	onWatch func(metav1.ListOptions) error
}

type change struct {
	version int
	kind    watch.EventType
	object  obj
}

// request is one request that the source got.
type request struct {
	verb    string
	options metav1.ListOptions
	at      time.Time
}

func newSource(names ...string) *source {
	s := &source{namespace: "ns", version: 10, objects: make(map[object.Key]obj), snapshots: make(map[string][]obj)}
	for _, name := range names {
		s.create(name)
	}
	return s
}

func (s *source) create(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uid++
	o := &metav1.PartialObjectMetadata{}
	o.Namespace, o.Name, o.UID = s.namespace, name, types.UID("uid-"+strconv.Itoa(s.uid))
	s.recordLocked(watch.Added, o)
}

func (s *source) update(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recordLocked(watch.Modified, s.objects[object.Key{Namespace: s.namespace, Name: name}].DeepCopy())
}

func (s *source) delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recordLocked(watch.Deleted, s.objects[object.Key{Namespace: s.namespace, Name: name}].DeepCopy())
}

// recordLocked gives o the next version, keeps it, and tells the streams.
func (s *source) recordLocked(kind watch.EventType, o obj) {
	s.version++
	o.ResourceVersion = strconv.Itoa(s.version)
	if kind == watch.Deleted {
		delete(s.objects, object.KeyOf(o))
	} else {
		s.objects[object.KeyOf(o)] = o
	}
	c := change{version: s.version, kind: kind, object: o}
	s.history = append(s.history, c)
	for _, stream := range s.streams {
		stream.send(c.event())
	}
}

func (c change) event() client.WatchEvent[obj] {
	return client.WatchEvent[obj]{Type: c.kind, Object: c.object.DeepCopy(), ResourceVersion: strconv.Itoa(c.version)}
}

// forget makes the source refuse watches from before now.
func (s *source) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history, s.forgot = nil, s.version
}

// heal takes back what was put into onList and onWatch.
func (s *source) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onList, s.onWatch = nil, nil
}

// cut ends all open streams with err.
func (s *source) cut(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range s.streams {
		stream.end(err)
	}
	s.streams = nil
}

// unclosed returns how many streams were opened and not closed.
func (s *source) unclosed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, stream := range s.opened {
		stream.mu.Lock()
		if !stream.closed {
			n++
		}
		stream.mu.Unlock()
	}
	return n
}

// send sends event on all open streams.
func (s *source) send(event client.WatchEvent[obj]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range s.streams {
		stream.send(event)
	}
}

func (s *source) List(_ context.Context, options metav1.ListOptions) (*client.Page[obj], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request{"list", options, time.Now()})
	if s.onList != nil {
		if err := s.onList(options); err != nil {
			return nil, err
		}
	}
	version, start := strconv.Itoa(s.version), 0
	if at, index, ok := strings.Cut(options.Continue, "/"); ok {
		version = at
		start, _ = strconv.Atoi(index)
	} else {
		s.snapshots[version] = s.sortedLocked()
	}
	page := &client.Page[obj]{ResourceVersion: version}
	cached := options.ResourceVersion == "0" && !s.paging
	for i, o := range s.snapshots[version][start:] {
		if options.Limit > 0 && !cached && int64(i) == options.Limit {
			page.Continue = fmt.Sprintf("%s/%d", version, start+i)
			break
		}
		page.Items = append(page.Items, o.DeepCopy())
	}
	return page, nil
}

func (s *source) Watch(ctx context.Context, options metav1.ListOptions) (client.Stream[obj], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request{"watch", options, time.Now()})
	if s.onWatch != nil {
		if err := s.onWatch(options); err != nil {
			return nil, err
		}
	}
	from, _ := strconv.Atoi(options.ResourceVersion)
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	if from > 0 && from < s.forgot && !initial {
		return nil, apierrors.NewResourceExpired("too old resource version")
	}
	st := newStream(ctx, time.Duration(*options.TimeoutSeconds)*time.Second)
	switch {
	case initial && s.noBegin:
	case initial:
		for _, o := range s.sortedLocked() {
			st.send(client.WatchEvent[obj]{Type: watch.Added, Object: o.DeepCopy(), ResourceVersion: o.ResourceVersion})
		}
		st.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: strconv.Itoa(s.version), InitialEventsEnd: true})
	default:
		for _, c := range s.history {
			if c.version > from {
				st.send(c.event())
			}
		}
	}
	s.streams, s.opened = append(s.streams, st), append(s.opened, st)
	return st, nil
}

func (s *source) sortedLocked() []obj {
	return slices.SortedFunc(maps.Values(s.objects), func(a, b obj) int {
		av, _ := strconv.Atoi(a.ResourceVersion)
		bv, _ := strconv.Atoi(b.ResourceVersion)
		return av - bv
	})
}

// took returns the requests since the last call, in short: "watch! 12" is a streaming list not older than 12.
func (s *source) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var short []string
	for _, r := range s.requests {
		verb := r.verb
		if r.options.SendInitialEvents != nil {
			verb += "!"
		}
		line := fmt.Sprintf("%s %q", verb, r.options.ResourceVersion)
		if r.options.Limit > 0 {
			line += fmt.Sprintf(" limit %d", r.options.Limit)
		}
		if r.options.Continue != "" {
			line += " continue " + r.options.Continue
		}
		short = append(short, line)
	}
	s.requests = nil
	return short
}

func keyOf(name string) object.Key { return object.Key{Namespace: "ns", Name: name} }

var _ informer.ListerWatcher[obj] = (*source)(nil)

// stream is one open watch of a source.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	events  []client.WatchEvent[obj]
	err     error
	closed  bool
}

func newStream(ctx context.Context, timeout time.Duration) *stream {
	st := &stream{}
	st.changed.L = &st.mu
	timer := time.AfterFunc(timeout, func() { st.end(io.EOF) })
	context.AfterFunc(ctx, func() { timer.Stop(); st.end(ctx.Err()) })
	return st
}

func (st *stream) send(event client.WatchEvent[obj]) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.events = append(st.events, event)
	st.changed.Broadcast()
}

func (st *stream) end(err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.err == nil {
		st.err = err
	}
	st.changed.Broadcast()
}

func (st *stream) Next() (client.WatchEvent[obj], error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for len(st.events) == 0 && st.err == nil {
		st.changed.Wait()
	}
	if len(st.events) == 0 {
		return client.WatchEvent[obj]{}, st.err
	}
	event := st.events[0]
	st.events = st.events[1:]
	return event, nil
}

func (st *stream) Close() error {
	st.end(errors.New("stream is closed"))
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	return nil
}

func forbidden(verb string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no right to "+verb))
}

func tooMany(seconds int) error { return apierrors.NewTooManyRequests("busy", seconds) }

func invalid() error { return apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil) }

func tooLarge() error {
	err := apierrors.NewTimeoutError("Too large resource version: 99, current: 12", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	return err
}

// once returns a hook that fails with errs, one call after the other, and then no more.
func once(errs ...error) func(metav1.ListOptions) error {
	return func(metav1.ListOptions) error {
		if len(errs) == 0 {
			return nil
		}
		err := errs[0]
		errs = errs[1:]
		return err
	}
}

// always returns a hook that fails with err.
func always(err error) func(metav1.ListOptions) error {
	return func(metav1.ListOptions) error { return err }
}
