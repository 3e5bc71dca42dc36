package informer_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// reports collects the findings of a mutation detector.
type reports struct {
	mu  sync.Mutex
	all []string
}

func (r *reports) add(e *informer.MutationError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e.Error())
}

func (r *reports) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.all = nil }()
	return r.all
}

// modify changes the object a in the store. The update of b makes the detector run after the change, so that the race
// detector finds no race.
func modify(s *listwatch.Source, store informer.Store[listwatch.Object]) {
	o, _ := store.Get(listwatch.KeyOf("a"))
	o.Labels = map[string]string{"changed": "yes"}
	s.Update("b")
	synctest.Wait()
}

// S06
//
// Stronger: the detector also compares objects that are no longer in the store. Each finding names the object and shows
// the difference, and the program continues.
func TestModifiedObjectOfTheStoreIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, found := listwatch.New("a", "b"), &reports{}
		inf := start(t, s, options{Mutated: found.add})
		s.Update("a")
		s.Cut(apierrors.NewResourceExpired("gone"))
		s.Create("c")
		pass(3 * time.Second)
		expect(t, "reports of nothing", found.got())
		modify(s, inf.Store())
		pass(2 * time.Second)
		got := found.got()
		want := "things ns/a was modified in the store; copy what you change:\n"
		if len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.Contains(got[0], `"changed": "yes"`) ||
			strings.Contains(got[0], "uid") {
			t.Errorf("got %q", got)
		}
	})
}

// S06
func TestModificationIsFoundWhenTheObjectLeavesTheStore(t *testing.T) {
	for name, leave := range map[string]func(s *listwatch.Source){
		"deleted":  func(s *listwatch.Source) { s.Delete("a") },
		"updated":  func(s *listwatch.Source) { s.Update("a") },
		"replaced": func(s *listwatch.Source) { s.Cut(apierrors.NewResourceExpired("gone")); s.Delete("a"); s.Forget() },
		"ended":    func(*listwatch.Source) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, found := listwatch.New("a", "b"), &reports{}
				inf := build(s, options{Mutated: found.add})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { _ = inf.Run(ctx); close(done) }()
				synctest.Wait()
				modify(s, inf.Store())
				leave(s)
				if name == "replaced" {
					pass(5 * time.Second)
				}
				synctest.Wait()
				cancel()
				<-done
				if got := found.got(); len(got) != 1 {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}
