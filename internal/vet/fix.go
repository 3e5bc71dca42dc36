package vet

import (
	"bytes"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// Fix is the suggested fix of one finding.
type Fix struct {
	// File is the file name, relative to Options.Dir.
	File  string
	edits []edit.Splice
}

// addFix adds a fix to the result if it changes only one file and does not overlap with an earlier fix.
func (r *Result) addFix(dir string, set *token.FileSet, suggested analysis.SuggestedFix) {
	var fix Fix
	for _, e := range suggested.TextEdits {
		file := set.File(e.Pos)
		end := e.End
		if !end.IsValid() {
			end = e.Pos
		}
		name := relative(dir, file.Name())
		if strings.HasPrefix(name, "../") || fix.File != "" && fix.File != name {
			return
		}
		fix.File = name
		fix.edits = append(fix.edits,
			edit.Splice{From: file.Offset(e.Pos), To: file.Offset(end), Text: string(e.NewText)})
	}
	for _, other := range r.Fixes {
		if other.File == fix.File && overlap(other.edits, fix.edits) {
			return
		}
	}
	if fix.File != "" {
		r.Fixes = append(r.Fixes, fix)
	}
}

func overlap(a, b []edit.Splice) bool {
	return slices.ContainsFunc(a, func(x edit.Splice) bool {
		return slices.ContainsFunc(b, func(y edit.Splice) bool { return x.From <= y.To && y.From <= x.To })
	})
}

// Plan adds the fixes to a plan for dir, and returns their number. It removes imports that the fixes make unused.
func (r *Result) Plan(dir string, p *plan.Plan) (int, error) {
	byFile := map[string][]edit.Splice{}
	for _, fix := range r.Fixes {
		byFile[fix.File] = append(byFile[fix.File], fix.edits...)
	}
	for name, edits := range byFile {
		before, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return 0, err
		}
		after, err := tidied(name, edit.Apply(before, edits), before)
		if err != nil {
			return 0, err
		}
		if err := p.Edit(name, after); err != nil {
			return 0, err
		}
	}
	return len(r.Fixes), nil
}

// tidied returns changed source, formatted and without the imports that only the original used.
func tidied(name string, after, before []byte) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, after, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	original, err := parser.ParseFile(token.NewFileSet(), name, before, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	changed := false
	for _, spec := range slices.Clone(file.Imports) {
		path := strings.Trim(spec.Path.Value, `"`)
		if astutil.UsesImport(original, path) && !astutil.UsesImport(file, path) {
			local := ""
			if spec.Name != nil {
				local = spec.Name.Name
			}
			changed = astutil.DeleteNamedImport(set, file, local, path) || changed
		}
	}
	if !changed {
		return format.Source(after)
	}
	var out bytes.Buffer
	if err := format.Node(&out, set, file); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
