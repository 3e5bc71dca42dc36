package diff_test

import (
	"os"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diff"
	"github.com/kctrl-dev/kctrl/internal/diff/input"
)

func TestProf(t *testing.T) {
	a, b := os.Getenv("DIFF_A"), os.Getenv("DIFF_B")
	if a == "" {
		t.SkipNow()
	}
	old, err := input.Load(t.Context(), input.Options{Dir: a}, a)
	if err != nil {
		t.Fatal(err)
	}
	now, err := input.Load(t.Context(), input.Options{Dir: b}, b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := diff.Compare(t.Context(), old, now, diff.Options{Now: time.Now()})
	t.Log(len(r.Findings), err)
}
