package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Await waits until done returns true for the object with the key of obj, and returns that object. It calls done with
// the current state and with the state after every change. It uses a watch and does not poll. It also waits for an
// object that does not exist yet. done must depend only on the object, because other changes do not cause a call. Await
// does not modify obj, and the caller owns the result. If ctx ends first, or the server rejects a request, the test
// fails with the last state. Use a ctx with a deadline, so that the test fails if the condition is never met.
//
//	guestbook = testenv.Await(ctx, t, live, guestbook, func(g *v1.Guestbook) bool {
//		return meta.IsStatusConditionTrue(g.Status.Conditions, "Ready")
//	})
func Await[T object.Object](ctx context.Context, t testing.TB, live *client.REST, obj T, done func(T) bool) T {
	t.Helper()
	var last T
	seen := false
	err := follow(ctx, live, obj, func(current T, exists bool) bool {
		last, seen = current, exists
		return exists && done(current)
	})
	if err == nil {
		return last
	}
	if !seen {
		t.Fatalf("await %T %s: there is none: %v", obj, object.KeyOf(obj), err)
	}
	text, _ := json.MarshalIndent(last, "", "  ")
	t.Fatalf("await %T %s: %v, and it is still\n%s", obj, object.KeyOf(obj), err, text)
	return last
}

// AwaitGone waits until the object with the key of obj no longer exists. A later object with the same key and another
// UID is a different object. In other respects, AwaitGone works like [Await].
func AwaitGone[T object.Object](ctx context.Context, t testing.TB, live *client.REST, obj T) {
	t.Helper()
	var finalizers []string
	err := follow(ctx, live, obj, func(current T, exists bool) bool {
		if !exists || obj.GetUID() != "" && current.GetUID() != obj.GetUID() {
			return true
		}
		finalizers = current.GetFinalizers()
		return false
	})
	if err != nil {
		t.Fatalf("await that %T %s is gone: it still exists, with the finalizers %q: %v", obj, object.KeyOf(obj), finalizers,
			err)
	}
}

// follow calls seen with the object with the key of obj: first its current state, then its state after each change,
// until seen returns true. It reopens a watch that has ended.
func follow[T object.Object](ctx context.Context, live *client.REST, obj T,
	seen func(current T, exists bool) bool) error {
	byName := client.Scope{
		Namespace:         obj.GetNamespace(),
		Fields:            fields.OneTermEqualSelector("metadata.name", obj.GetName()),
		KeepManagedFields: true,
	}
	watcher, err := client.NewListWatcher(live, obj, byName)
	if err != nil {
		return err
	}
	for {
		page, err := watcher.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var current T
		if len(page.Items) > 0 {
			current = page.Items[0]
		}
		if seen(current, len(page.Items) > 0) {
			return nil
		}
		found, err := followWatch(ctx, watcher, page.ResourceVersion, seen)
		if found || err != nil {
			return err
		}
	}
}

// followWatch reports whether seen returned true for an event of one watch. The end of the watch is not an error.
func followWatch[T object.Object](ctx context.Context, watcher *client.ListWatcher[T], from string,
	seen func(T, bool) bool) (bool, error) {
	stream, err := watcher.Watch(ctx, metav1.ListOptions{ResourceVersion: from})
	switch {
	case isExpired(err):
		return false, nil
	case err != nil:
		return false, err
	}
	defer stream.Close()
	for {
		event, err := stream.Next()
		switch {
		case err != nil && ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			return false, unlessOver(err)
		case event.Type != watch.Bookmark && seen(event.Object, event.Type != watch.Deleted):
			return true, nil
		}
	}
}

// unlessOver returns nil for errors after which a new list helps: a watch that ended, broke, or expired.
func unlessOver(err error) error {
	var status apierrors.APIStatus
	fromServer := errors.As(err, &status)
	_, unreadable := errors.AsType[*client.DecodeError](err)
	if !fromServer && !unreadable || isExpired(err) {
		return nil
	}
	return fmt.Errorf("watch: %w", err)
}

func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
