package convention_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/testing/module"
	"github.com/kctrl-dev/kctrl/internal/verify/convention"
)

const wrong = `
-- go.mod --
module example.com/wrong

go 1.26
-- v1/types.go --
// +groupName=wrong.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type WrongSpec struct {
	// +required
	On bool ` + "`json:\"on\"`" + `
	// some documentation
	// +optional
	Ratio float64 ` + "`json:\"ratio\"`" + `
	Count uint ` + "`json:\"Count_of\"`" + `
	Wait metav1.Duration ` + "`json:\"wait\"`" + `
	Phase string ` + "`json:\"phase\"`" + `
	Items map[string]Item ` + "`json:\"items\"`" + `
	List []Item ` + "`json:\"list\"`" + `
	// +optional
	Part Item ` + "`json:\"part,omitempty\"`" + `
	SecretReference string ` + "`json:\"secretReference\"`" + `
	Conditions []metav1.Condition ` + "`json:\"conditions\"`" + `
}

type WrongStatus struct {
	// done is correct except for the marker.
	// +required
	Done string ` + "`json:\"done\"`" + `
}

type Item struct {
	// name is the name.
	// +required
	Name string ` + "`json:\"name\"`" + `
	// parts are right.
	// +optional
	// +listType=atomic
	Parts []string ` + "`json:\"parts,omitempty\"`" + `
	// conditions are right.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition ` + "`json:\"conditions,omitempty\"`" + `
}
`

func TestEveryRuleFindsSomethingWrongAndNothingRight(t *testing.T) {
	dir := module.Write(t, txtar.Parse([]byte(wrong)))
	program, err := load.Load(t.Context(), load.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	found := convention.Check(program)
	right := lineOf("type Item struct")
	for _, e := range found {
		if e.Pos.Line > right {
			t.Errorf("found wrong in what is right: %v", e)
		}
	}
	for _, rule := range convention.Rules {
		if rule.Help == "" || !slices.ContainsFunc(found, func(e *diagnostic.Error) bool { return e.Code == rule.Code }) {
			t.Errorf("%s finds nothing, or has no help", rule.Code)
		}
	}
}

// lineOf returns the line in the archive's Go file that contains text.
func lineOf(text string) int {
	_, file, _ := strings.Cut(wrong, "-- v1/types.go --\n")
	before, _, _ := strings.Cut(file, text)
	return strings.Count(before, "\n") + 1
}
