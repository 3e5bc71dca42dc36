/*
Copyright 2026 The Guestbook Authors.

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

// Command manager runs the controllers of guestbook. Its flags, probes, metrics, leader election and signals are those of
// kctrl's manager: see --help.
package main

import (
	"os"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

func main() {
	options := manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "guestbook.example.com"}}
	os.Exit(manager.Main(options, register))
}
