package plan

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/kctrl-dev/kctrl/internal/transaction"
	"github.com/spf13/afero"
)

func TestDiffIsUnified(t *testing.T) {
	p := New(fstest.MapFS{
		"a.txt": {Data: []byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n")}, "b.txt": {Data: []byte("x")}, "c.bin": {Data: []byte("\x00")},
	})
	own := func(path, content string) {
		must(t, p.WriteFile(File{Path: path, Content: []byte(content), Force: true}))
	}
	own("a.txt", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
	must(t, p.Delete("b.txt"))
	own("c.bin", "\xff")
	own("d/empty", "")
	own("d/new", "one\ntwo")
	want := `diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -2,7 +2,7 @@
 2
 3
 4
-5
+five
 6
 7
 8
diff --git a/b.txt b/b.txt
deleted file mode 100644
--- a/b.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
\ No newline at end of file
diff --git a/c.bin b/c.bin
Binary files a/c.bin and b/c.bin differ
diff --git a/d/empty b/d/empty
new file mode 100644
diff --git a/d/new b/d/new
new file mode 100644
--- /dev/null
+++ b/d/new
@@ -0,0 +1,2 @@
+one
+two
\ No newline at end of file
`
	if diff := cmp.Diff(want, p.Diff()); diff != "" {
		t.Error(diff)
	}
}

func TestGitAppliesTheDiff(t *testing.T) {
	dir := t.TempDir()
	root, err := transaction.Open(dir)
	must(t, err)
	defer root.Close()
	startingTree(t, root)
	write(t, root, map[string]string{"lines": strings.Repeat("same\n", 40) + "end", "crlf": "a\r\nb\r\n"})
	p := mixedPlan(t, root)
	must(t, p.WriteFile(File{Path: "lines", Content: []byte("new\n" + strings.Repeat("same\n", 40) + "end\n"),
		Force: true}))
	must(t, p.WriteFile(File{Path: "crlf", Content: []byte("a\r\nc\r\n"), Force: true}))

	git := exec.Command("git", "apply", "--whitespace=nowarn", "-")
	git.Dir = dir
	git.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
	git.Stdin = strings.NewReader(p.Diff())
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, p.Diff())
	}
	for c := range p.Changes() {
		content, err := afero.ReadFile(root, c.Path)
		if c.Op == Delete {
			if err == nil {
				t.Errorf("%s is still there", c.Path)
			}
			continue
		}
		if err != nil || string(content) != string(c.After) {
			t.Errorf("%s: %q, %v", c.Path, content, err)
		}
	}
}

func TestEmptyPlanHasNoDiff(t *testing.T) {
	p := New(fstest.MapFS{})
	if p.Diff() != "" || p.Len() != 0 {
		t.Error(p.Diff())
	}
}
