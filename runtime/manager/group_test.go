package manager

import (
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/cache"
)

func TestACacheThatIsAddedStartsWithTheCaches(t *testing.T) {
	if got := groupOf(&cache.Cache{}); got != caches {
		t.Errorf("it is among the %s", got)
	}
}
