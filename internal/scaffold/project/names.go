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
	return validate("domain", domain, "example.com", subdomainProblem, fixedSubdomain)
}

// ValidateGroup checks the first part of an API group, before the domain: a non-empty DNS name in lower case.
func ValidateGroup(group string) error {
	return validate("group", group, "webapp", subdomainProblem, fixedSubdomain)
}

func subdomainProblem(name string) string {
	switch {
	case len(validation.IsDNS1123Subdomain(name)) == 0:
		return ""
	case len(name) > validation.DNS1123SubdomainMaxLength:
		return fmt.Sprintf("longer than %d characters", validation.DNS1123SubdomainMaxLength)
	}
	return "want lower-case letters, digits, dots and dashes, each part beginning and ending with a letter or digit"
}

func fixedSubdomain(name string) string {
	host, _, _ := strings.Cut(withoutScheme(name), "/")
	return dnsCharacters(host, ".-")
}

// ValidateVersion checks an API version: v1, v1beta1, v2alpha3 and the like.
func ValidateVersion(version string) error {
	problem := func(version string) string {
		if versionText.MatchString(version) {
			return ""
		}
		return "want v1, v1beta1, v1alpha1 or the like"
	}
	return validate("version", version, "v1", problem, func(version string) string {
		major, _, _ := strings.Cut(version, ".")
		return "v" + dnsCharacters(strings.TrimLeft(major, "vV"), "")
	})
}

// ValidateKind checks a kind. It must be an exported Go identifier of ASCII letters and digits whose lower-case form is
// a DNS label, and must not conflict with names in generated API packages. A kind whose lower-case form is a Go
// keyword, such as Interface, is valid, so generated code must not use the lower-case kind alone as an identifier.
func ValidateKind(kind string) error {
	return validate("kind", kind, "Guestbook", kindProblem, func(kind string) string {
		return flect.Pascalize(dnsSeparators(strings.TrimSuffix(kind, "List")))
	})
}

func kindProblem(kind string) string {
	switch {
	case !kindText.MatchString(kind):
		return "want a name in camel case of ASCII letters and digits, beginning with a capital"
	case len(validation.IsDNS1035Label(strings.ToLower(kind))) != 0:
		return fmt.Sprintf("longer than %d characters", validation.DNS1035LabelMaxLength)
	case isReservedKind(kind):
		return "a reserved word of generated API packages"
	case kind != "List" && strings.HasSuffix(kind, "List"):
		return "names ending in List are for the lists of kinds"
	}
	return YAMLProblem(kind)
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
	problem := func(plural string) string {
		if len(plural) > validation.DNS1035LabelMaxLength {
			return fmt.Sprintf("longer than %d characters", validation.DNS1035LabelMaxLength)
		}
		return labelProblem(plural)
	}
	return validate("plural", plural, "guestbooks", problem, fixedLabel)
}

// ValidateController checks the name of a controller: a DNS label in lower case that begins with a letter.
func ValidateController(name string) error {
	return validate("name of a controller", name, "backup", labelProblem, fixedLabel)
}

func labelProblem(name string) string {
	if len(validation.IsDNS1035Label(name)) != 0 {
		return "want lower-case letters, digits and dashes, beginning with a letter"
	}
	return YAMLProblem(name)
}

func fixedLabel(name string) string { return dnsCharacters(name, "-") }

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
	return validate("module path", path, "example.com/guestbook", modulePathProblem, func(path string) string {
		return strings.Trim(strings.TrimSuffix(withoutScheme(path), ".git"), "/ ")
	})
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
	return validate("project name", name, "guestbook", nameProblem, fixedLabel)
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

// validate returns an error if problem returns a reason why a value is invalid. The hint has the result of fix if it is
// valid, and the example otherwise.
func validate(what, value, example string, problem, fix func(string) string) error {
	reason := problem(value)
	if reason == "" {
		return nil
	}
	if fixed := fix(value); problem(fixed) == "" {
		example = fixed
	}
	return invalidName(what, value, reason, example)
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
	if validate(value) == nil {
		return value
	}
	return example
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

func withoutScheme(value string) string {
	if _, rest, ok := strings.Cut(value, "://"); ok {
		return rest
	}
	return value
}
