package garbagecollector_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/garbagecollector"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// A Graph answers questions about ownership without a collector.
func ExampleGraph() {
	show := func(ctx context.Context, config *rest.Config, owner object.Object) error {
		graph, err := garbagecollector.NewGraph(config, garbagecollector.GraphOptions{})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- graph.Run(ctx) }()
		select {
		case <-graph.Synced():
		case <-ctx.Done():
		}
		for _, dependent := range graph.Dependents(owner.GetUID()) {
			fmt.Println(dependent)
		}
		cancel()
		return <-ended
	}
	_ = show // not called, because it needs an API server
}
