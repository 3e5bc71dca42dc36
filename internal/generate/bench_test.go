package generate_test

import (
	"os"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// BenchmarkRun generates everything for a project as kctrl scaffolds it.
func BenchmarkRun(b *testing.B) {
	dir := project(b, "scaffold")
	for b.Loop() {
		plan := plan.New(os.DirFS(dir))
		if err := generate.Run(b.Context(), dir, plan, nil, everything()); err != nil {
			b.Fatal(err)
		}
	}
}
