package plan

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/transaction"
	"github.com/spf13/afero"
)

// written returns a project with a file f.txt that kctrl wrote and the user then changed to content.
func written(t *testing.T, content string) afero.Fs {
	t.Helper()
	fsys := afero.NewMemMapFs()
	p := New(afero.NewIOFS(fsys))
	must(t, p.Write("f.txt", []byte("v1"), "t"))
	must(t, p.Apply(t.Context(), fsys, "test"))
	write(t, fsys, map[string]string{"f.txt": content, "users.txt": "mine"})
	return fsys
}

func TestOwners(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		content string // of f.txt on disk
		file    File
		want    string // content after, or the error
		touched bool   // afterwards
	}{
		{"shared file as kctrl left it", "v1", File{Path: "f.txt", Content: []byte("v2")}, "v2", false},
		{"shared file the user edited", "edit", File{Path: "f.txt", Content: []byte("v2")},
			"error: has been edited since kctrl wrote it", true},
		{"shared file the user wrote", "v1", File{Path: "users.txt", Content: []byte("v2")},
			"error: exists and was not written by kctrl", true},
		{"shared file that is as wanted", "v2", File{Path: "f.txt", Content: []byte("v2")}, "v2", false},
		{"shared file that is not there", "v1", File{Path: "new.txt", Content: []byte("v2")}, "v2", true},
		{"generated file the user edited", "edit", File{Path: "f.txt", Content: []byte("v2"), Owner: Generated}, "v2", false},
		{"generated file the user wrote", "v1", File{Path: "users.txt", Content: []byte("v2"), Owner: Generated,
			Template: "t"}, "error: exists and was not written by kctrl", true},
		{"file of the user, as kctrl left it", "v1", File{Path: "f.txt", Content: []byte("v2"), Owner: User}, "v1", false},
		{"file of the user, edited", "edit", File{Path: "f.txt", Content: []byte("v2"), Owner: User}, "edit", true},
		{"file of the user, the user's", "v1", File{Path: "users.txt", Content: []byte("v2"), Owner: User, Template: "t"},
			"mine", true},
		{"file of the user, not there", "v1", File{Path: "new.txt", Content: []byte("v2"), Owner: User, Template: "t"}, "v2",
			false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			fsys := written(t, tt.content)
			p := New(afero.NewIOFS(fsys))
			err := p.WriteFile(tt.file)
			if message, ok := strings.CutPrefix(tt.want, "error: "); ok {
				e, _ := errors.AsType[*diagnostic.Error](err)
				if e == nil || e.Message != message || e.Pos.Filename != tt.file.Path || !strings.Contains(e.Hint, "--force") {
					t.Fatalf("got %v", err)
				}
				if p.Len() != 0 {
					t.Errorf("the plan changed:\n%s", p.Diff())
				}
				tt.file.Force = true
				must(t, p.WriteFile(tt.file))
				return
			}
			must(t, err)
			if content, err := p.Read(tt.file.Path); err != nil || string(content) != tt.want {
				t.Errorf("planned %q, %v", content, err)
			}
			must(t, p.Apply(t.Context(), fsys, "test"))
			content, err := afero.ReadFile(fsys, tt.file.Path)
			if err != nil || string(content) != tt.want {
				t.Errorf("got %q, %v", content, err)
			}
			p = New(afero.NewIOFS(fsys))
			if touched := p.Lock().Touched(tt.file.Path, content); touched != tt.touched {
				t.Errorf("touched %v", touched)
			}
			must(t, p.WriteFile(tt.file))
			if p.Len() != 0 {
				t.Errorf("the same again changes\n%s", p.Diff())
			}
		})
	}
}

