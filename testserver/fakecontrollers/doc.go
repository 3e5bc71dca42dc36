// Package fakecontrollers provides substitutes, for tests, for the controllers of a cluster: kube-controller-manager,
// the scheduler, the kubelets and load balancers. An API server alone only stores objects. With fake controllers, a
// Deployment gets ReplicaSets and pods that become ready, a Job completes, a claim is bound, a Service gets endpoints,
// and a deleted namespace is removed.
//
//	env := inmemory.Start(t)
//	fakecontrollers.Start(t, env.Config, fakecontrollers.All()...)
//
// You can remove or replace each controller: if several controllers have the same name, only the last one runs. A
// function determines the outcome of pods, see [Pods]:
//
//	broken := fakecontrollers.Pods(func(pod *corev1.Pod) fakecontrollers.Outcome {
//		if pod.Labels["app"] == "broken" {
//			return fakecontrollers.Outcome{Phase: corev1.PodPending, Reason: "ImagePullBackOff"}
//		}
//		return fakecontrollers.Outcome{}
//	})
//	fakecontrollers.Start(t, env.Config, append(fakecontrollers.All(), broken)...)
//
// A fake controller is an ordinary reconciler on kctrl's runtime. In a synctest bubble time is virtual, so a CronJob
// creates the Jobs of a year in a moment.
//
// # Guarantees
//
// Fake controllers write the fields, conditions, reasons and messages that the real ones write. A test compares the
// basic cases of each kind (creation, scaling, rollout, deletion) with kube-controller-manager: the same requests lead
// to the same objects, except for generated names and the order of writes. The fake controllers implement the behavior
// on which operators depend, with these limits:
//
//   - The fake controllers do not write Events.
//   - Deployments do not support rollback by annotation. A new size during a rollout is not distributed in proportion.
//   - StatefulSets ignore persistentVolumeClaimRetentionPolicy: claims remain when pods or the set are deleted.
//   - An update of a DaemonSet deletes the old pod first, even with maxSurge.
//   - Jobs do not support podFailurePolicy, successPolicy and backoffLimitPerIndex.
//   - Services support only IPv4, without traffic policies and topology. They get EndpointSlices, but no Endpoints.
//   - If there is no node, the fake controllers create one. A node without conditions becomes ready. The scheduler does
//     not count resources, and pods do not wait for volumes. Nodes do not send heartbeats, so on a real server disable
//     kube-controller-manager's node-lifecycle-controller, which considers such nodes dead.
//
// # Concurrency
//
// [New] starts no goroutine. The returned manager and all its goroutines run until the context of its Run ends. Do not
// run two sets of fake controllers on one server, and do not run a fake controller together with the controller of
// kube-controller-manager that it replaces.
package fakecontrollers
