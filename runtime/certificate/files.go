// Package certificate has the certificates of servers in files, which others write, such as cert-manager.
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

// Files is a certificate in two files, such as cert-manager and the kubelet write them, which is read again when they
// have changed. It is safe for concurrent use.
type Files struct {
	certificate, key string
	logger           *slog.Logger

	mu     sync.Mutex
	reads  *metrics.Counter // of the files; those that failed too
	failed *metrics.Counter
	loaded *tls.Certificate
	files  [2]os.FileInfo // as they were before what is loaded was read
	read   time.Time      // when that was
}

// NewFiles returns the certificate in the two PEM files, or the error of reading them. Nil for the logger is
// slog.Default().
func NewFiles(certificate, key string, logger *slog.Logger) (*Files, error) {
	f := &Files{certificate: certificate, key: key, logger: cmp.Or(logger, slog.Default())}
	f.reads, f.failed = measure(nil)
	_, err := f.GetCertificate(nil)
	return f, err
}

// measure returns the counters of the reads of certificates from files, and of failed reads: the metrics
// certwatcher_read_certificate_total and certwatcher_read_certificate_errors_total. [Files.Measure] adds to them. A nil
// registry shows them nowhere.
func measure(r *metrics.Registry) (reads, failed *metrics.Counter) {
	return r.Counter("certwatcher_read_certificate_total", "Reads of certificates from files, failed ones included."),
		r.Counter("certwatcher_read_certificate_errors_total", "Reads of certificates from files that failed.")
}

// Measure counts the reads of the files in r, also those before, together with the reads of all other Files that are
// measured in r. With the zero value of Files the metrics are there, and zero.
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

// trustStat is how long files are taken for unchanged because they look so: a time of change may be as coarse as a
// tick of the kernel, and a copy may keep that of what it is a copy of.
const trustStat = 10 * time.Second

// GetCertificate is that of a tls.Config. Files that cannot be read after all do not replace what was read.
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
	if err != nil { // perhaps only one of the two files has been replaced yet
		f.failed.Inc()
		return f.loaded, f.unlessLoaded(err)
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

// isUnchanged reports whether files are those that are loaded, as far as can be told without reading them.
func (f *Files) isUnchanged(files [2]os.FileInfo) bool {
	for i, now := range files {
		was := f.files[i]
		if !os.SameFile(was, now) || was.Size() != now.Size() || !was.ModTime().Equal(now.ModTime()) {
			return false
		}
	}
	return time.Since(f.read) < trustStat
}

// unlessLoaded returns err when there is no certificate to go on with, and logs it otherwise.
func (f *Files) unlessLoaded(err error) error {
	if f.loaded == nil {
		return err
	}
	f.logger.Warn("the certificate could not be read again", "file", f.certificate, "err", err)
	return nil
}

// Run returns at the end of ctx: the files are looked at with every connection.
func (f *Files) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Ready returns an error unless there is a certificate that is valid now. Who writes the files also tells the API
// server whom to trust.
func (f *Files) Ready() error {
	c, err := f.GetCertificate(nil)
	if err != nil {
		return err
	}
	return authority.ValidNow(c, f.certificate)
}
