package authority

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// watchPause is the average delay before an ended watch is opened again.
const watchPause = 5 * time.Second

// watchOne calls changed whenever the object that u names may have changed, until ctx ends. It watches only that
// object, so a role that names it suffices.
func watchOne(ctx context.Context, live *client.REST, u *unstructured.Unstructured, logger *slog.Logger,
	changed func()) {
	for ctx.Err() == nil {
		if err := followOne(ctx, live, u, changed); err != nil && ctx.Err() == nil {
			logger.Debug("a watch ended", "kind", u.GetKind(), "name", u.GetName(), "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchPause/2 + rand.N(watchPause)):
			changed() // a change may have been missed
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
	changed() // a change may precede the watch
	for {
		if _, err := stream.Next(); err != nil {
			return err
		}
		changed()
	}
}
