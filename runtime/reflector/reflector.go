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

// Sink receives the deltas of a [Reflector], in order. Push must not block for long. *[DeltaFIFO] is one.
type Sink[T object.Object] interface {
	Push(Delta[T])
}

// Options tune a [Reflector]. The zero value is useful.
type Options[T object.Object] struct {
	// Name names the reflector in logs, metrics and errors. It should be that of the resource, such as
	// "guestbooks.webapp.example.com". The default is the name of the type T.
	Name string
	// Namespace is the namespace of the objects, if they are of one: it is named beside Name.
	Namespace string
	// Logger is where failures are logged; nil is slog.Default().
	Logger *slog.Logger
	// Transform, if set, is applied to each object once when it arrives, before the sink gets it. It may modify the
	// object. An object for which it fails is logged, and retained as it was before. Transform must not change the
	// namespace and the name.
	Transform func(T) (T, error)
	// DisableWatchList makes the reflector begin with a LIST even if the server can stream the initial state.
	DisableWatchList bool
	// PageSize is the number of objects per page of a LIST. Zero is 500 where paging does not bypass the server's
	// cache, and one page otherwise; another value is used always.
	PageSize int64
	// Metrics is where the metrics of the reflector are registered; nil is nowhere.
	Metrics *metrics.Registry
	// Failed, if set, is called for each list or watch that fails, once Err returns the error. It must not block.
	Failed func(*SyncError)
}

// ListerWatcher is a source of objects: one resource in one scope of an API server. *client.ListWatcher is one. With a
// method Reachable(ctx context.Context) error, as that one has, the reflector comes back soon after an outage. A
// *client.ListWatcher does not decode what the sink has, if that is an informer; a type that wraps one decodes
// everything.
type ListerWatcher[T object.Object] interface {
	// List returns one page of the objects, as options ask for it.
	List(ctx context.Context, options metav1.ListOptions) (*client.Page[T], error)
	// Watch opens a stream of changes. The stream ends at the latest when ctx does.
	Watch(ctx context.Context, options metav1.ListOptions) (client.Stream[T], error)
}

// Reflector follows one resource of an API server: it reads the whole state, pushes it to its sink as one Replaced, and
// then pushes every change, for ever. After failures it waits, longer each time, and goes on where it was; only when
// the server no longer has the changes since then does it read the whole state again.
type Reflector[T object.Object] struct {
	source    ListerWatcher[T]
	sink      Sink[T]
	name      string
	namespace string
	label     string // the reflector in metrics
	log       *slog.Logger
	transform func(T) (T, error)
	streaming bool // begin with a streaming list
	pageSize  int64
	lists     *metrics.Counter
	watches   *metrics.Counter
	failures  *metrics.Counter
	onFailure func(*SyncError)
	err       atomic.Pointer[SyncError]
	received  atomic.Int64 // events of all watches

	size int // objects of the last streaming list; for Run alone
	// store is the sink, if it has a store: what that has is not decoded and transformed again. It is nil for other
	// sinks.
	store collect.Store[T]
}

// New returns a reflector from source to sink. It starts nothing: [Reflector.Run] does.
func New[T object.Object](source ListerWatcher[T], sink Sink[T], opts Options[T]) *Reflector[T] {
	name := cmp.Or(opts.Name, reflect.TypeFor[T]().String())
	label := name
	if opts.Namespace != "" {
		label += "/" + opts.Namespace
	}
	store, _ := sink.(collect.Store[T])
	return &Reflector[T]{
		source:    source,
		sink:      sink,
		name:      name,
		namespace: opts.Namespace,
		label:     label,
		log:       cmp.Or(opts.Logger, slog.Default()).With("informer", label),
		transform: opts.Transform,
		streaming: !opts.DisableWatchList,
		pageSize:  opts.PageSize,
		lists:     opts.Metrics.Counter("informer_lists_total", "Complete states read from the API server.", "informer"),
		watches:   opts.Metrics.Counter("informer_watches_total", "Watches opened.", "informer"),
		failures:  opts.Metrics.Counter("informer_failures_total", "Lists and watches that failed.", "informer", "verb"),
		onFailure: opts.Failed,
		store:     store,
	}
}

// Err returns why the sink is not in step with the source, as a *[SyncError], or nil when it is, and before Run.
func (r *Reflector[T]) Err() error {
	if err := r.err.Load(); err != nil {
		return err
	}
	return nil
}

