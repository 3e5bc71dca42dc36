// Package testenv provides API servers for tests.
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
// Each call of [Start] provides a separate API server with its own objects, kinds and permissions. By default the
// server keeps its objects in memory. One kctrl process per test binary serves all these servers: the first starts in
// about 100 ms, each further one in a few milliseconds. A server stops at the end of its test, and the process at the
// end of the test binary, even after a crash. If the environment variable KCTRL_TEST_SERVER is real, Start uses the
// real server instead, which is etcd and kube-apiserver, with data in a temporary directory.
//
// Start runs the kctrl command that the environment variable KCTRL specifies, or the one on PATH. The command compiles
// the server when it is first used, into a cache that all projects of a user share. That takes about a minute for
// the in-memory server, and minutes for the real one. To see the progress, run `kctrl env build --in-memory` or `kctrl
// env build` before the tests, with --controller-manager for [WithControllerManager].
//
// The API server calls the webhooks of a manager in the test by URL, without a Service. The manager issues the
// certificate, and installs the webhook configurations of the project while it runs:
//
//	m, err := manager.New(env.Config, manager.Options{
//		Webhook: manager.WebhookOptions{Manifests: []string{"../../config/webhook"}},
//	})
//
// The real API server has the newest Kubernetes version that kctrl compiles, unless [WithKubernetes] or the environment
// variable KCTRL_TEST_KUBERNETES selects another version.
//
// [Env.Restricted] returns a configuration with the permissions of the deployed operator, so that the test fails if a
// marker for a permission is missing:
//
//	m, err := manager.New(env.Restricted(t, "../../config/rbac"), manager.Options{})
//
// No controllers run: pods do not start, and garbage is not collected unless [WithGarbageCollector] enables it.
// [WithFakeControllers] runs fakes of a cluster's controllers and nodes; a test can exclude some of them.
//
// [NewClientBuilder] builds clients for tests of single functions. Each client has an in-memory API server of its own,
// which contains the objects of the builder.
package testenv
