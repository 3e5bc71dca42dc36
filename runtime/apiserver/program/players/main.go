// Command players serves an API server in memory on loopback, with players. It is what `kctrl env up --in-memory --players` compiles and
// runs: nobody else calls it, and no operator links it.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/apiserver/program/internal/standalone"
	"github.com/kctrl-dev/kctrl/runtime/testenv/players"
)

func main() {
	if err := standalone.Run(os.Args[1:], play); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(ctx context.Context, config *rest.Config) error {
	all, err := players.New(config, players.Options{Players: players.All()})
	if err != nil {
		return err
	}
	return all.Run(ctx)
}
