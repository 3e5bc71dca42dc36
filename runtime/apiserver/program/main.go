// Command program serves an API server in memory on loopback. It is what `kctrl env up --in-memory` compiles and runs: nobody
// else calls it, and no operator links it.
package main

import (
	"fmt"
	"os"

	"github.com/kctrl-dev/kctrl/runtime/apiserver/program/internal/standalone"
)

func main() {
	if err := standalone.Run(os.Args[1:], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
