//go:build linux || darwin

package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
)

const serviceRange = "10.0.0.0/24"

// etcdFlags returns the flags of etcd, which then accepts only clients with a certificate of the instance's authority.
func etcdFlags(opts Options, clientURL, peerURL string) []string {
	data := opts.DataDir
	flags := []string{
		"--name=etcd",
		"--listen-client-urls=" + clientURL,
		"--advertise-client-urls=" + clientURL,
		"--listen-peer-urls=" + peerURL,
		"--initial-advertise-peer-urls=" + peerURL,
		"--initial-cluster=etcd=" + peerURL,
		"--client-cert-auth",
		"--trusted-ca-file=" + authorityPath(opts.Dir), "--cert-file=etcd.crt", "--key-file=etcd.key",
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=ca.crt", "--peer-cert-file=etcd.crt", "--peer-key-file=etcd.key",
		"--log-level=warn",
		// The address of the member may differ from the last start, which has no effect in a cluster with one member. Do not
		// force a new cluster, because etcd then discards writes that no later write has marked as committed.
	}
	if data == "" {
		data = filepath.Join(opts.Dir, "etcd")
	}
	if opts.DataDir == "" && opts.Attached {
		// The data is temporary. With this flag, etcd loses writes only if the machine fails, but not if etcd is killed.
		flags = append(flags, "--unsafe-no-fsync")
	}
	return append(flags, "--data-dir="+data)
}

func apiServerFlags(opts Options, etcdURL string, port int) []string {
	flags := []string{
		"--etcd-servers=" + etcdURL,
		"--etcd-cafile=ca.crt", "--etcd-certfile=etcd-client.crt", "--etcd-keyfile=etcd-client.key",
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=apiserver.crt", "--tls-private-key-file=apiserver.key",
		"--client-ca-file=" + authorityPath(opts.Dir),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=service-account.crt", "--service-account-signing-key-file=service-account.key",
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
	}
	if !opts.ControllerManager {
		// This plugin requires a default service account for every pod, and no controller creates them.
		flags = append(flags, "--disable-admission-plugins=ServiceAccount")
	}
	if opts.FeatureGates != "" {
		flags = append(flags, "--feature-gates="+opts.FeatureGates)
	}
	return flags
}

// inMemoryFlags returns the flags of the in-memory API server, which writes its objects to disk unless the data is
// temporary.
func inMemoryFlags(opts Options, port int) []string {
	flags := []string{
		fmt.Sprintf("--address=127.0.0.1:%d", port),
		"--certificate=apiserver.crt", "--key=apiserver.key",
		"--clients=" + authorityPath(opts.Dir),
	}
	if opts.FakeControllers {
		flags = append(flags, "--fake-controllers")
	}
	if opts.DataDir != "" || !opts.Attached {
		flags = append(flags, "--data="+dataOf(opts))
	}
	return flags
}

// dataOf returns the data directory of the in-memory API server.
func dataOf(opts Options) string {
	if opts.DataDir != "" {
		return opts.DataDir
	}
	return filepath.Join(opts.Dir, "objects")
}

func controllerManagerFlags(opts Options, kubeconfig string) []string {
	flags := []string{
		"--kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port=0",
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=service-account.key",
		"--root-ca-file=" + authorityPath(opts.Dir),
		"--service-cluster-ip-range=" + serviceRange,
		"--kube-api-qps=1000", "--kube-api-burst=2000", // no other client uses this server
	}
	if opts.Controllers != "" {
		flags = append(flags, "--controllers="+opts.Controllers)
	}
	return flags
}

// garbageCollectorCommand returns the command line of this program with the hidden command that runs the garbage
// collector.
func garbageCollectorCommand(opts Options, kubeconfig string) ([]string, error) {
	program, err := os.Executable()
	return []string{program, "env", "garbage-collector", "--kubeconfig=" + kubeconfig,
		"--certificate-authority=" + authorityPath(opts.Dir)}, err
}
