package authority

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
)

// watchPause is the average delay before an ended watch is opened again.
const watchPause = 5 * time.Second

// watchOne calls changed whenever the object with the kind and key of u may have changed, until ctx ends. It watches
// only that object, so it works with a role that is restricted to the name of the object.
func watchOne(ctx context.Context, live *client.REST, u *unstructured.Unstructured, logger *slog.Logger,
	changed func()) {
	for ctx.Err() == nil {
		if err := followOne(ctx, live, u, changed); err != nil && ctx.Err() == nil {
			logger.Debug("a watch ended", "kind", u.GetKind(), "name", u.GetName(), "err", err)
		}
		if life.Sleep(ctx, watchPause/2+rand.N(watchPause)) == nil {
			changed() // because a change may have been missed
		}
	}
}

func followOne(ctx context.Context, live *client.REST, u *unstructured.Unstructured, changed func()) error {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(u.GetAPIVersion())
	list.SetKind(u.GetKind() + "List")
	one := []client.ListOption{client.InNamespace(u.GetNamespace()), client.MatchingFields{"metadata.name": u.GetName()}}
	if err := live.List(ctx, list, one...); err != nil {
		return err
	}
	stream, err := live.Watch(ctx, list, one...)
	if err != nil {
		return err
	}
	defer stream.Close()
	changed() // because a change may have preceded the watch
	for {
		if _, err := stream.Next(); err != nil {
			return err
		}
		changed()
	}
}