// TestEdit checks that the lock keeps the owner of a file.
func TestEdit(t *testing.T) {
	for _, tt := range []struct {
		rule, content, file string
		touched             bool // afterwards
	}{
		{"a file as kctrl left it", "v1", "f.txt", false},
		{"a file that the user edited", "edit", "f.txt", true},
		{"a file of the user", "v1", "users.txt", true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			p := New(afero.NewIOFS(written(t, tt.content)))
			must(t, p.Edit(tt.file, []byte("v2")))
			content, err := p.Read(tt.file)
			must(t, err)
			if touched := p.Lock().Touched(tt.file, content); string(content) != "v2" || touched != tt.touched {
				t.Errorf("got %q, touched %v", content, touched)
			}
		})
	}
}

// TestMove checks that a moved file keeps its permissions and its owner.
func TestMove(t *testing.T) {
	for content, touched := range map[string]bool{"v1": false, "edit": true} {
		fsys := written(t, content)
		must(t, fsys.Chmod("f.txt", 0o755))
		p := New(afero.NewIOFS(fsys))
		must(t, p.Move("f.txt", "deep/g.txt"))
		must(t, p.Apply(t.Context(), fsys, "test"))
		got, err := afero.ReadFile(fsys, "deep/g.txt")
		info, failure := fsys.Stat("deep/g.txt")
		lock, broken := project.LoadLock(afero.NewIOFS(fsys))
		must(t, errors.Join(err, failure, broken))
		_, known := lock.Entry("deep/g.txt")
		if string(got) != content || info.Mode().Perm() != 0o755 || !known || lock.Touched("deep/g.txt", got) != touched {
			t.Errorf("%q with %v, in the lock: %v", got, info.Mode(), known)
		}
		if _, err := fsys.Stat("f.txt"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the old file: %v", err)
		}
	}
}

// TestLinesEndAsTheyDid updates a file that git checked out with other line ends, which do not count as an edit.
func TestLinesEndAsTheyDid(t *testing.T) {
	for name, rewrite := range map[string]func(*Plan, []byte) error{
		"shared": func(p *Plan, text []byte) error { return p.Write("f.txt", text, "t") },
		"generated": func(p *Plan, text []byte) error {
			return p.WriteFile(File{Path: "f.txt", Content: text, Template: "t", Owner: Generated})
		},
		"edited": func(p *Plan, text []byte) error { return p.Edit("f.txt", text) },
	} {
		for content, want := range map[string]string{"a\r\nb\r\n": "v2\r\nb\r\n", "a\nb\n": "v2\nb\n", "": "v2\nb\n"} {
			fsys := afero.NewMemMapFs()
			p := New(afero.NewIOFS(fsys))
			must(t, p.Write("f.txt", []byte(strings.ReplaceAll(content, "\r\n", "\n")), "t"))
			must(t, p.Apply(t.Context(), fsys, "test"))
			write(t, fsys, map[string]string{"f.txt": content})
			p = New(afero.NewIOFS(fsys))
			must(t, rewrite(p, []byte("v2\nb\n")))
			must(t, p.Apply(t.Context(), fsys, "test"))
			got, err := afero.ReadFile(fsys, "f.txt")
			if must(t, err); string(got) != want {
				t.Errorf("%s: %q became %q, want %q", name, content, got, want)
			}
			p = New(afero.NewIOFS(fsys))
			if must(t, p.Write("f.txt", []byte("v2\nb\n"), "t")); p.Len() > 0 {
				t.Errorf("%s: %q is a change each time", name, got)
			}
		}
	}
}

func TestDelete(t *testing.T) {
	for _, content := range []string{"v1", "edit"} {
		fsys := written(t, content)
		p := New(afero.NewIOFS(fsys))
		must(t, p.Delete("f.txt"))
		if _, err := p.Read("f.txt"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("read: %v", err)
		}
		must(t, p.Apply(t.Context(), fsys, "test"))
		if _, err := fsys.Stat("f.txt"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("on disk: %v", err)
		}
		lock, err := project.LoadLock(afero.NewIOFS(fsys))
		must(t, err)
		if _, known := lock.Entry("f.txt"); known {
			t.Error("it is in the lock")
		}
	}
}

