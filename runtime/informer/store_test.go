package informer_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// versionDigit returns the last digit of an object's version, and nothing if that is 0.
func versionDigit(o listwatch.Object) []string {
	digit := o.ResourceVersion[len(o.ResourceVersion)-1:]
	if digit == "0" {
		return nil
	}
	return []string{digit, "all"}
}

func names(objects []listwatch.Object) string {
	var all []string
	for _, o := range objects {
		all = append(all, o.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// S01
func TestStoreIsRead(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		store := start(t, listwatch.New("a", "b"), in(options{})).Store()
		if o, ok := store.Get(listwatch.KeyOf("b")); !ok || o.Name != "b" {
			t.Errorf("Get: %v %v", o, ok)
		}
		if o, ok := store.Get(object.Key{Name: "b"}); ok || o != nil {
			t.Errorf("Get of nothing: %v %v", o, ok)
		}
		if _, ok := maps.Collect(store.All())[listwatch.KeyOf("a")]; store.Len() != 2 || !ok {
			t.Errorf("%d objects, with a: %v", store.Len(), ok)
		}
		for key, o := range store.All() {
			if key != object.KeyOf(o) {
				t.Errorf("%v has key %v", o, key)
			}
			break
		}
	})
}

// C03
func TestIterationSeesTheStateAtItsBeginning(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := listwatch.New("a", "b", "c")
		store := start(t, s, in(options{})).Store()
		seen := 0
		for range store.All() {
			if seen++; seen == 1 {
				s.Create("d")
				s.Delete("a")
				s.Delete("b")
				synctest.Wait()
			}
		}
		if seen != 3 || store.Len() != 2 {
			t.Errorf("saw %d objects, then there are %d", seen, store.Len())
		}
	})
}

// S01
func TestIndexesAgreeWithTheObjects(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		random := rand.New(rand.NewPCG(3, 4))
		s := listwatch.New()
		byVersion := informer.NewIndex(versionDigit)
		store := start(t, s, in(options{Indexes: []informer.Indexer[listwatch.Object]{byVersion}})).Store()
		for round := range 300 {
			name := fmt.Sprint("o", random.IntN(8))
			_, exists := s.Objects[listwatch.KeyOf(name)]
			switch {
			case !exists:
				s.Create(name)
			case random.IntN(3) == 0:
				s.Delete(name)
			default:
				s.Update(name)
			}
			if random.IntN(20) == 0 {
				s.Cut(apierrors.NewResourceExpired("gone"))
				pass(2 * time.Second)
			}
			synctest.Wait()
			for _, value := range []string{"all", "0", "1", "5", "9"} {
				var want []listwatch.Object
				for _, o := range store.All() {
					if slices.Contains(versionDigit(o), value) {
						want = append(want, o)
					}
				}
				if got := byVersion.Get(store, value); names(got) != names(want) {
					t.Fatalf("round %d: index %s has %q, want %q", round, value, names(got), names(want))
				}
			}
		}
	})
}
