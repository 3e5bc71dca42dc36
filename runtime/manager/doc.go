// Package manager runs an operator: the cache, controllers, health probes, metrics server, webhook server and leader
// election.
//
// A scaffolded main consists of:
//
//	func main() {
//		options := manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "guestbook.example.com"}}
//		os.Exit(manager.Main(options, register))
//	}
//
// [Main] reads flags and the kubeconfig, handles signals, calls register with a [Manager], and runs the manager. It
// also parses flags that the operator declares on flag.CommandLine. Tests, and programs with their own main function,
// call [New] and [Manager.Run] instead, which use neither flags nor signals. Such programs can also call the parts of
// Main: [BindFlags], [LoadConfig], [SignalContext], [LimitMemory] and [TrimMemory].
//
// Runnables start in groups, in this order: servers, caches, event recorders, other runnables, controllers. The servers
// listen before any other group starts. With leader election, the controllers wait for the lease. The groups stop one
// after the other in reverse order, within a time limit. The error that Run returns names the runnables that have not
// ended by then.
//
// # Leader election
//
// Controllers run in the process that holds the lease. A controller can have a leader election group, which has its own
// lease; so an operator can distribute its controllers among its replicas. Moving a controller to another group takes
// two releases, see controller.Election. A process that has lost a lease ends. If it does not end, /healthz fails, so
// that the kubelet restarts it. After the loss, its clients send no requests of the ended term.
//
// # Several clusters
//
// [Manager.AddCluster] connects the manager to another API server, so that controllers can also watch the kinds of that
// API server. Clusters can be added at any time. [Cluster.Stop] removes a cluster together with its controllers.
//
// # Failures
//
// If the sources of a controller cannot sync, other controllers continue to work, and /readyz fails with the reason.
package manager
