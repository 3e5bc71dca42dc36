package rbac_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/rbac"
)

// The markers of the examples grant exactly the permissions that their code needs.
func TestExamplesAreExact(t *testing.T) {
	for _, name := range []string{"examples", "examples/cronjob"} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.Abs(filepath.Join("..", "..", filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			report, err := rbac.Check(t.Context(), rbac.Options{Dir: dir, FS: os.DirFS(dir)})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Roots) != 1 || report.Rules == 0 {
				t.Errorf("programs %v with %d markers", report.Roots, report.Rules)
			}
			for _, problem := range report.Problems {
				t.Error(problem)
			}
			for _, f := range report.Findings {
				if f.Class != rbac.Unproven {
					t.Errorf("%s: %s: %s", f.Pos, f.Class, f.Message)
				}
			}
		})
	}
}
