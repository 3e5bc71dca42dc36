package apiserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

func (r *registry) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	key, err := r.key(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := r.waitUntil(ctx, options.ResourceVersion); err != nil {
		if _, wrong := versioner.ParseResourceVersion(options.ResourceVersion); wrong != nil && r.uncached {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
		}
		return nil, storageerrors.InterpretGetError(err, r.qualified(ctx), name)
	}
	record := r.table.Get(key)
	if record == nil {
		return nil, apierrors.NewNotFound(r.qualified(ctx), name)
	}
	return r.codec.decode(record)
}

// waitUntil waits until the store has reached the version that a reader requests, but only for a limited time.
func (r *registry) waitUntil(ctx context.Context, version string) error {
	const patience = 3 * time.Second
	revision, err := versioner.ParseResourceVersion(version)
	if err != nil {
		return err
	}
	var timeout <-chan time.Time
	for {
		reached := r.table.Store.Reached(int64(min(revision, math.MaxInt64)))
		if reached == nil {
			return nil
		}
		if timeout == nil {
			timer := time.NewTimer(patience)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-reached:
		case <-timeout:
			return storage.NewTooLargeResourceVersionError(revision, uint64(r.table.Store.Current()), 1)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// predicate returns the predicate that selects the objects of a list or watch.
func (r *registry) predicate(options *internalversion.ListOptions) storage.SelectionPredicate {
	p := storage.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything(), GetAttrs: r.attrs}
	if options.LabelSelector != nil {
		p.Label = options.LabelSelector
	}
	if options.FieldSelector != nil {
		p.Field = options.FieldSelector
	}
	p.Limit, p.Continue, p.AllowWatchBookmarks = options.Limit, options.Continue, options.AllowWatchBookmarks
	return p
}

// selected returns the prefix of the keys of a list or watch. A selector may restrict the namespace and the name
// further than the request. The prefix of a single object is its key.
func (r *registry) selected(ctx context.Context, p storage.SelectionPredicate) (prefix string, single bool) {
	if namespace, ok := p.MatchesSingleNamespace(); ok && request.NamespaceValue(ctx) == "" {
		ctx = request.WithNamespace(ctx, namespace)
	}
	if name, ok := p.MatchesSingle(); ok {
		if key, err := r.key(ctx, name); err == nil {
			return key, true
		}
	}
	return r.root(ctx), false
}

// List returns the current objects, or those at a version, in the order of their keys.
func (r *registry) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	if options == nil {
		options = &internalversion.ListOptions{}
	}
	records, list, err := r.listRecords(ctx, options)
	objects := make([]runtime.Object, len(records))
	for i, record := range records {
		if objects[i], err = r.codec.decode(record); err != nil {
			break
		}
	}
	if err == nil {
		err = setItems(list, objects)
	}
	return list, storageerrors.InterpretListError(err, r.qualified(ctx))
}

// listRecords returns the records of a list, and the list without items.
func (r *registry) listRecords(ctx context.Context,
	given *internalversion.ListOptions) ([]*store.Record, runtime.Object, error) {
	predicate := r.predicate(given)
	prefix, single := r.selected(ctx, predicate)
	options := storage.ListOptions{ResourceVersion: given.ResourceVersion,
		ResourceVersionMatch: given.ResourceVersionMatch, Predicate: predicate, Recursive: !single}
	at, from, err := storage.ValidateListOptions(prefix, versioner, options)
	if err != nil {
		return nil, nil, err
	}
	atLeast := options.ResourceVersion
	if at != 0 {
		atLeast = strconv.FormatInt(at, 10)
	}
	if err := r.waitUntil(ctx, atLeast); err != nil {
		return nil, nil, err
	}
	records, revision, err := r.table.List(prefix, from, at)
	if errors.Is(err, store.ErrCompacted) {
		return nil, nil, expiredList(from, prefix)
	}
	if err != nil {
		return nil, nil, err
	}
	limit := options.Predicate.Limit
	if options.ResourceVersion == "0" {
		limit = 0 // a cache returns all objects in one response
	}
	taken, last, more, err := r.take(records, options, limit)
	if err != nil {
		return nil, nil, err
	}
	next, remaining, err := storage.PrepareContinueToken(last, prefix, revision, int64(len(records)), more, options)
	if err != nil {
		return nil, nil, err
	}
	list := r.newList()
	return taken, list, versioner.UpdateList(list, uint64(revision), next, remaining)
}

// take returns up to limit records that the options select, the key of the last one, and whether there may be more
// records.
func (r *registry) take(records []*store.Record, options storage.ListOptions,
	limit int64) (taken []*store.Record, last string, more bool, err error) {
	for i, record := range records {
		if !options.Recursive && i > 0 {
			break // a key can be a prefix of other keys, but the request is for a single object
		}
		if matches, err := r.selects(record, options.Predicate); err != nil || !matches {
			if err != nil {
				return nil, "", false, err
			}
			continue
		}
		taken, last = append(taken, record), record.Key
		if limit > 0 && int64(len(taken)) == limit {
			return taken, last, i < len(records)-1, nil
		}
	}
	return taken, last, false, nil
}

// selects reports whether a predicate selects a record. A record contains its labels, but selects must decode the
// record to read fields.
func (r *registry) selects(record *store.Record, p storage.SelectionPredicate) (bool, error) {
	if p.Empty() {
		return true, nil
	}
	if record.Object == nil && p.Field.Empty() {
		return p.Label.Matches(record.Labels), nil
	}
	object, err := r.codec.decode(record)
	if err != nil {
		return false, err
	}
	return p.Matches(object)
}

// setItems sets the items of a list.
func setItems(list runtime.Object, objects []runtime.Object) error {
	if l, ok := list.(*unstructured.UnstructuredList); ok {
		l.Items = make([]unstructured.Unstructured, len(objects))
		for i, object := range objects {
			l.Items[i].Object = object.(*unstructured.Unstructured).Object
		}
		return nil
	}
	return meta.SetList(list, objects)
}

// Messages of the real API server.
const (
	listExpired     = "The resourceVersion for the provided list is too old."
	continueExpired = "The provided continue parameter is too old to display a consistent list result. You can start a " +
		"new list without the continue parameter, or use the continue token in this response to retrieve the remainder of " +
		"the results. Continuing with the provided token results in an inconsistent list - objects that were created, " +
		"modified, or deleted between the time the first chunk was returned and now may show up in the list."
)

func expiredList(from, prefix string) error {
	if from == "" {
		return apierrors.NewResourceExpired(listExpired)
	}
	next, err := storage.EncodeContinue(from, prefix, -1)
	if err != nil {
		return err
	}
	expired := apierrors.NewResourceExpired(continueExpired)
	expired.ErrStatus.ListMeta.Continue = next
	return expired
}

// Watch returns a watch, either from a version or beginning with the current objects.
func (r *registry) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	w, err := r.newWatcher(ctx, options)
	if err != nil {
		return nil, err
	}
	return startObjectWatch(ctx, w), nil
}

