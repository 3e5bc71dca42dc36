package standalone

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
)

// TestServesWithoutClientCertificates starts the executable kube-apiserver without --client-ca-file, as an envtest
// server with another kind of authentication does. Every client certificate is then invalid.
func TestServesWithoutClientCertificates(t *testing.T) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"apiserver.crt": certificate, "apiserver.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	_, port, _ := net.SplitHostPort(address)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serveAPI(ctx, map[string]string{"bind-address": "127.0.0.1", "secure-port": port, "cert-dir": dir})
	}()
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	get := func(config *tls.Config) error {
		config.InsecureSkipVerify = true // the test is about the other direction
		client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		response, err := client.Get("https://" + address + "/healthz")
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	started := time.Now()
	for err = get(&tls.Config{}); err != nil && time.Since(started) < 10*time.Second; err = get(&tls.Config{}) {
		select {
		case err := <-ended:
			t.Fatal("the server ended:", err)
		default:
		}
	}
	if err != nil {
		t.Error(err)
	}
	if get(&tls.Config{Certificates: []tls.Certificate{pair}}) == nil {
		t.Error("a client certificate of an unknown CA is valid")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