// Run follows the source until ctx ends. It starts no goroutine that outlives it.
func (r *Reflector[T]) Run(ctx context.Context) {
	s := state[T]{phase: listing, streaming: r.streaming}
	if s.streaming {
		s.phase = streamingList
	}
	// In a closure: s is another one after each step.
	defer func() { s.closeStream() }()
	// Others than the client might change what they get, so they get nothing that the store has.
	if _, direct := r.source.(*client.ListWatcher[T]); direct && r.store != nil {
		ctx = wire.WithKnown(ctx, r.store.Known)
	}
	var pause backoff
	for ctx.Err() == nil {
		var err error
		s, err = r.step(ctx, s)
		// What fails when ctx ends fails because of that, and is nobody's business.
		if err == nil || ctx.Err() != nil {
			continue
		}
		r.report(ctx, err)
		pause.wait(ctx, err, r.cure(err))
	}
}

// recoverable is a source that reports when a failed server is reachable again. *[client.ListWatcher] is one.
type recoverable interface {
	Reachable(ctx context.Context) error
}

// cure returns what waits for the end of what caused err, nil when nobody knows that.
func (r *Reflector[T]) cure(err error) func(context.Context) error {
	if source, ok := r.source.(recoverable); ok && isOutage(err) {
		return source.Reachable
	}
	return nil
}

// report makes err what Err returns, and logs it.
func (r *Reflector[T]) report(ctx context.Context, err error) {
	failure, ok := errors.AsType[*SyncError](err)
	if !ok {
		failure = r.failed("watch", err)
	}
	known := r.err.Swap(failure)
	if r.onFailure != nil {
		r.onFailure(failure)
	}
	r.failures.Inc(r.label, failure.Verb)
	level := slog.LevelWarn
	if isExpired(err) || known != nil && isAbsent(known) && isAbsent(err) {
		level = slog.LevelDebug // in the life of a watch the first is normal, and of the second all was said
	}
	r.log.Log(ctx, level, "out of step with the API server", "err", err)
}

// healthy clears what Err returns.
func (r *Reflector[T]) healthy() {
	r.watches.Inc(r.label)
	r.err.Store(nil)
}

func (r *Reflector[T]) failed(verb string, err error) *SyncError {
	return &SyncError{Verb: verb, Resource: r.name, Namespace: r.namespace, Err: err}
}

// transformed returns obj after the transform, and whether that worked.
func (r *Reflector[T]) transformed(obj T) (T, bool) {
	if r.transform == nil {
		return obj, true
	}
	key := object.KeyOf(obj)
	out, err := r.transform(obj)
	if err != nil {
		r.log.Error("transform an object", "key", key, "err", err)
		return obj, false
	}
	return out, true
}

// state is all that a reflector remembers between two steps.
type state[T object.Object] struct {
	phase phase
	// version is where the sink is: the next watch starts here. It is empty before the first complete state.
	version string
	// latest makes the next list ask for the latest state there is, because the server refused version.
	latest bool
	// streaming makes the next list a streaming one. It is off for good once the server has shown that it has none.
	streaming bool
	// cut counts the streaming lists in a row that ended before all was sent.
	cut int
	// paged is set when the server pages even a list that it may answer from its cache: it has no such cache.
	paged bool
	// anew makes the next list one of which nothing is taken from the store: the server was set back to an earlier
	// state.
	anew bool
	// heard is when the server last said which version it is at: by a whole state, by an event or a bookmark, or when
	// it was asked.
	heard time.Time
	// stuck is set when the last watch ended at once and came no further.
	stuck bool
	// stream is what a streaming list goes on with as a watch; nil opens a new one. The server was asked to end it by
	// then.
	stream client.Stream[T]
	end    time.Time
}

// phase is what a reflector does next.
type phase int

const (
	// streamingList: the whole state is read from a watch that sends it first.
	streamingList phase = iota
	// listing: the whole state is read by a LIST, page by page.
	listing
	// watching: changes since version are read.
	watching
)

// step does what s asks for and returns what is next. With an error, that is to be done after a pause. A finished
// context is no error.
func (r *Reflector[T]) step(ctx context.Context, s state[T]) (state[T], error) {
	switch s.phase {
	case streamingList:
		return r.streamList(ctx, s)
	case listing:
		return r.list(ctx, s)
	default:
		return r.watch(ctx, s)
	}
}

// relist returns s with reading the whole state as the next thing to do.
func (s state[T]) relist() state[T] {
	s.phase = listing
	if s.streaming {
		s.phase = streamingList
	}
	return s
}

