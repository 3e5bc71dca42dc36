// Package testenv gives a test a real API server; package inmemory below it gives one in memory, with the same face.
//
//	func TestReconcile(t *testing.T) {
//		env := testenv.Start(t, testenv.WithCRDs("../../config/crd/bases"))
//		live, err := client.New(env.Config, client.Options{Scheme: scheme})
//		...
//		got := testenv.Await(ctx, t, live, guestbook, func(g *v1.Guestbook) bool { return g.Status.ObservedGeneration == 1 })
//	}
//
// Start runs `kctrl env up --foreground`: etcd and kube-apiserver on free ports of loopback, with data that is thrown
// away, stopped when the test ends, and also when the test process is killed. The kctrl command is the one that the
// environment variable KCTRL names, else the one on PATH. Its first use compiles the control plane, which takes
// minutes; run `kctrl env build` before the tests to see its progress, with --controller-manager for
// [WithControllerManager].
//
// Webhooks of a manager that the test runs are called by URL, with no Service and no certificate to make: the manager installs the
// project's configurations while it runs.
//
//	m, err := manager.New(env.Config, manager.Options{Webhook: manager.WebhookOptions{Manifests: []string{"../../config/webhook"}}})
//
// The API server is of the newest Kubernetes that kctrl compiles, or of the one that [WithKubernetes] or the environment
// variable KCTRL_TEST_KUBERNETES names: the same tests run on each version that an operator is for.
//
// The rights of the deployed operator are those of [Env.Restricted], and a marker that is missing fails the test:
//
//	m, err := manager.New(env.Restricted(t, "../../config/rbac"), manager.Options{})
//
// There are no controllers, so pods do not run, and nothing collects garbage unless [WithGarbageCollector] says so, or all that a
// cluster does is played by [WithPlayers].
//
// # In memory
//
// Package inmemory has another Start, which takes the same options and gives the same [Env] of an API server in the test's own
// process: it is there in milliseconds, and needs no kctrl command. KCTRL_TEST_SERVER=real has it start the real one of this package,
// so that a suite runs on either. Tests that need processes or a kubeconfig, which is what operators are given, keep Start: with
// KCTRL_TEST_SERVER=in-memory it starts the server in memory too, as a process of its own. It is a package of its own because of what it links: the API server's libraries are more than 300
// packages, which tests that only want a real server, or [Await] on a server of their own, are not to compile.
package testenv
