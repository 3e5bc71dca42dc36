// Package registry launches the controllers of a program as kube-controller-manager launches its own: each is described
// by a [Descriptor], and which of them run is decided by flags, feature gates and what the API server has.
//
//	func main() {
//		r := registry.New(registry.Options{})
//		r.Register(registry.Descriptor{
//			Name:    "guestbook-controller",
//			Aliases: []string{"guestbook"},
//			Needs:   []registry.Need{{Kind: webappv1.GroupVersion.WithKind("Guestbook"), Verbs: []string{"get", "list", "watch"}}},
//			New: func(ctx context.Context, c *registry.Context) (registry.Controller, error) {
//				return controller.For[*webappv1.Guestbook](c).Build(&guestbook.Reconciler{Client: c.Client()})
//			},
//		})
//		os.Exit(r.Main(manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "guestbook.example.com"}}))
//	}
//
// The life is that of a [manager.Manager], of which the registry makes each controller a runnable: servers, caches, leader
// election, probes and signals are the manager's. A program that has a manager already adds its controllers by
// [Registry.AddTo]; a function that sets up a manager, such as the scaffolded register, is taken by [Main] as it is.
//
// # What happens at the start
//
// In this order, and each step before anything of the next: the descriptors are validated; the API server is waited for; the
// kinds and rights that are missing are named, with the marker that would grant them; all enabled controllers are built, those
// with special handling first; servers listen; the informers of what was built run; the controllers start, each after a random
// part of the start interval.
//
// # Guarantees
//
//   - All mistakes in the descriptors come in one error, each with the name of the controller.
//   - What is not enabled is not built, and nothing is watched for it.
//   - A controller that fails is started again, is left alone, or ends the program, as its [RestartPolicy] says; others go on.
//   - A controller that moves from one program to another, see --leader-migration-config, runs in one of them at a time.
//   - A controller that was not stopped in time is named in the error of the manager.
//   - /configz, /statusz and /debug/controllers/ are served by the metrics server, to those whom the API server lets read them.
//
// # Concurrency
//
// A Registry is a value that one goroutine fills; after that all its methods are safe for concurrent use. It starts no goroutine:
// the manager does. There is no state of the package.
//
// The API of this package is not stable yet: docs/api.txt does not list it.
package registry
