package golangci

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"

	"github.com/kctrl-dev/kctrl/vet"
)

func TestPluginHasTheRulesThatAreNotDisabled(t *testing.T) {
	build, err := register.GetPlugin("kctrl")
	if err != nil {
		t.Fatal(err)
	}
	p, err := build(map[string]any{"disable": []string{"blockingsleep"}})
	if err != nil {
		t.Fatal(err)
	}
	analyzers, err := p.BuildAnalyzers()
	if err != nil || len(analyzers) != len(vet.Analyzers)-1 {
		t.Errorf("got %d analyzers and %v, want all of %d but one", len(analyzers), err, len(vet.Analyzers))
	}
	if p.GetLoadMode() != register.LoadModeTypesInfo {
		t.Errorf("load mode %q has no types", p.GetLoadMode())
	}
}
