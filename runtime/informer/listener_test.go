package informer_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// C04
//
// Stronger: adding a handler queues the whole store in one step and does not wait for the handler, so it blocks nothing
// else.
func TestLateHandlerSeesEachObjectOnce(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := listwatch.New("a")
		inf := start(t, s, in(options{}))
		logs := make([]*log, 20)
		for i := range logs {
			logs[i] = &log{}
			go inf.AddHandler(logs[i].handle)
			go s.Update("a")
			go s.Create(fmt.Sprint("o", i))
		}
		synctest.Wait()
		for i, l := range logs {
			state := make(map[string]string)
			for _, line := range l.got() {
				name, version, _ := strings.Cut(line[1:], "@")
				from, to, isUpdate := strings.Cut(version, ">")
				switch {
				case isUpdate && state[name] != from:
					t.Errorf("handler %d: %s, but it has %s", i, line, state[name])
				case !isUpdate && state[name] != "":
					t.Errorf("handler %d: %s, but it has it", i, line)
				}
				state[name] = strings.TrimSuffix(version, "!")
				if isUpdate {
					state[name] = to
				}
			}
			for key, o := range inf.Store().All() {
				if state[key.Name] != o.ResourceVersion {
					t.Errorf("handler %d has %s@%s, the store %s", i, key.Name, state[key.Name], o.ResourceVersion)
				}
			}
		}
	})
}

// C04
func TestHandlersDoNotWaitForEachOther(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("a"), &log{}
		inf := start(t, s, in(options{}))
		release := make(chan struct{})
		inf.AddHandler(func(informer.Event[listwatch.Object]) { <-release })
		inf.AddHandler(l.handle)
		s.Update("a")
		synctest.Wait()
		expect(t, "events", l.got(), "+a@11!", "~a@11>12")
		close(release)
	})
}

// C05
func TestRegistrationIsSyncedAfterItsInitialEvents(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			inBothForms(t, func(t *testing.T, in form) {
				inf := build(listwatch.New("a", "b"), in(options{}))
				if late {
					run(t, inf)
				}
				step := make(chan struct{})
				reg := inf.AddHandler(func(informer.Event[listwatch.Object]) { <-step })
				if !late {
					run(t, inf)
				}
				for n := range 2 {
					synctest.Wait()
					if isClosed(reg.Synced()) {
						t.Errorf("synced after %d of 2 events", n)
					}
					step <- struct{}{}
				}
				<-reg.Synced()
			})
		})
	}
}

// C05
func TestRegistrationWithoutObjectsIsSyncedWithTheInformer(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := listwatch.New()
		s.NoBegin = true
		inf := start(t, s, in(options{}))
		reg := inf.AddHandler(func(informer.Event[listwatch.Object]) {})
		synctest.Wait()
		if isClosed(reg.Synced()) {
			t.Error("synced before the informer")
		}
		s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: "10", InitialEventsEnd: true})
		<-reg.Synced()
	})
}

// C06
func TestRemovedHandlerIsNotCalledAgain(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l, other := listwatch.New("a"), &log{}, &log{}
		inf := start(t, s, in(options{}))
		reg := inf.AddHandler(l.handle)
		inf.AddHandler(other.handle)
		synctest.Wait()
		reg.Remove()
		reg.Remove()
		s.Update("a")
		synctest.Wait()
		expect(t, "events", l.got(), "+a@11!")
		expect(t, "events of the other", other.got(), "+a@11!", "~a@11>12")
	})
}

// C06
//
// Stronger: after Remove has returned, the handler receives no further event. Remove never waits, so it cannot
// deadlock. Done is closed after the last call has returned.
func TestRemoveDoesNotWaitAndDoneFollowsTheLastCall(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		inf := start(t, listwatch.New("a", "b"), in(options{}))
		release, calls := make(chan struct{}), 0
		reg := inf.AddHandler(func(informer.Event[listwatch.Object]) { calls++; <-release })
		synctest.Wait()
		reg.Remove()
		synctest.Wait()
		if isClosed(reg.Done()) {
			t.Error("done while the handler runs")
		}
		close(release)
		<-reg.Done()
		if isClosed(reg.Synced()) || calls != 1 {
			t.Errorf("synced: %t, called %d times", isClosed(reg.Synced()), calls)
		}
		if err := reg.Wait(t.Context()); !errors.Is(err, informer.ErrRemoved) {
			t.Errorf("got %v", err)
		}
	})
}

