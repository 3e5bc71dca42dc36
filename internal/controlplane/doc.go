// Package controlplane builds and runs a real Kubernetes control plane: etcd, kube-apiserver and, on request,
// kube-controller-manager, compiled from their Go modules into one binary in the user's cache, in any of several
// [Versions]. The source of each is pinned, to the hash of each module.
//
// [Build] compiles a binary once. [Start] runs an [Instance] of it on free loopback ports with certificates of its
// own. [Environments] are instances with a name that outlive the process that started them.
//
// Everything an instance writes is below its folder, which nobody but the user can read. Nothing listens on anything
// but loopback, and every connection is verified in both directions.
//
// Processes are known by their command line, which names the instance's folder, together with pid and start time. So
// whatever a command that was killed has left is found by the next one, and no other process is ever taken for it.
//
// The real control plane runs on Linux and macOS. On Windows the package only compiles the API server in memory, and runs it as
// a host of isolated servers ([Assets.Host]).
package controlplane