func TestLaterDecisionsReplaceEarlierOnes(t *testing.T) {
	p := New(fstest.MapFS{"a": {Data: []byte("old")}})
	must(t, p.WriteFile(File{Path: "a", Content: []byte("one"), Force: true}))
	must(t, p.WriteFile(File{Path: "a", Content: []byte("old"), Force: true}))
	must(t, p.Write("b", []byte("new"), "t"))
	must(t, p.Write("b", []byte("newer"), ""))
	must(t, p.Write("c", []byte("c"), "t"))
	must(t, p.Delete("c"))
	must(t, p.WriteFile(File{Path: "b", Content: []byte("newest"), Template: "t", Owner: User}))
	var got []string
	for c := range p.Changes() {
		got = append(got, c.Op.String()+" "+c.Path+" "+c.Template)
	}
	if diff := cmp.Diff([]string{"create PROJECT.lock ", "create b t"}, got); diff != "" {
		t.Error(diff)
	}
	if content, err := p.Read("b"); err != nil || string(content) != "newer" {
		t.Errorf("got %q, %v", content, err)
	}
}

func TestPathsStayInTheProject(t *testing.T) {
	p := New(fstest.MapFS{})
	for _, path := range []string{
		"", ".", "..", "../x", "/etc/passwd", "a/../../b", "a//b", "a/", "./a", `a\b`, `..\x`, "a\nb", "a\x00b", "\xff",
		".git", ".git/hooks/pre-commit", "a/.git/config", ".GIT/x", ".git./x", ".git /x", project.LockFile,
	} {
		if err := p.Write(path, nil, ""); err == nil || p.Len() != 0 {
			t.Errorf("%q is not refused", path)
		}
	}
	for _, path := range []string{".gitignore", ".github/workflows/test.yml", "a b", "ü", "x.git/y"} {
		must(t, p.Write(path, nil, ""))
	}
}

