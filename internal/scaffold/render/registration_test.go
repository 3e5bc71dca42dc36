package render

import (
	"testing"

	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/register"
)

func TestImportNamesAreUnique(t *testing.T) {
	proj := &project.Project{Domain: "example.com", Repo: "example.com/x", Name: "x", MultiGroup: true,
		Resources: []project.Resource{
			{Group: "foo.policy", Domain: "example.com", Version: "v1", Kind: "A", Plural: "as", API: true, Controller: true},
			{Group: "foo-policy", Domain: "example.com", Version: "v1", Kind: "A", Plural: "as", API: true, Controller: true},
			{Group: "foo-policy", Domain: "example.com", Version: "v1", Kind: "B", Plural: "bs", API: true},
		}}
	view, err := registerView(register.Program{}, proj, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, i := range view.Imports {
		if names[i.Alias] {
			t.Errorf("two imports are named %s: %v", i.Alias, view.Imports)
		}
		names[i.Alias] = true
	}
	if len(view.APIs) != 2 || len(view.Setups) != 2 {
		t.Errorf("got APIs %v and controllers %v", view.APIs, view.Setups)
	}
}
