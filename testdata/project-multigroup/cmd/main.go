/*
Copyright 2026.
*/

// Command manager runs the controllers of fleet-operator. Its flags, probes, metrics, leader election and signals are those of
// kctrl's manager: see --help.
package main

import (
	"os"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

func main() {
	options := manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "fleet-operator.example.org"}}
	os.Exit(manager.Main(options, register))
}