// complete returns s after the whole state of that version was pushed: watching is next.
func (s state[T]) complete(version string) state[T] {
	s.phase, s.version, s.latest, s.cut, s.anew = watching, version, false, 0, false
	s.heard = time.Now()
	return s
}

// wentBack reports whether a whole state of that version is known to be older than the one before it: the server was
// set back, as from a backup. What it has since given a version may differ from what had this version before.
func (s state[T]) wentBack(version string) bool { return newer(s.version, version) }

// unversioned reports whether s is at no version that a server counts.
func (s state[T]) unversioned() bool { return s.version == "" || s.version == "0" }

// newer reports whether version a is known to be after b.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// closeStream closes the stream kept from a streaming list, if there is one.
func (s *state[T]) closeStream() {
	if s.stream != nil {
		_ = s.stream.Close()
		s.stream = nil
	}
}

// defaultPageSize is the limit of a list request where paging costs the server nothing extra.
const defaultPageSize = 500

// errNoVersion reports a list, or an event, that does not say which state of the server it is of: no watch can follow
// it.
var errNoVersion = errors.New("the server sent no resourceVersion")

// errWentBack reports an event, a bookmark or a list of a version from before the watch: the server was set back, as
// from a backup. What it sends would move the store back, which only a list of everything may.
var errWentBack = errors.New("the server has gone back to an earlier resourceVersion")

// list reads the whole state by LIST requests and pushes it.
func (r *Reflector[T]) list(ctx context.Context, s state[T]) (state[T], error) {
	version := s.listVersion()
	all, pages, err := r.readPages(r.asking(ctx, s), s, version, r.limit(s, version))
	switch {
	case err == nil && r.mustReadAnew(s, all):
		s.anew = true
		return s, nil
	case err == nil:
	case version != "" && (isExpired(err) || isTooLarge(err)):
		// At once, without a pause: the server has said what it lacks, and that it has the latest.
		s.latest = true
		return s, nil
	default:
		// If streaming lists were only cut, they are tried again: the next server may send them whole.
		return s.relist(), r.failed("list", err)
	}
	// A cache would have sent all at once, whatever the limit.
	if version == "0" && pages > 1 {
		s.paged = true
	}
	r.push(s, all)
	return s.complete(all.ResourceVersion), nil
}

// mustReadAnew reports whether all, which was read without s being anew, may have states of the store that are no more.
func (r *Reflector[T]) mustReadAnew(s state[T], all Delta[T]) bool {
	return r.store != nil && !s.anew && s.wentBack(all.ResourceVersion)
}

// asking returns ctx for a request that begins a whole state: without what the store has, if s is anew.
func (r *Reflector[T]) asking(ctx context.Context, s state[T]) context.Context {
	if !s.anew {
		return ctx
	}
	return wire.WithKnown(ctx, func() wire.Known[T] { return nil })
}

// listVersion returns what a list asks for: anything at first, later nothing older than what the sink has, and the
// latest state when the server could not give that.
func (s state[T]) listVersion() string {
	switch {
	case s.latest:
		return ""
	case s.version == "":
		return "0"
	}
	return s.version
}

// limit returns the page size for a list at version. A limit makes the server bypass its cache for a list that is not
// older than a version, so such a list is not paged unless the server has no cache.
func (r *Reflector[T]) limit(s state[T], version string) int64 {
	switch {
	case r.pageSize > 0:
		return r.pageSize
	case version == "" || version == "0" || s.paged:
		return defaultPageSize
	}
	return 0
}

// errCircle reports a server whose pages have no end.
var errCircle = errors.New("the server continues the list with a page that it has sent before")

