// Package inmemory gives a test an API server in its own process: it is there in milliseconds and ends with the test.
//
//	func TestReconcile(t *testing.T) {
//		env := inmemory.Start(t, testenv.WithCRDs("../../config/crd/bases"))
//		live, err := client.New(env.Config, client.Options{Scheme: scheme})
//		...
//	}
//
// Package apiserver says what it serves. With KCTRL_TEST_SERVER=real in the environment the same tests run on the server of
// [testenv.Start]. In a synctest bubble all of it is in the bubble, and hours take milliseconds.
//
// It links the API server's own libraries into the test, more than 300 packages: so it is not part of package testenv. The modules
// that these are of are in the go.mod of a project once kctrl create api has written a controller with its test; in other projects go
// mod tidy adds them.
package inmemory

import (
	"os"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// ServerVariable names the environment variable that says, when it is "real", that Start is to be [testenv.Start], which fails for a server that there is not.
const ServerVariable = testenv.ServerVariable

// Start starts a server for the test, which ends with it. It has the face of [testenv.Start], but for what only a real server
// has: the options of its processes fail the test, and there is no kubeconfig. Servers share nothing; any number may run at
// the same time.
func Start(t testing.TB, opts ...testenv.Option) *testenv.Env {
	t.Helper()
	if chosen := os.Getenv(ServerVariable); chosen != "" && chosen != "in-memory" {
		return testenv.Start(t, opts...) // which knows what is no choice
	}
	server := apiserver.New(apiserver.Options{})
	t.Cleanup(server.Close)
	return testenv.Attach(t, server.Config(), opts...)
}
