// Command program serves an API server in memory on loopback. kctrl compiles and runs it for `kctrl env up
// --in-memory`.
package main

import (
	"fmt"
	"os"

	"github.com/kctrl-dev/kctrl/testserver/internal/standalone"
)

func main() {
	if err := standalone.Run(os.Args[1:], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
