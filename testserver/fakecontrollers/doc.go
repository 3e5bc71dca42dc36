// Package fakecontrollers replaces the programs of a cluster in a test: kube-controller-manager, the scheduler, the
// kubelets and load balancers. An API server alone only stores objects. With fake controllers a Deployment gets
// ReplicaSets and pods that become ready, a Job completes, a claim is bound, a Service gets endpoints, and a deleted
// namespace is removed.
//
//	env := inmemory.Start(t)
//	fakecontrollers.Start(t, env.Config, fakecontrollers.All()...)
//
// Each controller can be removed or replaced: of several with one name the last runs. A function determines the outcome
// of pods, see [Pods]:
//
//	broken := fakecontrollers.Pods(func(pod *corev1.Pod) fakecontrollers.Outcome {
//		if pod.Labels["app"] == "broken" {
//			return fakecontrollers.Outcome{Phase: corev1.PodPending, Reason: "ImagePullBackOff"}
//		}
//		return fakecontrollers.Outcome{}
//	})
//	fakecontrollers.Start(t, env.Config, append(fakecontrollers.All(), broken)...)
//
// A fake controller is an ordinary reconciler on kctrl's runtime. In a synctest bubble time is virtual: a CronJob
// creates the Jobs of a year in a moment.
//
// # Guarantees
//
// Fake controllers write the fields, conditions, reasons and messages that the real ones write. A test compares the
// basic cases of each kind (creation, scaling, rollout, deletion) with kube-controller-manager: the same requests lead
// to the same objects, except for generated names and the order of writes. They implement the behavior on which
// operators depend, with these limits:
//
//   - They write no Events.
//   - Deployments: no rollback by annotation; a new size during a rollout is not split in proportion.
//   - StatefulSets: claims remain when pods or the set are deleted, regardless of persistentVolumeClaimRetentionPolicy.
//   - DaemonSets: an update deletes the old pod first, even with maxSurge.
//   - Jobs: no podFailurePolicy, successPolicy or backoffLimitPerIndex.
//   - Services: IPv4 only, no traffic policies or topology; EndpointSlices only, no Endpoints.
//   - Nodes: if there is none, one is created, and a node without conditions becomes ready. Resources are not counted,
//     pods do not wait for volumes, and nodes send no heartbeats: on a real server disable the
//     node-lifecycle-controller of kube-controller-manager, which considers such nodes dead.
//
// # Concurrency
//
// [New] starts no goroutine. The returned manager and all its goroutines run until the context of its Run ends. Do not
// run two sets of fake controllers on one server, or fake controllers beside kube-controller-manager's controllers of
// the same kinds.
package fakecontrollers
