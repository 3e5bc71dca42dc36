package validity

import (
	"slices"
	"strings"
)

// Metadata reports whether metadata of a custom resource, but for its name, are certainly valid, and such as Go programs write them: what is
// empty is left out, and each owner and controller is there once. What only the server decides, managedFields among it, is left to the caller.
func Metadata(metadata map[string]any) bool {
	for name, value := range metadata {
		ok := false
		switch name {
		case "name", "namespace", "uid", "resourceVersion", "creationTimestamp":
			text, isText := value.(string)
			ok = isText && text != ""
		case "generation":
			number, isNumber := value.(int64)
			ok = isNumber && number > 0
		case "generateName":
			text, isText := value.(string)
			begin, dash := strings.CutSuffix(text, "-")
			ok = isText && (Subdomain(text) || dash && Subdomain(begin+"a")) && Subdomain(text+"x")
		case "labels":
			ok = texts(value, func(name, value string) bool { return qualified(name) && (value == "" || label(value)) })
		case "annotations":
			size := 0
			ok = texts(value, func(name, value string) bool {
				size += len(name) + len(value)
				return qualified(name) && size <= 256<<10
			})
		case "finalizers":
			names, isList := value.([]any)
			ok = isList && len(names) > 0 && !slices.ContainsFunc(names, func(name any) bool {
				text, isText := name.(string)
				return !isText || !strings.Contains(text, "/") || !qualified(text)
			})
		case "ownerReferences":
			ok = owners(value)
		case "managedFields":
			entries, isList := value.([]any)
			ok = isList && len(entries) > 0
		}
		if !ok {
			return false
		}
	}
	return true
}

// texts reports whether a value is a map of texts, all of which are right.
func texts(value any, right func(name, value string) bool) bool {
	members, ok := value.(map[string]any)
	for name, value := range members {
		if text, isText := value.(string); !isText || !right(name, text) {
			return false
		}
	}
	return ok && len(members) > 0
}

// owners reports whether a value is a list of references to objects, each another one, with one controller at most.
func owners(value any) bool {
	references, ok := value.([]any)
	known, controlled := map[any]bool{}, false
	for _, owner := range references {
		reference, isObject := owner.(map[string]any)
		if !isObject || known[reference["uid"]] {
			return false
		}
		known[reference["uid"]] = true
		for _, name := range []string{"apiVersion", "kind", "name", "uid"} {
			if text, isText := reference[name].(string); !isText || text == "" {
				return false
			}
		}
		for name, value := range reference {
			switch name {
			case "apiVersion", "kind", "name", "uid":
			case "controller", "blockOwnerDeletion":
				set, isBool := value.(bool)
				if !isBool || name == "controller" && set && controlled {
					return false
				}
				controlled = controlled || name == "controller" && set
			default:
				return false
			}
		}
		group, version, grouped := strings.Cut(reference["apiVersion"].(string), "/")
		if reference["kind"] == "Event" || grouped && (group == "" || version == "" || strings.Contains(version, "/")) {
			return false
		}
	}
	return ok && len(references) > 0
}

// Subdomain reports whether a value is a DNS name in small letters.
func Subdomain(value any) bool {
	text, ok := value.(string)
	if !ok || text == "" || len(text) > 253 {
		return false
	}
	for part := range strings.SplitSeq(text, ".") {
		if part == "" || part[0] == '-' || part[len(part)-1] == '-' {
			return false
		}
		for i := range len(part) {
			if c := part[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}

// qualified reports whether a text is a name that may have a domain before it, in small letters or not.
func qualified(text string) bool {
	domain, name, found := strings.Cut(text, "/")
	if !found {
		return label(text)
	}
	return Subdomain(domain) && label(name)
}

// label reports whether a text is up to 63 letters, digits, and in the middle some others.
func label(text string) bool {
	if text == "" || len(text) > 63 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || i == len(text)-1 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return true
}
