/*
Copyright 2026 The kctrl Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Command manager runs the controllers of cronjob. kctrl's manager provides its flags, probes, metrics, leader election
// and signal handling; see --help.
package main

import (
	"errors"
	"os"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"

	"github.com/kctrl-dev/kctrl/examples/cronjob/internal/migration"
	"github.com/kctrl-dev/kctrl/examples/cronjob/internal/webhook"
)

func main() {
	options := manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "cronjob.example.com"}}
	os.Exit(manager.Main(options, setup))
}

// setup adds the kinds and controllers to m, which generated code registers, and the webhooks and the migration.
func setup(m controller.Manager) error {
	return errors.Join(register(m), webhook.SetupWithManager(m), migration.SetupWithManager(m))
}
