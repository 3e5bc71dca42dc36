// Package golangci is a module plugin that runs the rules of kctrl vet in golangci-lint. A program that imports it has
// the linter kctrl.
package golangci

import (
	"slices"
	"strings"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/kctrl-dev/kctrl/vet"
)

func init() { register.Plugin("kctrl", New) }

// Settings are the linter's settings in the golangci-lint configuration.
type Settings struct {
	// Disable lists the rules that do not run.
	Disable []string `json:"disable"`
}

type plugin struct{ settings Settings }

// New returns the plugin with the settings from the configuration, which may be nil.
func New(settings any) (register.LinterPlugin, error) {
	decoded, err := register.DecodeSettings[Settings](settings)
	if err != nil {
		return nil, err
	}
	return &plugin{decoded}, nil
}

// BuildAnalyzers returns the analyzers of the enabled rules. Their messages do not begin with the rule's name, because
// golangci-lint adds it.
func (p *plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	plain := map[*analysis.Analyzer]*analysis.Analyzer{}
	var enabled []*analysis.Analyzer
	for _, rule := range vet.Analyzers { // an analyzer comes after those that it requires
		plain[rule] = withoutName(rule)
		for i, required := range plain[rule].Requires {
			if own := plain[required]; own != nil {
				plain[rule].Requires[i] = own
			}
		}
		if !slices.Contains(p.settings.Disable, rule.Name) {
			enabled = append(enabled, plain[rule])
		}
	}
	return enabled, nil
}

// withoutName returns a copy of a rule whose messages do not begin with its name.
func withoutName(rule *analysis.Analyzer) *analysis.Analyzer {
	plain := *rule
	plain.Requires = slices.Clone(rule.Requires)
	plain.Run = func(pass *analysis.Pass) (any, error) {
		inner := *pass
		inner.Report = func(d analysis.Diagnostic) {
			d.Message = strings.TrimPrefix(d.Message, rule.Name+": ")
			pass.Report(d)
		}
		return rule.Run(&inner)
	}
	return &plain
}

// GetLoadMode requests type information, because the rules follow values.
func (p *plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
