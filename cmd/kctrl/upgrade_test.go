//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// TestUpgradeKeepsRandomEdits makes random syntactic edits to all files that a user may edit, in projects of each kctrl
// in testdata/upgrade, and upgrades the projects. The upgrade keeps every edit, the result compiles, and a second
// upgrade changes nothing. Seed 1 edits everything. The test compiles the results of seed 1 and of every tenth seed.
func TestUpgradeKeepsRandomEdits(t *testing.T) {
	useOwnCache(t)
	archives, err := filepath.Glob(filepath.Join("..", "..", "testdata", "upgrade", "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			seeds.Each(t, 1, func(t *testing.T, seed uint64) {
				p := newOldProject(t, name)
				p.git("init", "-q", ".")
				p.git("add", "-A")
				p.git("commit", "-q", "-m", "old")
				edits := p.edit(rand.New(rand.NewPCG(seed, 12)), seed == 1)
				// A Go file that the upgrade leaves unchanged may use any API of the older runtime.
				stays := strings.Contains(p.upgrade(edits), ".go: has been edited where its template has changed")
				if !stays && (seed == 1 || seed%10 == 0) {
					p.vet()
				}
			})
		})
	}
}

// oldProject is a project of an older kctrl in a directory.
type oldProject struct {
	*testing.T
	dir string
}

func newOldProject(t *testing.T, archive string) *oldProject {
	t.Helper()
	parsed, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	p := &oldProject{t, t.TempDir()}
	for _, f := range parsed.Files {
		p.write(f.Name, f.Data)
	}
	return p
}

func (p *oldProject) write(name string, text []byte) {
	p.Helper()
	target := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, text, 0o644)); err != nil {
		p.Fatal(err)
	}
}

func (p *oldProject) read(name string) []byte {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(name)))
	if err != nil {
		p.Fatal(err)
	}
	return text
}

func (p *oldProject) git(args ...string) {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), "git",
		append([]string{"-c", "user.name=me", "-c", "user.email=me@example.com"}, args...)...)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// upgrade upgrades the project and returns what kctrl prints. It fails unless the upgrade is complete and keeps all
// edits. Conflicts in files other than Go may remain.
func (p *oldProject) upgrade(edits []userEdit) string {
	p.Helper()
	code, _, said := kctrlIn(p.T, p.dir, "upgrade")
	conflicts := strings.Contains(said, "has a conflict")
	want := exitOK
	if conflicts {
		want = exitDrift
	}
	if code != want {
		p.Fatalf("exit code %d\n%s", code, said)
	}
	for _, e := range edits {
		text := p.read(e.name)
		if !e.isIn(text) {
			p.Errorf("%v is lost\n%s\n%s", e, said, text)
		}
		if path.Ext(e.name) == ".go" && bytes.Contains(text, []byte("<<<<<<<")) {
			p.Errorf("%s has a conflict\n%s", e.name, text)
		}
	}
	if code, _, said := kctrlIn(p.T, p.dir, "upgrade", "--check"); code != want {
		p.Errorf("a second upgrade would change\n%s", said)
	}
	if code, _, again := kctrlIn(p.T, p.dir, "upgrade"); code != want || strings.Contains(again, "warning") {
		p.Errorf("a second upgrade ends with %d and says\n%s", code, again)
	}
	if code, out, said := kctrlIn(p.T, p.dir, "doctor", "--check", "markers,generated,roles,deployment"); code != exitOK &&
		!conflicts {
		p.Errorf("kctrl doctor ends with %d\n%s\n%s", code, out, said)
	}
	return said
}

// vet runs go vet on the project and its tests.
func (p *oldProject) vet() {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), "go", "vet", "./...")
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Errorf("go vet: %v\n%s", err, out)
	}
}

// userEdit is a user's edit of a file: text that the file contains afterwards, and text that it no longer contains.
type userEdit struct{ what, name, has, lacks string }

// mayEdit reports whether users edit a file.
func mayEdit(name string) bool {
	base := path.Base(name)
	generated := strings.HasPrefix(base, "zz_generated.") || strings.HasPrefix(base, "PROJECT") || base == "go.sum" ||
		slices.Contains([]string{"config/rbac/role.yaml", "config/webhook/manifests.yaml", "hack/boilerplate.go.txt"},
			name) ||
		slices.ContainsFunc([]string{".git/", "third_party/", "config/crd/bases/", "config/components/webhook/"},
			func(folder string) bool { return strings.HasPrefix(name, folder) })
	return !generated && path.Ext(name) != ".json"
}

