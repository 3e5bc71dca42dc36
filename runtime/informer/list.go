package informer

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// defaultPageSize is the limit of a list request where paging costs the server nothing extra.
const defaultPageSize = 500

// errNoVersion reports a list, or an event, that does not say which state of the server it is of: no watch can follow it.
var errNoVersion = errors.New("the server sent no resourceVersion")

// list reads the whole state by LIST requests and pushes it.
func (r *Reflector[T]) list(ctx context.Context, s state[T]) (state[T], error) {
	version := s.listVersion()
	all, pages, err := r.readPages(ctx, version, r.limit(s, version))
	switch {
	case err == nil:
	case version != "" && (isExpired(err) || isTooLarge(err)):
		s.latest = true
		return s, nil
	default:
		return s.relist(), r.failed("list", err)
	}
	if version == "0" && pages > 1 {
		s.paged = true
	}
	r.push(all)
	return s.complete(all.ResourceVersion), nil
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

// readPages returns all objects as one Replaced, and how many pages it took. When the server forgets the list between
// two pages, all is read again in one.
func (r *Reflector[T]) readPages(ctx context.Context, version string, limit int64) (Delta[T], int, error) {
	all := r.pages()
	first := "" // the version of the first page, which is that of the list
	options := metav1.ListOptions{ResourceVersion: version, Limit: limit}
	for pages := 1; ; pages++ {
		page, err := r.source.List(ctx, options)
		if err != nil && options.Continue != "" && isExpired(err) {
			all = r.pages()
			options = metav1.ListOptions{ResourceVersion: version}
			continue
		}
		if err != nil {
			return Delta[T]{}, pages, err
		}
		if page.ResourceVersion == "" {
			return Delta[T]{}, pages, errNoVersion
		}
		for i, obj := range page.Items {
			r.gatherObject(all, obj, page.Known != nil && page.Known[i])
		}
		if options.Continue == "" {
			first = page.ResourceVersion
		}
		if page.Continue == "" {
			return all.replaced(first), pages, nil
		}
		options = metav1.ListOptions{Limit: limit, Continue: page.Continue}
	}
}

// gatherObject makes obj part of a state. A known one comes from the sink.
func (r *Reflector[T]) gatherObject(state gathering[T], obj T, known bool) {
	key := object.KeyOf(obj)
	readable := true
	if !known {
		obj, readable = r.transformed(obj)
	}
	state.set(key, obj, readable)
}

// pages returns where the pages of a list are gathered.
func (r *Reflector[T]) pages() gathering[T] {
	if r.gather != nil {
		return r.gather(0)
	}
	return &pagesState[T]{}
}

// push makes all the state of the sink. Whoever waits for that finds no error after it.
func (r *Reflector[T]) push(all Delta[T]) {
	r.err.Store(nil)
	r.metrics.lists.Inc(r.label)
	r.sink.Push(all)
}
