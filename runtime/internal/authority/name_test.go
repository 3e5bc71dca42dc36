package authority_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
)

// names maps inputs to their normal names. Invalid names map to an empty string.
var names = map[string]string{
	"hooks": "hooks", "hooks.system.svc": "hooks.system.svc", "Hooks.Example.COM": "hooks.example.com",
	"hooks.example.com.":    "hooks.example.com",
	"an_underscore.example": "an_underscore.example", "7.example": "7.example", "*.Example.com": "*.example.com",
	"Bücher.example": "xn--bcher-kva.example", "bücher。example.": "xn--bcher-kva.example",
	"xn--bcher-kva.example": "xn--bcher-kva.example",
	"*.bücher.example":      "*.xn--bcher-kva.example", strings.Repeat("a", 63) + ".example": strings.Repeat("a", 63) +
		".example",
	"127.0.0.1": "127.0.0.1", "::1": "::1", "[::1]": "::1", "0:0::0001": "::1", "::ffff:1.2.3.4": "1.2.3.4",
	"2001:DB8::0": "2001:db8::",
	"":            "", ".": "", "..": "", "a..b": "", ".a": "", "a.b..": "", "*": "", "*.": "", "a.*.b": "", "a*.b": "",
	"**.b": "", "é..b": "", "\u200d.é": "",
	"-a.b": "", "a-.b": "", "a b": "", "a/b": "", "https://a.b": "", "a.b:443": "", "bücher.example:80": "",
	"bücher.example:443": "", "user@bücher.example": "",
	"[::1]:443": "", "[::1": "", "::1]": "", "[]": "", "[a.b]": "", "fe80::1%eth0": "", "01.2.3.4": "", "1.2.3": "",
	"1.2.3.4.": "", "256.1.1.1": "", "1": "", "*.1": "",
	"a\x00b": "", "\xff": "", strings.Repeat("a", 64) + ".b": "", strings.Repeat("a.", 127): "",
	strings.Repeat("a.", 126) + "a": strings.Repeat("a.", 126) + "a",
	strings.Repeat("ü", 60) + ".b":  "",
}

func TestNamesHaveOneForm(t *testing.T) {
	for text, want := range names {
		got, err := authority.NormalName(text)
		if want == "" && text == strings.Repeat("a.", 127) {
			want = strings.Repeat("a.", 126) + "a"
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
		if err != nil && !strings.HasSuffix(err.Error(), "want a DNS name or an IP address") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestEveryNameIsCovered issues certificates for random names. The certificate of a valid name must cover that name.
// Otherwise the authority would issue it again and again.
func TestEveryNameIsCovered(t *testing.T) {
	seeds.Each(t, 1, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		parts := []string{"a", "Z", "0", "7", ".", ".", "-", "_", "*", "*.", "[", "]", ":", "::", "%", "ü", "ß", "。", "例",
			"\u200d", "xn--", " ", "é", "ffff", "1.2.3.4", "@", "/"}
		valid := 0
		for range 1500 {
			var text strings.Builder
			for range 1 + r.IntN(8) {
				text.WriteString(parts[r.IntN(len(parts))])
			}
			name, err := authority.NormalName(text.String())
			if err != nil {
				continue
			}
			if again, err := authority.NormalName(name); again != name || err != nil {
				t.Errorf("%q is %q, and that is %q, %v", text.String(), name, again, err)
			}
			if valid++; valid > 75 {
				continue // signing is expensive
			}
			if err := authority.Covered(name); err != nil {
				t.Errorf("%q: %v", text.String(), err)
			}
		}
		if valid < 50 {
			t.Errorf("only %d were names", valid)
		}
	})
}

// TestInvalidNamesAreNoAuthority checks that New rejects invalid Options.Names.
func TestInvalidNamesAreNoAuthority(t *testing.T) {
	for _, name := range []string{"", "*", "https://hooks.example.com", "01.2.3.4"} {
		_, err := authority.New(authority.Options{Names: []string{"hooks", name}})
		if want := fmt.Sprintf("a name for the certificate: %q: want a DNS name or an IP address", name); err == nil ||
			err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestLifetimeThatIsTooShortIsAnError uses lifetimes so short that the certificate would be replaced all the time.
func TestLifetimeThatIsTooShortIsAnError(t *testing.T) {
	for _, lifetime := range []time.Duration{time.Second, -time.Hour} {
		_, err := authority.New(authority.Options{Names: []string{"hooks"}, Lifetime: lifetime})
		if want := fmt.Sprintf("the lifetime of the certificate is %s; want at least 12s", lifetime); err == nil ||
			err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestNamesInAnyFormAreSignedOnce runs an authority for a day. It must not sign again because a name is not in normal
// form.
func TestNamesInAnyFormAreSignedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		opts := authorityOptions(t, m, 0, "validating/hooks")
		opts.Names = []string{
			"[::1]", "::1", "0::1", "Hooks.Example.com.", "hooks.example.com", "::ffff:1.2.3.4", "1.2.3.4", "Bücher.example",
			"xn--bcher-kva.example", "*.Hooks",
		}
		a, err := authority.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		running(t, a)
		time.Sleep(24 * time.Hour)
		leaf := leafOf(t, a).Leaf
		if want := []string{"hooks.example.com", "xn--bcher-kva.example", "*.hooks",
			"webhook-service.system.svc"}; !slices.Equal(leaf.DNSNames, want) {
			t.Errorf("it is for %q, want %q", leaf.DNSNames, want)
		}
		if got := fmt.Sprint(leaf.IPAddresses); got != "[::1 1.2.3.4]" {
			t.Errorf("it is for %s", got)
		}
		if m.writes != 2 { // the Secret and the target
			t.Errorf("there were %d writes", m.writes)
		}
		if err := a.Ready(); err != nil {
			t.Error(err)
		}
	})
}

func TestNamesByWhichItIsCalledAreThereHoweverManyThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		opts := authorityOptions(t, m, 0, "validating/hooks")
		for n := range 60 {
			opts.Names = append(opts.Names, fmt.Sprintf("name-%d", n))
		}
		a, err := authority.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		running(t, a)
		time.Sleep(time.Hour)
		if err := leafOf(t, a).Leaf.VerifyHostname("webhook-service.system.svc"); err != nil || m.writes != 2 {
			t.Errorf("after %d writes: %v", m.writes, err)
		}
	})
}

