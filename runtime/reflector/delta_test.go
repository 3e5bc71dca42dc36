package reflector

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/internal/compact"
)

func TestFoldedDeltasAreMarkedAsMerged(t *testing.T) {
	state := func(version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "x", ResourceVersion: version}}
	}
	type delta = Delta[*metav1.PartialObjectMetadata]
	for _, both := range [][2]DeltaType{{Added, Updated}, {Updated, Updated}, {Updated, Deleted}, {Added, Deleted}} {
		merged, how := delta{Type: both[0], Object: state("1")}.fold(delta{Type: both[1], Object: state("2")})
		if how != compact.Merged || !merged.Merged || merged.Object.ResourceVersion != "2" {
			t.Errorf("%v and %v: got %+v", both[0], both[1], merged)
		}
	}
}
