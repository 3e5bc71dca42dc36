package leaderelection

import (
	"testing"
	"time"
)

// A clock that stands still while the machine sleeps is not the only one that is looked at.
func TestTermIsOverWhenEitherClockSaysSo(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name     string
		deadline time.Time
		over     bool
	}{
		{"both before", now.Add(time.Minute), false},
		{"both after", now.Add(-time.Minute), true},
		{"the wall clock after", now.Round(0).Add(-time.Minute), true},
		{"the wall clock before", now.Round(0).Add(time.Minute), false},
	} {
		if over := since(c.deadline, now) >= 0; over != c.over {
			t.Errorf("%s: over %v", c.name, over)
		}
		tn := &tenure{lease: "ns/l"}
		tn.deadline.Store(&c.deadline)
		if err := tn.err(); (err != nil) != c.over {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