// readPages returns all objects as one Replaced, and how many pages it took. When the server forgets the list between
// two pages, all is read again in one; a server that sends that in pages too, and forgets them, is an error, and so is
// one that sends the same pages again and again.
func (r *Reflector[T]) readPages(ctx context.Context, s state[T], version string, limit int64) (Delta[T], int, error) {
	all := r.collector(0)
	first := "" // the version of the first page, which is that of the list
	options := metav1.ListOptions{ResourceVersion: version, Limit: limit}
	again := false
	passed := "" // the token of a page whose number is a power of two: a circle comes back to it once it is in there
	for pages := 1; ; pages++ {
		page, err := r.source.List(ctx, options)
		if err != nil && options.Continue != "" && isExpired(err) && !again {
			// What was read is of a state that is gone: pages of two states must not be mixed.
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
		// Later pages may name later versions, though they are of the state of the first.
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

// gather makes obj part of a state.
func (r *Reflector[T]) gather(s state[T], all collect.Collector[T], obj T) {
	key := object.KeyOf(obj)
	if !s.anew && all.Keep(key, obj) {
		return // transformed when it came
	}
	if obj, ok := r.transformed(obj); ok {
		all.Set(key, obj)
	} else {
		all.Retain(key)
	}
}

// collector returns an empty state with room for that many objects.
func (r *Reflector[T]) collector(size int) collect.Collector[T] {
	if r.store == nil {
		return collect.NewWhole[T](size, nil)
	}
	return r.store.Collect(size)
}

// replaced returns the delta of a whole state.
func (r *Reflector[T]) replaced(s state[T], all collect.Collector[T], version string) Delta[T] {
	d := Delta[T]{Type: Replaced, ResourceVersion: version, SetBack: s.anew}
	d.Stored, d.Retained = all.State()
	if r.store == nil {
		d.Objects, d.Stored = d.Stored.(*collect.Objects[T]).InOrder, nil
	}
	return d
}

// push makes all the state of the sink. Whoever waits for that finds no error after it.
func (r *Reflector[T]) push(s state[T], all Delta[T]) {
	if s.wentBack(all.ResourceVersion) {
		r.log.Warn("the API server was set back, and the cache with it", "from", s.version, "to", all.ResourceVersion)
	}
	r.err.Store(nil)
	r.lists.Inc(r.label)
	r.sink.Push(all)
}

var (
	errCut    = errors.New("the streaming list ended before everything was sent")
	errSilent = fmt.Errorf("the streaming list sent nothing for %v", silentFor*waitingAfter)
	// errIgnored is what a server means that goes on with bookmarks like those of any watch.
	errIgnored = fmt.Errorf("the streaming list has no end, and the server sends other bookmarks after %v", silentFor*waitingAfter)
)

// streamList reads the whole state from a watch that sends it first, pushes it, and leaves the stream to be watched.
func (r *Reflector[T]) streamList(ctx context.Context, s state[T]) (state[T], error) {
	version := s.version
	if s.latest {
		version = ""
	}
	options := streamListOptions(version)
	s.end = endOfWatch(options)
	stream, err := r.source.Watch(r.asking(ctx, s), options)
	if err != nil {
		return r.afterStreamList(s, version, err)
	}
	detach := closeWith(ctx, stream)
	all, err := r.readInitial(ctx, s, stream)
	// Before the stream may be handed on: from here its next watch closes it.
	detach()
	if err != nil {
		_ = stream.Close()
		// A proxy that ends long requests would cut every streaming list: after two in a row comes a LIST.
		if isBroken(err) && !ignoresStreaming(err) {
			err = errors.Join(errCut, unlessEOF(err))
		}
		return r.afterStreamList(s, version, err)
	}
	if r.mustReadAnew(s, all) {
		_ = stream.Close()
		s.anew = true
		return s, nil
	}
	r.push(s, all)
	s = s.complete(all.ResourceVersion)
	s.stream = stream
	return s, nil
}

// ignoresStreaming reports whether err says that the server takes a streaming list for an ordinary watch.
func ignoresStreaming(err error) bool { return errors.Is(err, errSilent) || errors.Is(err, errIgnored) }

// afterStreamList returns what follows a streaming list at version that ended with err.
func (r *Reflector[T]) afterStreamList(s state[T], version string, err error) (state[T], error) {
	switch {
	case isUnsupported(err), ignoresStreaming(err):
		r.log.Info("the server has no streaming lists, so ordinary ones are used", "err", err)
		s.streaming = false
		return s.relist(), nil
	case version != "" && (isExpired(err) || isTooLarge(err)):
		s.latest = true
		return s, nil
	case isRefusal(err):
		// A server that is busy, or away, is not helped by a list that costs it more.
		return s, r.failed("watch", err)
	case errors.Is(err, errCut) && s.cut == 0:
		s.cut++
		return s, r.failed("watch", err)
	}
	s.phase, s.cut = listing, 0
	return s, r.failed("watch", err)
}

// streamListOptions asks for what exists, not older than version, and the changes since. Without bookmarks the server
// would never say where the first ends.
func streamListOptions(version string) metav1.ListOptions {
	options := watchOptions(version)
	initial := true
	options.SendInitialEvents = &initial
	options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	return options
}

const (
	// waitingAfter is how often it is logged that a streaming list has not ended.
	waitingAfter = 10 * time.Second
	// silentFor is how many of these periods a streaming list may send nothing before the server is taken for one that
	// ignores the request for one.
	silentFor = 3
)

// readInitial reads stream up to the bookmark that ends the initial events, and returns what exists there as one
// Replaced.
func (r *Reflector[T]) readInitial(ctx context.Context, s state[T], stream client.Stream[T]) (Delta[T], error) {
	var received atomic.Int64
	silent := r.superviseInitial(ctx, stream, &received)
	initial, begun := r.collector(r.size), time.Now()
	for {
		event, err := stream.Next()
		if err != nil {
			// Its supervisor has closed the stream: the error of that says nothing.
			if silent() {
				err = errSilent
			}
			return Delta[T]{}, err
		}
		received.Add(1)
		if event.Type == watch.Bookmark && event.InitialEventsEnd {
			silent()
			all := r.replaced(s, initial, event.ResourceVersion)
			r.size = all.count()
			return all, nil
		}
		// Of a kind that changes all the time it is never silent.
		if event.Type == watch.Bookmark && time.Since(begun) >= silentFor*waitingAfter {
			silent()
			return Delta[T]{}, errIgnored
		}
		r.applyInitial(s, initial, event)
	}
}

// superviseInitial logs that the end of the initial events is waited for, and closes stream when nothing is received
// for too long. The function that it returns ends the supervision and reports whether that happened.
func (r *Reflector[T]) superviseInitial(ctx context.Context, stream client.Stream[T], received *atomic.Int64) func() bool {
	ctx, cancel := context.WithCancel(ctx)
	var supervisor sync.WaitGroup
	silent := false
	supervisor.Go(func() {
		ticker := time.NewTicker(waitingAfter)
		defer ticker.Stop()
		last, idle := int64(0), 0
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if n := received.Load(); n != last {
				last, idle = n, 0
			} else if idle++; idle == silentFor {
				silent = true
				// Next cannot be woken in another way.
				_ = stream.Close()
				return
			}
			r.log.Warn("still waiting for the end of the initial events", "received", last)
		}
	})
	return func() bool {
		cancel()
		supervisor.Wait()
		return silent
	}
}

// applyInitial brings initial to the state after event.
func (r *Reflector[T]) applyInitial(s state[T], initial collect.Collector[T], event client.WatchEvent[T]) {
	switch event.Type {
	case watch.Bookmark:
	case watch.Added, watch.Modified:
		r.gather(s, initial, event.Object)
	case watch.Deleted:
		initial.Remove(object.KeyOf(event.Object))
	default:
		r.log.Error("unknown type of watch event", "type", event.Type)
	}
}

const (
	// minWatch is the shortest time after which the server is asked to end a watch; the longest is twice that.
	minWatch = 5 * time.Minute
	// shortWatch is how long a watch must last, or come further, to count as one.
	shortWatch = time.Second
)

// errShortWatch reports a server, or something before it, that accepts watches and ends them at once.
var errShortWatch = errors.New("the watch ended within a second and brought nothing new")

// watch reads changes from where s is until the stream ends.
func (r *Reflector[T]) watch(ctx context.Context, s state[T]) (state[T], error) {
	// A streaming list goes on as the watch: a new one could miss what came between.
	stream := s.stream
	s.stream = nil
	if stream == nil {
		var err error
		options, opened := watchOptions(s.version), time.Now()
		s.end = endOfWatch(options)
		stream, err = r.source.Watch(ctx, options)
		if err != nil {
			// After a refusal the version is as good as before; after anything else it may be what is wrong.
			if !isRefusal(err) {
				s = s.relist()
			}
			return s, r.failed("watch", err)
		}
		if opened.Sub(s.heard) >= minWatch {
			if r.isBehind(ctx, s) {
				_ = stream.Close()
				s.latest, s.anew = true, true
				return s.relist(), r.failed("watch", errWentBack)
			}
			s.heard = opened
		}
	}
	defer stream.Close()
	defer closeWith(ctx, stream)()
	r.healthy()
	start, from, before := time.Now(), s.version, s.stuck
	stop := r.endOverdue(stream, s.end)
	events, err := r.follow(stream, &s)
	overdue := stop()
	s.stuck = s.version == from && time.Since(start) < shortWatch
	switch {
	case ctx.Err() != nil:
		return s, nil
	// Else it would be opened again and again, and at once, for ever.
	case s.stuck && (events == 0 || before) && isBroken(err):
		return s.relist(), r.failed("watch", errors.Join(errShortWatch, unlessEOF(err)))
	case errors.Is(err, io.EOF), overdue:
		// The server ends each watch in the end, as it was asked to: that is no failure. One that does not is asked
		// anew.
		return s, nil
	case isBroken(err), isRefusal(err):
		return s, r.failed("watch", err)
	}
	s.anew = errors.Is(err, errWentBack)
	return s.relist(), r.failed("watch", err)
}

// askFor is how long the answer to isBehind may take.
const askFor = 30 * time.Second

// isBehind asks the server, by a list of one object, whether it is at a version from before s. Such a server leaves a
// watch without an event and without a bookmark until it has come to that version, and then goes on from there. One
// that does not answer is asked again after the next watch.
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

// overdueAfter is how long a watch may go on, and send nothing, after the server was to end it: what is between here
// and there may have lost it, and then nothing would ever come.
const overdueAfter = time.Minute

// endOfWatch returns when the server is to end a watch that is opened now.
func endOfWatch(options metav1.ListOptions) time.Time {
	return time.Now().Add(time.Duration(*options.TimeoutSeconds) * time.Second)
}

// endOverdue closes stream once its time is over and nothing comes any more, until the function that it returns is
// called, which reports whether that has happened.
func (r *Reflector[T]) endOverdue(stream client.Stream[T], end time.Time) (stop func() (ended bool)) {
	var mu sync.Mutex
	var timer *time.Timer
	last, stopped, ended := int64(-1), false, false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(time.Until(end), func() {
		mu.Lock()
		defer mu.Unlock()
		now := r.received.Load()
		switch {
		case stopped:
			return
		case now != last:
			last = now
			timer.Reset(overdueAfter)
			return
		}
		ended = true
		_ = stream.Close()
	})
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
		return ended
	}
}

// follow pushes what stream sends until it ends, and returns how many events that were, and why it ended. It keeps
// the version of s at the last event.
func (r *Reflector[T]) follow(stream client.Stream[T], s *state[T]) (int, error) {
	// A watch from no version begins with what exists, in any order: only what comes after that says how far it is.
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
		if isKnown(event.Type) && newer(s.version, event.ResourceVersion) {
			return events, errWentBack
		}
		s.heard = time.Now()
		replaying = replaying && event.Type == watch.Added
		delta, ok := r.delta(event)
		if !ok {
			continue
		}
		// The sink must not believe to be at a version while older objects are still to come.
		if replaying {
			delta.ResourceVersion = ""
		} else {
			s.version = delta.ResourceVersion
		}
		r.sink.Push(delta)
	}
}

