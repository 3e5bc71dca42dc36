package servers_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/compat/servers"
)

func TestServerOfOnesOwnServesUntilTheEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &servers.Server{Name: "extra", Listener: listener, Server: &http.Server{Handler: &servers.HealthHandler{}}}
	if server.NeedLeaderElection() {
		t.Error("it waits for the leadership")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()
	response, err := http.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(response.Body); string(text) != "ok\n" {
		t.Errorf("answered %q", text)
	}
	response.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	other := &servers.Server{Name: "extra", Listener: listener, Server: &http.Server{}}
	if err := other.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "serve extra: ") {
		t.Errorf("on a closed listener: %v", err)
	}
}

func TestHealthHandlerAsksAllChecksOrOne(t *testing.T) {
	bad := errors.New("no disk")
	h := &servers.HealthHandler{Checks: map[string]func(*http.Request) error{
		"disk": func(*http.Request) error { return bad },
		"ping": func(*http.Request) error { return nil },
	}}
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/":     {500, "[-] disk: no disk\n[+] ping\n"},
		"/ping": {200, "ok"},
		"/disk": {500, "internal server error: no disk\n"},
		"/none": {404, "404 page not found\n"},

		"/ping/": {200, "ok"},
	} {
		for _, prefix := range []string{"/healthz", "/healthz/"} { // of which the second leaves no slash
			w := httptest.NewRecorder()
			http.StripPrefix(prefix, h).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz"+path, nil))
			if w.Code != want.code || w.Body.String() != want.text {
				t.Errorf("%s without %s: %d %q", path, prefix, w.Code, w.Body)
			}
		}
	}
}
