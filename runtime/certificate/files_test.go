package certificate_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/certificate"
)

// writePair writes a certificate and its key as two files, at a time of their own.
func writePair(t *testing.T, folder string, made time.Time, lifetime time.Duration, changed time.Time) {
	t.Helper()
	entries, err := certificate.Entries(made, lifetime, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		writeFile(t, filepath.Join(folder, name), entries[name], changed)
	}
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
	folder, logger := t.TempDir(), slog.New(slog.DiscardHandler)
	certificateFile, keyFile := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	if _, err := certificate.NewFiles(certificateFile, keyFile, logger); err == nil || !strings.Contains(err.Error(), "tls.crt") {
		t.Errorf("without files: %v", err)
	}
	now := time.Now()
	writePair(t, folder, now, time.Hour, now.Add(-3*time.Hour))
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
	// One of the two comes after the other.
	other, err := certificate.Entries(now, time.Hour, "localhost")
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

func TestCertificateOfFilesThatExpiredIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		writePair(t, folder, time.Now().Add(2*time.Hour), time.Hour, time.Now())
		files, err := certificate.NewFiles(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"the certificate is valid from 2000-01-01T01:00:00Z on", "", "the certificate expired at 2000-01-01T03:00:00Z"} {
			err := files.Ready()
			if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
				t.Errorf("%s: %v, want %q", time.Now(), err, want)
			}
			time.Sleep(91 * time.Minute)
		}
	})
}
