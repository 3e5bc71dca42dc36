package informer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

func version(o listwatch.Object) []int {
	n, _ := strconv.Atoi(o.ResourceVersion)
	return []int{n}
}

// S02
//
// Stronger: an index is a value instead of a name, so two indexes cannot conflict, and its keys are typed.
func TestIndexCanBeAddedLater(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := listwatch.New("a", "b")
		inf := start(t, s, in(options{}))
		byDigit := informer.NewIndex(versionDigit)
		inf.AddIndex(byDigit)
		s.Create("c")
		synctest.Wait()
		inf.AddIndex(byDigit)
		if got := names(byDigit.Get(inf.Store(), "all")); got != "a b c" {
			t.Errorf("got %s", got)
		}
	})
}

// S01
func TestObjectIsFoundUnderEachOfItsValuesOnce(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := listwatch.New("a")
		twice := informer.NewIndex(func(o listwatch.Object) []string { return []string{o.Name, o.Name, "x" + o.Name} })
		inf := start(t, s, in(options{Indexes: []informer.Indexer[listwatch.Object]{twice}}))
		for value, want := range map[string]string{"a": "a", "xa": "a", "b": ""} {
			if got := names(twice.Get(inf.Store(), value)); got != want {
				t.Errorf("%s: got %q", value, got)
			}
		}
		s.Delete("a")
		synctest.Wait()
		if got := names(twice.Get(inf.Store(), "a")); got != "" {
			t.Errorf("after the deletion: %q", got)
		}
	})
}

// S01
func TestRangeIsInTheOrderOfTheValues(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		random := rand.New(rand.NewPCG(5, 6))
		s := listwatch.New()
		for i := range 1500 {
			s.Create(fmt.Sprint("o", i))
		}
		byAge := informer.NewIndex(version)
		inf := start(t, s, in(options{Indexes: []informer.Indexer[listwatch.Object]{byAge}}))
		for round := range 100 {
			for range 30 {
				mutateOne(s, fmt.Sprint("o", random.IntN(1600)), random)
			}
			if round%20 == 10 {
				s.Cut(apierrors.NewResourceExpired("gone"))
				pass(20 * time.Second)
			}
			synctest.Wait()
			from := random.IntN(s.Version)
			to := from + random.IntN(2000)
			var got, want []int
			for at, o := range byAge.Range(inf.Store(), from, to) {
				if strconv.Itoa(at) != o.ResourceVersion {
					t.Fatalf("%s at %d", o.ResourceVersion, at)
				}
				got = append(got, at)
			}
			for _, o := range inf.Store().All() {
				if at := version(o)[0]; from <= at && at < to {
					want = append(want, at)
				}
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("round %d: from %d to %d: got %d values, want %d", round, from, to, len(got), len(want))
			}
		}
	})
}

func mutateOne(s *listwatch.Source, name string, random *rand.Rand) {
	_, exists := s.Objects[listwatch.KeyOf(name)]
	switch {
	case !exists:
		s.Create(name)
	case random.IntN(2) == 0:
		s.Delete(name)
	default:
		s.Update(name)
	}
}

func TestIndexThatWasNotAddedPanics(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "an index by int was not added") {
			t.Errorf("got %s", got)
		}
	}()
	informer.NewIndex(version).Get(build(listwatch.New(), options{}).Store(), 1)
}