func (r *registry) newWatcher(ctx context.Context, options *internalversion.ListOptions) (*watcher, error) {
	p := r.predicate(options)
	prefix, single := r.selected(ctx, p)
	revision, err := versioner.ParseResourceVersion(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	w := &watcher{registry: r, prefix: prefix, single: single, predicate: p, from: int64(min(revision, math.MaxInt64))}
	initial := options.SendInitialEvents
	switch {
	case initial != nil && *initial:
		w.initial, w.marked = true, p.AllowWatchBookmarks
	case revision == 0 && initial == nil:
		w.initial = true
	case revision == 0:
		w.from = r.table.Store.Current()
	}
	if w.initial && r.table.Store.Reached(w.from) == nil {
		return w, w.look()
	}
	return w, nil
}

// look reads the current objects. It runs before the client receives the watch, which must contain all later changes.
func (w *watcher) look() (err error) {
	w.there, w.seen, err = w.registry.table.List(w.prefix, "", 0)
	return err
}

// watcher sends changes to one client. It reads a change from the history of the table only after the client has
// received the previous changes, so it buffers nothing for a slow client. If a client is slower than the history
// allows, its watch ends.
type watcher struct {
	registry  *registry
	prefix    string
	single    bool
	predicate storage.SelectionPredicate
	from      int64 // the revision of the last change that the client has
	initial   bool  // send the current objects first
	marked    bool  // send a bookmark after them that marks their end
	there     []*store.Record
	seen      int64 // the revision of the current objects; 0 before look
	client    watchClient
}

// watchClient receives the events of a watcher. Its methods report whether it has received the event. If it has not, it
// receives no further events.
type watchClient interface {
	// change is called for an object that has the state in a record.
	change(ctx context.Context, event watch.EventType, r *store.Record) bool
	// event is called for bookmarks and errors.
	event(ctx context.Context, event watch.Event) bool
	// caughtUp is called when the client has received all changes.
	caughtUp()
}

// objectWatch sends objects through a channel, as upstream's handlers require.
type objectWatch struct {
	watcher *watcher
	result  chan watch.Event
	stop    chan struct{}
	ended   chan struct{}
}

func startObjectWatch(ctx context.Context, w *watcher) *objectWatch {
	o := &objectWatch{watcher: w, result: make(chan watch.Event), stop: make(chan struct{}), ended: make(chan struct{})}
	w.client = o
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(o.ended)
		defer close(o.result)
		defer cancel()
		w.run(ctx, o.stop)
	}()
	return o
}

