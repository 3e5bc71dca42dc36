package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

type node = *metav1.PartialObjectMetadata

// nodes is a source with two nodes, one of which is deleted.
type nodes struct{}

func (nodes) List(context.Context, metav1.ListOptions) (*client.Page[node], error) {
	return &client.Page[node]{Items: []node{newNode("n1"), newNode("n2")}, ResourceVersion: "7"}, nil
}

func (nodes) Watch(ctx context.Context, _ metav1.ListOptions) (client.Stream[node], error) {
	events := make(chan client.WatchEvent[node], 1)
	events <- client.WatchEvent[node]{Type: watch.Deleted, Object: newNode("n2"), ResourceVersion: "8"}
	return changes{ctx, events}, nil
}

type changes struct {
	ctx    context.Context
	events chan client.WatchEvent[node]
}

func (c changes) Next() (client.WatchEvent[node], error) {
	select {
	case e := <-c.events:
		return e, nil
	case <-c.ctx.Done():
		return client.WatchEvent[node]{}, io.EOF
	}
}

func (c changes) Close() error { return nil }

func newNode(name string) node {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// A reflector fills a queue, from which another goroutine takes the deltas at its own pace.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	queue := reflector.NewDeltaFIFO[node](nil)
	r := reflector.New(nodes{}, queue, reflector.Options[node]{Name: "nodes", DisableWatchList: true})
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	err := queue.Run(ctx, func(deltas reflector.Deltas[node]) {
		for _, d := range deltas {
			switch d.Type {
			case reflector.Replaced:
				fmt.Println("at", d.ResourceVersion, "there are", len(d.Objects), "nodes")
			case reflector.Deleted:
				fmt.Println("at", d.ResourceVersion, d.Key.Name, "is gone")
				cancel()
			}
		}
	})
	<-done
	fmt.Println(errors.Is(err, context.Canceled), r.Err())
	// Output:
	// at 7 there are 2 nodes
	// at 8 n2 is gone
	// true <nil>
}
