package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/collect"
	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Sink receives the deltas of a [Reflector] in order. Push must not block for long. *[DeltaFIFO] implements Sink.
type Sink[T object.Object] interface {
	Push(Delta[T])
}

// Options configures a [Reflector]. The zero value is ready for use. The fields without a comment are those of the
// Options of package informer.
type Options[T object.Object] struct {
	Name             string
	Namespace        string
	Logger           *slog.Logger
	Transform        func(T) (T, error)
	DisableWatchList bool
	PageSize         int64
	Metrics          *metrics.Registry
	// Failed, if set, is called for each failed list or watch, when Err already returns the error. It must not block.
	Failed func(*SyncError)
}

// ListerWatcher is a source of objects: one resource in one scope of an API server. *client.ListWatcher implements it.
// If the source also has a method Reachable(ctx context.Context) error, as that type does, the reflector recovers
// quickly after an outage. In an informer, a *client.ListWatcher does not decode objects that are already in the store;
// a type that wraps one decodes every object.
type ListerWatcher[T object.Object] interface {
	// List returns one page of the objects that match options.
	List(ctx context.Context, options metav1.ListOptions) (*client.Page[T], error)
	// Watch opens a stream of changes. The stream ends when ctx ends, if not earlier.
	Watch(ctx context.Context, options metav1.ListOptions) (client.Stream[T], error)
}

// Reflector follows one resource of an API server and pushes its state and changes to a sink. After a failure, it reads
// the complete state again only if the server no longer has the changes since then.
type Reflector[T object.Object] struct {
	source   ListerWatcher[T]
	sink     Sink[T]
	opts     Options[T]
	label    string // the reflector's label in metrics
	log      *slog.Logger
	lists    *metrics.Counter
	watches  *metrics.Counter
	failures *metrics.Counter
	err      atomic.Pointer[SyncError]
	received atomic.Int64 // number of events of all streams

	size int // number of objects of the last complete state; only for Run
	// store is the sink, if the sink has a store. Objects that are already in the store are not decoded and transformed
	// again. store is nil for other sinks.
	store collect.Store[T]
}

// New returns a reflector that pushes the changes of source to sink. It starts no goroutine; call [Reflector.Run].
func New[T object.Object](source ListerWatcher[T], sink Sink[T], opts Options[T]) *Reflector[T] {
	opts.Name = cmp.Or(opts.Name, reflect.TypeFor[T]().String())
	label := opts.Name
	if opts.Namespace != "" {
		label += "/" + opts.Namespace
	}
	store, _ := sink.(collect.Store[T])
	return &Reflector[T]{
		source:   source,
		sink:     sink,
		opts:     opts,
		label:    label,
		log:      cmp.Or(opts.Logger, slog.Default()).With("informer", label),
		lists:    opts.Metrics.Counter("informer_lists_total", "Complete lists read from the API server.", "informer"),
		watches:  opts.Metrics.Counter("informer_watches_total", "Watches opened.", "informer"),
		failures: opts.Metrics.Counter("informer_failures_total", "Lists and watches that failed.", "informer", "verb"),
		store:    store,
	}
}

// Err returns why the sink is out of date, as a *[SyncError], or nil if it is up to date or Run has not begun.
func (r *Reflector[T]) Err() error {
	if err := r.err.Load(); err != nil {
		return err
	}
	return nil
}

// Run follows the source until ctx ends. Its goroutines end before it returns.
func (r *Reflector[T]) Run(ctx context.Context) {
	s := state[T]{streaming: !r.opts.DisableWatchList}.relist()
	defer func() {
		if s.stream != nil {
			_ = s.stream.Close()
		}
	}()
	// Other sources might modify their objects, so they receive no objects of the store.
	if _, direct := r.source.(*client.ListWatcher[T]); direct && r.store != nil {
		ctx = wire.WithKnown(ctx, r.store.Known)
	}
	var pause backoff
	for ctx.Err() == nil {
		var err *SyncError
		switch s.phase {
		case streamingList:
			s, err = r.streamList(ctx, s)
		case listing:
			s, err = r.list(ctx, s)
		default:
			s, err = r.watch(ctx, s)
		}
		// A failure after the end of ctx is a consequence of it and is ignored.
		if err == nil || ctx.Err() != nil {
			continue
		}
		r.report(ctx, err)
		// A source such as a *client.ListWatcher can wait until a failed server is reachable again.
		var cure func(context.Context) error
		source, ok := r.source.(interface{ Reachable(context.Context) error })
		if ok && isOutage(err) {
			cure = source.Reachable
		}
		pause.wait(ctx, err, cure)
	}
}

