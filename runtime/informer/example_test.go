package informer_test

import (
	"context"
	"fmt"
	"io"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
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
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "a"}}}
}

func Example() {
	byZone := informer.NewIndex(func(n node) []string { return []string{n.Labels["zone"]} })
	inf := informer.New(nodes{}, informer.Options[node]{
		Name:             "nodes",
		DisableWatchList: true,
		Indexes:          []informer.Indexer[node]{byZone},
	})
	ctx, cancel := context.WithCancel(context.Background())
	inf.AddHandler(func(e informer.Event[node]) {
		fmt.Println(e.Type, e.Object.Name, "initial:", e.Initial)
		if e.Type == informer.Deleted {
			cancel()
		}
	})
	if err := inf.Run(ctx); err != nil {
		fmt.Println(err)
	}
	_, ok := inf.Store().Get(object.Key{Name: "n2"})
	fmt.Println("n2 is in the store:", ok)
	fmt.Println("nodes in zone a:", len(byZone.Get(inf.Store(), "a")))
	// Output:
	// Added n1 initial: true
	// Added n2 initial: true
	// Deleted n2 initial: false
	// n2 is in the store: false
	// nodes in zone a: 1
}

// zones counts the nodes of each zone, in step with a store.
type zones struct{ nodes map[string]int }

func (z zones) Applied(_ string, events []informer.Event[node]) {
	for _, e := range events {
		switch e.Type {
		case informer.Added:
			z.nodes[e.Object.Labels["zone"]]++
		case informer.Deleted:
			z.nodes[e.Object.Labels["zone"]]--
		}
	}
}

func (z zones) Listed(_ string, all iter.Seq[node]) {
	for n := range all {
		z.nodes[n.Labels["zone"]]++
	}
}

// An observer keeps a data structure in step with a store: handlers never see an event that the structure lacks.
func ExampleObserver() {
	z := zones{nodes: map[string]int{}}
	inf := informer.New(nodes{}, informer.Options[node]{DisableWatchList: true, Observer: z})
	ctx, cancel := context.WithCancel(context.Background())
	inf.AddHandler(func(e informer.Event[node]) {
		if e.Type == informer.Deleted {
			cancel()
		}
	})
	if err := inf.Run(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("nodes in zone a:", z.nodes["a"])
	// Output: nodes in zone a: 1
}
