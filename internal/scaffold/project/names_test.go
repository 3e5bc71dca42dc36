package project

import (
	"errors"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, tt := range []struct {
		rule    string
		check   func(string) error
		value   string
		message string // empty: valid
		hint    string
	}{
		{"domain", ValidateDomain, "example.com", "", ""},
		{"domain of one label", ValidateDomain, "local", "", ""},
		{"domain in capitals", ValidateDomain, "Example.COM", `invalid domain "Example.COM": want lower-case`,
			`use "example.com"`},
		{"domain as URL", ValidateDomain, "https://example.com/x", `invalid domain "https://example.com/x"`,
			`use "example.com"`},
		{"domain with underscore", ValidateDomain, "my_org.io", `invalid domain`, `use "my-org.io"`},
		{"domain with path", ValidateDomain, "../../etc", `invalid domain`, `use "example.com"`},
		{"domain empty", ValidateDomain, "", "the domain is empty", `use "example.com"`},
		{"domain too long", ValidateDomain, strings.Repeat("a.", 127) + "a", "longer than 253", `use "example.com"`},
		{"domain with newline", ValidateDomain, "a\nb", `invalid domain "a\nb"`, `use "ab"`},
		{"group", ValidateGroup, "webapp", "", ""},
		{"group with dots", ValidateGroup, "foo.policy", "", ""},
		{"group in capitals", ValidateGroup, "WebApp", `invalid group "WebApp"`, `use "webapp"`},
		{"group empty", ValidateGroup, "", "the group is empty", `use "webapp"`},
		{"version", ValidateVersion, "v1", "", ""},
		{"version alpha", ValidateVersion, "v1alpha1", "", ""},
		{"version beta", ValidateVersion, "v2beta12", "", ""},
		{"version without v", ValidateVersion, "1", `invalid version "1": want v1, v1beta1`, `use "v1"`},
		{"version in capitals", ValidateVersion, "V1Beta1", `invalid version`, `use "v1beta1"`},
		{"version with dash", ValidateVersion, "v1-alpha1", `invalid version`, `use "v1alpha1"`},
		{"version zero", ValidateVersion, "v0", `invalid version`, `use "v1"`},
		{"version with point", ValidateVersion, "v2.1", `invalid version`, `use "v2"`},
		{"version with newline", ValidateVersion, "v1\n", `invalid version`, `use "v1"`},
		{"kind", ValidateKind, "Guestbook", "", ""},
		{"kind of one letter", ValidateKind, "A", "", ""},
		{"kind whose lower case is a keyword", ValidateKind, "Interface", "", ""},
		{"kind in lower case", ValidateKind, "guestbook", `invalid kind "guestbook": want a name in camel case`,
			`use "Guestbook"`},
		{"kind that is a keyword", ValidateKind, "func", `invalid kind "func"`, `use "Func"`},
		{"kind with dash", ValidateKind, "cron-job", `invalid kind`, `use "CronJob"`},
		{"kind with path", ValidateKind, "../../evil", `invalid kind "../../evil"`, `use "Evil"`},
		{"kind with digit first", ValidateKind, "1Up", `invalid kind`, `use "Guestbook"`},
		{"kind beyond ASCII", ValidateKind, "Größe", `invalid kind`, ``},
		{"kind too long", ValidateKind, "A" + long, "longer than 63", `use "Guestbook"`},
		{"kind that is a list", ValidateKind, "GuestbookList", "names ending in List", `use "Guestbook"`},
		{"kind that is reserved", ValidateKind, "SchemeBuilder", "reserved word", `use "Guestbook"`},
		{"kind with newline", ValidateKind, "Guest\nbook", "invalid kind", `use "GuestBook"`},
		{"kind that YAML takes for a truth", ValidateKind, "No", "YAML reads it as true or false", `use "Guestbook"`},
		{"kind that YAML takes for nothing", ValidateKind, "Null", "YAML reads it as nothing", `use "Guestbook"`},
		{"plural that YAML takes for a truth", ValidatePlural, "yes", "YAML reads it as true or false", `use "guestbooks"`},
		{"plural", ValidatePlural, "guestbooks", "", ""},
		{"plural in capitals", ValidatePlural, "Guestbooks", "invalid plural", `use "guestbooks"`},
		{"plural with dot", ValidatePlural, "a.b", "invalid plural", `use "ab"`},
		{"plural too long", ValidatePlural, long, "longer than 63", `use "guestbooks"`},
		{"module path", ValidateModulePath, "example.com/guestbook", "", ""},
		{"module path without domain", ValidateModulePath, "guestbook", "", ""},
		{"module path of version 2", ValidateModulePath, "example.com/guestbook/v2", "", ""},
		{"module path of version 1", ValidateModulePath, "example.com/guestbook/v1", "major version suffixes",
			`use "example.com/guestbook"`},
		{"module path as URL", ValidateModulePath, "https://github.com/me/op.git", "invalid module path",
			`use "github.com/me/op"`},
		{"module path with space", ValidateModulePath, "example.com/my op", "invalid char", `use "example.com/guestbook"`},
		{"module path out of the tree", ValidateModulePath, "../op", "invalid module path", `use "example.com/guestbook"`},
		{"module path of the go command", ValidateModulePath, "std", "reserves the name", `use "example.com/guestbook"`},
		{"module path with vendor", ValidateModulePath, "example.com/vendor/x", "reserves directories named vendor",
			`use "example.com/guestbook"`},
		{"module path empty", ValidateModulePath, "", "the module path is empty", `use "example.com/guestbook"`},
		{"project name", ValidateName, "guestbook", "", ""},
		{"project name with digits", ValidateName, "3d-printer", "", ""},
		{"project name in capitals", ValidateName, "My_Project", "invalid project name", `use "my-project"`},
		{"project name too long", ValidateName, strings.Repeat("a", 37), "longer than 36", `use "guestbook"`},
		{"project name of the greatest length", ValidateName, strings.Repeat("a", 36), "", ""},
		{"project name that YAML takes for a truth", ValidateName, "on", "YAML reads it as true or false", `use "guestbook"`},
		{"project name that YAML takes for a number", ValidateName, "12", "YAML reads it as a number", `use "guestbook"`},
		{"project name with dot", ValidateName, "a.b", "invalid project name", `use "ab"`},
		{"image", ValidateImage, "example.com/guestbook:v1", "", ""},
		{"image of the default registry", ValidateImage, "nginx", "", ""},
		{"image of a registry with a port", ValidateImage, "localhost:5000/a/b__c/d--e.f:V1.0_x", "", ""},
		{"image of a registry by address", ValidateImage, "[fd00::1]:5000/a", "", ""},
		{"image of a registry in capitals", ValidateImage, "EXAMPLE.com/a", "", ""},
		{"image by digest", ValidateImage, "example.com/a:v1@sha256:" + strings.Repeat("0a", 32), "", ""},
		{"image empty", ValidateImage, "", "the image is empty", `use "example.com/guestbook:v1"`},
		{"image as URL", ValidateImage, "https://example.com/a:v1", "it begins with the registry, and not with https://",
			`use "example.com/a:v1"`},
		{"image in capitals", ValidateImage, "example.com/Guestbook:V1", "want names of lower-case letters",
			`use "example.com/guestbook:V1"`},
		{"image of the default registry in capitals", ValidateImage, "Guestbook:v1", "want names of lower-case letters",
			`use "guestbook:v1"`},
		{"image without a tag behind the colon", ValidateImage, "example.com/a:", "want a tag behind the last colon",
			`use "example.com/a"`},
		{"image with a tag too long", ValidateImage, "a:" + strings.Repeat("b", 129), "at most 128",
			`use "example.com/guestbook:v1"`},
		{"image with a bad digest", ValidateImage, "a@sha256:12", "want a digest behind @", `use "example.com/guestbook:v1"`},
		{"image with nothing behind @", ValidateImage, "a@", "want a digest behind @", `use "a"`},
		{"image with two slashes", ValidateImage, "example.com//a", "between slashes", `use "example.com/guestbook:v1"`},
		{"image with a slash at the end", ValidateImage, "example.com/a/", "between slashes", `use "example.com/a"`},
		{"image with three underscores", ValidateImage, "a___b", "one or two underscores", `use "example.com/guestbook:v1"`},
		{"image with a port that is none", ValidateImage, "example.com:x/a", "want a registry before the first slash",
			`use "example.com/guestbook:v1"`},
		{"image with a zone", ValidateImage, "[fe80::1%eth0]/a", "want a registry before the first slash",
			`use "example.com/guestbook:v1"`},
		{"image by ID", ValidateImage, strings.Repeat("0a", 32), "the ID of an image", `use "example.com/guestbook:v1"`},
		{"image with a name too long", ValidateImage, "example.com/" + strings.Repeat("a", 256), "longer than 255",
			`use "example.com/guestbook:v1"`},
		{"image with newline", ValidateImage, "a:v1\n", "want a tag", `use "a:v1"`},
		{"image beyond ASCII", ValidateImage, "größe", "want names of lower-case letters", `use "example.com/guestbook:v1"`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			err := tt.check(tt.value)
			if tt.message == "" {
				if err != nil {
					t.Fatalf("%q: %v", tt.value, err)
				}
				return
			}
			e, ok := errors.AsType[*diagnostic.Error](err)
			if !ok || !errors.Is(err, diagnostic.ErrUsage) {
				t.Fatalf("%q: got %v, want a usage error", tt.value, err)
			}
			if !strings.Contains(e.Message, tt.message) || strings.Contains(e.Message, "\n") {
				t.Errorf("message %q, want %q in it, on one line", e.Message, tt.message)
			}
			if !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("hint %q, want %q", e.Hint, tt.hint)
			}
		})
	}
}

