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

// GoFile is a Go file, as text and parsed.
type GoFile struct {
	Name string
	Text []byte
	Set  *token.FileSet
	// File is nil if the text is not valid Go.
	File *ast.File
}

// ParseGo parses a Go file. For invalid Go it returns a *diagnostic.Error.
func ParseGo(name string, text []byte) (GoFile, error) {
	f := GoFile{Name: name, Text: text, Set: token.NewFileSet()}
	file, err := parser.ParseFile(f.Set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return f, diagnostic.NotGo(name, err)
	}
	f.File = file
	return f, nil
}

// Position returns the position of pos in the file and ignores //line comments.
func (f GoFile) Position(pos token.Pos) token.Position {
	p := f.Set.PositionFor(pos, false)
	p.Filename, p.Offset = f.Name, 0
	return p
}

// Offset returns the offset of pos in the text.
func (f GoFile) Offset(pos token.Pos) int { return f.Set.PositionFor(pos, false).Offset }

// Replacing returns the replacement of a node.
func (f GoFile) Replacing(node ast.Node, text string) Splice {
	return Splice{f.Offset(node.Pos()), f.Offset(node.End()), text}
}

// DeclaredNames returns the package-level names that a declaration declares. A method declares none.
func DeclaredNames(decl ast.Decl) []*ast.Ident {
	var names []*ast.Ident
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name)
			case *ast.ValueSpec:
				names = append(names, spec.Names...)
			}
		}
	}
	return names
}

func (f GoFile) line(pos token.Pos) int { return f.Position(pos).Line }

func (f GoFile) fail(pos token.Pos, message, hint string) *diagnostic.Error {
	return diagnostic.At(f.Position(pos), message, hint)
}

// indent returns the leading white space of the line of pos.
func (f GoFile) indent(pos token.Pos) string {
	line := f.Text[f.lineStart(pos):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (f GoFile) lineStart(pos token.Pos) int {
	return bytes.LastIndexByte(f.Text[:f.Offset(pos)], '\n') + 1
}

// eol returns the line end that the file uses.
func (f GoFile) eol() string { return lineEnd(f.Text) }

// splice returns the file with text inserted at an offset, or an error if the result does not parse.
func (f GoFile) splice(at int, text string) ([]byte, GoFile, error) {
	out := slices.Concat(f.Text[:at], []byte(text), f.Text[at:])
	edited, err := ParseGo(f.Name, out)
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

// ImportPath returns the path of an import.
func ImportPath(spec *ast.ImportSpec) string {
	return strings.Trim(spec.Path.Value, "\"`")
}
