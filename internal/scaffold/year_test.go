package scaffold_test

import (
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

// TestNewFilesHaveTheYearOfTheHeader checks headers with YEAR, as in projects of kubebuilder. New files have the year
// of existing generated code, and commands that render the project again recognize its files.
func TestNewFilesHaveTheYearOfTheHeader(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	p.put("hack/boilerplate.go.txt", "/*\nCopyright YEAR The authors.\n*/\n")
	p.put("api/v0/zz_generated.deepcopy.go", "/*\nCopyright 2019 The authors.\n*/\n\npackage v0\n")
	p.mustRun(guestbook)
	before := p.tree()
	for name, text := range before {
		if path.Ext(name) == ".go" && strings.Contains(string(text), "YEAR") {
			t.Errorf("%s begins with\n%.60s", name, text)
		}
	}
	if name, text := p.read("guestbook_types.go"); !strings.HasPrefix(text, "/*\nCopyright 2019 The authors.\n*/\n\n") {
		t.Errorf("%s begins with\n%.60s", name, text)
	}
	p.wantNothing(guestbook)
	p.mustRun(shelf)
	p.mustRun(renaming{scaffold.RenameOptions{Group: "webapp", Kind: "Shelf", To: "Rack", Kctrl: memoryKctrl},
		scaffold.PlanRenameKind})
	if _, text := p.read("rack_types.go"); !strings.HasPrefix(text, "/*\nCopyright 2019 The authors.\n*/\n\n") {
		t.Errorf("what was renamed begins with\n%.60s", text)
	}
	p.mustRun(deletion{scaffold.DeleteOptions{Group: "webapp", Kind: "Rack"}, scaffold.PlanDeleteAPI})
	if after := p.tree(); !maps.EqualFunc(before, after, func(a, b []byte) bool { return string(a) == string(b) }) {
		for name := range after {
			if string(before[name]) != string(after[name]) {
				t.Errorf("%s is\n%s\nand was\n%s", name, after[name], before[name])
			}
		}
		t.Error("the tree is another one")
	}
}
