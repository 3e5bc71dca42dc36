package edit

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// EnsureMarker returns src, a Go file, with a marker such as "+kubebuilder:storageversion" on the named type. The
// marker becomes a comment line after the type's other markers, or else before its documentation. If the type has the
// marker, src is unchanged. All other bytes stay. A file that does not parse or lacks the type is a *diagnostic.Error.
func EnsureMarker(src []byte, filename, typeName, marker string) ([]byte, error) {
	f, spec, comments, err := commentsOf(src, filename, typeName, marker)
	if err != nil || slices.ContainsFunc(comments, func(c *ast.Comment) bool { return IsMarker(c, marker) }) {
		return src, err
	}
	at, line := f.lineStart(spec.Pos()), "// "+marker+f.eol()
	if i := lastMarker(comments); i >= 0 {
		at = min(len(src), endOfLine(src, f.Offset(comments[i].Pos()))+len(f.eol()))
		line = f.indent(comments[i].Pos()) + line
	} else if len(comments) > 0 {
		at = f.lineStart(comments[0].Pos())
		line = f.indent(comments[0].Pos()) + line
	} else {
		line = f.indent(spec.Pos()) + line
	}
	out, _, err := f.splice(at, line)
	return out, err
}

// RemoveMarker returns src, a Go file, without the lines that set a marker of the named type. All other bytes stay.
// RemoveMarker returns the errors of [EnsureMarker].
func RemoveMarker(src []byte, filename, typeName, marker string) ([]byte, error) {
	f, _, comments, err := commentsOf(src, filename, typeName, marker)
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(comments) {
		at := f.Offset(c.Pos())
		start := bytes.LastIndexByte(src[:at], '\n') + 1
		if IsMarker(c, marker) && len(bytes.TrimSpace(src[start:at])) == 0 {
			src = slices.Concat(src[:start], src[min(len(src), endOfLine(src, at)+len(f.eol())):])
		}
	}
	return src, nil
}

// HasMarker reports whether the named type has a marker. It returns false for a file that does not parse.
func HasMarker(src []byte, filename, typeName, marker string) bool {
	_, _, comments, err := commentsOf(src, filename, typeName, marker)
	return err == nil && slices.ContainsFunc(comments, func(c *ast.Comment) bool { return IsMarker(c, marker) })
}

// commentsOf returns the comment lines between a type and the previous declaration, and the node that follows them: the
// declaration, or the type if the declaration has several types.
func commentsOf(src []byte, filename, typeName, marker string) (GoFile, ast.Node, []*ast.Comment, error) {
	f, err := ParseGo(filename, src)
	if err != nil {
		return f, nil, nil, err
	}
	after := f.File.Name.End()
	for _, decl := range f.File.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			after = decl.End()
			continue
		}
		for i, spec := range group.Specs {
			named := spec.(*ast.TypeSpec)
			if named.Name.Name != typeName {
				after = spec.End()
				continue
			}
			var above ast.Node = group
			if i > 0 || group.Lparen.IsValid() {
				above = named
				after = max(after, group.Lparen)
			}
			return f, above, f.commentsBetween(after, above.Pos()), nil
		}
		after = group.End()
	}
	return f, nil, nil, f.fail(f.File.Name.Pos(), fmt.Sprintf("no type %s", typeName),
		fmt.Sprintf("write // %s above the type %s", marker, typeName))
}

// commentsBetween returns the line comments that begin in a range, except comments after code on the same line.
func (f GoFile) commentsBetween(from, to token.Pos) []*ast.Comment {
	var found []*ast.Comment
	for _, group := range f.File.Comments {
		for _, c := range group.List {
			if c.Pos() > from && c.Pos() < to && strings.HasPrefix(c.Text, "//") && f.startsLine(c) {
				found = append(found, c)
			}
		}
	}
	return found
}

// IsMarker reports whether a comment is a marker, with or without arguments.
func IsMarker(c *ast.Comment, marker string) bool {
	rest, found := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), marker)
	return found && (rest == "" || strings.ContainsAny(rest[:1], "=: "))
}

// lastMarker returns the index of the last comment with a kubebuilder marker, or -1.
func lastMarker(comments []*ast.Comment) int {
	for i, c := range slices.Backward(comments) {
		if strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), "+kubebuilder:") {
			return i
		}
	}
	return -1
}
