package load

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestRightsCountWhereverTheyStand reads RBAC markers that controller-gen does not see.
func TestRightsCountWhereverTheyStand(t *testing.T) {
	dir := writeArchive(t, txtar.Parse([]byte(`
-- controller.go --
package controller

// +kubebuilder:rbac:groups=a,resources=free,verbs=get

// Reconcile has a comment.
// +kubebuilder:rbac:groups=a,resources=function,verbs=get
func Reconcile() {
	// +kubebuilder:rbac:groups=a,resources=body,verbs=get
}

// Name has one too.
// +kubebuilder:rbac:groups=a,resources=constant,verbs=get
const Name = ""
`)))
	for lenient, want := range map[bool]int{false: 4, true: 1} {
		program, err := Load(t.Context(), Config{Dir: dir, Lenient: lenient})
		if err != nil {
			t.Fatal(err)
		}
		rules := len(program.Packages()[0].Only("kubebuilder:rbac").Syntax[0].Comments)
		if rules != want {
			t.Errorf("lenient %v: %d rules count, want %d", lenient, rules, want)
		}
	}
}

// writeArchive writes the files of an archive into a module of its own.
func writeArchive(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	files := append([]txtar.File{{Name: "go.mod", Data: []byte("module example.com/project\n")}}, archive.Files...)
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
