package load

import (
	"testing"

	"github.com/kctrl-dev/kctrl/internal/testing/module"
	"golang.org/x/tools/txtar"
)

// TestRightsCountWhereControllerGenLooks checks that RBAC markers in places where controller-gen ignores them are
// ignored.
func TestRightsCountWhereControllerGenLooks(t *testing.T) {
	dir := module.Write(t, txtar.Parse([]byte(`
-- controller.go --
package controller

// +kubebuilder:rbac:groups=a,resources=free,verbs=get

// Reconcile has a comment.
// +kubebuilder:rbac:groups=a,resources=function,verbs=get
func Reconcile() {
	// +kubebuilder:rbac:groups=a,resources=body,verbs=get
}

// Name has one too.
// +kubebuilder:rbac:groups=a,resources=constant,verbs=get
const Name = ""
`)))
	for _, lenient := range []bool{false, true} {
		program, err := Load(t.Context(), Config{Dir: dir, Lenient: lenient})
		if err != nil {
			t.Fatal(err)
		}
		rules := len(program.Packages()[0].Only("kubebuilder:rbac").Syntax[0].Comments)
		if rules != 1 {
			t.Errorf("lenient %v: %d rules count, want 1", lenient, rules)
		}
	}
}
