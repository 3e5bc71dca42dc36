package generate

import (
	"context"
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/load"
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
	byFile := map[string][]lint.Fix{}
	for _, finding := range findings {
		if finding.Fix != nil {
			byFile[finding.Fix.File] = append(byFile[finding.Fix.File], *finding.Fix)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		before, err := p.Read(name)
		if err != nil {
			return err
		}
		after := apply(before, byFile[name])
		if err := p.Edit(name, after); err != nil {
			return err
		}
	}
	return nil
}

// apply applies the fixes to content, last to first, so that offsets stay valid.
func apply(content []byte, fixes []lint.Fix) []byte {
	after := slices.Clone(content)
	slices.SortFunc(fixes, func(a, b lint.Fix) int { return b.Offset - a.Offset })
	for _, fix := range fixes {
		after = slices.Replace(after, fix.Offset, fix.Offset+fix.Length, []byte(fix.Text)...)
	}
	return after
}
