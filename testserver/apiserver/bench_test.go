package apiserver_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// BenchmarkStart measures the time from the start of a server to its first answer.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		server := apiserver.New(apiserver.Options{})
		response, err := (&http.Client{Transport: server.Config().Transport}).Get("http://server/api/v1/namespaces/default")
		if err != nil || response.StatusCode != http.StatusOK {
			b.Fatal(response, err)
		}
		response.Body.Close()
		server.Close()
	}
}

// BenchmarkRequests measures requests to the in-memory server, and to a real one if KCTRL_TEST_KUBECONFIG is set.
func BenchmarkRequests(b *testing.B) {
	b.Run("in memory", func(b *testing.B) {
		benchmarkRequests(b,
			newPeer(b, "in memory", apiserver.New(apiserver.Options{})))
	})
	if os.Getenv(testenv.KubeconfigVariable) != "" {
		b.Run("real", func(b *testing.B) { benchmarkRequests(b, newPeer(b, "real", nil)) })
	}
}

func benchmarkRequests(b *testing.B, p *peer) {
	const path = "/apis/fidelity.kctrl.dev/v1/namespaces/default/widgets"
	widget := func(name string) string {
		return fmt.Sprintf(`{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Widget","metadata":{"name":%q,"labels":{"app":"x"}},"spec":{"color":"red","labels":{"a":%q}}}`, name, strings.Repeat("x", 500))
	}
	ask := func(b *testing.B, want int, a asked) {
		if status, body, _ := p.do(b, a); status != want {
			b.Fatalf("%s: %d %s", a, status, body)
		}
	}
	clear := func() { ask(b, 200, asked{method: "DELETE", path: path}) }
	defer clear()
	clear()
	created := 0
	b.Run("create", func(b *testing.B) {
		for b.Loop() {
			ask(b, 201, asked{method: "POST", path: path, body: widget(fmt.Sprintf("c%d", created))})
			created++
		}
	})
	clear()
	for i := range 1000 {
		ask(b, 201, asked{method: "POST", path: path, body: widget(fmt.Sprintf("l%d", i))})
	}
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			ask(b, 200, asked{method: "GET", path: path + "/l7"})
		}
	})
	b.Run("list of 1000", func(b *testing.B) {
		for b.Loop() {
			ask(b, 200, asked{method: "GET", path: path})
		}
	})
	applied := 0
	b.Run("apply", func(b *testing.B) {
		for b.Loop() {
			applied++
			body := fmt.Sprintf(`{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Widget","metadata":{"name":"l8"},"spec":{"replicas":%d}}`, applied%90)
			ask(b, 200, asked{method: "PATCH", path: path + "/l8?fieldManager=one&force=true",
				contentType: "application/apply-patch+yaml", body: body})
		}
	})
}
