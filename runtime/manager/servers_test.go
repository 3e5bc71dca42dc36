package manager_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

func TestMetricsInPlain(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{Metrics: manager.MetricsOptions{BindAddress: loopback,
		Insecure: true}})
	m.Metrics().Counter("guestbook_visits_total", "Visits.").Inc()
	start(t, m)
	code, body := get(t, log.url(t, "metrics")+"/metrics")
	if code != http.StatusOK {
		t.Errorf("got %d", code)
	}
	contains(t, body, "guestbook_visits_total 1", "process_start_time_seconds")
}

func TestCertificateFilesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	hour := time.Now().Truncate(time.Hour)
	writeCertificate(t, dir, "first", hour)
	m, log := newManager(t, newAPIServer(), manager.Options{Metrics: manager.MetricsOptions{BindAddress: loopback,
		CertDir: dir}})
	start(t, m)
	url := log.url(t, "metrics")
	want := func(name, when string) {
		t.Helper()
		if _, _, certificate := scrape(t, url, ""); certificate.Subject.CommonName != name {
			t.Errorf("%s: got the certificate of %s, want %s", when, certificate.Subject, name)
		}
	}
	want("first", "at start")
	writeCertificate(t, dir, "second", hour.Add(time.Minute))
	want("second", "when both files have changed")
	writePEM(t, filepath.Join(dir, "tls.crt"), "CERTIFICATE", []byte("half"), hour.Add(2*time.Minute))
	want("second", "when a file is broken")
	log.wait(t, "level=WARN", "could not be read again", "tls.crt")
	writeCertificate(t, dir, "third", hour.Add(3*time.Minute))
	want("third", "when it is mended")
	if err := os.Remove(filepath.Join(dir, "tls.crt")); err != nil {
		t.Fatal(err)
	}
	want("third", "when the file is gone")
}

func TestMetricsNeedTheCertificateThatWasGiven(t *testing.T) {
	dir := t.TempDir()
	newWith := func() error {
		_, err := manager.New(newAPIServer().config(), manager.Options{Metrics: manager.MetricsOptions{BindAddress: loopback,
			CertDir: dir}})
		return err
	}
	if err := newWith(); err == nil {
		t.Error("no files: got no error")
	} else {
		contains(t, err.Error(), "metrics server: ", "tls.crt")
	}
	writePEM(t, filepath.Join(dir, "tls.crt"), "CERTIFICATE", []byte("half"), time.Now())
	if err := newWith(); err == nil {
		t.Error("a broken file: got no error")
	}
}

func TestIncludedMetricsAreBehindTheSameGate(t *testing.T) {
	s := newAPIServer()
	s.users, s.allowed = map[string]string{"good": "prometheus"}, []string{"prometheus get /metrics"}
	m, log := newManager(t, s, manager.Options{Metrics: manager.MetricsOptions{BindAddress: loopback}})
	asked := make(chan struct{}, 10)
	m.Metrics().Include(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		io.WriteString(w, "# TYPE collected gauge\ncollected 7\n# TYPE go_goroutines gauge\ngo_goroutines -1\n")
	}))
	start(t, m)
	url := log.url(t, "metrics")
	if code, _, _ := scrape(t, url, ""); code != http.StatusUnauthorized || len(asked) > 0 {
		t.Errorf("a stranger got %d", code)
	}
	code, body, _ := scrape(t, url, "Bearer good")
	if code != http.StatusOK || !strings.Contains(body, "\ncollected 7\n") || strings.Contains(body, "go_goroutines -1") {
		t.Errorf("got %d %s", code, body)
	}
}

func TestTLSOptionsOfMetricsAreThoseThatWereGiven(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{Metrics: manager.MetricsOptions{BindAddress: loopback,
		TLSOpts: []func(*tls.Config){
			func(c *tls.Config) { c.MinVersion = tls.VersionTLS12 },
			func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 },
		}}})
	start(t, m)
	address := strings.TrimPrefix(log.url(t, "metrics"), "http://")
	for version, want := range map[uint16]bool{tls.VersionTLS12: false, tls.VersionTLS13: true} {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MaxVersion: version})
		if got := err == nil; got != want {
			t.Errorf("TLS %x: %v", version, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}

// A client that does not send the body that it announced must not delay a server's shutdown.
func TestSlowClientsDoNotFailTheShutdown(t *testing.T) {
	for name, begin := range map[string]string{
		"nothing":       "",
		"half a header": "GET /healthz HTTP/1.1\r\nHost: x\r\n",
		"half a body":   "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx",
		"a slow chunk":  "POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nx",
	} {
		m, log := newManager(t, newAPIServer(), manager.Options{
			HealthProbeBindAddress: loopback, Metrics: manager.MetricsOptions{BindAddress: loopback, Insecure: true},
			GracefulShutdownTimeout: 2 * time.Second,
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

func TestSlowClientsAreNamedAtTheShutdown(t *testing.T) {
	m, log := newManager(t, newAPIServer(), manager.Options{HealthProbeBindAddress: loopback,
		GracefulShutdownTimeout: 2 * time.Second})
	reading := make(chan struct{})
	m.AddReadyz("reads", func(r *http.Request) error {
		close(reading)
		_, err := io.Copy(io.Discard, r.Body)
		return err
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	u, err := url.Parse(log.url(t, "probes"))
	ok(t, err)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host)
	ok(t, err)
	defer conn.Close()
	_, err = fmt.Fprint(conn, "GET /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx")
	ok(t, err)
	<-reading
	stop()
	ok(t, <-ended)
	contains(t, log.String(), "cut off clients that were too slow", "server=probes", conn.LocalAddr().String())
}

// writeCertificate writes tls.crt and tls.key for name into a directory, with a given modification time.
func writeCertificate(t *testing.T, dir, name string, changed time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(dir, "tls.key"), "PRIVATE KEY", keyDER, changed)
	writePEM(t, filepath.Join(dir, "tls.crt"), "CERTIFICATE", certificate, changed)
}

func writePEM(t *testing.T, path, kind string, der []byte, changed time.Time) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, changed, changed); err != nil {
		t.Fatal(err)
	}
}