// C06
func TestHandlerMayWaitForItsRemoval(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		c := newCluster("x/a")
		s := scoped(t, c, in(options{}), "x")
		inf := start(t, listwatch.New("a"), in(options{}))
		for _, add := range []func(informer.Handler[listwatch.Object]) *informer.Registration{inf.AddHandler, s.AddHandler} {
			added := make(chan *informer.Registration, 1)
			reg := add(func(informer.Event[listwatch.Object]) {
				removed := make(chan struct{})
				go func() { (<-added).Remove(); s.RemoveNamespace("x"); close(removed) }()
				<-removed
			})
			added <- reg
			if len(s.Namespaces()) == 0 {
				if err := s.AddNamespace("x"); err != nil {
					t.Fatal(err)
				}
				runScoped(t, s)
			}
			<-reg.Done()
		}
	})
}

// C06
func TestHandlersMayRemoveThemselvesAndEachOther(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := listwatch.New("a", "b")
		inf := build(s, in(options{}))
		var regs [2]*informer.Registration
		calls := 0
		remove := func(informer.Event[listwatch.Object]) {
			for _, reg := range regs {
				reg.Remove()
			}
		}
		regs[0] = inf.AddHandler(func(e informer.Event[listwatch.Object]) { calls++; remove(e) })
		regs[1] = inf.AddHandler(remove)
		run(t, inf)
		s.Update("a")
		synctest.Wait()
		if calls > 1 {
			t.Errorf("called %d times after it removed itself", calls)
		}
	})
}

// C06
func TestHandlerMayBeRemovedBeforeRun(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		l := &log{}
		inf := build(listwatch.New("a"), in(options{}))
		reg := inf.AddHandler(l.handle)
		reg.Remove()
		run(t, inf)
		reg.Remove()
		expect(t, "events", l.got())
	})
}

// C06
func TestHandlerMayAddAHandler(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		l := &log{}
		inf := build(listwatch.New("a"), in(options{}))
		inf.AddHandler(func(informer.Event[listwatch.Object]) { inf.AddHandler(l.handle) })
		run(t, inf)
		expect(t, "events", l.got(), "+a@11!")
	})
}

// C08: the test runs itself in a child process, because the panic must end the process.
//
// Stronger: the process always ends, so no event is skipped, and no handler continues in an undefined state.
func TestPanicOfAHandlerEndsTheProgram(t *testing.T) {
	const mark = "KCTRL_TEST_PANIC"
	if os.Getenv(mark) != "" {
		inBothForms(t, func(t *testing.T, in form) {
			inf := build(listwatch.New("a"), in(options{}))
			inf.AddHandler(func(informer.Event[listwatch.Object]) { panic("handler is broken") })
			run(t, inf)
		})
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPanicOfAHandlerEndsTheProgram$")
	cmd.Env = append(os.Environ(), mark+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "handler is broken") {
		t.Errorf("got %v, %s", err, out)
	}
}

// C01
//
// While a handler is blocked, the memory for its events grows only with the number of objects. When it continues, it
// receives the last state of each object.
func TestSlowHandlerReceivesTheLastState(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("busy", "quiet"), &log{}
		inf := start(t, s, in(options{}))
		release := make(chan struct{})
		inf.AddHandler(func(e informer.Event[listwatch.Object]) { <-release; l.handle(e) })
		synctest.Wait()
		for i := range 1000 {
			s.Update("busy")
			s.Create(fmt.Sprint("short-lived-", i))
			s.Delete(fmt.Sprint("short-lived-", i))
			synctest.Wait()
		}
		s.Delete("quiet")
		s.Create("quiet")
		close(release)
		synctest.Wait()
		lines := l.got()
		if len(lines) > 300 {
			t.Errorf("got %d events", len(lines))
		}
		last := make(map[string]string)
		for _, line := range lines {
			name, _, _ := strings.Cut(line[1:], "@")
			last[name] += line + " "
		}
		if want := "~busy@11>"; !strings.Contains(last["busy"], want) && !strings.Contains(last["busy"], "+busy@") {
			t.Errorf("busy: %s", last["busy"])
		}
		if !strings.HasSuffix(last["busy"], "3010 ") || !strings.HasSuffix(last["quiet"], "-quiet@3013 +quiet@3014 ") {
			t.Errorf("busy: %s\nquiet: %s", last["busy"], last["quiet"])
		}
	})
}
