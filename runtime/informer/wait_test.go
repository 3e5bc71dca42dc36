package informer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// C12
//
// Stronger: what is waited for and cannot come any more is an error, however it ended: by the end of Run, of the handler, of
// the namespace, or of the context.
func TestEveryWaitEnds(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		c := newCluster("x/a", "y/b")
		for _, s := range c {
			s.onWatch, s.onList = always(forbidden("watch")), always(forbidden("list"))
		}
		one := build(c["x"], in(options{}))
		private := informer.NewPrivate(c["x"], func(informer.Event[obj]) {}, in(options{}))
		several := scoped(t, c, in(options{}), "x", "y")
		f := informer.NewFactory(informer.FactoryOptions{Namespaces: []string{"x"}})
		share(t, f, c, "pods")
		removed := one.AddHandler(func(informer.Event[obj]) {})
		removedFromAll := several.AddHandler(func(informer.Event[obj]) {})
		waits := map[string]struct {
			wait func(context.Context) error
			want error
		}{
			"informer":              {one.Wait, informer.ErrEnded},
			"handler":               {one.AddHandler(func(informer.Event[obj]) {}).Wait, informer.ErrEnded},
			"removed handler":       {removed.Wait, informer.ErrRemoved},
			"private":               {private.Wait, informer.ErrEnded},
			"scoped":                {several.Wait, informer.ErrEnded},
			"scoped handler":        {several.AddHandler(func(informer.Event[obj]) {}).Wait, informer.ErrEnded},
			"removed of the scoped": {removedFromAll.Wait, informer.ErrRemoved},
			"factory":               {f.Wait, informer.ErrEnded},
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running []chan error
		for _, run := range []func(context.Context) error{one.Run, private.Run, several.Run, f.Run} {
			ended := make(chan error, 1)
			running = append(running, ended)
			go func() { ended <- run(ctx) }()
		}
		synctest.Wait()
		why := errors.New("no patience")
		for name, w := range waits {
			impatient, give := context.WithCancelCause(t.Context())
			give(why)
			if err := w.wait(impatient); !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}
		outcomes := map[string]chan error{}
		for name, w := range waits {
			outcome := make(chan error, 1)
			outcomes[name] = outcome
			go func() { outcome <- w.wait(t.Context()) }()
		}
		synctest.Wait()
		removed.Remove()
		removedFromAll.Remove()
		cancel()
		for _, ended := range running {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		for name, w := range waits {
			if err := <-outcomes[name]; !errors.Is(err, w.want) {
				t.Errorf("%s: got %v, want %v", name, err, w.want)
			}
			if err := w.wait(t.Context()); !errors.Is(err, w.want) {
				t.Errorf("%s, after the end: got %v, want %v", name, err, w.want)
			}
		}
		if err := several.Wait(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("the error does not say why: %v", err)
		}
	})
}
