// Package certwatcher serves a certificate from two files and reloads it when they change.
package certwatcher

import (
	"bytes"
	"context"
	"crypto/tls"
	"os"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher/metrics"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
)

var log = logf.RuntimeLog.WithName("certwatcher")

// defaultInterval is the maximum time until a changed file is read.
const defaultInterval = 10 * time.Second

// statInterval is the interval between checks of the files.
const statInterval = time.Second

// CertWatcher holds the certificate in two files. Its mutex guards the certificate.
type CertWatcher struct {
	sync.RWMutex

	certPath, keyPath string
	current           *tls.Certificate
	key               []byte // PEM
	callback          func(tls.Certificate)
	interval          time.Duration
	files             [2]os.FileInfo // state at the last read

	ended    chan struct{} // closed when Start ends
	endOnce  sync.Once
	watching sync.WaitGroup
}

// New returns a watcher of the certificate in two PEM files. It fails if they cannot be read.
func New(certPath, keyPath string) (*CertWatcher, error) {
	w := &CertWatcher{certPath: certPath, keyPath: keyPath, interval: defaultInterval, ended: make(chan struct{})}
	if simulated.Current() != nil {
		return w, nil // a simulated process serves nothing, and has no certificates
	}
	return w, w.ReadCertificate()
}

// WithWatchInterval sets the interval after which the files are read even if they look unchanged.
func (cw *CertWatcher) WithWatchInterval(interval time.Duration) *CertWatcher {
	cw.interval = interval
	return cw
}

// RegisterCallback sets a function that receives the certificate, immediately and after each change.
func (cw *CertWatcher) RegisterCallback(callback func(tls.Certificate)) {
	cw.Lock()
	current := cw.current
	cw.callback = callback
	cw.Unlock()
	if current != nil {
		callback(*current)
	}
}

// GetCertificate returns the current certificate. It is for the field GetCertificate of a tls.Config.
func (cw *CertWatcher) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	cw.RLock()
	defer cw.RUnlock()
	return cw.current, nil
}

// Start watches the files until ctx ends.
func (cw *CertWatcher) Start(ctx context.Context) error {
	log.Info("Starting certificate poll+watcher", "interval", cw.interval)
	if simulated.Current() == nil {
		cw.watching.Go(cw.Watch)
	}
	<-ctx.Done()
	cw.endOnce.Do(func() { close(cw.ended) })
	cw.watching.Wait()
	return nil
}

// Watch reads the files when they change, until Start ends.
func (cw *CertWatcher) Watch() {
	ticker := time.NewTicker(max(time.Millisecond, min(statInterval, cw.interval)))
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-cw.ended:
			return
		case <-ticker.C:
		}
		if !cw.changed() && time.Since(last) < cw.interval {
			continue
		}
		last = time.Now()
		if err := cw.ReadCertificate(); err != nil {
			log.Error(err, "failed read certificate")
		}
	}
}

// changed reports whether the files have changed since the last read.
func (cw *CertWatcher) changed() bool {
	now := stat(cw.certPath, cw.keyPath)
	cw.RLock()
	defer cw.RUnlock()
	for i, file := range now {
		was := cw.files[i]
		if file == nil || was == nil {
			return true
		}
		if !os.SameFile(file, was) || file.Size() != was.Size() || !file.ModTime().Equal(was.ModTime()) {
			return true
		}
	}
	return false
}

func stat(names ...string) (files [2]os.FileInfo) {
	for i, name := range names {
		if info, err := os.Stat(name); err == nil {
			files[i] = info
		}
	}
	return files
}

// ReadCertificate reads the files and calls the callback if they have changed.
func (cw *CertWatcher) ReadCertificate() error {
	metrics.ReadCertificateTotal.Inc()
	files := stat(cw.certPath, cw.keyPath)
	key, err := os.ReadFile(cw.keyPath)
	if err != nil {
		metrics.ReadCertificateErrors.Inc()
		return err
	}
	certificate, err := os.ReadFile(cw.certPath)
	if err != nil {
		metrics.ReadCertificateErrors.Inc()
		return err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		metrics.ReadCertificateErrors.Inc()
		return err
	}
	cw.set(&pair, key, files)
	return nil
}

func (cw *CertWatcher) set(pair *tls.Certificate, key []byte, files [2]os.FileInfo) {
	cw.Lock()
	cw.files = files
	same := cw.current != nil && len(cw.current.Certificate) == len(pair.Certificate) &&
		bytes.Equal(cw.current.Certificate[0], pair.Certificate[0]) && bytes.Equal(cw.key, key)
	if !same {
		cw.current, cw.key = pair, key
	}
	callback := cw.callback
	cw.Unlock()
	if same {
		return
	}
	log.Info("Updated current TLS certificate", "cert", cw.certPath, "key", cw.keyPath)
	if callback != nil {
		callback(*pair)
	}
}

// NeedLeaderElection returns false: every process serves.
func (cw *CertWatcher) NeedLeaderElection() bool { return false }
