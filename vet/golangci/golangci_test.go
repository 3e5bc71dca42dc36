package golangci

import (
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

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

// golangci-lint prints the name of the analyzer in front of its message.
func TestMessagesDoNotRepeatTheRule(t *testing.T) {
	p := &plugin{}
	analyzers, err := p.BuildAnalyzers()
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule}, "./testdata")
	if err != nil || packages.PrintErrors(loaded) > 0 {
		t.Fatal(err)
	}
	graph, err := checker.Analyze(analyzers, loaded, nil)
	if err != nil {
		t.Fatal(err)
	}
	var messages []string
	for _, action := range graph.Roots {
		for _, d := range action.Diagnostics {
			messages = append(messages, action.Analyzer.Name+": "+d.Message)
		}
	}
	want := []string{"blockingsleep: time.Sleep blocks settle (", "ignorecomment: //kctrl:ignore names no rule"}
	for _, text := range want {
		if !strings.Contains(strings.Join(messages, "\n"), text) || len(messages) != len(want) {
			t.Errorf("got %q, want %q", messages, want)
		}
	}
}
