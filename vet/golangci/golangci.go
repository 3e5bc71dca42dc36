// Package golangci makes the rules of kctrl vet a module plugin of golangci-lint: a program that imports it has the
// linter kctrl.
package golangci

import (
	"slices"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/kctrl-dev/kctrl/vet"
)

func init() { register.Plugin("kctrl", New) }

// Settings are the settings of the linter in the configuration of golangci-lint.
type Settings struct {
	// Disable names rules that do not run.
	Disable []string `json:"disable"`
}

type plugin struct{ settings Settings }

// New returns the plugin with settings from the configuration, which may be nil.
func New(settings any) (register.LinterPlugin, error) {
	decoded, err := register.DecodeSettings[Settings](settings)
	if err != nil {
		return nil, err
	}
	return &plugin{decoded}, nil
}

// BuildAnalyzers returns the enabled rules.
func (p *plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return slices.DeleteFunc(slices.Clone(vet.Analyzers), func(a *analysis.Analyzer) bool {
		return slices.Contains(p.settings.Disable, a.Name)
	}), nil
}

// GetLoadMode asks for types: the rules follow values.
func (p *plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
