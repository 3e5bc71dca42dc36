package authority

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// backdate is how long before its creation a certificate becomes valid, for clients whose clock is behind.
const backdate = time.Hour

// Keys in the Secret. Secrets of type kubernetes.io/tls use two of them.
const (
	entryCertificate = "tls.crt"
	entryKey         = "tls.key"
	entryCA          = "ca.crt"
	entryCAKey       = "ca.key"
	entryNext        = "next-ca.crt"
	entryNextKey     = "next-ca.key"
	entryPrevious    = "previous-ca.crt"
)

var allEntries = []string{entryCertificate, entryKey, entryCA, entryCAKey, entryNext, entryNextKey, entryPrevious}

// generation is a signer and the certificate that it has signed, together with the adjacent signers. A signer is a CA
// with an ECDSA key. The next signer is trusted before it signs, and the previous one as long as replicas may serve its
// certificate. A generation is immutable.
type generation struct {
	signer, leaf *tls.Certificate
	next         *tls.Certificate  // nil until the rotation begins
	previous     *x509.Certificate // nil at first
}

// newSigner creates a signer that is valid from now on.
func (p pace) newSigner(now time.Time) (*tls.Certificate, error) {
	return issue(nil, &x509.Certificate{
		Subject:   pkix.Name{CommonName: "kctrl webhook CA"},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(p.lifetime),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
}

// issued returns the time at which a signer was created.
func issued(signer *tls.Certificate) time.Time { return signer.Leaf.NotBefore.Add(backdate) }

// sign creates a server certificate with those names. The certificate is valid as long as the signer.
func sign(signer *tls.Certificate, now time.Time, names []string) (*tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: names[0]},
		NotBefore: now.Add(-backdate), NotAfter: signer.Leaf.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if len(names[0]) > 64 { // the maximum length of a common name
		template.Subject.CommonName = "webhook"
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return issue(signer, template)
}

// issue creates a key and a certificate, which is signed by signer, or by the new key if signer is nil.
func issue(signer *tls.Certificate, template *x509.Certificate) (*tls.Certificate, error) {
	var err error
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if signer == nil {
		signer = &tls.Certificate{Leaf: template, PrivateKey: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.Leaf, key.Public(), signer.PrivateKey)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// SelfSigned creates a certificate that is valid for longer than any process runs, for clients that do not verify it.
func SelfSigned(name string, dnsNames ...string) (*tls.Certificate, error) {
	now := time.Now()
	return issue(nil, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: dnsNames,
		NotBefore: now.Add(-backdate), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

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

// newGeneration creates the first generation, for a server with those names.
func (p pace) newGeneration(now time.Time, names []string) (*generation, error) {
	signer, err := p.newSigner(now)
	if err != nil {
		return nil, err
	}
	leaf, err := sign(signer, now, names)
	return &generation{signer: signer, leaf: leaf}, err
}

// bundle returns the CA bundle in PEM.
func (g *generation) bundle() []byte {
	trusted := encodeCertificate(g.signer.Leaf)
	if g.next != nil {
		trusted = append(trusted, encodeCertificate(g.next.Leaf)...)
	}
	if g.previous != nil {
		trusted = append(trusted, encodeCertificate(g.previous)...)
	}
	return trusted
}

// pace schedules the rotations of certificates with that lifetime.
type pace struct{ lifetime time.Duration }

// life returns the lifetime of g, which may differ from the configured lifetime, or be the lifetime of a foreign CA.
func (p pace) life(g *generation) time.Duration {
	begin := issued(g.signer)
	return min(p.lifetime, g.signer.Leaf.NotAfter.Sub(begin), g.leaf.Leaf.NotAfter.Sub(begin))
}

// overlap returns how long the signer after g is trusted before it signs.
func (p pace) overlap(g *generation) time.Duration { return min(10*time.Minute, p.life(g)/12) }

// rotation returns when the next signer is created. It then signs before two thirds of the lifetime have passed.
func (p pace) rotation(g *generation) time.Time { return issued(g.signer).Add(p.life(g) / 2) }

// due returns the time at which advance must be called again.
func (p pace) due(g *generation) time.Time {
	if g.next != nil {
		return issued(g.next).Add(p.overlap(g))
	}
	return p.rotation(g)
}

// advance returns the generation that replaces g now, or g. The next signer signs only if all targets trust it.
func (p pace) advance(g *generation, now time.Time, names []string, trusted bool) (*generation, error) {
	if now.After(g.leaf.Leaf.NotAfter) || now.After(g.signer.Leaf.NotAfter) {
		return p.newGeneration(now, names)
	}
	changed := *g
	var err error
	switch {
	case g.next == nil && !now.Before(p.rotation(g)):
		changed.previous = nil
		changed.next, err = p.newSigner(now)
		return &changed, err
	case g.next != nil && trusted && !now.Before(p.due(g)):
		changed = generation{signer: g.next, previous: g.signer.Leaf}
		changed.leaf, err = sign(changed.signer, now, union(names, namesOf(g.leaf.Leaf), maxNames))
		return &changed, err
	case !covers(g.leaf.Leaf, names):
		changed.leaf, err = sign(g.signer, now, union(names, namesOf(g.leaf.Leaf), maxNames))
		return &changed, err
	}
	return g, nil
}

// covers reports whether the certificate is for servers, which a foreign one may not be, and for all these names.
func covers(leaf *x509.Certificate, names []string) bool {
	if len(leaf.ExtKeyUsage) > 0 && !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth) {
		return false
	}
	return !slices.ContainsFunc(names, func(name string) bool { return leaf.VerifyHostname(name) != nil })
}

// maxNames limits the names in a certificate that accumulates them. The oldest names of removed services are kept.
const maxNames = 50

// union returns a, followed by the elements of b that a lacks. The result has at most limit elements.
func union(a, b []string, limit int) []string {
	all := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(all, name) && len(all) < limit {
			all = append(all, name)
		}
	}
	return all
}

// namesOf returns the normalized names of a certificate, without the invalid names that a foreign certificate may have.
func namesOf(leaf *x509.Certificate) []string {
	var names []string
	for _, text := range leaf.DNSNames {
		if name, err := normalName(text); err == nil {
			names = append(names, name)
		}
	}
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// accepts returns an error unless clients that trust bundle accept the server certificate leaf.
func accepts(bundle []byte, leaf *x509.Certificate, now time.Time) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("its caBundle has no certificate")
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now})
	return err
}

// entries returns the entries of the Secret for a generation.
func (g *generation) entries() (map[string][]byte, error) {
	all := map[string][]byte{
		entryCA:          encodeCertificate(g.signer.Leaf),
		entryCertificate: encodeCertificate(g.leaf.Leaf),
	}
	keys := map[string]any{entryCAKey: g.signer.PrivateKey, entryKey: g.leaf.PrivateKey}
	if g.next != nil {
		all[entryNext] = encodeCertificate(g.next.Leaf)
		keys[entryNextKey] = g.next.PrivateKey
	}
	if g.previous != nil {
		all[entryPrevious] = encodeCertificate(g.previous)
	}
	for name, key := range keys {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		all[name] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	return all, nil
}

// parseGeneration returns the generation in the entries of a Secret, which have the form that method entries returns.
func parseGeneration(all map[string][]byte) (*generation, error) {
	g := &generation{}
	var err error
	if g.signer, err = parseSigner(all, entryCA, entryCAKey); err != nil {
		return nil, err
	}
	if len(all[entryNext])+len(all[entryNextKey]) > 0 {
		if g.next, err = parseSigner(all, entryNext, entryNextKey); err != nil {
			return nil, err
		}
	}
	if len(all[entryPrevious]) > 0 {
		if g.previous, err = parseCertificate(all[entryPrevious]); err != nil {
			return nil, fmt.Errorf("%s: %w", entryPrevious, err)
		}
	}
	leaf, err := tls.X509KeyPair(all[entryCertificate], all[entryKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", entryCertificate, err)
	}
	if err := leaf.Leaf.CheckSignatureFrom(g.signer.Leaf); err != nil {
		return nil, fmt.Errorf("%s: not by %s: %w", entryCertificate, entryCA, err)
	}
	g.leaf = &leaf
	return g, nil
}

func parseSigner(all map[string][]byte, name, keyName string) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(all[name], all[keyName])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, ok := pair.PrivateKey.(*ecdsa.PrivateKey); !ok || !pair.Leaf.IsCA {
		return nil, fmt.Errorf("%s: not an authority with an ECDSA key", name)
	}
	return &pair, nil
}

func parseCertificate(text []byte) (*x509.Certificate, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("want one certificate in PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

func encodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
