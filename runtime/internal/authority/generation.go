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

// signer is a CA certificate with its private key.
type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// issued returns the time at which the signer was created.
func (s *signer) issued() time.Time { return s.certificate.NotBefore.Add(backdate) }

// generation is a signer and the certificate that it has signed, together with the adjacent signers. The next signer is
// trusted before it signs, and the previous one as long as replicas may serve its certificate. A generation is
// immutable.
type generation struct {
	signer   *signer
	leaf     *tls.Certificate
	next     *signer           // nil until the rotation begins
	previous *x509.Certificate // nil at first
}

// profile holds the parameters of new certificates.
type profile struct {
	lifetime time.Duration
	subject  pkix.Name          // subject of signers
	usages   []x509.ExtKeyUsage // usages of signed certificates
}

// newProfile returns the profile for webhook servers.
func newProfile(lifetime time.Duration) profile {
	return profile{lifetime, pkix.Name{CommonName: "kctrl webhook CA"}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
}

// newSigner creates a signer that is valid from now on.
func (p profile) newSigner(now time.Time) (*signer, error) {
	template, err := newTemplate("", now.Add(-backdate), now.Add(p.lifetime))
	if err != nil {
		return nil, err
	}
	template.Subject = p.subject
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &signer{certificate, key}, err
}

// sign creates a server certificate with those names. The certificate is valid as long as the signer.
func (p profile) sign(s *signer, now time.Time, names []string) (*tls.Certificate, error) {
	template, err := newTemplate(names[0], now.Add(-backdate), s.certificate.NotAfter)
	if err != nil {
		return nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = p.usages
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	if len(names[0]) > 64 { // the maximum length of a common name
		template.Subject.CommonName = "webhook"
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, s.certificate, key.Public(), s.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// newGeneration creates the first generation, for a server with those names.
func (p profile) newGeneration(now time.Time, names []string) (*generation, error) {
	s, err := p.newSigner(now)
	if err != nil {
		return nil, err
	}
	leaf, err := p.sign(s, now, names)
	return &generation{signer: s, leaf: leaf}, err
}

// after returns a copy of g that also trusts the previous CA.
func (g *generation) after(previous *x509.Certificate) *generation {
	changed := *g
	changed.previous = previous
	return &changed
}

// bundle returns the CA bundle in PEM.
func (g *generation) bundle() []byte {
	trusted := encodeCertificate(g.signer.certificate)
	if g.next != nil {
		trusted = append(trusted, encodeCertificate(g.next.certificate)...)
	}
	if g.previous != nil {
		trusted = append(trusted, encodeCertificate(g.previous)...)
	}
	return trusted
}

// pace schedules rotations.
type pace struct{ profile }

// life returns the lifetime of g, which may differ from the configured lifetime, or be the lifetime of a foreign CA.
func (p pace) life(g *generation) time.Duration {
	end := g.signer.certificate.NotAfter
	if g.leaf.Leaf.NotAfter.Before(end) {
		end = g.leaf.Leaf.NotAfter
	}
	return min(p.lifetime, end.Sub(g.signer.issued()))
}

// overlap returns how long the signer after g is trusted before it signs.
func (p pace) overlap(g *generation) time.Duration { return min(10*time.Minute, p.life(g)/12) }

// rotation returns when the next signer is created. It then signs before two thirds of the lifetime have passed.
func (p pace) rotation(g *generation) time.Time { return g.signer.issued().Add(p.life(g) / 2) }

// due returns the time at which advance must be called again.
func (p pace) due(g *generation) time.Time {
	if g.next != nil {
		return g.next.issued().Add(p.overlap(g))
	}
	return p.rotation(g)
}

// advance returns the generation that replaces g now, or g. The next signer signs only if all targets trust it.
func (p pace) advance(g *generation, now time.Time, names []string, trusted bool) (*generation, error) {
	if now.After(g.leaf.Leaf.NotAfter) || now.After(g.signer.certificate.NotAfter) {
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
		changed = generation{signer: g.next, previous: g.signer.certificate}
		changed.leaf, err = p.sign(changed.signer, now, union(names, namesOf(g.leaf.Leaf), maxNames))
		return &changed, err
	case !covers(g.leaf.Leaf, names) || p.lacksUsage(g.leaf.Leaf):
		changed.leaf, err = p.withUsages(g.leaf.Leaf.ExtKeyUsage).sign(g.signer, now,
			union(names, namesOf(g.leaf.Leaf), maxNames))
		return &changed, err
	}
	return g, nil
}

// covers reports whether the certificate is valid for all names.
func covers(leaf *x509.Certificate, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return leaf.VerifyHostname(name) != nil })
}

// lacksUsage reports whether the certificate lacks a required usage. Additional usages are accepted, because a replica
// of the previous or next release may require them.
func (p profile) lacksUsage(leaf *x509.Certificate) bool {
	return len(leaf.ExtKeyUsage) > 0 && slices.ContainsFunc(p.usages,
		func(usage x509.ExtKeyUsage) bool { return !slices.Contains(leaf.ExtKeyUsage, usage) })
}

// withUsages returns p with additional usages. If p has no usages, which permits all, it returns p unchanged.
func (p profile) withUsages(more []x509.ExtKeyUsage) profile {
	if len(p.usages) > 0 {
		p.usages = slices.Clone(p.usages)
		for _, usage := range more {
			if !slices.Contains(p.usages, usage) {
				p.usages = append(p.usages, usage)
			}
		}
	}
	return p
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

// accepts returns an error unless clients that trust bundle accept leaf for a usage, by default server authentication.
func accepts(bundle []byte, leaf *x509.Certificate, now time.Time, usages ...x509.ExtKeyUsage) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("its caBundle has no certificate")
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: usages})
	return err
}

// entries returns the entries of the Secret for a generation.
func (g *generation) entries() (map[string][]byte, error) {
	all := map[string][]byte{
		entryCA:          encodeCertificate(g.signer.certificate),
		entryCertificate: encodeCertificate(g.leaf.Leaf),
	}
	keys := map[string]any{entryCAKey: g.signer.key, entryKey: g.leaf.PrivateKey}
	if g.next != nil {
		all[entryNext] = encodeCertificate(g.next.certificate)
		keys[entryNextKey] = g.next.key
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
	if err := leaf.Leaf.CheckSignatureFrom(g.signer.certificate); err != nil {
		return nil, fmt.Errorf("%s: not by %s: %w", entryCertificate, entryCA, err)
	}
	g.leaf = &leaf
	return g, nil
}

func parseSigner(all map[string][]byte, name, keyName string) (*signer, error) {
	pair, err := tls.X509KeyPair(all[name], all[keyName])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, fmt.Errorf("%s: not an authority with an ECDSA key", name)
	}
	return &signer{pair.Leaf, key}, nil
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
