// Package controlplane builds and runs a Kubernetes control plane: etcd, kube-apiserver and, on request,
// kube-controller-manager. It compiles them from their Go modules into one binary in the user's cache, for each of
// several [Versions]. The hash of each module is pinned.
//
// [Build] compiles a binary once. [Start] runs an [Instance] of it on free loopback ports with certificates of its own.
// [Environments] are named instances that outlive the process that started them.
//
// An instance writes only below its directory, which only the user can read. All servers listen on loopback, and both
// sides of every connection present certificates.
//
// A process is identified by its command line, which contains the directory of the instance, its pid and its start
// time. So the next command finds all processes of a command that was killed, and never takes another process for one
// of them.
//
// The real control plane runs on Linux and macOS. On Windows the package compiles only the API server in memory, and
// runs it as a host of isolated servers ([Assets.Host]).
package controlplane