// edit edits random files of the project: all files if everything is set, and about a third otherwise.
func (p *oldProject) edit(r *rand.Rand, everything bool) []userEdit {
	p.Helper()
	var done []userEdit
	err := fs.WalkDir(os.DirFS(p.dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !mayEdit(name) || !everything && r.IntN(3) > 0 {
			return err
		}
		for range 1 + r.IntN(2) {
			mark := fmt.Sprint("mine", len(done))
			before := p.read(name)
			after, e := editFile(r, name, before, mark)
			if !bytes.Equal(before, after) {
				e.name = name
				p.write(name, after)
				done = append(done, e)
			}
		}
		return nil
	})
	if err != nil {
		p.Fatal(err)
	}
	// A second edit of a file may have undone the first one.
	return slices.DeleteFunc(done, func(e userEdit) bool { return !e.isIn(p.read(e.name)) })
}

// isIn reports whether a file has the edit.
func (e userEdit) isIn(text []byte) bool {
	return bytes.Contains(text, []byte(e.has)) && (e.lacks == "" || !bytes.Contains(text, []byte(e.lacks)))
}

// editFile edits a file according to its format. The edit contains a mark.
func editFile(r *rand.Rand, name string, text []byte, mark string) ([]byte, userEdit) {
	base, ext := path.Base(name), path.Ext(name)
	appended := func(what, line string) ([]byte, userEdit) {
		return append(slices.Clone(text), line...), userEdit{what: what, has: strings.TrimSpace(line)}
	}
	switch {
	case ext == ".go":
		return editGo(r, name, text, mark)
	case base == "Makefile":
		return appended("a target", fmt.Sprintf("\n.PHONY: %s\n%[1]s:\n\t@echo %[1]s\n", mark))
	case base == "Dockerfile":
		return appended("a label", "LABEL mine="+mark+"\n")
	case base == "go.mod":
		return appended("a comment", "\n// "+mark+"\n")
	case base == "kustomization.yaml":
		if !bytes.Contains(text, []byte("commonAnnotations")) {
			return appended("a key", "commonAnnotations:\n  mine: "+mark+"\n")
		}
	case (ext == ".yaml" || ext == ".yml") && bytes.Contains(text, []byte("\nmetadata:\n")) &&
		!bytes.Contains(text, []byte("annotations:")):
		key := "  annotations:\n    mine: " + mark + "\n"
		return bytes.Replace(text, []byte("\nmetadata:\n"), []byte("\nmetadata:\n"+key), 1), userEdit{what: "a key", has: key}
	}
	if ext == ".md" {
		return appended("a line", "\nThis is "+mark+".\n")
	}
	return appended("a comment", "# "+mark+"\n")
}

// goEdits are syntactic edits of a Go file. Each returns the replacement for the text between two offsets, and the
// edit. A negative offset means that the file has no place for the edit.
var goEdits = map[string]func(r *rand.Rand, f *parsedFile, mark string) (from, to int, with string, e userEdit){
	"a function": func(_ *rand.Rand, f *parsedFile, mark string) (int, int, string, userEdit) {
		with := fmt.Sprintf("\n// %s is mine.\nfunc %[1]s() string { return %[1]q }\n", mark)
		return len(f.text), len(f.text), with, userEdit{has: strings.TrimSpace(with)}
	},
	"an import": func(_ *rand.Rand, f *parsedFile, mark string) (int, int, string, userEdit) {
		at := f.offset(f.file.Name.End())
		with := "\n\nimport _ \"embed\" // " + mark
		return at, at, with, userEdit{has: strings.TrimSpace(with)}
	},
	"a comment": func(r *rand.Rand, f *parsedFile, mark string) (int, int, string, userEdit) {
		if len(f.file.Decls) == 0 {
			return -1, 0, "", userEdit{}
		}
		at := f.offset(f.file.Decls[r.IntN(len(f.file.Decls))].End())
		return at, at, "\n\n// " + mark + " is said here.\n", userEdit{has: "// " + mark + " is said here.\n"}
	},
	"a field": func(r *rand.Rand, f *parsedFile, mark string) (int, int, string, userEdit) {
		structs := nodesOf(f.file, func(s *ast.StructType) bool { return s.Fields.NumFields() > 0 })
		if len(structs) == 0 {
			return -1, 0, "", userEdit{}
		}
		at := f.offset(structs[r.IntN(len(structs))].Fields.Closing)
		name := strings.ToUpper(mark[:1]) + mark[1:]
		return at, at, fmt.Sprintf("\t// %s is mine.\n\t// +optional\n\t%[1]s string `json:\"%s,omitempty\"`\n", name, mark),
			userEdit{has: "// " + name + " is mine."}
	},
	"a statement": func(r *rand.Rand, f *parsedFile, mark string) (int, int, string, userEdit) {
		bodies := nodesOf(f.file, func(b *ast.BlockStmt) bool { return len(b.List) > 0 && !isClause(b.List[0]) })
		if len(bodies) == 0 {
			return -1, 0, "", userEdit{}
		}
		body := bodies[r.IntN(len(bodies))]
		at := f.offset(body.List[r.IntN(len(body.List))].Pos())
		return at, at, fmt.Sprintf("_ = %q\n\t", mark), userEdit{has: fmt.Sprintf("_ = %q\n", mark)}
	},
	"no comment": func(r *rand.Rand, f *parsedFile, _ string) (int, int, string, userEdit) {
		var groups []*ast.CommentGroup
		for _, g := range f.file.Comments {
			text := f.text[f.offset(g.Pos()):f.offset(g.End())]
			if !strings.Contains(text, "+") && !strings.Contains(text, "mine") && strings.Count(string(f.text), text) == 1 {
				groups = append(groups, g)
			}
		}
		if len(groups) == 0 {
			return -1, 0, "", userEdit{}
		}
		g := groups[r.IntN(len(groups))]
		from, to := f.offset(g.Pos()), f.offset(g.End())
		return from, to, "", userEdit{lacks: f.text[from:to]}
	},
}

