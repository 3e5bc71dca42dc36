package load

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
)

// parseFile parses a file of the project. Generated code often consists of functions for the most part, which are passed
// over if no marker can be in them.
func parseFile(fset *token.FileSet, name string, content []byte) (*ast.File, error) {
	if isGenerated(content) && !hasIndentedMarker(content) {
		if file, err := parser.ParseFile(fset, name, withoutBodies(content), parserMode); err == nil {
			return file, nil
		}
	}
	return parser.ParseFile(fset, name, content, parserMode)
}

var (
	// generatedHeader is what "go help generate" says that generated code has above its package clause.
	generatedHeader = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	packageClause   = []byte("\npackage ")
)

// hasIndentedMarker reports whether a comment inside of a declaration may be a marker.
func hasIndentedMarker(content []byte) bool {
	for _, comment := range []string{"// +", "//+", "/*"} {
		if bytes.Contains(content, []byte("\t"+comment)) || bytes.Contains(content, []byte(" "+comment)) {
			return true
		}
	}
	return false
}

// isGenerated reports whether Go source was written by a program.
func isGenerated(content []byte) bool {
	head, _, found := bytes.Cut(content, packageClause)
	return found && generatedHeader.Match(head)
}

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
