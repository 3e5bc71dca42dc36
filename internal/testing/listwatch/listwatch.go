// Package listwatch simulates a resource of an API server in memory. A test can inject server and connection failures
// to test reflectors and informers.
package listwatch

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
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

type Object = *metav1.PartialObjectMetadata

// Source is a resource of an API server. It has objects with one increasing resource version, a history that it can
// forget, lists, watches and streaming lists. A test injects failures with OnList and OnWatch.
type Source struct {
	Mu        sync.Mutex
	Namespace string
	Version   int
	uid       int
	Objects   map[object.Key]Object
	history   []change
	forgot    int                 // rejects watches from before this version
	streams   []*stream           // open streams
	opened    []*stream           // all streams
	snapshots map[string][]Object // of paged lists, by version
	Requests  []Request

	Paging  bool // honors limits even if it could answer from a cache
	NoBegin bool // ignores the request for initial events
	OnList  func(metav1.ListOptions) error
	OnWatch func(metav1.ListOptions) error
}

type change struct {
	version int
	kind    watch.EventType
	object  Object
}

// Request is one received request.
type Request struct {
	Verb    string
	Options metav1.ListOptions
	At      time.Time
}

// New returns a source with objects with these names in the namespace "ns".
func New(names ...string) *Source {
	s := &Source{Namespace: "ns", Version: 10, Objects: make(map[object.Key]Object), snapshots: make(map[string][]Object)}
	for _, name := range names {
		s.Create(name)
	}
	return s
}

// Create creates an object.
func (s *Source) Create(name string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.uid++
	o := &metav1.PartialObjectMetadata{}
	o.Namespace, o.Name, o.UID = s.Namespace, name, types.UID("uid-"+strconv.Itoa(s.uid))
	s.RecordLocked(watch.Added, o)
}

// Update gives an object a new version.
func (s *Source) Update(name string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.RecordLocked(watch.Modified, s.Objects[object.Key{Namespace: s.Namespace, Name: name}].DeepCopy())
}

// Delete removes an object.
func (s *Source) Delete(name string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.RecordLocked(watch.Deleted, s.Objects[object.Key{Namespace: s.Namespace, Name: name}].DeepCopy())
}

// RecordLocked sets the next version of o, stores it, and sends an event on all streams.
func (s *Source) RecordLocked(kind watch.EventType, o Object) {
	s.Version++
	o.ResourceVersion = strconv.Itoa(s.Version)
	if kind == watch.Deleted {
		delete(s.Objects, object.KeyOf(o))
	} else {
		s.Objects[object.KeyOf(o)] = o
	}
	c := change{version: s.Version, kind: kind, object: o}
	s.history = append(s.history, c)
	for _, stream := range s.streams {
		stream.send(c.event())
	}
}

func (c change) event() client.WatchEvent[Object] {
	return client.WatchEvent[Object]{Type: c.kind, Object: c.object.DeepCopy(), ResourceVersion: strconv.Itoa(c.version)}
}

// Forget makes the source reject watches from versions before the current one.
func (s *Source) Forget() {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.history, s.forgot = nil, s.Version
}

// Heal resets OnList and OnWatch.
func (s *Source) Heal() {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.OnList, s.OnWatch = nil, nil
}

// Cut ends all open streams with err.
func (s *Source) Cut(err error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, stream := range s.streams {
		stream.end(err)
	}
	s.streams = nil
}

// Unclosed returns the number of streams that were opened and not closed.
func (s *Source) Unclosed() int {
	s.Mu.Lock()
	defer s.Mu.Unlock()
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

// Send sends event on all open streams.
func (s *Source) Send(event client.WatchEvent[Object]) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, stream := range s.streams {
		stream.send(event)
	}
}

// List implements [reflector.ListerWatcher].
func (s *Source) List(_ context.Context, options metav1.ListOptions) (*client.Page[Object], error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Requests = append(s.Requests, Request{"list", options, time.Now()})
	if s.OnList != nil {
		if err := s.OnList(options); err != nil {
			return nil, err
		}
	}
	version, start := strconv.Itoa(s.Version), 0
	if at, index, ok := strings.Cut(options.Continue, "/"); ok {
		version = at
		start, _ = strconv.Atoi(index)
	} else {
		s.snapshots[version] = s.sortedLocked()
	}
	page := &client.Page[Object]{ResourceVersion: version}
	cached := options.ResourceVersion == "0" && !s.Paging
	for i, o := range s.snapshots[version][start:] {
		if options.Limit > 0 && !cached && int64(i) == options.Limit {
			page.Continue = fmt.Sprintf("%s/%d", version, start+i)
			break
		}
		page.Items = append(page.Items, o.DeepCopy())
	}
	return page, nil
}

