package informer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// lying is a source whose lists are not what it streams.
type lying struct{ *source }

func (l lying) List(ctx context.Context, options metav1.ListOptions) (*client.Page[obj], error) {
	page, err := l.source.List(ctx, options)
	if err == nil {
		page.Items[0].ResourceVersion = "5"
		page.Items[1].Name = "other"
	}
	return page, err
}

// W03
//
// Stronger: it is a source around a source and not a variable of the environment, so one test turns it on for one
// informer, and it returns an error that names the objects instead of ending the program.
func TestStreamingListIsComparedWithAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b")
		var found []string
		report := func(e *informer.InconsistencyError) { found = append(found, e.Error()) }
		inf := start(t, informer.Verify(s, report), options{})
		s.update("a")
		synctest.Wait()
		expect(t, "reports of a good server", found)
		expect(t, "requests", s.took(), `watch! ""`, `list "12"`)
		if inf.Store().Len() != 2 || inf.Store().ResourceVersion() != "13" {
			t.Errorf("%d objects at %s", inf.Store().Len(), inf.Store().ResourceVersion())
		}
		start(t, informer.Verify(lying{newSource("a", "b")}, report), options{})
		expect(t, "reports of a bad one", found, "the streaming list and the list at 12 differ: "+
			"ns/a: streamed 11, listed 5; ns/b: not listed; ns/other: not streamed")
	})
}

// W03
func TestVerificationThatFailsProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		s.onList = once(apierrors.NewResourceExpired("compacted"))
		source := informer.Verify(s, func(e *informer.InconsistencyError) { t.Error(e) })
		inf := start(t, source, options{})
		if inf.Store().Len() != 1 || inf.Err() != nil {
			t.Errorf("%d objects, %v", inf.Store().Len(), inf.Err())
		}
		s.onWatch = once(errors.New("no route"))
		s.cut(apierrors.NewResourceExpired("gone"))
		pass(time.Minute)
		if inf.Err() != nil {
			t.Errorf("got %v", inf.Err())
		}
	})
}