// hooks returns a configuration whose webhooks are called by URL.
func hooks(name string, urls ...string) map[string]any {
	var webhooks []any
	for _, url := range urls {
		webhooks = append(webhooks, map[string]any{"name": "v", "clientConfig": map[string]any{"url": url}})
	}
	return map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": name}, "webhooks": webhooks,
	}
}

// bundleOf returns the bundle that a configuration has for one of its webhooks.
func (m *memory) bundleOf(t *testing.T, name string, at int) []byte {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	config := m.objects[configurationPath+"/"+
		name]["webhooks"].([]any)[at].(map[string]any)["clientConfig"].(map[string]any)
	text, _ := config["caBundle"].(string)
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// TestOneBadTargetDoesNotStopTheRest uses targets with invalid names, missing targets and targets that may not be
// written. The clients of the other targets must trust the authority under their names, even after rotations and after
// another target is added.
func TestOneBadTargetDoesNotStopTheRest(t *testing.T) {
	for name, spoil := range map[string]func(m *memory){
		`validating/bad has an invalid name of the server: "*.x": want a DNS name or an IP address, and not a pattern; "01.2.3.4": want a DNS name or an IP address`: func(m *memory) {
			m.put(configurationPath+"/bad", hooks("bad", "https://01.2.3.4/", "https://Bücher.Example:8443/", "https://*.x/"))
		},
		`NotFound`: func(*memory) {},
		"inject the CA into validating/bad": func(m *memory) {
			m.put(configurationPath+"/bad", hooks("bad", "https://bad.example/"))
			m.refuses = configurationPath + "/bad"
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const lifetime = 2 * time.Hour
				m := newMemory()
				spoil(m)
				a, err := authority.New(authorityOptions(t, m, lifetime, "validating/bad", "validating/hooks"))
				if err != nil {
					t.Fatal(err)
				}
				running(t, a)
				time.Sleep(time.Minute)
				m.mu.Lock()
				m.put(configurationPath+"/hooks", hooks("hooks", "https://added.example/", "https://[::1]:9443/"))
				m.mu.Unlock()
				for range 30 {
					time.Sleep(10 * time.Minute)
					leaf := leafOf(t, a).Leaf
					for at, name := range []string{"added.example", "::1"} {
						if err := authority.Accepts(m.bundleOf(t, "hooks", at), leaf, time.Now()); err != nil {
							t.Fatal(err)
						}
						if err := leaf.VerifyHostname(name); err != nil {
							t.Fatal(err)
						}
					}
					if m.refuses == "" && time.Until(leaf.NotAfter) < lifetime/3 {
						t.Fatalf("a certificate with %s left is shown", time.Until(leaf.NotAfter))
					}
					if err := a.Ready(); err == nil || !strings.Contains(err.Error(), name) {
						t.Fatalf("it says %v, want %s", err, name)
					}
				}
				if strings.Contains(name, "no name") {
					if err := leafOf(t, a).Leaf.VerifyHostname("xn--bcher-kva.example"); err != nil {
						t.Error(err)
					}
					if !bytes.Equal(m.bundleOf(t, "bad", 0), m.bundleOf(t, "hooks", 0)) {
						t.Error("the bad target trusts another authority")
					}
				}
			})
		})
	}
}
