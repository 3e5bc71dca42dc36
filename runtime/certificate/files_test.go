package certificate_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/certificate"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// writePair writes a certificate and its key to two files with the modification time changed, and returns the
// certificate to trust.
func writePair(t *testing.T, dir string, made time.Time, lifetime time.Duration, changed time.Time) (ca []byte) {
	t.Helper()
	entries, err := entriesOf(made, lifetime, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		writeFile(t, filepath.Join(dir, name), entries[name], changed)
	}
	return entries["ca.crt"]
}

func writeFile(t *testing.T, path string, text []byte, changed time.Time) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, changed, changed); err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreReadAgainWhenTheyChange(t *testing.T) {
	dir, logger := t.TempDir(), slog.New(slog.DiscardHandler)
	certificateFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if _, err := certificate.NewFiles(certificateFile, keyFile, logger); err == nil ||
		!strings.Contains(err.Error(), "tls.crt") {
		t.Errorf("without files: %v", err)
	}
	now := time.Now()
	writePair(t, dir, now, time.Hour, now.Add(-3*time.Hour))
	files, err := certificate.NewFiles(certificateFile, keyFile, logger)
	if err != nil {
		t.Fatal(err)
	}
	serial := func() string {
		t.Helper()
		c, err := files.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf.SerialNumber.String()
	}
	first := serial()
	if err := files.Ready(); err != nil || serial() != first {
		t.Errorf("ready: %v", err)
	}
	// The new certificate is written before its key.
	other, err := entriesOf(now, time.Hour, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, certificateFile, other["tls.crt"], now.Add(-2*time.Hour))
	if serial() != first {
		t.Error("a certificate is shown without its key")
	}
	writeFile(t, keyFile, other["tls.key"], now.Add(-time.Hour))
	second := serial()
	if second == first {
		t.Error("the new certificate is not shown")
	}
	writeFile(t, certificateFile, []byte("garbage"), now)
	if serial() != second {
		t.Error("it did not keep what it had")
	}
	if err := os.Remove(certificateFile); err != nil {
		t.Fatal(err)
	}
	if serial() != second {
		t.Error("it did not keep what it had")
	}
}

// TestFilesAreReadAgainAlthoughTheirTimeIsTheSame replaces files by files with the same modification time. Copies that
// keep the time do this, and so do volumes that give all files one time. The new content must be served within seconds.
func TestFilesAreReadAgainAlthoughTheirTimeIsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, now := t.TempDir(), time.Now()
		writePair(t, dir, now, time.Hour, now)
		files, err := certificate.NewFiles(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), nil)
		if err != nil {
			t.Fatal(err)
		}
		last := ""
		shown := func() bool {
			t.Helper()
			c, err := files.GetCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			is := c.Leaf.SerialNumber.String()
			changed := is != last
			last = is
			return changed
		}
		shown()
		// Replace the files by renames, as the kubelet does.
		other := t.TempDir()
		writePair(t, other, now, time.Hour, now)
		for _, name := range []string{"tls.crt", "tls.key"} {
			if err := os.Rename(filepath.Join(other, name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if !shown() {
			t.Error("files that were renamed are not read")
		}
		// Overwrite the files in place. The new content may have the same length.
		for range 5 {
			writePair(t, dir, now, time.Hour, now)
			<-time.After(11 * time.Second)
			if !shown() {
				t.Error("files that were written again are not read")
			}
		}
	})
}