func TestPlanReportsWhatIsInTheWay(t *testing.T) {
	dir := t.TempDir()
	root, err := transaction.Open(dir)
	must(t, err)
	defer root.Close()
	write(t, root, map[string]string{"file": "x", "folder/x": "x"})
	p := New(afero.NewIOFS(root))
	for path, want := range map[string]string{
		"folder": "folder: a directory is in the way", "file/x": "file/x: cannot read: not a directory",
	} {
		if err := p.Write(path, nil, "t"); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if p.Len() != 0 {
		t.Error(p.Diff())
	}
}

func TestLockIsSortedAndReadBack(t *testing.T) {
	fsys := afero.NewMemMapFs()
	p := New(afero.NewIOFS(fsys))
	for _, path := range []string{"b/c", "b", "a: #x", "b-c"} {
		if path != "b" {
			must(t, p.Write(path, []byte(path), "t/"+path))
		}
	}
	must(t, p.Apply(t.Context(), fsys, "test"))
	text, err := afero.ReadFile(fsys, project.LockFile)
	must(t, err)
	want := string((&project.Lock{}).Marshal())
	for _, path := range []string{"a: #x", "b-c", "b/c"} {
		want += fmt.Sprintf("%s\t%x\tt/%s\n", path, sha256.Sum256([]byte(path)), path)
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	lock, err := project.LoadLock(afero.NewIOFS(fsys))
	must(t, err)
	var paths []string
	for e := range lock.All() {
		paths = append(paths, e.Path)
	}
	if !slices.Equal(paths, []string{"a: #x", "b-c", "b/c"}) || string(lock.Marshal()) != string(text) {
		t.Errorf("got %v", paths)
	}
}

// TestFirstFormatOfTheLockIsReplaced checks that this is the only change, and that the user is notified.
func TestFirstFormatOfTheLockIsReplaced(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("x")))
	for name, text := range map[string]string{
		"YAML": "# Written by kctrl\nversion: kctrl/v1\nfiles:\n- path: \"a b\"\n  sha256: " + sum + "\n  template: t\n",
		"JSON": `{"version": "kctrl/v1", "files": [{"path": "a b", "sha256": "` + sum + `", "template": "t"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			fsys := afero.NewMemMapFs()
			write(t, fsys, map[string]string{project.LockFile: text, "a b": "x"})
			plan := New(afero.NewIOFS(fsys))
			must(t, plan.Write("a b", []byte("x"), "t"))
			if plan.Len() != 0 {
				t.Errorf("another spelling counts as a change: %s", plan.Diff())
			}
			must(t, plan.Apply(t.Context(), fsys, "test"))
			got, err := afero.ReadFile(fsys, project.LockFile)
			must(t, err)
			if want := string((&project.Lock{}).Marshal()) + "a b\t" + sum + "\tt\n"; string(got) != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestFirstLineOfTheLockStays checks that a lock of another kctrl, whose first line has another text, stays as it is.
func TestFirstLineOfTheLockStays(t *testing.T) {
	lock := &project.Lock{}
	lock.Record("a", []byte("x"), "t")
	_, entries, _ := strings.Cut(string(lock.Marshal()), "\n")
	text := "# PROJECT.lock kctrl/v2: a list.\n" + entries
	fsys := afero.NewMemMapFs()
	write(t, fsys, map[string]string{project.LockFile: text, "a": "x"})
	plan := New(afero.NewIOFS(fsys))
	must(t, plan.Write("a", []byte("x"), "t"))
	must(t, plan.Apply(t.Context(), fsys, "test"))
	if got, err := afero.ReadFile(fsys, project.LockFile); err != nil || string(got) != text {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestOverlayHasTheNewContents(t *testing.T) {
	p := New(fstest.MapFS{"gone.go": {}, "same.go": {Data: []byte("same")}})
	must(t, p.Write("api/v1/x.go", []byte("package v1"), "t"))
	must(t, p.Write("same.go", []byte("same"), ""))
	must(t, p.Delete("gone.go"))
	overlay := p.Overlay(filepath.FromSlash("/project"))
	if got := string(overlay[filepath.FromSlash("/project/api/v1/x.go")]); got != "package v1" || len(overlay) != 2 {
		t.Errorf("got %v", overlay)
	}
}

func TestRootIsNeverLeft(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	must(t, os.Symlink(outside, filepath.Join(dir, "api")))
	must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "Makefile")))
	must(t, os.Symlink("real", filepath.Join(dir, "link")))
	must(t, os.WriteFile(filepath.Join(dir, "real"), []byte("real"), 0o644))
	root, err := transaction.Open(dir)
	must(t, err)
	defer root.Close()

	for _, path := range []string{"api/v1/x.go", "Makefile", "api"} {
		if err := New(afero.NewIOFS(root)).WriteFile(File{Path: path, Content: []byte("evil"), Force: true}); err == nil {
			t.Errorf("%s: planned over a link to the outside", path)
		}
		blind := New(fstest.MapFS{})
		must(t, blind.Write(path, []byte("evil"), ""))
		if err := blind.Apply(t.Context(), root, "test"); err == nil {
			t.Errorf("%s: written over a link to the outside", path)
		}
	}
	for call, err := range map[string]error{
		"open": second(root.Open("../x")), "create": second(root.Create("api/x")), "mkdir": root.Mkdir("../x", 0o755),
		"mkdirall": root.MkdirAll("api/x", 0o755), "remove": root.Remove("api/secret"), "removeall": root.RemoveAll("../x"),
		"rename": root.Rename("real", "api/real"), "chmod": root.Chmod("api/secret", 0o777),
		"stat": second(root.Stat("api/secret")),
	} {
		if err == nil {
			t.Errorf("%s leaves the root", call)
		}
	}
	p := New(afero.NewIOFS(root))
	must(t, p.WriteFile(File{Path: "link", Content: []byte("x"), Force: true}))
	if err := p.Apply(t.Context(), root, "test"); err == nil || err.Error() != "link: a symbolic link is in the way" {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(outside)
	content, _ := os.ReadFile(filepath.Join(outside, "secret"))
	if err != nil || len(entries) != 1 || string(content) != "secret" {
		t.Errorf("outside: %v, %q, %v", entries, content, err)
	}
}

func second[T any](_ T, err error) error { return err }
