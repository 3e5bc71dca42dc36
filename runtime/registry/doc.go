// Package registry launches the controllers of a program like kube-controller-manager: each is described by a
// [Descriptor]. Flags, feature gates and the kinds of the API server decide which of them run.
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
// The registry adds each controller as a runnable to a [manager.Manager], which has the servers, caches, leader
// election, probes and signals. A program that already has a manager adds its controllers with [Registry.AddTo]. [Main]
// accepts a function that sets up a manager, such as the scaffolded register, without changes.
//
// # Start
//
// The start has these steps, and each ends before the next begins:
//
//   - The descriptors are validated.
//   - The registry waits for the API server.
//   - It reports missing kinds and permissions, with the markers that would grant them.
//   - It builds all enabled controllers, those with special handling first.
//   - The servers listen.
//   - The informers of the built controllers run.
//   - The controllers start, each after a random part of the start interval.
//
// # Guarantees
//
//   - All mistakes in the descriptors are in one error, each with the name of the controller.
//   - A disabled controller is not built, and nothing is watched for it.
//   - After a failure, a controller is restarted, stays stopped, or ends the program, depending on its [RestartPolicy];
//     others continue.
//   - A controller that moves between programs, see --leader-migration-config, runs in one of them at a time.
//   - The error of the manager has the name of each controller that did not stop in time.
//   - The metrics server serves /configz, /statusz and /debug/controllers/ to clients that the API server authorizes.
//
// # Concurrency
//
// One goroutine fills a Registry; after that all its methods are safe for concurrent use. It starts no goroutine: the
// manager does. The package has no global state.
//
// The API of this package is not stable yet: docs/api.txt does not list it.
package registry