// TestChainThatIsWrittenInPartsIsShownWhole reads a file when only the first certificate of the chain has been written.
// The rest follows without a change of the file's modification time.
func TestChainThatIsWrittenInPartsIsShownWhole(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	entries, err := entriesOf(now, time.Hour, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	certificateFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	writeFile(t, keyFile, entries["tls.key"], now)
	writeFile(t, certificateFile, entries["tls.crt"], now)
	files, err := certificate.NewFiles(certificateFile, keyFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	before, err := files.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, certificateFile, append(entries["tls.crt"], entries["ca.crt"]...), now)
	after, err := files.GetCertificate(nil)
	if err != nil || len(after.Certificate) != len(before.Certificate)+1 {
		t.Errorf("%d certificates are shown, after %d: %v", len(after.Certificate), len(before.Certificate), err)
	}
}

// TestCertificateThatExpiresWhileAConnectionIsOpen sends requests over one connection, as an API server does. They are
// answered although the certificate expires. A new connection requires a valid certificate, and gets it as soon as the
// files contain one.
func TestCertificateThatExpiresWhileAConnectionIsOpen(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(writePair(t, dir, now, time.Hour, now.Add(-time.Hour)))
	files, err := certificate.NewFiles(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"),
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Options{Address: "127.0.0.1:0", Certificates: files, Logger: slog.New(slog.DiscardHandler)})
	err = errors.Join(s.Handle("/a", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), server.MaxReview),
		s.Listen(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	var late atomic.Int64 // what the client's clock is ahead
	config := &tls.Config{RootCAs: trusted, ServerName: "localhost",
		Time: func() time.Time { return now.Add(time.Duration(late.Load())) }}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	post := func() (reused bool, err error) {
		trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
		r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost,
			"https://"+s.Addr().String()+"/a", http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			return reused, err
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return reused, err
		}
		return reused, response.Body.Close()
	}
	if _, err := post(); err != nil {
		t.Fatal(err)
	}
	late.Store(int64(2 * time.Hour))
	if reused, err := post(); err != nil || !reused {
		t.Errorf("on a connection that was open: reused %v, %v", reused, err)
	}
	transport.CloseIdleConnections()
	if _, err := post(); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a new connection with a certificate that has expired: %v", err)
	}
	trusted.AppendCertsFromPEM(writePair(t, dir, now, 3*time.Hour, now))
	for _, want := range []bool{false, true} {
		if reused, err := post(); err != nil || reused != want {
			t.Errorf("with the next certificate: reused %v, %v", reused, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestCertificateOfFilesThatExpiredIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		writePair(t, dir, time.Now().Add(2*time.Hour), time.Hour, time.Now())
		files, err := certificate.NewFiles(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"),
			slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"the certificate is valid from 2000-01-01T01:00:00Z on", "",
			"the certificate expired at 2000-01-01T03:00:00Z"} {
			err := files.Ready()
			if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
				t.Errorf("%s: %v, want %q", time.Now(), err, want)
			}
			time.Sleep(91 * time.Minute)
		}
	})
}

// TestReadsOfFilesAreCounted checks that the metrics count failed reads and reads before the metrics are registered,
// but not checks that found the files unchanged.
func TestReadsOfFilesAreCounted(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	writePair(t, dir, now, time.Hour, now.Add(-3*time.Hour))
	certificateFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	files, err := certificate.NewFiles(certificateFile, keyFile, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	registry := metrics.NewRegistry()
	files.Measure(registry)
	reads, failed := certificate.Measure(registry)
	want := func(when string, wantReads, wantFailed float64) {
		t.Helper()
		if _, err := files.GetCertificate(nil); err != nil {
			t.Fatal(err)
		}
		if reads.Value() != wantReads || failed.Value() != wantFailed {
			t.Errorf("%s: %v reads, of which %v failed; want %v and %v",
				when, reads.Value(), failed.Value(), wantReads, wantFailed)
		}
	}
	want("unchanged", 1, 0)
	writePair(t, dir, now, time.Hour, now.Add(-2*time.Hour))
	want("changed", 2, 0)
	writeFile(t, keyFile, []byte("nonsense"), now.Add(-time.Hour))
	want("broken", 3, 1)
	if err := os.Remove(keyFile); err != nil {
		t.Fatal(err)
	}
	want("gone", 4, 2)
}

// entriesOf returns the entries of a Secret with a self-signed certificate that was issued at the time made.
func entriesOf(made time.Time, lifetime time.Duration, name string) (map[string][]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, DNSNames: []string{name}, NotBefore: made.Add(-time.Hour), NotAfter: made.Add(lifetime),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return map[string][]byte{
		"ca.crt": text, "tls.crt": text, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, err
}