// report makes Err return failure, and logs it.
func (r *Reflector[T]) report(ctx context.Context, failure *SyncError) {
	known := r.err.Swap(failure)
	if r.opts.Failed != nil {
		r.opts.Failed(failure)
	}
	r.failures.Inc(r.label, failure.Verb)
	level := slog.LevelWarn
	if isExpired(failure) || known != nil && isAbsent(known) && isAbsent(failure) {
		level = slog.LevelDebug // the first is normal for a watch, and the second was already logged
	}
	r.log.Log(ctx, level, "out of step with the API server", "err", failure)
}

func (r *Reflector[T]) failed(verb string, err error) *SyncError {
	return &SyncError{Verb: verb, Resource: r.opts.Name, Namespace: r.opts.Namespace, Err: err}
}

// transformed returns obj after the transform, and reports whether the transform succeeded.
func (r *Reflector[T]) transformed(obj T) (T, bool) {
	if r.opts.Transform == nil {
		return obj, true
	}
	key := object.KeyOf(obj)
	out, err := r.opts.Transform(obj)
	if err != nil {
		r.log.Error("transform an object", "key", key, "err", err)
		return obj, false
	}
	return out, true
}

// state is the complete state of a reflector between two steps.
type state[T object.Object] struct {
	phase phase
	// version is the version of the sink, from which the next watch starts. It is empty before the first complete state.
	version string
	// latest makes the next list request the latest state, because the server rejected version.
	latest bool
	// streaming makes the next list a streaming list. It stays false once the server does not support these.
	streaming bool
	// cut counts consecutive streaming lists that ended before they were complete.
	cut int
	// paged means that the server sends pages even for lists that it could answer from its cache, so it has no such cache.
	paged bool
	// fresh means that the server was reset, so the next list must not reuse objects of the store.
	fresh bool
	// heard is when the server last reported its version: by a state, an event, a bookmark or an answer.
	heard time.Time
	// stuck means that the last watch ended at once without progress.
	stuck bool
	// stream is the stream of a streaming list, which continues as a watch. If it is nil, a new watch is opened. The
	// server was requested to end the stream at the time end.
	stream client.Stream[T]
	end    time.Time
}

// phase is the next action of a reflector.
type phase int

const (
	// streamingList reads the complete state from a watch that first sends the existing objects.
	streamingList phase = iota
	// listing reads the complete state with a LIST, page by page.
	listing
	// watching reads the changes since version.
	watching
)

// relist returns s with the phase changed so that the next action reads the complete state.
func (s state[T]) relist() state[T] {
	s.phase = listing
	if s.streaming {
		s.phase = streamingList
	}
	return s
}

// wentBack reports whether a complete state of that version is known to be older than the previous one, because the
// server was reset. Equal versions before and after a reset may belong to different states.
func (s state[T]) wentBack(version string) bool { return newer(s.version, version) }

// unversioned reports whether s has no version that a server could have assigned.
func (s state[T]) unversioned() bool { return s.version == "" || s.version == "0" }

// newer reports whether version a is known to be later than b.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// defaultPageSize is the limit of a list request where paging costs the server nothing extra.
const defaultPageSize = 500

// errNoVersion reports a list or event without a resource version, from which no watch can start.
var errNoVersion = errors.New("the server sent no resourceVersion")

// errWentBack reports an event, bookmark or list with a version before the watch's version, which means that the server
// was reset, for example from a backup. Applying it would move the store back, which only a complete list may do.
var errWentBack = errors.New("the server has gone back to an earlier resourceVersion")

