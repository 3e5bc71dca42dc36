package project

import (
	"errors"
	"regexp"
	"strings"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
)

// ValidateImage checks an image reference as container runtimes parse it: [registry/]repository[:tag][@digest].
func ValidateImage(image string) error {
	return validate("image", image, "example.com/guestbook:v1", imageProblem, repairedImage)
}

var (
	registryText = regexp.MustCompile("^" + reference.DomainRegexp.String() + "$")
	tagText      = regexp.MustCompile("^" + reference.TagRegexp.String() + "$")
)

// imageProblem returns why an image reference is invalid, or "".
func imageProblem(image string) string {
	_, err := reference.ParseNormalizedNamed(image)
	if err == nil {
		return ""
	}
	rest, sum, hasDigest := strings.Cut(image, "@")
	name, tag := rest, "latest"
	if colon := strings.LastIndexByte(rest, ':'); colon > strings.LastIndexByte(rest, '/') {
		name, tag = rest[:colon], rest[colon+1:]
	}
	registry, _, hasSlash := strings.Cut(name, "/")
	scheme, _, isURL := strings.Cut(image, "://")
	switch {
	case isURL:
		return "it begins with the registry, and not with " + scheme + "://"
	case hasDigest && digest.Digest(sum).Validate() != nil:
		return "want a digest behind @, such as sha256: and 64 hexadecimal digits in lower case"
	case !tagText.MatchString(tag):
		return "want a tag behind the last colon: at most 128 ASCII letters, digits, _, . and -, beginning with none of " +
			"the last two"
	case errors.Is(err, reference.ErrNameTooLong):
		return "the name before the tag is longer than 255 characters"
	case hasSlash && strings.ContainsAny(registry, ".:") && !registryText.MatchString(registry):
		return "want a registry before the first slash, such as example.com or localhost:5000"
	case reference.IdentifierRegexp.MatchString(name) && len(name) == 64:
		return "64 hexadecimal digits are the ID of an image, which no registry knows"
	}
	return "want names of lower-case letters and digits between slashes, with single dots, one or two underscores, or " +
		"dashes inside of them"
}

// repairedImage returns an image reference without a URL scheme and in lower case. It keeps the case of the tag, which
// is significant.
func repairedImage(image string) string {
	image = strings.Trim(withoutScheme(strings.TrimSpace(image)), "/:@")
	slash := strings.LastIndexByte(image, '/') + 1
	name, tag, hasTag := strings.Cut(image[slash:], ":")
	fixed := strings.ToLower(image[:slash] + name)
	if hasTag {
		fixed += ":" + tag
	}
	return fixed
}
