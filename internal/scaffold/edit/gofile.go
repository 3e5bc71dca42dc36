package edit

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// goFile is a Go file of the user, as text and parsed.
type goFile struct {
	name string
	src  []byte
	fset *token.FileSet
	file *ast.File
}

func parseGo(src []byte, filename string) (*goFile, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, filename, src, parser.ParseComments|parser.SkipObjectResolution)
	if err == nil {
		return &goFile{name: filename, src: src, fset: fset, file: file}, nil
	}
	return nil, diagnostic.NotGo(filename, err)
}

// position returns the position of pos in the file and ignores //line comments.
func (f *goFile) position(pos token.Pos) token.Position {
	p := f.fset.PositionFor(pos, false)
	p.Filename, p.Offset = f.name, 0
	return p
}

func (f *goFile) offset(pos token.Pos) int { return f.fset.PositionFor(pos, false).Offset }

func (f *goFile) line(pos token.Pos) int { return f.position(pos).Line }

func (f *goFile) fail(pos token.Pos, message, hint string) *diagnostic.Error {
	return diagnostic.At(f.position(pos), message, hint)
}

// indent returns the leading white space of the line of pos.
func (f *goFile) indent(pos token.Pos) string {
	line := f.src[f.lineStart(pos):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (f *goFile) lineStart(pos token.Pos) int {
	return bytes.LastIndexByte(f.src[:f.offset(pos)], '\n') + 1
}

// eol returns the line end that the file uses.
func (f *goFile) eol() string { return lineEnd(f.src) }

// splice returns the file with text inserted at an offset, or an error if the result does not parse.
func (f *goFile) splice(at int, text string) ([]byte, *goFile, error) {
	out := slices.Concat(f.src[:at], []byte(text), f.src[at:])
	edited, err := parseGo(out, f.name)
	return out, edited, err
}

// Token is a token of a Go file and its offset. A newline that ends a statement is a token.SEMICOLON with text "\n".
type Token struct {
	Offset int
	Token  token.Token
	Text   string
}

// Tokens returns the tokens and comments of a Go file, including invalid ones.
func Tokens(src []byte) []Token {
	var list []Token
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, src, func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return list
		}
		list = append(list, Token{file.Offset(pos), tok, text})
	}
}

// end returns the end offset of a comment. The length of the token's text is not sufficient, because the text omits
// carriage returns.
func (t Token) end(src []byte) int {
	if !strings.HasPrefix(t.Text, "/*") {
		return endOfLine(src, t.Offset)
	}
	return t.Offset + bytes.Index(src[t.Offset:], []byte("*/")) + len("*/")
}

// lineEnd returns the line end of the first line of a text.
func lineEnd(src []byte) string {
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// endOfLine returns the offset of the end of a line, before its line end.
func endOfLine(src []byte, at int) int {
	n := bytes.IndexByte(src[at:], '\n')
	if n < 0 {
		return len(src)
	}
	if n > 0 && src[at+n-1] == '\r' {
		n--
	}
	return at + n
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// packageName guesses the name of a package from its import path, as goimports does: the last element that is not a
// major version, up to the first character that is invalid in an identifier.
func packageName(importPath string) string {
	base := path.Base(importPath)
	if dir := path.Dir(importPath); majorVersion.MatchString(base) && dir != "." {
		base = path.Base(dir)
	}
	base = strings.TrimPrefix(base, "go-")
	if i := strings.IndexFunc(base, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) &&
			r != '_'
	}); i >= 0 {
		base = base[:i]
	}
	return base
}

func importPathOf(spec *ast.ImportSpec) string {
	return strings.Trim(spec.Path.Value, "\"`")
}
