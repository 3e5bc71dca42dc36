// Package controlplane builds and runs a Kubernetes control plane: etcd, kube-apiserver and, on request,
// kube-controller-manager. It compiles them from their Go modules into one binary in the user's cache, for each of
// several [Versions]. go.sum files pin the hash of each module.
//
// [Build] compiles a binary once. [Start] runs an [Instance] of the binary on free loopback ports, with its own
// certificates. [Environments] are named instances that outlive the process that started them.
//
// An instance writes only below its directory, which only the user can read. All servers listen on loopback. On every
// connection, client and server both present certificates.
//
// The package identifies a process by its command line, which contains the directory of the instance, by its pid and by
// its start time. After a command is killed, the next command therefore finds all of its processes, and never ends an
// unrelated process.
//
// The real control plane runs on Linux and macOS. On Windows the package compiles only the in-memory API server, and
// runs it as a host of isolated servers ([Assets.Host]).
package controlplane
