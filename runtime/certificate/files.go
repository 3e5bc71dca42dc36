// Package certificate reads the certificates of servers from files that another program, such as cert-manager, writes.
package certificate

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// Files is a certificate in two files, as cert-manager and the kubelet write them. It reads the files again after they
// have changed. It is safe for concurrent use.
type Files struct {
	certificate, key string
	logger           *slog.Logger

	mu     sync.Mutex
	reads  *metrics.Counter // all reads, including failed ones
	failed *metrics.Counter
	loaded *tls.Certificate
	files  [2]os.FileInfo // state of the files before the loaded certificate was read
	read   time.Time      // time of that read
}

// NewFiles returns the certificate in the two PEM files, or an error reading them. A nil logger means slog.Default().
func NewFiles(certificate, key string, logger *slog.Logger) (*Files, error) {
	f := &Files{certificate: certificate, key: key, logger: cmp.Or(logger, slog.Default())}
	f.reads, f.failed = measure(nil)
	_, err := f.GetCertificate(nil)
	return f, err
}

// measure returns the counters certwatcher_read_certificate_total and certwatcher_read_certificate_errors_total, which
// [Files.Measure] uses. If r is nil, the counters are not exposed.
func measure(r *metrics.Registry) (reads, failed *metrics.Counter) {
	return r.Counter("certwatcher_read_certificate_total", "Reads of certificate files, including failed reads."),
		r.Counter("certwatcher_read_certificate_errors_total", "Failed reads of certificate files.")
}

// Measure counts all reads of the files in r, including earlier ones. All Files that are measured in r share the
// counters. On the zero value of Files, Measure registers the metrics with value zero.
func (f *Files) Measure(r *metrics.Registry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	reads, failed := measure(r)
	if f.reads != nil {
		reads.Add(f.reads.Value())
		failed.Add(f.failed.Value())
	}
	f.reads, f.failed = reads, failed
}

// trustStat is how long after a read equal file information counts as proof that the files are unchanged. It is short,
// because modification times can be as coarse as a kernel tick, and a copy can keep the time of its original.
const trustStat = 10 * time.Second

// GetCertificate implements tls.Config.GetCertificate. If the files cannot be read, it returns the last certificate.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	files, err := f.stat()
	if err == nil && f.loaded != nil && f.isUnchanged(files) {
		return f.loaded, nil
	}
	f.reads.Inc()
	now := time.Now()
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.LoadX509KeyPair(f.certificate, f.key)
	}
	if err != nil { // perhaps only one of the two files has been replaced so far
		f.failed.Inc()
		if f.loaded == nil {
			return nil, err
		}
		f.logger.Warn("the certificate could not be read again", "file", f.certificate, "err", err)
		return f.loaded, nil
	}
	f.loaded, f.files, f.read = &pair, files, now
	return f.loaded, nil
}

func (f *Files) stat() (files [2]os.FileInfo, err error) {
	for i, file := range []string{f.certificate, f.key} {
		if files[i], err = os.Stat(file); err != nil {
			return files, err
		}
	}
	return files, nil
}

// isUnchanged reports whether files are the loaded files. It does not read them.
func (f *Files) isUnchanged(files [2]os.FileInfo) bool {
	for i, now := range files {
		was := f.files[i]
		if !os.SameFile(was, now) || was.Size() != now.Size() || !was.ModTime().Equal(now.ModTime()) {
			return false
		}
	}
	return time.Since(f.read) < trustStat
}

// Run blocks until ctx ends. It does nothing else, because every connection checks the files.
func (f *Files) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Ready returns an error unless a certificate is loaded and currently valid. The program that writes the files must
// also configure the API server to trust the certificate.
func (f *Files) Ready() error {
	c, err := f.GetCertificate(nil)
	if err != nil {
		return err
	}
	return authority.ValidNow(c, f.certificate)
}
