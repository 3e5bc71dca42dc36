package authority

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// watchPause is about how long it takes until a watch that ended is begun anew.
const watchPause = 5 * time.Second

// watchOne calls changed whenever the object that u names may have changed, until ctx ends. It follows a watch of that one object,
// for which a role that names it is enough.
func watchOne(ctx context.Context, live *client.REST, u *unstructured.Unstructured, logger *slog.Logger, changed func()) {
	for ctx.Err() == nil {
		if err := followOne(ctx, live, u, changed); err != nil && ctx.Err() == nil {
			logger.Debug("a watch ended", "kind", u.GetKind(), "name", u.GetName(), "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchPause/2 + rand.N(watchPause)):
			changed() // whatever was missed
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
	changed() // between what was read before and the watch
	for {
		if _, err := stream.Next(); err != nil {
			return err
		}
		changed()
	}
}
