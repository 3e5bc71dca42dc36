package informer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// InconsistencyError reports a streaming list that differs from a LIST of the same resource version: a defect of the API
// server, or of something between it and the informer.
type InconsistencyError struct {
	// ResourceVersion is that of both.
	ResourceVersion string
	// Differences has a line for each object, such as "default/a: streamed 12, listed 13", in order.
	Differences []string
}

// Error names the version and the objects.
func (e *InconsistencyError) Error() string {
	return fmt.Sprintf("the streaming list and the list at %s differ: %s", e.ResourceVersion, strings.Join(e.Differences, "; "))
}

// Verify returns a source that is lw, and that compares each streaming list with a LIST at the resource version where it
// ends before it passes that end on. What differs it tells report. It is meant for tests, since it doubles what an
// informer asks of the server when it starts. A LIST that fails, because the server no longer has that version, proves
// nothing and is ignored.
func Verify[T object.Object](lw ListerWatcher[T], report func(*InconsistencyError)) ListerWatcher[T] {
	return verified[T]{lw, report}
}

type verified[T object.Object] struct {
	ListerWatcher[T]
	report func(*InconsistencyError)
}

// Watch opens a stream; if it begins with the initial state, that is verified.
func (v verified[T]) Watch(ctx context.Context, options metav1.ListOptions) (client.Stream[T], error) {
	stream, err := v.ListerWatcher.Watch(ctx, options)
	if err != nil || options.SendInitialEvents == nil || !*options.SendInitialEvents {
		return stream, err
	}
	return &verifiedStream[T]{Stream: stream, ctx: ctx, verifier: v, streamed: make(map[object.Key]incarnation)}, nil
}

// incarnation is one state of one object.
type incarnation struct {
	uid     types.UID
	version string
}

func incarnationOf(obj metav1.Object) incarnation {
	return incarnation{uid: obj.GetUID(), version: obj.GetResourceVersion()}
}

type verifiedStream[T object.Object] struct {
	client.Stream[T]
	ctx      context.Context // of Watch, which by contract the stream does not outlive
	verifier verified[T]
	streamed map[object.Key]incarnation // what the initial events come to; nil after their end
}

func (s *verifiedStream[T]) Next() (client.WatchEvent[T], error) {
	event, err := s.Stream.Next()
	switch {
	case err != nil || s.streamed == nil:
	case event.Type == watch.Bookmark && event.InitialEventsEnd:
		s.verifier.verify(s.ctx, event.ResourceVersion, s.streamed)
		s.streamed = nil
	case event.Type == watch.Added || event.Type == watch.Modified:
		s.streamed[object.KeyOf(event.Object)] = incarnationOf(event.Object)
	case event.Type == watch.Deleted:
		delete(s.streamed, object.KeyOf(event.Object))
	}
	return event, err
}

// verify compares streamed with a list at version.
func (v verified[T]) verify(ctx context.Context, version string, streamed map[object.Key]incarnation) {
	page, err := v.List(ctx, metav1.ListOptions{
		ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	if err != nil {
		return
	}
	var differences []string
	for _, obj := range page.Items {
		key := object.KeyOf(obj)
		if was, ok := streamed[key]; !ok {
			differences = append(differences, fmt.Sprintf("%s: not streamed", key))
		} else if is := incarnationOf(obj); is != was {
			differences = append(differences, fmt.Sprintf("%s: streamed %s, listed %s", key, was.version, is.version))
		}
		delete(streamed, key)
	}
	for key := range streamed {
		differences = append(differences, fmt.Sprintf("%s: not listed", key))
	}
	if len(differences) > 0 {
		slices.Sort(differences)
		v.report(&InconsistencyError{ResourceVersion: version, Differences: differences})
	}
}
