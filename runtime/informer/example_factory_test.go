package informer_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/informer"
)

func ExampleFactory() {
	factory := informer.NewFactory(informer.FactoryOptions{Resync: 10 * time.Hour})
	// A real program uses informer.FromClient.
	open := func(opts informer.Options[node]) (*informer.Informer[node], error) {
		return informer.New(nodes{}, opts), nil
	}
	shared, err := informer.Shared(factory, open, informer.KindOptions[node]{
		Options: informer.Options[node]{Name: "nodes", DisableWatchList: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- factory.Run(ctx) }()
	if err := factory.Wait(ctx); err != nil {
		fmt.Println(err)
	}
	n1, err := shared.Lister().Get("n1")
	fmt.Println(n1.Name, err)
	cancel()
	fmt.Println("factory ended:", <-done)
	// Output:
	// n1 <nil>
	// factory ended: <nil>
}

func ExampleIndex_Range() {
	byLength := informer.NewIndex(func(n node) []int { return []int{len(n.Name)} })
	inf := informer.New(nodes{}, informer.Options[node]{DisableWatchList: true,
		Indexes: []informer.Indexer[node]{byLength}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- inf.Run(ctx) }()
	<-inf.Synced()
	for length, n := range byLength.Range(inf.Store(), 1, 10) {
		if n.Name == "n1" { // n2 is deleted at some time
			fmt.Println(length, n.Name)
		}
	}
	cancel()
	<-done
	// Output: 2 n1
}

// A program that watches a changing set of kinds, such as the kinds of CRDs, removes the informers that it no longer
// needs.
func ExampleForget() {
	factory := informer.NewFactory(informer.FactoryOptions{})
	open := func(opts informer.Options[node]) (*informer.Informer[node], error) {
		return informer.New(nodes{}, opts), nil
	}
	opts := informer.KindOptions[node]{Options: informer.Options[node]{Name: "nodes", DisableWatchList: true}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- factory.Run(ctx) }()
	first, err := informer.Shared(factory, open, opts)
	if err == nil {
		err = factory.Wait(ctx)
	}
	if err != nil {
		fmt.Println(err)
	}
	informer.Forget(factory, first)()
	again, err := informer.Shared(factory, open, opts)
	fmt.Println("another one:", again != first, err)
	cancel()
	<-done
	// Output: another one: true <nil>
}

// A program that keeps state for each namespace creates and removes that state with the informer of the namespace.
func ExampleScoped_In() {
	open := func(opts informer.Options[node]) (*informer.Informer[node], error) {
		opts.Observer = zones{nodes: map[string]int{}}
		return informer.New(nodes{}, opts), nil
	}
	factory := informer.NewFactory(informer.FactoryOptions{Namespaces: []string{"blue", "green"}})
	scoped,
		err := informer.Shared(factory, open,
		informer.KindOptions[node]{Options: informer.Options[node]{DisableWatchList: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- factory.Run(ctx) }()
	<-scoped.Synced()
	cancel()
	<-done // no other goroutine uses the zones from here on
	for _, one := range scoped.In("") {
		fmt.Println(one.Namespace(), one.Observer().(zones).nodes["a"] > 0)
	}
	// Output:
	// blue true
	// green true
}
