package generate_test

import (
	"os"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// BenchmarkUnchanged generates everything for a project in which nothing has changed since the last run.
func BenchmarkUnchanged(b *testing.B) {
	dir := project(b, "scaffold")
	o := everything()
	o.Cache = incremental.Store{Dir: b.TempDir()}
	for b.Loop() {
		p := plan.New(os.DirFS(dir))
		if err := generate.Run(b.Context(), dir, p, nil, o); err != nil {
			b.Fatal(err)
		}
	}
}