// isKnown reports whether a watch may send events of that type. What others have as their version says nothing.
func isKnown(t watch.EventType) bool {
	return t == watch.Bookmark || t == watch.Added || t == watch.Modified || t == watch.Deleted
}

// delta returns what event means for the sink. It reports false for an event of a type that it does not know, and for
// a new state that cannot be transformed.
func (r *Reflector[T]) delta(event client.WatchEvent[T]) (Delta[T], bool) {
	d := Delta[T]{ResourceVersion: event.ResourceVersion, Bytes: event.Bytes}
	switch event.Type {
	case watch.Bookmark:
		d.Type = Bookmark
		return d, true
	case watch.Added:
		d.Type = Added
	case watch.Modified:
		d.Type = Updated
	case watch.Deleted:
		d.Type = Deleted
	default:
		r.log.Error("unknown type of watch event", "type", event.Type)
		return d, false
	}
	d.Key = object.KeyOf(event.Object)
	obj, ok := r.transformed(event.Object)
	switch {
	case ok:
		d.Object = obj
	case d.Type == Deleted:
		d.FinalStateUnknown = true
	default:
		// The store keeps the state before, but it is as far as this event: a watch goes on behind it.
		return Delta[T]{Type: Bookmark, ResourceVersion: d.ResourceVersion}, true
	}
	return d, true
}

// watchOptions asks for the changes since version. Bookmarks keep a quiet watch from falling behind what the server
// remembers.
func watchOptions(version string) metav1.ListOptions {
	seconds := int64((minWatch + rand.N(minWatch)) / time.Second)
	return metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}
}

// closeWith closes stream when ctx ends, until the function that it returns is called. That waits for a Close that has
// begun.
func closeWith[T object.Object](ctx context.Context, stream client.Stream[T]) (detach func()) {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = stream.Close()
	})
	return func() {
		if !stop() {
			// Close must not hit the stream once the caller hands it on.
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