// list reads the complete state with LIST requests and pushes it.
func (r *Reflector[T]) list(ctx context.Context, s state[T]) (state[T], *SyncError) {
	version := s.listVersion()
	all, pages, err := r.readPages(r.asking(ctx, s), s, version, r.limit(s, version))
	switch {
	case err == nil:
		// A cache would have sent all objects at once, regardless of the limit.
		s.paged = s.paged || version == "0" && pages > 1
		return r.accept(s, all), nil
	case version != "" && (isExpired(err) || isTooLarge(err)):
		// No pause is needed, because the server has reported that it lacks this version and has the latest one.
		s.latest = true
		return s, nil
	}
	// A streaming list that was only cut is tried again, because the next server may complete it.
	return s.relist(), r.failed("list", err)
}

// accept pushes the complete state all and returns the next state, which is to watch. If the server was reset, and all
// reuses objects of the store, then all may have states that no longer exist. In this case, accept pushes nothing and
// requests a fresh list. accept clears the error before it pushes, so that code that waits for the state finds none.
func (r *Reflector[T]) accept(s state[T], all Delta[T]) state[T] {
	if s.wentBack(all.ResourceVersion) {
		if r.store != nil && !s.fresh {
			s.fresh = true
			return s
		}
		r.log.Warn("the API server was set back, and the cache with it", "from", s.version, "to", all.ResourceVersion)
	}
	r.err.Store(nil)
	r.lists.Inc(r.label)
	r.sink.Push(all)
	s.phase, s.version, s.latest, s.cut, s.fresh = watching, all.ResourceVersion, false, 0, false
	s.heard = time.Now()
	return s
}

// asking returns the context for a request that begins a complete state. If s.fresh is set, the context does not
// include the objects of the store.
func (r *Reflector[T]) asking(ctx context.Context, s state[T]) context.Context {
	if !s.fresh {
		return ctx
	}
	return wire.WithKnown(ctx, func() wire.Known[T] { return nil })
}

// listVersion returns the version for a list request. The first list accepts any version. Later lists require a version
// that is not older than the sink's, or the latest one if the server could not provide that.
func (s state[T]) listVersion() string {
	switch {
	case s.latest:
		return ""
	case s.version == "":
		return "0"
	}
	return s.version
}

// limit returns the page size for a list at version. A limit makes the server bypass its cache for a list that requires
// a minimum version, so such a list is paged only if the server has no cache.
func (r *Reflector[T]) limit(s state[T], version string) int64 {
	switch {
	case r.opts.PageSize > 0:
		return r.opts.PageSize
	case version == "" || version == "0" || s.paged:
		return defaultPageSize
	}
	return 0
}

// errCircle reports a server whose pages form a cycle.
var errCircle = errors.New("the server continues the list with a page that it has sent before")

// readPages returns all objects as one Replaced, and the number of pages. If the server drops the list between two
// pages, readPages reads everything again in one page. It fails if the server also splits that list into pages and
// drops it, or if the server repeats pages forever.
func (r *Reflector[T]) readPages(ctx context.Context, s state[T], version string, limit int64) (Delta[T], int, error) {
	all := r.collector(0)
	first := "" // the version of the first page, which is the version of the list
	options := metav1.ListOptions{ResourceVersion: version, Limit: limit}
	again := false
	passed := "" // the token of a page whose number is a power of two: a cycle comes back to it
	for pages := 1; ; pages++ {
		page, err := r.source.List(ctx, options)
		if err != nil && options.Continue != "" && isExpired(err) && !again {
			// The server no longer has the state of the pages read so far, and pages of two states must not be mixed.
			all, again, passed = r.collector(0), true, ""
			options = metav1.ListOptions{ResourceVersion: version}
			continue
		}
		if err != nil {
			return Delta[T]{}, pages, err
		}
		if page.ResourceVersion == "" {
			return Delta[T]{}, pages, errNoVersion
		}
		for _, obj := range page.Items {
			r.gather(s, all, obj)
		}
		// Later pages may report later versions, although they belong to the state of the first page.
		if options.Continue == "" {
			first = page.ResourceVersion
		}
		switch {
		case page.Continue == "":
			return r.replaced(s, all, first), pages, nil
		case page.Continue == passed:
			return Delta[T]{}, pages, errCircle
		case pages&(pages-1) == 0:
			passed = page.Continue
		}
		options = metav1.ListOptions{Limit: limit, Continue: page.Continue}
	}
}

