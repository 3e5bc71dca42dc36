package manager

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// newMetricsServer returns the server of /metrics: over TLS and for authorized clients, unless the options say otherwise.
func newMetricsServer(m *Manager) (*server, error) {
	s := &server{name: "metrics", address: m.opts.MetricsAddress, logger: m.logger}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.metrics)
	if m.opts.MetricsInsecure {
		s.handler = mux
		return s, nil
	}
	s.handler = newGate(mux, m.system, m.logger)
	var err error
	s.tls, err = serverTLS(m.opts.MetricsCertDir, m.logger)
	if err != nil {
		return nil, fmt.Errorf("metrics server: %w", err)
	}
	return s, nil
}

// serverTLS returns a configuration with the certificate in folder, or a self-signed one when folder is empty.
func serverTLS(folder string, logger *slog.Logger) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if folder == "" {
		certificate, err := selfSigned()
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{certificate}
		return config, nil
	}
	files := &certificateFiles{certificate: filepath.Join(folder, "tls.crt"), key: filepath.Join(folder, "tls.key"), logger: logger}
	if _, err := files.get(nil); err != nil {
		return nil, err
	}
	config.GetCertificate = files.get
	return config, nil
}

// certificateFiles is a certificate that is read again when its file has changed.
type certificateFiles struct {
	certificate, key string
	logger           *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	changed time.Time // of the certificate that is loaded
}

func (f *certificateFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.certificate)
	if err != nil {
		return f.loaded, f.unlessLoaded(err)
	}
	if f.loaded != nil && info.ModTime().Equal(f.changed) {
		return f.loaded, nil
	}
	pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
	if err != nil { // perhaps only one of the two files has been replaced yet
		return f.loaded, f.unlessLoaded(err)
	}
	f.loaded, f.changed = &pair, info.ModTime()
	return f.loaded, nil
}

// unlessLoaded returns err when there is no certificate to go on with, and logs it otherwise.
func (f *certificateFiles) unlessLoaded(err error) error {
	if f.loaded == nil {
		return err
	}
	f.logger.Warn("the certificate could not be read again", "file", f.certificate, "err", err)
	return nil
}

// selfSigned makes a certificate that lasts as long as any process does.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "manager"},
		DNSNames:     []string{"localhost"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
