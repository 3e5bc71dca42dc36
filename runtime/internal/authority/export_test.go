package authority

import (
	"crypto/x509"
	"errors"
	"time"
)

// Entries returns the entries of the Secret that an operator would write at the time now.
func Entries(now time.Time, lifetime time.Duration, names ...string) (map[string][]byte, error) {
	g, err := pace{lifetime}.newGeneration(now, names)
	if err != nil {
		return nil, err
	}
	return g.entries()
}

// Accepts returns an error unless a client that trusts bundle accepts leaf.
func Accepts(bundle []byte, leaf *x509.Certificate, now time.Time) error {
	return accepts(bundle, leaf, now)
}

// NormalName returns the form of a name that certificates contain.
func NormalName(text string) (string, error) { return normalName(text) }

// Covered returns an error if a certificate for name would be issued again at once.
func Covered(name string) error {
	p := pace{time.Hour}
	g, err := p.newGeneration(time.Now(), []string{name})
	if err != nil {
		return err
	}
	again, err := p.advance(g, time.Now(), []string{name}, false)
	if err == nil && again != g {
		err = errors.New("it is signed again")
	}
	return err
}
