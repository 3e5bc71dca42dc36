package migrate

import (
	"go/token"
	"testing"
)

// TestCollectorsThatNothingServesAreLeft where they are registered, as nobody would miss them before a dashboard does.
func TestCollectorsThatNothingServesAreLeft(t *testing.T) {
	p := &program{collected: &token.Position{Filename: "pkg/metrics/metrics.go", Line: 7}}
	if left := p.unserved(); len(left) != 1 || left[0].File != "pkg/metrics/metrics.go" || left[0].Line != 7 || left[0].Rewritten {
		t.Errorf("of collectors that no manager serves %+v is left", left)
	}
	if p.served = true; len(p.unserved()) > 0 {
		t.Errorf("of collectors that a manager serves something is left: %+v", p.unserved())
	}
	if left := (&program{}).unserved(); len(left) > 0 {
		t.Errorf("without collectors something is left: %+v", left)
	}
}
