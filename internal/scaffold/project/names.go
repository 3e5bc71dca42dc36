package project

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gobuffalo/flect"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// serviceSuffix is the suffix of the metrics service's name, which is the longest DNS label that a project deploys.
const serviceSuffix = "-controller-manager-metrics"

// maxName is the length limit of a project name, so that the name of the metrics service is a valid DNS label.
const maxName = validation.DNS1123LabelMaxLength - len(serviceSuffix)

var (
	versionText = regexp.MustCompile(`^v[1-9][0-9]{0,2}((alpha|beta)[1-9][0-9]{0,2})?$`)
	kindText    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

// ValidateDomain checks the domain suffix of API groups: a DNS name in lower case.
func ValidateDomain(domain string) error {
	return validateSubdomain("domain", domain, "example.com")
}

// ValidateGroup checks the first part of an API group, before the domain: a non-empty DNS name in lower case.
func ValidateGroup(group string) error {
	return validateSubdomain("group", group, "webapp")
}

func validateSubdomain(what, value, example string) error {
	if len(validation.IsDNS1123Subdomain(value)) == 0 {
		return nil
	}
	reason := "want lower-case letters, digits, dots and dashes, each part beginning and ending with a letter or digit"
	if len(value) > validation.DNS1123SubdomainMaxLength {
		reason = fmt.Sprintf("longer than %d characters", validation.DNS1123SubdomainMaxLength)
	}
	fixed := dnsCharacters(withoutURL(value), ".-")
	return invalidName(what, value, reason, orExample(fixed, example, validateWith(validation.IsDNS1123Subdomain)))
}

// ValidateVersion checks an API version: v1, v1beta1, v2alpha3 and the like.
func ValidateVersion(version string) error {
	if versionText.MatchString(version) {
		return nil
	}
	major, _, _ := strings.Cut(version, ".")
	fixed := dnsCharacters(strings.TrimLeft(major, "vV"), "")
	fixed = orExample("v"+fixed, "v1", versionText.MatchString)
	return invalidName("version", version, "want v1, v1beta1, v1alpha1 or the like", fixed)
}

// ValidateKind checks a kind. It must be an exported Go identifier of ASCII letters and digits whose lower-case form is
// a DNS label, and must not conflict with names in generated API packages. A kind whose lower-case form is a Go
// keyword, such as Interface, is valid, so generated code must not use the lower-case kind alone as an identifier.
func ValidateKind(kind string) error {
	reason := ""
	switch {
	case !kindText.MatchString(kind):
		reason = "want a name in camel case of ASCII letters and digits, beginning with a capital"
	case len(validation.IsDNS1035Label(strings.ToLower(kind))) != 0:
		reason = fmt.Sprintf("longer than %d characters", validation.DNS1035LabelMaxLength)
	case isReservedKind(kind):
		reason = "a reserved word of generated API packages"
	case kind != "List" && strings.HasSuffix(kind, "List"):
		reason = "names ending in List are for the lists of kinds"
	default:
		reason = YAMLProblem(kind)
	}
	if reason == "" {
		return nil
	}
	fixed := flect.Pascalize(dnsSeparators(strings.TrimSuffix(kind, "List")))
	return invalidName("kind", kind, reason, orExample(fixed, "Guestbook", func(s string) bool {
		return s != kind && ValidateKind(s) == nil
	}))
}

// isReservedKind reports whether generated API packages declare the name themselves.
func isReservedKind(kind string) bool {
	switch kind {
	case "AddToScheme", "GroupVersion", "Resource", "SchemeBuilder", "SchemeGroupVersion", "List":
		return true
	}
	return false
}

// ValidatePlural checks the resource name of a kind: a DNS label in lower case that begins with a letter.
func ValidatePlural(plural string) error {
	reason := YAMLProblem(plural)
	switch {
	case len(plural) > validation.DNS1035LabelMaxLength:
		reason = fmt.Sprintf("longer than %d characters", validation.DNS1035LabelMaxLength)
	case len(validation.IsDNS1035Label(plural)) != 0:
		reason = "want lower-case letters, digits and dashes, beginning with a letter"
	}
	if reason == "" {
		return nil
	}
	fixed := dnsCharacters(plural, "-")
	return invalidName("plural", plural, reason, orExample(fixed, "guestbooks", func(s string) bool {
		return s != plural && ValidatePlural(s) == nil
	}))
}

// ValidateController checks the name of a controller: a DNS label in lower case that begins with a letter.
func ValidateController(name string) error {
	reason := YAMLProblem(name)
	if len(validation.IsDNS1035Label(name)) != 0 {
		reason = "want lower-case letters, digits and dashes, beginning with a letter"
	}
	if reason == "" {
		return nil
	}
	return invalidName("name of a controller", name, reason, orExample(dnsCharacters(name, "-"), "backup",
		func(s string) bool {
			return s != name && ValidateController(s) == nil
		}))
}

// validateImportPath checks the import path of a Go package.
func validateImportPath(importPath string) error {
	if err := module.CheckImportPath(importPath); err != nil {
		return invalidName("import path", importPath, "the go command rejects this form", "k8s.io/api/apps/v1")
	}
	return nil
}

// YAMLProblem returns the reason why manifests cannot contain a name unquoted, such as no or 12, or "".
func YAMLProblem(name string) string {
	var value any
	if err := yaml.Unmarshal([]byte(name), &value); err != nil {
		return "YAML does not read it as a text"
	}
	switch value.(type) {
	case string:
		return ""
	case bool:
		return "YAML reads it as true or false"
	case nil:
		return "YAML reads it as nothing"
	}
	return "YAML reads it as a number"
}

// ValidateModulePath checks the path of a Go module as "go mod init" does.
func ValidateModulePath(path string) error {
	reason := modulePathProblem(path)
	if reason == "" {
		return nil
	}
	fixed := strings.Trim(strings.TrimSuffix(withoutScheme(path), ".git"), "/ ")
	fixed = orExample(fixed, "example.com/guestbook", func(s string) bool { return modulePathProblem(s) == "" })
	return invalidName("module path", path, reason, fixed)
}

func modulePathProblem(path string) string {
	if slices.Contains([]string{"cmd", "go", "std", "toolchain"}, path) {
		return "the go command reserves the name"
	}
	if slices.Contains(strings.Split(path, "/"), "vendor") {
		return "the go command reserves directories named vendor"
	}
	if _, _, ok := module.SplitPathVersion(path); !ok {
		return "major version suffixes are /v2, /v3 and so on"
	}
	if err := module.CheckImportPath(path); err != nil {
		reason := err.Error()
		return reason[strings.LastIndex(reason, ": ")+len(": "):]
	}
	return ""
}

// ValidateName checks the name prefix of everything that the project deploys. It must be a DNS label in lower case, and
// short enough for the service <name>-controller-manager-metrics.
func ValidateName(name string) error {
	reason := nameProblem(name)
	if reason == "" {
		return nil
	}
	return invalidName("project name", name, reason, orExample(dnsCharacters(name, "-"), "guestbook", func(s string) bool {
		return nameProblem(s) == ""
	}))
}

func nameProblem(name string) string {
	switch {
	case len(name) > maxName:
		return fmt.Sprintf("longer than %d characters, so that the service <name>%s cannot exist", maxName, serviceSuffix)
	case len(validation.IsDNS1123Label(name)) != 0:
		return "want lower-case letters, digits and dashes, beginning and ending with a letter or digit"
	}
	return YAMLProblem(name)
}

// DefaultName returns the default project name for a module path: its last element that is not a major version.
func DefaultName(repo string) string {
	base := path.Base(repo)
	if parent := path.Dir(repo); parent != "." && isMajorVersion(base) {
		base = path.Base(parent)
	}
	return dnsCharacters(strings.ReplaceAll(base, ".", "-"), "-")
}

func isMajorVersion(element string) bool {
	digits, ok := strings.CutPrefix(element, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// Plural returns the resource name of a kind: its English plural in lower case.
func Plural(kind string) string {
	lower := strings.ToLower(kind)
	plural := flect.Pluralize(lower)
	if plural != strings.ToLower(plural) { // for an acronym that ends in s, the library appends a plural: dnsDNSes
		return lower + "es"
	}
	return plural
}

func invalidName(what, value, reason, instead string) error {
	message := fmt.Sprintf("invalid %s %s: %s", what, diagnostic.Quote(value), reason)
	if value == "" {
		message = "the " + what + " is empty"
	}
	return diagnostic.Usage(message, fmt.Sprintf("use %q", instead))
}

// ValidOr returns value if it is valid, and example otherwise.
func ValidOr(value, example string, validate func(string) error) string {
	return orExample(value, example, func(s string) bool { return validate(s) == nil })
}

// orExample returns the corrected value if it is valid, and the example otherwise.
func orExample(fixed, example string, valid func(string) bool) string {
	if valid(fixed) {
		return fixed
	}
	return example
}

func validateWith(check func(string) []string) func(string) bool {
	return func(s string) bool { return len(check(s)) == 0 }
}

// dnsCharacters returns value in lower case. It replaces spaces, underscores and slashes with the last allowed
// separator, and removes other characters and leading or trailing separators.
func dnsCharacters(value, separators string) string {
	value = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', strings.ContainsRune(separators, r):
			return r
		case separators != "" && strings.ContainsRune("_ /", r):
			return rune(separators[len(separators)-1])
		}
		return -1
	}, strings.ToLower(value))
	return strings.Trim(value, separators)
}

// dnsSeparators returns value with an underscore instead of every character that is not an ASCII letter or digit.
func dnsSeparators(value string) string {
	return strings.Map(func(r rune) rune {
		if kindText.MatchString("A" + string(r)) {
			return r
		}
		return '_'
	}, value)
}

// withoutURL returns the host of a URL, or value if it is not a URL.
func withoutURL(value string) string {
	host, _, _ := strings.Cut(withoutScheme(value), "/")
	return host
}

func withoutScheme(value string) string {
	if _, rest, ok := strings.Cut(value, "://"); ok {
		return rest
	}
	return value
}
