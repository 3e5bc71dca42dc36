package manager_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// A writer is an operator that ignores the end of its leader context. These are its roles and its environment
// variables.
const (
	writerRole        = "writer"
	unfencedRole      = "unfenced writer"
	nameVariable      = "MANAGER_TEST_NAME"
	namespaceVariable = "MANAGER_TEST_NAMESPACE"
)

const leaseDuration = 3 * time.Second

// writer sets up an operator that writes its name and a counter into a ConfigMap every few milliseconds, from the time
// it is first elected until its process ends. It ignores its context. An unfenced operator writes with its own client
// instead of the manager's.
func writer(fenced bool) func(controller.Manager) error {
	return func(m controller.Manager) error {
		if err := corev1.AddToScheme(m.Scheme()); err != nil {
			return err
		}
		write := m.Client().Patch
		if !fenced {
			config, err := manager.LoadConfig("")
			if err != nil {
				return err
			}
			own, err := client.New(config, client.Options{Scheme: m.Scheme()})
			if err != nil {
				return err
			}
			write = own.Patch
		}
		return m.Add(worker{name: "writer", runFunc: func(ctx context.Context) error {
			scribble(context.WithoutCancel(ctx), write)
			return nil
		}})
	}
}

func scribble(ctx context.Context, write func(context.Context, object.Object, client.Patch,
	...client.PatchOption) error) {
	fmt.Println("leading")
	tick := time.NewTicker(5 * time.Millisecond)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: os.Getenv(namespaceVariable), Name: "history"}}
	refused := false
	for count := 1; ; count++ {
		patch := fmt.Sprintf(`{"data":{"writer":%q,"count":"%d"}}`, os.Getenv(nameVariable), count)
		within, cancel := context.WithTimeout(ctx, time.Second)
		err := write(within, cm.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
		cancel()
		if errors.Is(err, leaderelection.ErrLost) && !refused {
			refused = true
			fmt.Println("refused")
		}
		<-tick.C
	}
}

// history records all writes of the ConfigMap, in the API server's order.
type history struct {
	mu      sync.Mutex
	writers []string
	changed chan struct{} // closed at the next write
}

// follow creates the ConfigMap and watches it from its creation.
func follow(t *testing.T, c live) *history {
	t.Helper()
	ok(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: c.meta("history")}))
	list := &corev1.ConfigMapList{}
	ok(t, c.List(t.Context(), list, client.InNamespace(c.namespace)))
	stream, err := c.Watch(t.Context(), list, client.InNamespace(c.namespace))
	ok(t, err)
	h := &history{changed: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			event, err := stream.Next()
			if err != nil {
				return
			}
			if cm, is := event.Object.(*corev1.ConfigMap); is && cm.Name == "history" {
				h.add(cm.Data["writer"])
			}
		}
	}()
	t.Cleanup(func() {
		stream.Close()
		<-ended
	})
	return h
}

func (h *history) add(writer string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writers = append(h.writers, writer)
	close(h.changed)
	h.changed = make(chan struct{})
}

// wait waits until writer has made that many writes.
func (h *history) wait(t *testing.T, writer string, times int) {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		h.mu.Lock()
		changed, got := h.changed, 0
		for _, w := range h.writers {
			if w == writer {
				got++
			}
		}
		h.mu.Unlock()
		if got >= times {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("%s has written %d times, want %d", writer, got, times)
		}
	}
}

// turns returns the writers in order, without consecutive repetitions.
func (h *history) turns() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Compact(slices.Clone(h.writers))
}

// startWriter starts a writer with the given kubeconfig.
func (c live) startWriter(t *testing.T, role, name, kubeconfig string) *program {
	t.Helper()
	env := []string{"KUBECONFIG=" + kubeconfig, nameVariable + "=" + name, namespaceVariable + "=" + c.namespace}
	return startProgram(t, role, env, "--leader-election-namespace="+c.namespace, "--graceful-shutdown-timeout=4s",
		"--leader-elect-lease-duration="+leaseDuration.String(), "--leader-elect-renew-deadline=2s",
		"--leader-elect-retry-period=500ms")
}

