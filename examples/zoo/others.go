package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/testserver/simulator"
)

// The simulator is compared with the tests below. They check only the end of a run: the operator must come to rest with
// the objects of a run without errors. Their operators have all permissions.

// seeds is the number of runs with random errors.
const seeds = 100

// share is the fraction of calls that a client with random errors fails.
const share = 0.25

// atEnd returns the names of all rules except names, which are rules about the end of a run. The returned rules are
// disabled.
func atEnd(names ...string) (disabled []string) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	for _, i := range simulator.Invariants {
		if !wanted[i.Name] {
			disabled = append(disabled, i.Name)
		}
	}
	return disabled
}

// randomErrors runs an operator with a client that fails some of its calls, once for each seed. It returns the first
// seed for which the end state differs from the end state of a run without errors, or 0.
func (s specimen) randomErrors(t *testing.T, fixed bool) (seed uint64, err error) {
	s.user = ""
	operator := s.operator(fixed)
	reference, err := simulator.Learn(t, operator, 1)
	if err != nil {
		return 0, err
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		failing := s
		failing.setup = func(m controller.Manager, fixed bool) error {
			return s.setup(failingManager{m, rand.New(rand.NewPCG(seed, 0))}, fixed)
		}
		operator.Setup = failing.operator(fixed).Setup
		plan := simulator.Plan{Seed: seed}
		failure, err := simulator.Try(t, operator, reference, plan, atEnd("converges", "state"))
		if failure != nil || err != nil {
			return seed, err
		}
	}
	return 0, nil
}

// scaffoldedTest reports whether a test like the test of a scaffolded controller finds the bug. The test creates the
// samples, waits for the objects that its author expects, deletes the samples, and waits until they are gone. The
// expected objects are the fixed operator's objects.
func (s specimen) scaffoldedTest(t *testing.T, fixed bool) (found bool, err error) {
	s.user = ""
	operator := s.operator(true)
	expected, err := simulator.Learn(t, operator, 1)
	if err != nil {
		return false, err
	}
	operator.Setup = s.operator(fixed).Setup
	for _, then := range []simulator.Kind{"", simulator.Delete} {
		plan := simulator.Plan{Seed: 1, Then: then}
		failure, err := simulator.Try(t, operator, expected, plan, atEnd("runs", "converges", "state"))
		if failure != nil || err != nil {
			return failure != nil, err
		}
	}
	return false, nil
}

// failingManager is a manager with a client that fails some of its calls before they reach the server.
type failingManager struct {
	controller.Manager
	random *rand.Rand
}

func (m failingManager) Client() client.Client {
	var mu sync.Mutex
	fail := func() error {
		mu.Lock()
		defer mu.Unlock()
		if m.random.Float64() < share {
			return apierrors.NewInternalError(errors.New("random error"))
		}
		return nil
	}
	return client.Intercept(m.Manager.Client(), client.Interceptor{
		Get: func(
			ctx context.Context, c client.Client, key object.Key, obj object.Object, opts ...client.GetOption,
		) error {
			return then(fail(), func() error { return c.Get(ctx, key, obj, opts...) })
		},
		List: func(ctx context.Context, c client.Client, list object.List, opts ...client.ListOption) error {
			return then(fail(), func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.Client, obj object.Object, opts ...client.CreateOption) error {
			return then(fail(), func() error { return c.Create(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c client.Client, obj object.Object, opts ...client.UpdateOption) error {
			return then(fail(), func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(
			ctx context.Context, c client.Client, obj object.Object, patch client.Patch, opts ...client.PatchOption,
		) error {
			return then(fail(), func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.Client, obj object.Object, opts ...client.ApplyOption) error {
			return then(fail(), func() error { return c.Apply(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.Client, obj object.Object, opts ...client.DeleteOption) error {
			return then(fail(), func() error { return c.Delete(ctx, obj, opts...) })
		},
		DeleteAllOf: func(
			ctx context.Context, c client.Client, obj object.Object, opts ...client.DeleteAllOfOption,
		) error {
			return then(fail(), func() error { return c.DeleteAllOf(ctx, obj, opts...) })
		},
		SubResourceUpdate: func(
			ctx context.Context, c client.Client, name string, obj object.Object, opts ...client.UpdateOption,
		) error {
			return then(fail(), func() error { return c.SubResource(name).Update(ctx, obj, opts...) })
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, name string, obj object.Object, p client.Patch, opts ...client.PatchOption,
		) error {
			return then(fail(), func() error { return c.SubResource(name).Patch(ctx, obj, p, opts...) })
		},
	})
}

// then calls do unless there is an error.
func then(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

// tally counts the bugs that a kind of test finds, and its false alarms.
type tally struct{ found, falseAlarms int }

// add counts the results for an operator and its twin, and returns the cell of the table.
func (c *tally) add(found string, alarm bool) string {
	if found != "" {
		c.found++
	}
	if alarm {
		c.falseAlarms++
		return or(found, "-") + ", **false alarm**"
	}
	return or(found, "-")
}

// compare runs the two other tests on an operator and its twin, and returns the cells of the table.
func (v *visit) compare(s specimen) (random, scaffolded string) {
	seed, err := s.randomErrors(v.t, false)
	alarm, twinErr := s.randomErrors(v.t, true)
	if err = errors.Join(err, twinErr); err != nil {
		random = err.Error()
	} else {
		if seed > 0 {
			random = fmt.Sprintf("seed %d", seed)
		}
		random = v.random.add(random, alarm > 0)
	}
	found, err := s.scaffoldedTest(v.t, false)
	wrong, twinErr := s.scaffoldedTest(v.t, true)
	if err = errors.Join(err, twinErr); err != nil {
		return random, err.Error()
	}
	if found {
		scaffolded = "found"
	}
	return random, v.scaffolded.add(scaffolded, wrong)
}
