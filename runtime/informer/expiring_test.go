package informer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/informer"
)

func contentOf(s *informer.ExpiringStore[string, int]) string {
	var all []string
	for key, value := range s.All() {
		all = append(all, fmt.Sprint(key, value))
	}
	return strings.Join(all, " ")
}

// S04
func TestValueLastsForItsTimeAfterItWasSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := informer.NewExpiringStore[string, int](time.Minute)
		s.Set("a", 1)
		s.Set("b", 2)
		pass(30 * time.Second)
		s.Set("a", 3)
		pass(30*time.Second - 1)
		if value, ok := s.Get("b"); !ok || value != 2 || s.Len() != 2 || contentOf(s) != "b2 a3" {
			t.Errorf("before: %v %v, %d, %s", value, ok, s.Len(), contentOf(s))
		}
		pass(1)
		if value, ok := s.Get("b"); ok || value != 0 || s.Len() != 1 || contentOf(s) != "a3" {
			t.Errorf("after: %v %v, %d, %s", value, ok, s.Len(), contentOf(s))
		}
		s.Delete("a")
		s.Set("a", 4)
		pass(time.Minute - 1)
		if contentOf(s) != "a4" {
			t.Errorf("set again: %s", contentOf(s))
		}
		pass(1)
		if contentOf(s) != "" {
			t.Errorf("at the end: %s", contentOf(s))
		}
	})
}

// S04
//
// Stronger: what is never read again is removed too, so the memory is bounded by what is set within one TTL.
func TestExpiringStoreBehavesAsAMapWithTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(9, 9))
		s := informer.NewExpiringStore[string, int](time.Minute)
		values, until := map[string]int{}, map[string]time.Time{}
		for step := range 5000 {
			key := fmt.Sprint("k", random.IntN(20))
			switch random.IntN(6) {
			case 0:
				s.Delete(key)
				delete(values, key)
			case 1:
				<-time.After(time.Duration(random.IntN(20)) * time.Second)
			default:
				s.Set(key, step)
				values[key], until[key] = step, time.Now().Add(time.Minute)
			}
			for key := range values {
				if !time.Now().Before(until[key]) {
					delete(values, key)
				}
			}
			if s.Len() != len(values) {
				t.Fatalf("step %d: %d values, want %d", step, s.Len(), len(values))
			}
			for key, value := range s.All() {
				if values[key] != value {
					t.Fatalf("step %d: %s is %d, want %d", step, key, value, values[key])
				}
			}
		}
	})
}
