// Package manager runs an operator: its cache, its controllers, probes, metrics and leader election.
//
// A scaffolded main is all of it:
//
//	func main() {
//		options := manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "guestbook.example.com"}}
//		os.Exit(manager.Main(options, register))
//	}
//
// [Main] reads flags and the kubeconfig, handles signals, and runs a [Manager] that the function has set up; flags
// that the operator declares on flag.CommandLine are read with its own. [New] and [Manager.Run] do without flags and
// signals, for tests and for programs with a main of their own, which have the parts of Main as [BindFlags],
// [LoadConfig], [SignalContext], [LimitMemory] and [TrimMemory].
//
// What runs is started in the order of the groups: servers, caches, recorders of events, others, controllers. The
// servers listen before anything else begins, and the controllers wait for the lease if leader election is on. They
// stop in the opposite order, each group when the one after it has ended, all within a bound; what has not ended by
// then is named in the error.
//
// # Leader election
//
// Controllers run in the process that holds the lease, or, if they name a group, the lease of that group: so an
// operator splits its work over its replicas. A controller that moves to another group does so in two releases, and
// in the first runs only where both are led; see controller.Election. A process that has lost a lease ends, /healthz
// fails when it cannot, and nothing that its clients were asked to write in a context of that term is sent any more.
//
// # Several clusters
//
// [Manager.AddCluster] connects the manager to another API server, whose kinds its controllers can watch too.
// Clusters may come at any time, and go with all that was built for them by [Cluster.Stop].
//
// # When something is missing
//
// A controller that cannot sync does not stop the others. /readyz says which and why.
package manager
