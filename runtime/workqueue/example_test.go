package workqueue_test

import (
	"context"
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

func Example() {
	queue := workqueue.New[string](workqueue.Options{Name: "guestbook"})
	queue.Add("default/hello", "default/world")
	queue.Add("default/hello") // already ready
	queue.ShutDown()           // Get still returns items that are ready

	for {
		item, ok := queue.Get(context.Background())
		if !ok {
			break
		}
		fmt.Println("reconcile", item)
		queue.Done(item)
	}
	// Output:
	// reconcile default/hello
	// reconcile default/world
}

func ExampleQueue_AddRateLimited() {
	ctx := context.Background()
	queue := workqueue.New[string](workqueue.Options{})
	queue.Add("default/hello")

	reconcile := func(item string) error {
		if queue.Retries(item) < 2 {
			return fmt.Errorf("attempt %d: the world is not ready", queue.Retries(item)+1)
		}
		return nil
	}
	for {
		item, _ := queue.Get(ctx)
		err := reconcile(item)
		if err == nil {
			queue.Forget(item)
			queue.Done(item)
			break
		}
		fmt.Println(err)
		queue.AddRateLimited(item)
		queue.Done(item)
	}
	fmt.Println("done")
	// Output:
	// attempt 1: the world is not ready
	// attempt 2: the world is not ready
	// done
}
