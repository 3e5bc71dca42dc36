// Package inmemory starts API servers in the process of a test, for tests in virtual time: in a synctest bubble the
// server is in the bubble, and hours take milliseconds.
//
//	func TestReconcile(t *testing.T) {
//		env := inmemory.Start(t, testenv.WithCRDs("../../config/crd/bases"))
//		live, err := client.New(env.Config, client.Options{Scheme: scheme})
//		...
//	}
//
// Package apiserver documents what a server serves. With KCTRL_TEST_SERVER=real in the environment the same tests run
// on the server of [testenv.Start]. A test links more than 300 packages of the API server's libraries, so the tests of
// projects use package testenv, whose servers run in another process.
package inmemory

import (
	"os"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// Start starts a server for the test and stops it at the end of the test. Options that only a separate process supports
// fail the test, and the Env has no kubeconfig. Servers share nothing; any number may run concurrently.
func Start(t testing.TB, opts ...testenv.Option) *testenv.Env {
	t.Helper()
	if chosen := os.Getenv(testenv.ServerVariable); chosen != "" && chosen != "in-memory" {
		return testenv.Start(t, opts...) // it rejects unknown values
	}
	server := apiserver.New(apiserver.Options{})
	t.Cleanup(server.Close)
	return testenv.Attach(t, server.Config(), opts...)
}
