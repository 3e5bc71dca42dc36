package cache

import (
	"context"
	"fmt"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// View returns the object named key without a copy: it is shared with the cache and must not be modified, nor passed to
// what may modify it, such as a write. prototype says the kind, as it does for [Cache.Informer]. Which objects are found,
// and when it waits, is as it is for [Cache.Get]; what is for the server is read live, and is not shared.
func View[T object.Object](ctx context.Context, c *Cache, key object.Key, prototype T, opts ...client.GetOption) (T, error) {
	var none T
	o, err := client.GetOptionsOf(opts...)
	if err != nil {
		return none, fmt.Errorf("get %s: %w", key, err)
	}
	gvk, err := object.GVK(prototype, c.live.Scheme())
	if err != nil {
		return none, fmt.Errorf("get %s: %w", key, err)
	}
	cached, isCached, err := c.get(ctx, gvk, key, prototype, o)
	if err != nil {
		return none, err
	}
	if isCached {
		return cached.(T), nil
	}
	live := prototype.DeepCopyObject().(T)
	if err := c.live.Get(ctx, key, live, opts...); err != nil {
		return none, err
	}
	return live, nil
}

// Each returns an iterator over the objects that a [Cache.List] with these options would return, in no order and without
// copies: they are shared with the cache and must not be modified, nor passed to what may modify them, such as a write.
// prototype says the kind, as it does for [Cache.Informer]. The iteration begins like a List, which may wait, sees the
// state of that moment, and holds no lock while it yields. What is for the server is read live, page by page, and is not
// shared. After an error, which comes with the zero value of T, the iteration ends.
func Each[T object.Object](ctx context.Context, c *Cache, prototype T, opts ...client.ListOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		o, err := client.ListOptionsOf(opts...)
		if err == nil && (o.Limit != 0 || o.Continue != "") {
			err = fmt.Errorf("an iteration has no pages")
		}
		if err != nil {
			yield(none, fmt.Errorf("list: %w", err))
			return
		}
		gvk, err := object.GVK(prototype, c.live.Scheme())
		if err != nil {
			yield(none, fmt.Errorf("list: %w", err))
			return
		}
		c.dropNamespace(ctx, gvk, &o)
		i, parts, convert := c.answering(gvk, prototype, o)
		if i == nil {
			eachLive(ctx, c, prototype, o, yield)
			return
		}
		matching, _, err := i.list(ctx, parts, o)
		if err != nil {
			yield(none, fmt.Errorf("list %s: %w", gvk.Kind, err))
			return
		}
		eachShared(matching, convert, yield)
	}
}

// eachShared yields the objects as Ts, until yield wants no more or one cannot be converted.
func eachShared[T object.Object](objects []object.Object, convert convert, yield func(T, error) bool) {
	for _, cached := range objects {
		obj, err := convert.as(cached)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		if !yield(obj.(T), nil) {
			return
		}
	}
}

// livePage is how many objects one request asks for.
const livePage = 500

// eachLive yields the objects that the server lists.
func eachLive[T object.Object](ctx context.Context, c *Cache, prototype T, o client.ListOptions, yield func(T, error) bool) {
	var none T
	watcher, err := client.NewListWatcher(c.live, prototype, client.Scope{
		Namespace: o.Namespace, Labels: o.LabelSelector, Fields: o.FieldSelector, KeepManagedFields: true,
	})
	if err != nil {
		yield(none, err)
		return
	}
	page := metav1.ListOptions{Limit: livePage}
	if o.NotOlderThan != "" {
		page.ResourceVersion, page.ResourceVersionMatch = o.NotOlderThan, metav1.ResourceVersionMatchNotOlderThan
	}
	for {
		got, err := watcher.List(ctx, page)
		if err != nil {
			yield(none, err)
			return
		}
		for _, item := range got.Items {
			if !yield(item, nil) {
				return
			}
		}
		if got.Continue == "" {
			return
		}
		page = metav1.ListOptions{Limit: livePage, Continue: got.Continue}
	}
}