func (r *Reflector[T]) gather(s state[T], all collect.Collector[T], obj T) {
	key := object.KeyOf(obj)
	if !s.fresh && all.Keep(key, obj) {
		return // it was transformed when it first arrived
	}
	if obj, ok := r.transformed(obj); ok {
		all.Set(key, obj)
	} else {
		all.Retain(key)
	}
}

// collector returns an empty state with capacity for size objects.
func (r *Reflector[T]) collector(size int) collect.Collector[T] {
	if r.store == nil {
		return collect.NewWhole[T](size, nil)
	}
	return r.store.Collect(size)
}

func (r *Reflector[T]) replaced(s state[T], all collect.Collector[T], version string) Delta[T] {
	d := Delta[T]{Type: Replaced, ResourceVersion: version, SetBack: s.fresh}
	d.Stored, d.Retained = all.State()
	r.size = d.Stored.Len()
	if r.store == nil {
		d.Objects, d.Stored = d.Stored.(*collect.List[T, T]).Values(), nil
	}
	return d
}

var (
	errCut    = errors.New("the streaming list ended before everything was sent")
	errSilent = fmt.Errorf("the streaming list sent nothing for %v", silentFor*waitingAfter)
	// errIgnored reports a server that continues with the bookmarks of an ordinary watch.
	errIgnored = fmt.Errorf("the streaming list has no end, and the server sends other bookmarks after %v",
		silentFor*waitingAfter)
)

// streamList reads and pushes the complete state from a watch that sends it first, and keeps the stream for the watch.
func (r *Reflector[T]) streamList(ctx context.Context, s state[T]) (state[T], *SyncError) {
	version := s.version
	if s.latest {
		version = ""
	}
	options := watchOptions(version) // without bookmarks, the server would not report the end of the initial objects
	options.SendInitialEvents = new(true)
	options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	s.end = endOfWatch(options)
	stream, err := r.source.Watch(r.asking(ctx, s), options)
	if err != nil {
		return r.afterStreamList(s, version, err)
	}
	detach := closeWith(ctx, stream)
	all, err := r.readInitial(s, stream)
	// detach must be called before the stream is passed to the next watch, which closes it.
	detach()
	if err != nil {
		_ = stream.Close()
		// A proxy that ends long requests would cut every streaming list: after two cuts, use a LIST.
		if isBroken(err) && !ignoresStreaming(err) {
			err = errors.Join(errCut, unlessEOF(err))
		}
		return r.afterStreamList(s, version, err)
	}
	if s = r.accept(s, all); s.phase != watching {
		_ = stream.Close()
		return s, nil
	}
	s.stream = stream
	return s, nil
}

// ignoresStreaming reports whether err means that the server treats a streaming list as an ordinary watch.
func ignoresStreaming(err error) bool { return errors.Is(err, errSilent) || errors.Is(err, errIgnored) }

// afterStreamList returns the next state after a streaming list at version that ended with err.
func (r *Reflector[T]) afterStreamList(s state[T], version string, err error) (state[T], *SyncError) {
	switch {
	case isUnsupported(err), ignoresStreaming(err):
		r.log.Info("the server has no streaming lists, so ordinary ones are used", "err", err)
		s.streaming = false
		return s.relist(), nil
	case version != "" && (isExpired(err) || isTooLarge(err)):
		s.latest = true
		return s, nil
	case isRefusal(err):
		// A busy or unavailable server must not receive a list request, which costs it more.
		return s, r.failed("watch", err)
	case errors.Is(err, errCut) && s.cut == 0:
		s.cut++
		return s, r.failed("watch", err)
	}
	s.phase, s.cut = listing, 0
	return s, r.failed("watch", err)
}

const (
	// waitingAfter is the interval at which the reflector logs that a streaming list is unfinished.
	waitingAfter = 10 * time.Second
	// silentFor is the number of these intervals without data after which a streaming list counts as ignored.
	silentFor = 3
)

