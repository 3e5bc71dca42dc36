package manager_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// A client that does not send what it has announced keeps no server from ending in good order, and is named.
func TestSlowClientsDoNotFailTheShutdown(t *testing.T) {
	for name, begin := range map[string]string{
		"nothing":       "",
		"half a header": "GET /healthz HTTP/1.1\r\nHost: x\r\n",
		"half a body":   "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx",
		"a slow chunk":  "POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nx",
	} {
		m, log := newManager(t, newAPIServer(), manager.Options{
			ProbeAddress: loopback, MetricsAddress: loopback, MetricsInsecure: true, GracefulShutdownTimeout: 2 * time.Second,
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		for _, server := range []string{"probes", "metrics"} {
			u, err := url.Parse(log.url(t, server))
			if err != nil {
				t.Fatal(err)
			}
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprint(conn, begin); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
