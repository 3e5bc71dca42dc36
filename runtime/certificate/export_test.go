package certificate

import (
	"crypto/x509"
	"time"
)

// Entries returns the entries of a Secret as an operator would have made it at that time.
func Entries(now time.Time, lifetime time.Duration, names ...string) (map[string][]byte, error) {
	g, err := newProfile(lifetime).newGeneration(now, names)
	if err != nil {
		return nil, err
	}
	return g.entries()
}

// Accepts returns an error unless who trusts bundle accepts leaf.
func Accepts(bundle []byte, leaf *x509.Certificate, now time.Time) error {
	return accepts(bundle, leaf, now)
}
