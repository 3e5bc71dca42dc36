package scaffold

import (
	"bytes"
	"strings"
)

// parsePlainLock reads the text of a lock exactly as [Lock.Marshal] writes it, with names that need no quotes. It
// reports false for any other text, which is left to the YAML parser: that takes a hundred times as long, in every run
// of every command.
func parsePlainLock(data []byte) (*Lock, bool) {
	rest, ok := strings.CutPrefix(string(data), lockHeader+"version: "+lockVersion+"\nfiles:\n")
	lock := &Lock{entries: map[string]LockEntry{}}
	last := ""
	for ok && rest != "" {
		var e LockEntry
		if e, rest, ok = cutPlainEntry(rest); ok {
			// The entries are sorted, and none is there twice.
			ok = e.Path > last
			last = e.Path
			lock.entries[e.Path] = e
		}
	}
	if !ok || !bytes.Equal(lock.Marshal(), data) {
		return nil, false
	}
	return lock, true
}

func cutPlainEntry(text string) (e LockEntry, rest string, ok bool) {
	for _, field := range []struct {
		prefix string
		value  *string
	}{{"- path: ", &e.Path}, {"  sha256: ", &e.SHA256}, {"  template: ", &e.Template}} {
		line, more, found := strings.Cut(text, "\n")
		value, named := strings.CutPrefix(line, field.prefix)
		if !found || !named {
			return e, text, false
		}
		*field.value, text = value, more
	}
	return e, text, isPlain(e.Path) && isPlain(e.Template) && isHash(e.SHA256) && checkPath(e.Path) == nil
}

// isPlain reports whether a text is made of what file names have, and no YAML parser takes it for anything but a string.
// There are other such texts.
func isPlain(text string) bool {
	first := strings.TrimPrefix(text, ".")
	if first == "" || !isLetter(first[0]) {
		return false
	}
	for i := range len(first) {
		if c := first[i]; !isLetter(c) && !strings.ContainsRune("0123456789_./@+-", rune(c)) {
			return false
		}
	}
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", ".inf", ".nan":
		return false
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isHash(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}