// takeOver lets one writer lead while another waits, causes a fault at the first, and returns when the second writes.
func takeOver(t *testing.T, c live, role, kubeconfig string,
	fault func(leader *program)) (h *history, leader *program) {
	t.Helper()
	h = follow(t, c)
	leader = c.startWriter(t, role, "one", kubeconfig)
	leader.expectLine(t, "leading")
	follower := c.startWriter(t, writerRole, "two", c.kubeconfig)
	t.Cleanup(func() {
		_ = follower.Process.Kill()
		follower.wait()
	})
	h.wait(t, "one", 100)
	fault(leader)
	begun := time.Now()
	h.wait(t, "two", 1)
	took := time.Since(begun)
	t.Logf("the follower wrote %s after the fault; the lease lasts %s", took.Round(time.Millisecond), leaseDuration)
	if took > 3*leaseDuration {
		t.Errorf("the follower wrote after %s", took)
	}
	return h, leader
}

// wantOneHandover waits for more writes, and checks that the first writer wrote nothing after the second.
func wantOneHandover(t *testing.T, h *history) {
	t.Helper()
	h.wait(t, "two", 200)
	if turns := h.turns(); !slices.Equal(turns, []string{"one", "two"}) {
		t.Errorf("the writers were %q", turns)
	}
}

func testLeaderKilled(t *testing.T, c live) {
	h, leader := takeOver(t, c, writerRole, c.kubeconfig, func(leader *program) { ok(t, leader.Process.Kill()) })
	leader.wait()
	wantOneHandover(t, h)
}

// signalTo sends a signal by its name through the kill command, because package syscall does not define it on every
// system on which the tests must compile.
func signalTo(p *program, name string) error {
	return exec.Command("kill", "-"+name, strconv.Itoa(p.Process.Pid)).Run()
}

func testLeaderFrozen(t *testing.T, c live) {
	h, leader := takeOver(t, c, writerRole, c.kubeconfig, func(leader *program) { ok(t, signalTo(leader, "STOP")) })
	ok(t, signalTo(leader, "CONT"))
	leader.expectLine(t, "refused")
	wantLost(t, leader)
	wantOneHandover(t, h)
}

// testUnfencedLeaderFrozen shows that the test detects writes of a former leader.
func testUnfencedLeaderFrozen(t *testing.T, c live) {
	h, leader := takeOver(t, c, unfencedRole, c.kubeconfig, func(leader *program) { ok(t, signalTo(leader, "STOP")) })
	ok(t, signalTo(leader, "CONT"))
	wantLost(t, leader)
	h.wait(t, "two", 200)
	if turns := h.turns(); len(turns) < 3 {
		t.Errorf("the writers were %q", turns)
	}
}

func testLeaderCutOff(t *testing.T, c live) {
	cable := plug(t, strings.TrimPrefix(c.config.Host, "https://"))
	content, err := os.ReadFile(c.kubeconfig)
	ok(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	ok(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(content), strings.TrimPrefix(c.config.Host, "https://"),
		cable.address())), 0o600))
	h, leader := takeOver(t, c, writerRole, path, func(*program) { cable.cut() })
	cable.repair()
	leader.expectLine(t, "refused")
	wantLost(t, leader)
	wantOneHandover(t, h)
}

// wantLost waits for the end of an operator, whose log must contain the loss of the lease.
func wantLost(t *testing.T, p *program) {
	t.Helper()
	log := p.wait()
	contains(t, log, "lost leadership", `msg="the manager ended"`)
	if code := p.ProcessState.ExitCode(); code != 1 {
		t.Errorf("got exit code %d", code)
	}
}

// testGroupsOnTwoManagers distributes two controllers over two managers.
func testGroupsOnTwoManagers(t *testing.T, c live) {
	opts := manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "guestbook",
		Namespace: c.namespace}}
	running := make(chan string, 10)
	replica := func(name string) {
		m, _ := c.newManager(t, c.config, opts)
		for _, group := range []string{"", "blue"} {
			add(t, m, member{group: group, worker: worker{name: "of " + cmp.Or(group, "main"),
				runFunc: func(ctx context.Context) error {
					running <- name
					<-ctx.Done()
					return nil
				}}})
		}
		start(t, m)
	}
	replica("one")
	replica("two")
	if first, second := <-running, <-running; first == second {
		t.Errorf("both groups are led by %s", first)
	}
}
