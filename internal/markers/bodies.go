package markers

import "bytes"

// withoutBodies returns Go source in which the bodies of functions are blank, so that they cost nothing to parse. Every
// byte that is left stays where it was. It looks for what gofmt makes of a function: "func " at the begin of a line,
// " {" at the end of one, and "}" as the only thing on a later line. Where a raw string looks the same, the result does
// not parse.
func withoutBodies(source []byte) []byte {
	out := bytes.Clone(source)
	for at := 0; at < len(out); {
		end := lineEnd(out, at)
		if !bytes.HasPrefix(out[at:], []byte("func ")) {
			at = end + 1
			continue
		}
		// The parameters may go on over several lines; a one-line function ends where it begins.
		for !bytes.HasSuffix(out[at:end], []byte(" {")) && !bytes.HasSuffix(out[at:end], []byte("}")) && end < len(out) && moreParameters(out[end:]) {
			at = end + 1
			end = lineEnd(out, at)
		}
		if !bytes.HasSuffix(out[at:end], []byte(" {")) {
			at = end + 1
			continue
		}
		closing := bytes.Index(out[end:], []byte("\n}\n"))
		if closing < 0 {
			return out
		}
		if hasDeclaration(out[end : end+closing]) {
			at = end + 1
			continue
		}
		blank(out[end : end+closing])
		at = end + closing + len("\n}\n")
	}
	return out
}

// moreParameters reports whether the next line of rest, which begins with a line feed, goes on with a signature.
func moreParameters(rest []byte) bool {
	return len(rest) > 1 && (rest[1] == '\t' || rest[1] == ')')
}

// hasDeclaration reports whether a line of text begins a declaration, as in code that gofmt has not seen: text is then
// more than the body of a function.
func hasDeclaration(text []byte) bool {
	for _, keyword := range []string{"\ntype ", "\nfunc ", "\nvar ", "\nconst "} {
		if bytes.Contains(text, []byte(keyword)) {
			return true
		}
	}
	return false
}

func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

// blank replaces everything by spaces but line feeds.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}
