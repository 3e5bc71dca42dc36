// Package players does in a test what the programs of a cluster do there: kube-controller-manager, the scheduler, the kubelets and what
// makes load balancers. An API server alone keeps objects; with players a Deployment gets ReplicaSets and pods that become ready, a Job
// completes, a claim is bound, a Service has endpoints, and a namespace that is deleted goes.
//
//	env := inmemory.Start(t, testenv.WithPlayers(players.All()...))
//
// They are off unless they are asked for, and each can be left out or be the author's own: of several of one name the last plays.
// How pods end up is said by a function of the author, see [Pods]:
//
//	broken := players.Pods(func(pod *corev1.Pod) players.Outcome {
//		if pod.Labels["app"] == "broken" {
//			return players.Outcome{Phase: corev1.PodPending, Reason: "ImagePullBackOff"}
//		}
//		return players.Outcome{}
//	})
//	env := inmemory.Start(t, testenv.WithPlayers(append(players.All(), broken)...))
//
// A player is an ordinary reconciler on kctrl's runtime. Time is that of the test: in a synctest bubble a CronJob of a year makes its
// Jobs in a moment.
//
// # What is true of them
//
// What they write has the fields, conditions, reasons and messages that the real ones write; of each kind the plain cases (creation,
// scaling, rollout, deletion) are compared with kube-controller-manager by a test. With one history of requests they end in the same objects, but for
// generated names and the order of writes. They do what operators look at, and leave out the rest:
//
//   - They write no Events.
//   - Deployments: no rollback by annotation; while a rollout goes on, a new size is not split in proportion.
//   - StatefulSets: claims stay when pods or the set go, whatever persistentVolumeClaimRetentionPolicy says.
//   - DaemonSets: an update deletes the old pod first, also where maxSurge is given.
//   - Jobs: no podFailurePolicy, successPolicy or backoffLimitPerIndex.
//   - Services: IPv4 alone, no traffic policies or topology; Endpoints objects are not made, only EndpointSlices.
//   - Nodes: one is made if there is none, and one of which nobody says how it is becomes ready. Resources are not counted, volumes not waited for, and nodes send no heartbeats: on a real
//     server leave out the node-lifecycle-controller of kube-controller-manager, which takes such nodes for dead.
//
// # Concurrency
//
// [New] starts nothing. What it returns runs until its context ends, and all its goroutines with it. Two sets of players, or players
// and kube-controller-manager's controllers of the same kinds, should not run against one server.
package players
