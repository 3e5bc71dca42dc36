// Package registry launches the controllers of a program in the way of kube-controller-manager. A [Descriptor]
// describes each controller. Flags, feature gates and the kinds that the API server serves determine which of them run.
//
//	func main() {
//		r := registry.New(registry.Options{})
//		r.Register(registry.Descriptor{
//			Name:    "guestbook-controller",
//			Aliases: []string{"guestbook"},
//			Needs: []registry.Need{{
//				Kind:  webappv1.GroupVersion.WithKind("Guestbook"),
//				Verbs: []string{"get", "list", "watch"},
//			}},
//			New: func(ctx context.Context, c *registry.Context) (registry.Controller, error) {
//				return controller.For[*webappv1.Guestbook](c).Build(&guestbook.Reconciler{Client: c.Client()})
//			},
//		})
//		os.Exit(r.Main(manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "guestbook.example.com"}}))
//	}
//
// The registry adds each controller as a runnable to a [manager.Manager], which provides the servers, caches, leader
// election, probes and signal handling. A program that already has a manager adds its controllers with
// [Registry.AddTo]. [Main] accepts any function that sets up a manager, such as the scaffolded register, without
// changes.
//
// # Start
//
// The start has the following steps. Each step ends before the next begins:
//
//   - The registry validates the descriptors.
//   - The registry waits for the API server.
//   - It reports missing kinds and permissions, with the markers that would grant them.
//   - It builds all enabled controllers, those with special handling first.
//   - The servers listen.
//   - The informers of the built controllers run.
//   - The controllers start, each after a random part of the start interval.
//
// # Guarantees
//
//   - One error reports all mistakes in the descriptors, each with the name of the controller.
//   - A disabled controller is not built, and the registry watches no kinds for it.
//   - After a controller fails, its [RestartPolicy] determines whether it is restarted, stays stopped, or ends the
//     program. Other controllers continue.
//   - A controller that moves between programs, see --leader-migration-config, runs in only one of them at a time.
//   - The error of the manager contains the name of each controller that did not stop in time.
//   - The metrics server serves /configz, /statusz and /debug/controllers/ to clients that the API server authorizes.
//
// # Concurrency
//
// Only one goroutine may add controllers to a Registry; after that, all its methods are safe for concurrent use. A
// Registry starts no goroutines; the manager does. The package has no global state.
//
// The API of this package is not stable yet: docs/api.txt does not list it.
package registry