// Watch implements [reflector.ListerWatcher].
func (s *Source) Watch(ctx context.Context, options metav1.ListOptions) (client.Stream[Object], error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Requests = append(s.Requests, Request{"watch", options, time.Now()})
	if s.OnWatch != nil {
		if err := s.OnWatch(options); err != nil {
			return nil, err
		}
	}
	from, _ := strconv.Atoi(options.ResourceVersion)
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	if from > 0 && from < s.forgot && !initial {
		return nil, apierrors.NewResourceExpired("too old resource version")
	}
	st := NewStream(ctx, time.Duration(*options.TimeoutSeconds)*time.Second)
	switch {
	case initial && s.NoBegin:
	case initial:
		for _, o := range s.sortedLocked() {
			st.send(client.WatchEvent[Object]{Type: watch.Added, Object: o.DeepCopy(), ResourceVersion: o.ResourceVersion})
		}
		st.send(client.WatchEvent[Object]{Type: watch.Bookmark, ResourceVersion: strconv.Itoa(s.Version),
			InitialEventsEnd: true})
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

func (s *Source) sortedLocked() []Object {
	return slices.SortedFunc(maps.Values(s.Objects), func(a, b Object) int {
		av, _ := strconv.Atoi(a.ResourceVersion)
		bv, _ := strconv.Atoi(b.ResourceVersion)
		return av - bv
	})
}

// Took returns the requests since the last call in short form: "watch! 12" is a streaming list not older than 12.
func (s *Source) Took() []string {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	var short []string
	for _, r := range s.Requests {
		verb := r.Verb
		if r.Options.SendInitialEvents != nil {
			verb += "!"
		}
		line := fmt.Sprintf("%s %q", verb, r.Options.ResourceVersion)
		if r.Options.Limit > 0 {
			line += fmt.Sprintf(" limit %d", r.Options.Limit)
		}
		if r.Options.Continue != "" {
			line += " continue " + r.Options.Continue
		}
		short = append(short, line)
	}
	s.Requests = nil
	return short
}

// KeyOf returns the key of the object with a name in the namespace of New.
func KeyOf(name string) object.Key { return object.Key{Namespace: "ns", Name: name} }

var _ reflector.ListerWatcher[Object] = (*Source)(nil)

// stream is one open watch of a source.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	events  []client.WatchEvent[Object]
	err     error
	closed  bool
}

// NewStream returns an open watch that ends with ctx, or with io.EOF after a timeout.
func NewStream(ctx context.Context, timeout time.Duration) *stream {
	st := &stream{}
	st.changed.L = &st.mu
	timer := time.AfterFunc(timeout, func() { st.end(io.EOF) })
	context.AfterFunc(ctx, func() { timer.Stop(); st.end(ctx.Err()) })
	return st
}

func (st *stream) send(event client.WatchEvent[Object]) {
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

// Next implements [client.Stream].
func (st *stream) Next() (client.WatchEvent[Object], error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for len(st.events) == 0 && st.err == nil {
		st.changed.Wait()
	}
	if len(st.events) == 0 {
		return client.WatchEvent[Object]{}, st.err
	}
	event := st.events[0]
	st.events = st.events[1:]
	return event, nil
}

// Close implements [client.Stream].
func (st *stream) Close() error {
	st.end(errors.New("stream is closed"))
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	return nil
}

// Forbidden returns the error of a server that forbids a verb.
func Forbidden(verb string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("not permitted to "+verb))
}

// TooMany returns the error that an overloaded server sends, with a delay for the retry.
func TooMany(seconds int) error { return apierrors.NewTooManyRequests("busy", seconds) }

// Invalid returns the error of a server without streaming lists.
func Invalid() error { return apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil) }

// TooLarge returns the error of a server that has not reached a version yet.
func TooLarge() error {
	err := apierrors.NewTimeoutError("Too large resource version: 99, current: 12", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	return err
}

// Once returns a hook that fails with errs, one per call, and then succeeds.
func Once(errs ...error) func(metav1.ListOptions) error {
	return func(metav1.ListOptions) error {
		if len(errs) == 0 {
			return nil
		}
		err := errs[0]
		errs = errs[1:]
		return err
	}
}

// Always returns a hook that fails with err.
func Always(err error) func(metav1.ListOptions) error {
	return func(metav1.ListOptions) error { return err }
}

// SilentLater resets the source as SetBack does. Afterwards, like kube-apiserver, the source sends nothing on watches
// from versions that it has not reached.
func (s *Source) SilentLater(version int, label string) {
	s.SetBack(version, label)
	s.Mu.Lock()
	defer s.Mu.Unlock()
	refuse := s.OnList
	s.OnWatch = func(options metav1.ListOptions) error {
		if options.SendInitialEvents == nil {
			return nil
		}
		return refuse(options)
	}
}

// Older returns an event of an object with an older version.
func Older(kind watch.EventType, s *Source, name, version string) client.WatchEvent[Object] {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	o := s.Objects[KeyOf(name)].DeepCopy()
	o.ResourceVersion = version
	o.Labels = map[string]string{"of": "the past"}
	return client.WatchEvent[Object]{Type: kind, Object: o, ResourceVersion: version}
}

// SetBack resets the source to an earlier version, as a restore from a backup does. It then makes other changes: all
// objects get a label but keep the versions that they had before.
func (s *Source) SetBack(version int, label string) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Version, s.history, s.forgot = version, nil, 0
	for _, o := range s.Objects {
		o.Labels = map[string]string{"of": label}
	}
	s.OnList, s.OnWatch = refusesLater(s), refusesLater(s)
}

// Bookmark returns a bookmark event with a version.
func Bookmark(version string) client.WatchEvent[Object] {
	return client.WatchEvent[Object]{Type: watch.Bookmark, ResourceVersion: version}
}

// refusesLater rejects requests for a version that the source has not reached.
func refusesLater(s *Source) func(metav1.ListOptions) error {
	return func(options metav1.ListOptions) error {
		if version, _ := strconv.Atoi(options.ResourceVersion); version > s.Version {
			return TooLarge()
		}
		return nil
	}
}
