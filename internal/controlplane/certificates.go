//go:build linux || darwin

package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const certificateLifetime = 365 * 24 * time.Hour

// authority is the certificate authority of one instance.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// pair is a certificate with its key, both in PEM.
type pair struct{ certificate, key []byte }

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		return nil, err
	}
	encoded, err := cert.EncodeCertificates(certificate)
	return &authority{certificate: certificate, key: key, pem: encoded}, err
}

// server issues a certificate for a server on loopback. The certificate is also valid for clients, because etcd
// connects to itself with it.
func (a *authority) server(name string) (pair, error) {
	return a.issue(pkix.Name{CommonName: name}, func(c *x509.Certificate) {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		c.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
		c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1), net.IPv6loopback}
	})
}

// client issues a certificate for a user in groups.
func (a *authority) client(user string, groups ...string) (pair, error) {
	return a.issue(pkix.Name{CommonName: user, Organization: groups}, func(c *x509.Certificate) {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	})
}

func (a *authority) issue(subject pkix.Name, usage func(*x509.Certificate)) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return pair{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(certificateLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
	usage(template)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	return pair{certificate: pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der}), key: keyPEM}, err
}

// identities are all keys and certificates of one instance.
type identities struct {
	authority []byte
	admin     pair // of the kubeconfig
}

// loadIdentities reads the files that writeIdentities and writeKubeconfig wrote. It returns an error if a file is
// missing, was issued by another authority, or has expired.
func loadIdentities(dir, kubeconfig string, now time.Time) (*identities, error) {
	authority, err := os.ReadFile(authorityPath(dir))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	verify := func(p pair) error {
		both, err := tls.X509KeyPair(p.certificate, p.key)
		if err != nil {
			return err
		}
		_, err = both.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(certificates)) {
		certificate, err := os.ReadFile(filepath.Join(dir, name+".crt"))
		if err != nil {
			return nil, err
		}
		key, err := os.ReadFile(filepath.Join(dir, name+".key"))
		if err != nil {
			return nil, err
		}
		if err := verify(pair{certificate, key}); err != nil {
			return nil, fmt.Errorf("%s.crt: %w", name, err)
		}
	}
	ids, err := readKubeconfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := verify(ids.admin); err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	ids.authority = authority
	return ids, nil
}

// certificates issue the certificates that the processes of an instance read, by the names of their files. Each has a
// key.
var certificates = map[string]func(*authority) (pair, error){
	"etcd":            func(a *authority) (pair, error) { return a.server("etcd") },
	"etcd-client":     func(a *authority) (pair, error) { return a.client("kube-apiserver") },
	"apiserver":       func(a *authority) (pair, error) { return a.server("kube-apiserver") },
	"service-account": func(a *authority) (pair, error) { return a.client("service-accounts") },
}

// writeIdentities issues all certificates of an instance and writes those for its processes into dir.
func writeIdentities(dir string) (*identities, error) {
	ca, err := newAuthority("kctrl-env")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"ca.crt": ca.pem}
	for name, issue := range certificates {
		p, err := issue(ca)
		if err != nil {
			return nil, fmt.Errorf("make certificate %s: %w", name, err)
		}
		files[name+".crt"], files[name+".key"] = p.certificate, p.key
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, unwritable(dir, err)
		}
	}
	admin, err := ca.client("kctrl-admin", "system:masters")
	return &identities{authority: ca.pem, admin: admin}, err
}
