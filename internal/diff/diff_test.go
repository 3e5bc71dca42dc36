package diff_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kctrl-dev/kctrl/internal/diff"
	"github.com/kctrl-dev/kctrl/internal/diff/input"
	"github.com/kctrl-dev/kctrl/internal/diff/witness"
	"github.com/kctrl-dev/kctrl/internal/testing/labeled"
	"github.com/kctrl-dev/kctrl/internal/verify/definition"
)

// sides returns the two CRDs of a labeled change. API servers accept both.
func sides(t *testing.T, l *labeled.Change) (before, after *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	before, after, err := l.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{before, after} {
		if crd == nil {
			continue
		}
		if refused, err := definition.Refused(crd); err != nil || len(refused) > 0 {
			t.Errorf("%s: API servers refuse the CRD: %v %v", l.Name, refused, err)
		}
	}
	return before, after
}

func readTable(t *testing.T) []labeled.Change {
	t.Helper()
	table, err := labeled.Changes()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func sideOf(name string, crd *apiextensionsv1.CustomResourceDefinition) *input.Side {
	side := &input.Side{Name: name, CRDs: map[string]*input.CRD{}}
	if crd != nil {
		side.CRDs[crd.Name] = &input.CRD{CustomResourceDefinition: crd}
	}
	return side
}

// TestLabeledChangesAreFound checks that Compare reports exactly the breaking changes among the labeled ones, and that
// two servers, each with one of the CRDs, confirm the witnesses.
func TestLabeledChangesAreFound(t *testing.T) {
	table := readTable(t)
	breaking, witnesses := 0, 0
	for _, l := range table {
		before, after := sides(t, &l)
		report, err := diff.Compare(t.Context(), sideOf("old", before), sideOf("new", after), diff.Options{Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, f := range report.Findings {
			line := strings.Join([]string{f.Field, f.Change, strings.ReplaceAll(f.Classes(), ", ", ",")}, " ")
			if f.Shown() == nil {
				line += " !"
			} else {
				witnesses++
			}
			got = append(got, line)
			confirm(t, l.Name, before, after, f.Witness)
			confirm(t, l.Name, after, before, f.Backward)
		}
		slices.Sort(got)
		slices.Sort(l.Break)
		breaking += len(l.Break)
		if !slices.Equal(got, l.Break) {
			t.Errorf("%s: got %q, want %q", l.Name, got, l.Break)
			for _, f := range report.Findings {
				t.Logf("  %s: %s", f.Title(), f.Outcome("old", "new"))
			}
		}
	}
	t.Logf("%d changes, %d breaks, %d with witness", len(table), breaking, witnesses)
	if len(table) < 80 {
		t.Errorf("%d labeled changes, want 80", len(table))
	}
}

// confirm checks a witness with new servers.
func confirm(t *testing.T, name string, lenient, strict *apiextensionsv1.CustomResourceDefinition, w *witness.Witness) {
	t.Helper()
	if w == nil {
		return
	}
	if reason := refuted(witness.NewServer(lenient), witness.NewServer(strict), w); reason != "" {
		t.Errorf("%s: the witness %v is none: %s", name, w.Object, reason)
	}
}

// refuted returns why an object is not a witness for two servers, or "" if it is one.
func refuted(lenient, strict *witness.Server, w *witness.Witness) string {
	r := witness.Request{Version: w.Version, Object: w.Object, Before: w.Before, Status: w.Status}
	accepted := lenient.Write(r)
	if len(accepted.Refused) > 0 || len(accepted.Dropped) > 0 {
		return "it is not accepted"
	}
	got := strict.Write(r)
	if len(got.Refused) == 0 && (w.Reason != "" || reflect.DeepEqual(got.Object, accepted.Object)) {
		return "it is accepted"
	}
	return ""
}
