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
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
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
	template, err := certificateTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate: certificate, key: key, pem: encodePEM("CERTIFICATE", der)}, err
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
	template, err := certificateTemplate(subject)
	if err != nil {
		return pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	usage(template)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	keyPEM, err := privateKeyPEM(key)
	return pair{certificate: encodePEM("CERTIFICATE", der), key: keyPEM}, err
}

func certificateTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(certificateLifetime),
	}, nil
}

func privateKeyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return encodePEM("PRIVATE KEY", der), err
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
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
	for _, name := range certificateFiles {
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

// certificateFiles are the names of the certificates that the processes of an instance read. Each has a key.
var certificateFiles = []string{"etcd", "etcd-client", "apiserver", "service-account"}

// writeIdentities issues all certificates of an instance and writes those for its processes into dir.
func writeIdentities(dir string) (*identities, error) {
	ca, err := newAuthority("kctrl-env")
	if err != nil {
		return nil, err
	}
	ids := &identities{authority: ca.pem}
	files := map[string][]byte{"ca.crt": ca.pem}
	for name, issue := range map[string]func() (pair, error){
		"etcd":        func() (pair, error) { return ca.server("etcd") },
		"etcd-client": func() (pair, error) { return ca.client("kube-apiserver") },
		"apiserver":   func() (pair, error) { return ca.server("kube-apiserver") },
		"service-account": func() (pair, error) {
			return ca.client("service-accounts")
		},
		"admin": func() (pair, error) { return ca.client("kctrl-admin", "system:masters") },
	} {
		p, err := issue()
		if err != nil {
			return nil, fmt.Errorf("make certificate %s: %w", name, err)
		}
		if name == "admin" {
			ids.admin = p
			continue
		}
		files[name+".crt"], files[name+".key"] = p.certificate, p.key
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, unwritable(dir, err)
		}
	}
	return ids, nil
}