// readInitial reads stream up to the bookmark that ends the initial events, and returns the objects as one Replaced.
func (r *Reflector[T]) readInitial(s state[T], stream client.Stream[T]) (Delta[T], error) {
	initial, begun, before := r.collector(r.size), time.Now(), r.received.Load()
	silent := r.closeIfIdle(stream, begun, waitingAfter, silentFor, func() {
		r.log.Warn("still waiting for the end of the initial events", "received", r.received.Load()-before)
	})
	defer silent()
	for {
		event, err := stream.Next()
		if err != nil {
			// The error of a stream that closeIfIdle has closed is meaningless.
			if silent() {
				err = errSilent
			}
			return Delta[T]{}, err
		}
		r.received.Add(1)
		switch event.Type {
		case watch.Bookmark:
			if event.InitialEventsEnd {
				return r.replaced(s, initial, event.ResourceVersion), nil
			}
			// The stream of a kind that changes constantly is never silent.
			if time.Since(begun) >= silentFor*waitingAfter {
				return Delta[T]{}, errIgnored
			}
		case watch.Added, watch.Modified:
			r.gather(s, initial, event.Object)
		case watch.Deleted:
			initial.Remove(object.KeyOf(event.Object))
		default:
			r.log.Error("unknown type of watch event", "type", event.Type)
		}
	}
}

// closeIfIdle closes stream when no event has arrived for the given number of periods, of which the first begins at
// from. It calls waiting at the end of each period before that. The returned stop function ends this supervision and
// reports whether stream was closed.
func (r *Reflector[T]) closeIfIdle(stream client.Stream[T], from time.Time, period time.Duration, periods int,
	waiting func()) (stop func() (closed bool)) {
	var mu sync.Mutex
	var timer *time.Timer
	var received int64 // at the end of the last period
	begun, idle, stopped, closed := false, 0, false, false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(time.Until(from), func() {
		mu.Lock()
		defer mu.Unlock()
		if stopped {
			return
		}
		idle++
		if now := r.received.Load(); !begun || now != received {
			received, idle = now, 0
		}
		if idle == periods {
			closed = true
			_ = stream.Close() // which ends a blocked Next
			return
		}
		if begun {
			waiting()
		}
		begun = true
		timer.Reset(period)
	})
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
		return closed
	}
}

const (
	// minWatch is the shortest requested duration of a watch; the longest is twice that.
	minWatch = 5 * time.Minute
	// shortWatch is how long a watch must last to count as successful if it makes no progress.
	shortWatch = time.Second
)

// errShortWatch reports that a server or proxy accepts watches and ends them at once.
var errShortWatch = errors.New("the watch ended within a second and brought nothing new")

// watch reads changes, starting from the version of s, until the stream ends.
func (r *Reflector[T]) watch(ctx context.Context, s state[T]) (state[T], *SyncError) {
	// A streaming list continues as the watch, because a new watch could miss changes in between.
	stream := s.stream
	s.stream = nil
	if stream == nil {
		var err error
		options, opened := watchOptions(s.version), time.Now()
		s.end = endOfWatch(options)
		stream, err = r.source.Watch(ctx, options)
		if err != nil {
			// After a refusal the version is still valid. After any other error the version may be the cause.
			if !isRefusal(err) {
				s = s.relist()
			}
			return s, r.failed("watch", err)
		}
		if opened.Sub(s.heard) >= minWatch {
			if r.isBehind(ctx, s) {
				_ = stream.Close()
				s.latest, s.fresh = true, true
				return s.relist(), r.failed("watch", errWentBack)
			}
			s.heard = opened
		}
	}
	defer stream.Close()
	defer closeWith(ctx, stream)()
	r.watches.Inc(r.label)
	r.err.Store(nil)
	start, from, before := time.Now(), s.version, s.stuck
	stop := r.closeIfIdle(stream, s.end, overdueAfter, 1, func() {})
	events, err := r.follow(stream, &s)
	overdue := stop()
	s.stuck = s.version == from && time.Since(start) < shortWatch
	switch {
	case ctx.Err() != nil:
		return s, nil
	// Without this case, the reflector would reopen the watch forever without a pause.
	case s.stuck && (events == 0 || before) && isBroken(err):
		return s.relist(), r.failed("watch", errors.Join(errShortWatch, unlessEOF(err)))
	case errors.Is(err, io.EOF), overdue:
		// The requested end of a watch is not a failure. An overdue watch is opened again.
		return s, nil
	case isBroken(err), isRefusal(err):
		return s, r.failed("watch", err)
	}
	s.fresh = errors.Is(err, errWentBack)
	return s.relist(), r.failed("watch", err)
}