func (o *objectWatch) ResultChan() <-chan watch.Event { return o.result }

// Stop ends the watch and waits until it has ended. It must be called once.
func (o *objectWatch) Stop() {
	close(o.stop)
	<-o.ended
}

func (o *objectWatch) change(ctx context.Context, event watch.EventType, r *store.Record) bool {
	object, err := o.watcher.registry.codec.decode(r)
	if err != nil {
		o.watcher.fail(ctx, err)
		return false
	}
	return o.event(ctx, watch.Event{Type: event, Object: object})
}

func (o *objectWatch) event(ctx context.Context, event watch.Event) bool {
	select {
	case o.result <- event:
		return true
	case <-o.stop:
	case <-ctx.Done():
	}
	return false
}

func (o *objectWatch) caughtUp() {}

// bookmarks is the interval of bookmarks, for clients that accept them.
const bookmarks = time.Minute

// run sends changes until the client does not receive one, or stop is closed.
func (w *watcher) run(ctx context.Context, stop <-chan struct{}) {
	if w.initial {
		if !w.sendCurrent(ctx) {
			return
		}
	} else if w.from < w.registry.started {
		w.fail(ctx, apierrors.NewResourceExpired(tooOld(w.from, w.registry.started)))
		return
	}
	ticker := time.NewTicker(bookmarks)
	defer ticker.Stop()
	for stopped := false; ; {
		changes, changed, err := w.registry.table.Since(w.from)
		if err != nil {
			w.fail(ctx, apierrors.NewResourceExpired(tooOld(w.from, w.registry.table.Compacted())))
			return
		}
		for _, c := range changes {
			if !w.send(ctx, c) {
				return
			}
		}
		if changed == nil {
			continue
		}
		w.client.caughtUp()
		if stopped {
			return
		}
		select {
		case <-changed:
		case <-ticker.C:
			if w.predicate.AllowWatchBookmarks && !w.bookmark(ctx, w.registry.table.Store.Current(), false) {
				return
			}
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-w.registry.stopped:
			stopped = true // earlier changes are still sent
		}
	}
}

func (w *watcher) fail(ctx context.Context, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Message: err.Error(), Reason: metav1.StatusReasonInternalError,
			Code: http.StatusInternalServerError,
		}}
	}
	shown := status.Status()
	w.client.event(ctx, watch.Event{Type: watch.Error, Object: &shown})
}

// sendCurrent sends the current objects.
func (w *watcher) sendCurrent(ctx context.Context) bool {
	if w.seen == 0 {
		err := w.registry.waitUntil(ctx, strconv.FormatInt(w.from, 10))
		if err == nil {
			err = w.look()
		}
		if err != nil {
			w.fail(ctx, err)
			return false
		}
	}
	for _, r := range w.there {
		if !w.send(ctx, store.Change{Key: r.Key, Current: r}) {
			return false
		}
	}
	w.from, w.there = w.seen, nil
	return !w.marked || w.bookmark(ctx, w.seen, true)
}

func (w *watcher) bookmark(ctx context.Context, revision int64, initialEnd bool) bool {
	mark := w.registry.new()
	store.SetRevision(mark, revision)
	if initialEnd {
		if err := storage.AnnotateInitialEventsEndBookmark(mark); err != nil {
			return false
		}
	}
	return w.client.event(ctx, watch.Event{Type: watch.Bookmark, Object: mark})
}

// send sends a change as the client sees it: it reports an object that becomes selected as added, and an object that is
// no longer selected as deleted.
func (w *watcher) send(ctx context.Context, c store.Change) bool {
	w.from = max(w.from, c.Revision)
	if w.single && c.Key != w.prefix || !strings.HasPrefix(c.Key, w.prefix) {
		return true
	}
	was, err := w.selects(c.Previous)
	if err != nil {
		w.fail(ctx, err)
		return false
	}
	is, err := w.selects(c.Current)
	if err != nil {
		w.fail(ctx, err)
		return false
	}
	switch {
	case is && was:
		return w.client.change(ctx, watch.Modified, c.Current)
	case is:
		return w.client.change(ctx, watch.Added, c.Current)
	case was:
		return w.client.change(ctx, watch.Deleted, c.Previous.At(c.Revision))
	}
	return true
}

func (w *watcher) selects(r *store.Record) (bool, error) {
	if r == nil {
		return false, nil
	}
	return w.registry.selects(r, w.predicate)
}

func tooOld(asked, have int64) string {
	return fmt.Sprintf("too old resource version: %d (%d)", asked, have)
}
