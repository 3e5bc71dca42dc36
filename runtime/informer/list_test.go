package informer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// R01, R03
func TestFirstListTakesAnyVersionAndLaterOnesNothingOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		_, sink := reflect(t, s, listOnly)
		expect(t, "requests", s.took(), `list "0" limit 500`, `watch "11"`)
		s.create("b")
		s.cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `list "12"`, `watch "12"`)
		expect(t, "deltas", sink.got(), "Replaced 11 a", "Added 12 b", "Replaced 12 a b")
	})
}

// R01, R02
func TestRefusedVersionMakesTheListAskForTheLatest(t *testing.T) {
	legacy := apierrors.NewTimeoutError("Too large resource version: 99, current: 12", 1)
	oldest := apierrors.NewTimeoutError("", 1)
	oldest.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "Too large resource version"}}
	gone := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonGone}}
	for name, refusal := range map[string]error{
		"expired": apierrors.NewResourceExpired("expired"), "gone": gone, "too large": tooLarge(), "legacy": legacy, "oldest": oldest,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource("a")
				r, _ := reflect(t, s, listOnly)
				s.took()
				s.onList = once(refusal)
				s.cut(apierrors.NewResourceExpired("expired"))
				pass(2 * time.Second)
				expect(t, "requests", s.took(), `list "11"`, `list "" limit 500`, `watch "11"`)
				if r.Err() != nil {
					t.Errorf("error after recovery: %v", r.Err())
				}
				s.cut(apierrors.NewResourceExpired("expired again"))
				pass(4 * time.Second)
				expect(t, "requests later", s.took(), `list "11"`, `watch "11"`)
			})
		})
	}
}

// R02
func TestOtherTimeoutOfAListIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		s.onList = once(apierrors.NewTimeoutError("slow", 0))
		r, _ := reflect(t, s, listOnly)
		if !apierrors.IsTimeout(r.Err()) {
			t.Errorf("got %v, want the timeout", r.Err())
		}
	})
}

// R03
func TestListIsPagedOnceTheServerHasShownToHaveNoCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		for i := range 501 {
			s.create(fmt.Sprint("o", i))
		}
		s.paging = true
		reflect(t, s, listOnly)
		expect(t, "requests", s.took(), `list "0" limit 500`, `list "" limit 500 continue 511/500`, `watch "511"`)
		s.cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `list "511" limit 500`, `list "" limit 500 continue 511/500`, `watch "511"`)
	})
}

// R03
func TestPageSizeIsUsedAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b", "c")
		s.paging = true
		_, sink := reflect(t, s, informer.ReflectorOptions[obj]{DisableWatchList: true, PageSize: 2})
		expect(t, "requests", s.took(), `list "0" limit 2`, `list "" limit 2 continue 13/2`, `watch "13"`)
		expect(t, "deltas", sink.got(), "Replaced 13 a b c")
	})
}

// R03
func TestListForgottenBetweenPagesIsReadInOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b", "c")
		s.paging = true
		s.onList = once(nil, apierrors.NewResourceExpired("the continue token is too old"))
		_, sink := reflect(t, s, informer.ReflectorOptions[obj]{DisableWatchList: true, PageSize: 2})
		expect(t, "requests", s.took(), `list "0" limit 2`, `list "" limit 2 continue 13/2`, `list "0"`, `watch "13"`)
		expect(t, "deltas", sink.got(), "Replaced 13 a b c")
	})
}

// drifting is a source whose later pages claim to be newer than the first.
type drifting struct{ *source }

func (d drifting) List(ctx context.Context, options metav1.ListOptions) (*client.Page[obj], error) {
	page, err := d.source.List(ctx, options)
	if options.Continue != "" {
		page.ResourceVersion = "99"
	}
	return page, err
}

// R03
func TestWatchStartsWhereTheFirstPageWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b", "c")
		s.paging = true
		reflect(t, drifting{s}, informer.ReflectorOptions[obj]{DisableWatchList: true, PageSize: 2})
		expect(t, "requests", s.took(), `list "0" limit 2`, `list "" limit 2 continue 13/2`, `watch "13"`)
	})
}
