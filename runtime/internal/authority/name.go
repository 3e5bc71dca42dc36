package authority

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	maxName  = 253 // bytes of a DNS name
	maxLabel = 63  // bytes between two dots of it
)

// normalName returns the one form that a name of a server has here: an IP address as it is usually written, or a DNS name in lower
// case, without a dot at its end, and in ASCII. It fails for what no certificate can be for.
func normalName(text string) (string, error) {
	address := text
	if len(text) > 1 && text[0] == '[' && text[len(text)-1] == ']' {
		address = text[1 : len(text)-1]
	}
	if ip := net.ParseIP(address); ip != nil {
		return ip.String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(asciiHost(text), "."))
	labels := strings.Split(name, ".")
	if len(labels) > 1 && labels[0] == "*" {
		labels = labels[1:]
	}
	// A number at the end is that of an IP address, and what is none by now is one that nobody reads in the same way.
	if len(name) > maxName || strings.Trim(labels[len(labels)-1], "0123456789") == "" || slices.ContainsFunc(labels, isNoLabel) {
		return "", fmt.Errorf("%q: want a DNS name or an IP address", text)
	}
	return name, nil
}

// normalNames returns the normal forms of names, each once.
func normalNames(names []string) ([]string, error) {
	var all []string
	for _, text := range names {
		name, err := normalName(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all, nil
}

// calledName is normalName for what is called, which a pattern cannot be.
func calledName(text string) (string, error) {
	name, err := normalName(text)
	if err == nil && strings.HasPrefix(name, "*") {
		err = fmt.Errorf("%q: want a DNS name or an IP address, and not a pattern", text)
	}
	return name, err
}

// isNoLabel reports whether text cannot be between two dots of a name. An underscore is in no name of a host, but people have them.
func isNoLabel(text string) bool {
	return text == "" || len(text) > maxLabel || text[0] == '-' || text[len(text)-1] == '-' ||
		strings.ContainsFunc(text, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		})
}

// asciiHost returns a host in other letters than those of ASCII as it is in a certificate, which is as net/http asks for it. What has no
// such form stays, and is no host.
func asciiHost(host string) string {
	pattern, rest := "", host
	if after, ok := strings.CutPrefix(host, "*."); ok {
		pattern, rest = "*.", after
	}
	if !utf8.ValidString(rest) || !strings.ContainsFunc(rest, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return host
	}
	ascii, err := idna.Lookup.ToASCII(rest)
	if err != nil {
		return host
	}
	return pattern + ascii
}
