package simulate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// workspace has the module shop of an operator, the module lib with a replacement of its own, and replacements that
// take precedence over those of shop.
const workspace = `
-- go.work --
go 1.26

use (
	./shop
	./lib
)

replace example.com/other => ./forks/other
-- shop/go.mod --
module example.com/shop

go 1.26

replace (
	example.com/kept => ../kept
	example.com/other => ../other
)
-- lib/go.mod --
module example.com/lib

go 1.26

replace (
	example.com/kept => ../lost
	example.com/more => ../more
	example.com/other => ../lost
)
-- lib/go.sum --
-- want --
module example.com/shop

go 1.26

replace example.com/kept => ../kept

replace example.com/other => /forks/other

replace example.com/more => /more

replace example.com/lib => /lib
`

// TestSimulationsUseTheWorkspace adds the modules and the replacements of a workspace to a go.mod, which the build uses
// without the workspace.
func TestSimulationsUseTheWorkspace(t *testing.T) {
	dir := t.TempDir()
	want := ""
	for _, f := range txtar.Parse([]byte(workspace)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "")
	for _, work := range []string{filepath.Join(dir, "go.work"), "off"} {
		file, err := readMod(filepath.Join(dir, "shop", "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if work == "off" {
			t.Setenv("GOWORK", "off")
			text, _ := file.Format()
			want = string(text)
		}
		sources := map[string]string{}
		sums, err := useWorkspace(t.Context(), file, filepath.Join(dir, "shop"), sources)
		if err == nil {
			err = replace(file, sources)
		}
		if err != nil {
			t.Fatal(err)
		}
		file.Cleanup()
		text, err := file.Format()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(bytes.ReplaceAll(text, []byte(dir), nil)); got != want {
			t.Error(cmp.Diff(want, got))
		}
		if isOff := len(sums) == 0; isOff != (work == "off") {
			t.Errorf("GOWORK=%s: files with checksums: %v", work, sums)
		}
	}
}