// askFor is the timeout of the request of isBehind.
const askFor = 30 * time.Second

// isBehind requests a list of one object to check whether the server is at a version before the version of s. Such a
// server sends no event and no bookmark until it has reached that version, and then continues from there. If the
// request fails, the check is repeated after the next watch.
func (r *Reflector[T]) isBehind(ctx context.Context, s state[T]) bool {
	if s.unversioned() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	page, err := r.source.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		r.log.DebugContext(ctx, "ask the API server for its version", "err", err)
		return false
	}
	return s.wentBack(page.ResourceVersion)
}

// overdueAfter is how long a watch may continue without data after the server should have ended it. A proxy or network
// may have lost the watch, in which case no event would ever arrive.
const overdueAfter = time.Minute

// endOfWatch returns when the server should end a watch that is opened now.
func endOfWatch(options metav1.ListOptions) time.Time {
	return time.Now().Add(time.Duration(*options.TimeoutSeconds) * time.Second)
}

// follow pushes the events of stream until it ends, updates s.version, and returns their number and the reason.
func (r *Reflector[T]) follow(stream client.Stream[T], s *state[T]) (int, error) {
	// A watch without a version begins with the existing objects, whose versions are not the sink's version.
	replaying := s.unversioned()
	for events := 0; ; events++ {
		event, err := stream.Next()
		if err != nil {
			return events, err
		}
		r.received.Add(1)
		if event.ResourceVersion == "" {
			return events, errNoVersion
		}
		kind := deltaType(event.Type)
		if kind != 0 && newer(s.version, event.ResourceVersion) {
			return events, errWentBack
		}
		s.heard = time.Now()
		replaying = replaying && kind == Added
		if kind == 0 {
			r.log.Error("unknown type of watch event", "type", event.Type)
			continue
		}
		delta := r.delta(kind, event)
		// The sink must not assume a version while older objects may still arrive.
		if replaying {
			delta.ResourceVersion = ""
		} else {
			s.version = delta.ResourceVersion
		}
		r.sink.Push(delta)
	}
}

// deltaType returns the type of the delta for an event of type t. It returns 0 for a type that a watch may not send,
// because the versions of such events are meaningless.
func deltaType(t watch.EventType) DeltaType {
	switch t {
	case watch.Bookmark:
		return Bookmark
	case watch.Added:
		return Added
	case watch.Modified:
		return Updated
	case watch.Deleted:
		return Deleted
	}
	return 0
}

// delta returns the delta of event, which has the given type. If the transform fails, it returns a bookmark.
func (r *Reflector[T]) delta(kind DeltaType, event client.WatchEvent[T]) Delta[T] {
	d := Delta[T]{Type: kind, ResourceVersion: event.ResourceVersion, Bytes: event.Bytes}
	if kind == Bookmark {
		return d
	}
	d.Key = object.KeyOf(event.Object)
	obj, ok := r.transformed(event.Object)
	switch {
	case ok:
		d.Object = obj
	case d.Type == Deleted:
		d.FinalStateUnknown = true
	default:
		// The store keeps the object's previous state, but a later watch continues from this event's version.
		return Delta[T]{Type: Bookmark, ResourceVersion: d.ResourceVersion}
	}
	return d
}

// watchOptions requests the changes since version. Bookmarks keep a quiet watch within the server's history.
func watchOptions(version string) metav1.ListOptions {
	seconds := int64((minWatch + rand.N(minWatch)) / time.Second)
	return metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}
}

// closeWith closes stream when ctx ends, unless detach is called first. detach waits for a Close in progress.
func closeWith[T object.Object](ctx context.Context, stream client.Stream[T]) (detach func()) {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = stream.Close()
	})
	return func() {
		if !stop() {
			// Close must not affect the stream after the caller passes it on.
			<-closed
		}
	}
}

func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