func TestPluralIsEnglish(t *testing.T) {
	for kind, want := range map[string]string{
		"Guestbook": "guestbooks", "Policy": "policies", "NetworkClass": "networkclasses", "Proxy": "proxies", "Fish": "fish",
		"DNS": "dnses", "IPs": "ipses",
	} {
		if got := Plural(kind); got != want {
			t.Errorf("Plural(%q) = %q, want %q", kind, got, want)
		}
		if err := ValidatePlural(Plural(kind)); err != nil {
			t.Error(err)
		}
	}
}

// FuzzNameHints checks that the names in hints are valid.
func FuzzNameHints(f *testing.F) {
	for _, seed := range []string{"", "A b", "https://x/y", "v1", "-", "a..b", "List", "é", "KindListList",
		strings.Repeat("x", 300)} {
		f.Add(seed)
	}
	checks := []func(string) error{
		ValidateDomain, ValidateGroup, ValidateVersion, ValidateKind, ValidatePlural, ValidateModulePath, ValidateName,
		ValidateImage,
	}
	f.Fuzz(func(t *testing.T, value string) {
		for i, check := range checks {
			e, ok := errors.AsType[*diagnostic.Error](check(value))
			if !ok {
				continue
			}
			proposed := strings.TrimSuffix(strings.TrimPrefix(e.Hint, `use "`), `"`)
			if err := check(proposed); err != nil {
				t.Errorf("check %d of %q proposes %q: %v", i, value, proposed, err)
			}
		}
	})
}
