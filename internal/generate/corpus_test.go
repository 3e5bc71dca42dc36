package generate_test

import (
	"os"
	"strings"
	"testing"
	"fmt"
	"time"
	"path/filepath"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

func TestCorpus(t *testing.T) {
	dir := os.Getenv("CORPUS")
	o := everything()
	o.Paths = strings.Fields(os.Getenv("CPATHS"))
	o.AllowUnknown = []string{"kubebuilder:validation:OneOf"}
	start := time.Now()
	plan := scaffold.NewPlan(os.DirFS(t.TempDir()))
	err := generate.Run(t.Context(), dir, plan, nil, o)
	fmt.Println(time.Since(start))
	if err != nil { fmt.Println(report(err)) }
	for n, c := range outputs(plan) {
		p := filepath.Join(os.Getenv("COUT"), n)
		os.MkdirAll(filepath.Dir(p), 0o755)
		os.WriteFile(p, []byte(c), 0o644)
	}
}
