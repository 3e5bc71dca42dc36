package informer_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/informer"
)

func ExampleFactory() {
	factory := informer.NewFactory(informer.FactoryOptions{Resync: 10 * time.Hour})
	open := func(opts informer.Options[node]) (*informer.Informer[node], error) { // or informer.FromClient
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
	inf := informer.New(nodes{}, informer.Options[node]{DisableWatchList: true, Indexes: []informer.Indexer[node]{byLength}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- inf.Run(ctx) }()
	<-inf.Synced()
	for length, n := range byLength.Range(inf.Store(), 1, 10) {
		if n.Name == "n1" { // n2 leaves at some time
			fmt.Println(length, n.Name)
		}
	}
	cancel()
	<-done
	// Output: 2 n1
}
