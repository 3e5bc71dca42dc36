// Command fakecontrollers serves an API server in memory on loopback and runs fake controllers on it. kctrl compiles
// and runs it for `kctrl env up --in-memory --fake-controllers`.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/testserver/fakecontrollers"
	"github.com/kctrl-dev/kctrl/testserver/internal/standalone"
)

func main() {
	if err := standalone.Run(os.Args[1:], selected); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func selected(names []string) (func(context.Context, *rest.Config) error, error) {
	controllers, err := fakecontrollers.Select(names...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, config *rest.Config) error {
		all, err := fakecontrollers.New(config, fakecontrollers.Options{Controllers: controllers})
		if err != nil {
			return err
		}
		return all.Run(ctx)
	}, nil
}
