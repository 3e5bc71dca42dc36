package generate_test

import (
	"os"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// BenchmarkRun generates all files of a scaffolded project.
func BenchmarkRun(b *testing.B) {
	dir := project(b, "scaffold")
	for b.Loop() {
		p := plan.New(os.DirFS(dir))
		if err := generate.Run(b.Context(), dir, p, nil, everything()); err != nil {
			b.Fatal(err)
		}
	}
}