// isClause reports whether a statement belongs to a switch or select.
func isClause(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

// parsedFile is a parsed Go file.
type parsedFile struct {
	text string
	set  *token.FileSet
	file *ast.File
}

func (f *parsedFile) offset(pos token.Pos) int { return f.set.Position(pos).Offset }

// nodesOf returns the nodes of a type for which wanted returns true.
func nodesOf[N ast.Node](file *ast.File, wanted func(N) bool) []N {
	var all []N
	ast.Inspect(file, func(n ast.Node) bool {
		if n, ok := n.(N); ok && wanted(n) {
			all = append(all, n)
		}
		return true
	})
	return all
}

// editGo makes a random edit of a Go file. A formatted file stays formatted.
func editGo(r *rand.Rand, name string, text []byte, mark string) ([]byte, userEdit) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		panic(err)
	}
	f := &parsedFile{string(text), set, file}
	names := append(slices.Sorted(maps.Keys(goEdits)), "another name")
	what := names[r.IntN(len(names))]
	var out string
	var e userEdit
	if what == "another name" {
		if out = renameLocal(r, f, mark); out == "" {
			return text, e
		}
		e.has = mark
	} else {
		from, to, with, done := goEdits[what](r, f, mark)
		if from < 0 {
			return text, e
		}
		out, e = f.text[:from]+with+f.text[to:], done
	}
	formatted, err := format.Source([]byte(out))
	if err != nil {
		panic(fmt.Sprintf("%s in %s: %v\n%s", what, name, err, out))
	}
	e.what = what
	return formatted, e
}

// renameLocal renames a local variable.
func renameLocal(r *rand.Rand, f *parsedFile, mark string) string {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{FakeImportC: true, Error: func(error) {}}
	// The types of imports are missing, but the edit does not need them.
	pkg, _ := config.Check("p", f.set, []*ast.File{f.file}, info)
	var locals []*ast.Ident
	for ident, object := range info.Defs {
		if v, ok := object.(*types.Var); ok && !v.IsField() && object.Parent() != nil && object.Parent() != pkg.Scope() &&
			ident.Name != "_" && object.Name() != "" {
			locals = append(locals, ident)
		}
	}
	if len(locals) == 0 {
		return ""
	}
	slices.SortFunc(locals, func(a, b *ast.Ident) int { return int(a.Pos() - b.Pos()) })
	object := info.Defs[locals[r.IntN(len(locals))]]
	var at []int
	for _, named := range []map[*ast.Ident]types.Object{info.Defs, info.Uses} {
		for ident, of := range named {
			if of == object {
				at = append(at, f.offset(ident.Pos()))
			}
		}
	}
	slices.Sort(at)
	var out strings.Builder
	last := 0
	for _, offset := range slices.Compact(at) {
		out.WriteString(f.text[last:offset] + mark)
		last = offset + len(object.Name())
	}
	return out.String() + f.text[last:]
}
