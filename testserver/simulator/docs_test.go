package simulator

import (
	"os"
	"strings"
	"testing"
)

// TestDocsHaveEachRow checks that docs/sim.md has a row for each kind of fault and for each invariant.
func TestDocsHaveEachRow(t *testing.T) {
	page, err := os.ReadFile("../../docs/sim.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind, info := range kinds {
		if row := "| `" + info.group + "` | `" + string(kind) + "` |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/sim.md lacks the row %s", row)
		}
	}
	for _, i := range Invariants {
		if row := "| `" + i.Name + "` | " + i.Rule + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/sim.md lacks the row %s", row)
		}
	}
}
