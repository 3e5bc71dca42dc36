// Package testenv gives a test an API server.
//
//	func TestReconcile(t *testing.T) {
//		env := testenv.Start(t, testenv.WithCRDs("../../config/crd/bases"))
//		live, err := client.New(env.Config, client.Options{Scheme: scheme})
//		...
//		got := testenv.Await(ctx, t, live, guestbook, func(g *v1.Guestbook) bool {
//			return g.Status.ObservedGeneration == 1
//		})
//	}
//
// Each [Start] provides a separate API server with its own objects, kinds and permissions, which keeps its objects in
// memory. One kctrl process per test binary serves all of them: the first starts in about 100 ms, each further one in a
// few milliseconds. A server stops with its test, and the process with the test binary, even after a crash.
// KCTRL_TEST_SERVER=real in the environment selects the real server, etcd and kube-apiserver, with data in a temporary
// directory.
//
// The kctrl command is the one that the environment variable KCTRL names, or the one on PATH. It compiles the server at
// its first use, into a cache that all projects of a user share. That takes less than a minute for the server in
// memory, and minutes for the real one. Run `kctrl env build --in-memory` or `kctrl env build` before the tests to see
// the progress, with --controller-manager for [WithControllerManager].
//
// The API server calls the webhooks of a manager in the test by URL, without a Service. The manager issues the
// certificate, and installs the configurations of the project while it runs:
//
//	m, err := manager.New(env.Config, manager.Options{
//		Webhook: manager.WebhookOptions{Manifests: []string{"../../config/webhook"}},
//	})
//
// The real API server has the newest Kubernetes version that kctrl compiles, unless [WithKubernetes] or the environment
// variable KCTRL_TEST_KUBERNETES selects another.
//
// [Env.Restricted] returns a configuration with the permissions of the deployed operator, so that a missing marker
// fails the test:
//
//	m, err := manager.New(env.Restricted(t, "../../config/rbac"), manager.Options{})
//
// No controllers run: pods do not start, and garbage is not collected unless [WithGarbageCollector] enables it.
// [WithFakeControllers] runs fakes of a cluster's controllers and nodes, all or all except some.
//
// [NewClientBuilder] builds clients for tests of single functions. Each client has its own such server, with the
// objects of the builder.
package testenv
