// Package manager runs an operator: its cache, its controllers, probes, metrics and leader election.
//
// A scaffolded main consists of:
//
//	func main() {
//		options := manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "guestbook.example.com"}}
//		os.Exit(manager.Main(options, register))
//	}
//
// [Main] reads flags and the kubeconfig, handles signals, and runs a [Manager] that the function has set up. It also
// parses flags that the operator declares on flag.CommandLine. [New] and [Manager.Run] need no flags and signals. They
// are for tests and for programs with their own main, which can use the parts of Main: [BindFlags], [LoadConfig],
// [SignalContext], [LimitMemory] and [TrimMemory].
//
// Runnables start in the order of their groups: servers, caches, event recorders, others, controllers. The servers
// listen before anything else begins, and with leader election the controllers wait for the lease. The groups stop in
// the opposite order, one after the other, within a time limit. The error has the names of runnables that have not
// ended by then.
//
// # Leader election
//
// Controllers run in the process that holds the lease or, if they have a group, the lease of that group. So an operator
// can split its work among its replicas. A controller moves to another group in two releases, and in the first it runs
// only where both groups are led; see controller.Election. A process that has lost a lease ends. If it cannot, /healthz
// fails. Its clients send no further writes of the ended term.
//
// # Several clusters
//
// [Manager.AddCluster] connects the manager to another API server, whose kinds its controllers can watch too. Clusters
// can be added at any time, and are removed together with their controllers by [Cluster.Stop].
//
// # Failures
//
// A controller that cannot sync does not stop the others. /readyz reports it with the reason.
package manager
