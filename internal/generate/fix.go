package generate

import (
	"context"
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// Fix plans the changes that correct invalid markers in the source, if only one correction exists. [Run] reports all
// other problems.
func Fix(ctx context.Context, dir string, p *plan.Plan, o Options) error {
	program, err := load.Load(ctx, load.Config{Dir: dir, Overlay: overlay(dir, p), Patterns: o.Paths, Lenient: true})
	if err != nil {
		return ctx.Err() // Fix cannot correct files that do not parse.
	}
	findings, _ := lint.Check(program, lint.Config{AllowUnknown: o.AllowUnknown, Lenient: true})
	byFile := map[string][]edit.Splice{}
	for _, finding := range findings {
		if f := finding.Fix; f != nil {
			byFile[f.File] = append(byFile[f.File], edit.Splice{From: f.Offset, To: f.Offset + f.Length, Text: f.Text})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		before, err := p.Read(name)
		if err != nil {
			return err
		}
		if err := p.Edit(name, edit.Apply(before, byFile[name])); err != nil {
			return err
		}
	}
	return nil
}
