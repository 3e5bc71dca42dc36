package project

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// maxRepository is the longest name of an image, its registry included, that registries take.
const maxRepository = 255

var (
	registryText   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
	repositoryText = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$`)
	tagText        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	digestText     = regexp.MustCompile(`^(sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$`)
	imageID        = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

// ValidateImage checks the name of an image as those who pull it read it: [registry/]repository[:tag][@digest].
func ValidateImage(image string) error {
	reason := imageProblem(image)
	if reason == "" {
		return nil
	}
	return invalidName("image", image, reason, orExample(repairedImage(image), "example.com/guestbook:v1", func(s string) bool {
		return imageProblem(s) == ""
	}))
}

func imageProblem(image string) string {
	if scheme, _, ok := strings.Cut(image, "://"); ok {
		return "it begins with the registry, and not with " + scheme + "://"
	}
	rest, sum, hasDigest := strings.Cut(image, "@")
	if hasDigest && !digestText.MatchString(sum) {
		return "want a digest behind @, such as sha256: and 64 hexadecimal digits in lower case"
	}
	name, tag := rest, "latest"
	if colon := strings.LastIndexByte(rest, ':'); colon > strings.LastIndexByte(rest, '/') {
		name, tag = rest[:colon], rest[colon+1:]
	}
	if !tagText.MatchString(tag) {
		return "want a tag behind the last colon: at most 128 ASCII letters, digits, _, . and -, beginning with none of the last two"
	}
	if len(name) > maxRepository {
		return "the name before the tag is longer than " + strconv.Itoa(maxRepository) + " characters"
	}
	return repositoryProblem(name)
}

// repositoryProblem says what is wrong with an image's name without tag and digest.
func repositoryProblem(name string) string {
	if imageID.MatchString(name) {
		return "64 hexadecimal digits are the ID of an image, which no registry knows"
	}
	elements := strings.Split(name, "/")
	if len(elements) > 1 && isRegistry(elements[0]) {
		if !validRegistry(elements[0]) {
			return "want a registry before the first slash, such as example.com or localhost:5000"
		}
		elements = elements[1:]
	}
	for _, element := range elements {
		if !repositoryText.MatchString(element) {
			return "want names of lower-case letters and digits between slashes, with single dots, one or two underscores, or dashes inside of them"
		}
	}
	return ""
}

// isRegistry reports whether what stands before the first slash is a host, and no part of a name on the default registry.
func isRegistry(element string) bool {
	return element == "localhost" || strings.ContainsAny(element, ".:") || strings.ToLower(element) != element
}

func validRegistry(registry string) bool {
	host, port := registry, "443"
	if colon := strings.LastIndexByte(registry, ':'); colon > strings.LastIndexByte(registry, ']') {
		host, port = registry[:colon], registry[colon+1:]
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return false
	}
	if address, ok := strings.CutPrefix(host, "["); ok {
		parsed, err := netip.ParseAddr(strings.TrimSuffix(address, "]"))
		return err == nil && parsed.Is6() && parsed.Zone() == "" && strings.HasSuffix(address, "]")
	}
	return registryText.MatchString(host)
}

// repairedImage is an image without what people copy from a browser, in lower case but for its tag, which may have been meant.
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
