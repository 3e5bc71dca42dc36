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
	maxLabel = 63  // bytes of a label
)

// normalName returns the normal form of a server's name: an IP address in its usual notation, or an ASCII DNS name in
// lower case without a trailing dot. It fails for a name that a certificate cannot contain.
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
	// A name that ends in a number, and is not a valid IP address, would be ambiguous.
	if len(name) > maxName || strings.Trim(labels[len(labels)-1], "0123456789") == "" ||
		slices.ContainsFunc(labels, isNoLabel) {
		return "", fmt.Errorf("%q: want a DNS name or an IP address", text)
	}
	return name, nil
}

// isNoLabel reports whether text is not a valid label. Underscores are invalid in host names but common.
func isNoLabel(text string) bool {
	return text == "" || len(text) > maxLabel || text[0] == '-' || text[len(text)-1] == '-' ||
		strings.ContainsFunc(text, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		})
}

// asciiHost returns the ASCII form of an international host name, which certificates and net/http use. If there is no
// such form, it returns the name unchanged, which is not a valid host.
func asciiHost(host string) string {
	rest, isPattern := strings.CutPrefix(host, "*.")
	if !utf8.ValidString(rest) || !strings.ContainsFunc(rest, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return host
	}
	ascii, err := idna.Lookup.ToASCII(rest)
	if err != nil {
		return host
	}
	if isPattern {
		return "*." + ascii
	}
	return ascii
}
