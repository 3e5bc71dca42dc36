// Package manager runs an operator: its cache, its controllers, probes, metrics and leader election.
//
// A scaffolded main is all of it:
//
//	func main() {
//		os.Exit(manager.Main(manager.Options{LeaderElectionID: "guestbook.example.com"}, register))
//	}
//
// [Main] reads flags and the kubeconfig, handles signals, and runs a [Manager] that the function has set up. [New] and
// [Manager.Run] do without flags and signals, for tests and for programs with a main of their own.
//
// What runs is started in the order of the groups: servers, caches, others, controllers. The servers listen before
// anything else begins, and the controllers wait for the lease if leader election is on. They stop in the opposite
// order, each group when the one after it has ended, all within a bound; what has not ended by then is named in the
// error.
//
// A controller that cannot sync does not stop the others. /readyz says which and why.
package manager
