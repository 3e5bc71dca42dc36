package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// ValidNow returns an error unless the certificate is currently valid.
func ValidNow(c *tls.Certificate, where string) error {
	switch now := time.Now(); {
	case now.Before(c.Leaf.NotBefore):
		return fmt.Errorf("%s: the certificate is valid from %s on", where, c.Leaf.NotBefore.Format(time.RFC3339))
	case now.After(c.Leaf.NotAfter):
		return fmt.Errorf("%s: the certificate expired at %s", where, c.Leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// SelfSigned creates a certificate that is valid for longer than any process runs, for clients that do not verify it.
func SelfSigned(name string, dnsNames ...string) (tls.Certificate, error) {
	now := time.Now()
	template, err := newTemplate(name, now.Add(-time.Hour), now.AddDate(10, 0, 0))
	if err != nil {
		return tls.Certificate{}, err
	}
	template.DNSNames = dnsNames
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// newTemplate returns the common part of all certificates.
func newTemplate(name string, from, until time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: until},
		err
}
