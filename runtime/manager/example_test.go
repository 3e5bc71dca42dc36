package manager_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// A program can collect the runnables of a setup function and run them itself, for example again after an error.
func ExampleManager_Collect() {
	m, err := manager.New(&rest.Config{Host: "http://127.0.0.1"}, manager.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	attempts := 0
	added, err := m.Collect(manager.Collection{Owner: server.Owner{Name: "sweeper"}}, func(m controller.Manager) error {
		return m.Add(manager.RunnableFunc(func(context.Context) error {
			if attempts++; attempts == 1 {
				return errors.New("the first attempt has failed")
			}
			return nil
		}))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range added {
		for err := r.Run(context.Background()); err != nil; err = r.Run(context.Background()) {
			fmt.Println(err)
		}
	}
	fmt.Println("attempts:", attempts)
	// Output:
	// the first attempt has failed
	// attempts: 2
}
