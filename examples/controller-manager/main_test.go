package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/examples/deployment"
	"github.com/kctrl-dev/kctrl/examples/internal/world"
	"github.com/kctrl-dev/kctrl/examples/replicaset"
	"github.com/kctrl-dev/kctrl/examples/ttlafterfinished"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/garbagecollector"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/registry"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// replicaVariable makes the test binary run as the controller manager.
const replicaVariable = "EXAMPLES_TEST_REPLICA"

func TestMain(m *testing.M) {
	if os.Getenv(replicaVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestDescriptorsAreValid(t *testing.T) {
	if err := newRegistry().Validate(); err != nil {
		t.Fatal(err)
	}
}

func TestOnAServer(t *testing.T) {
	env := testenv.Start(t)
	t.Run("controllers are switched by names, aliases and gates", func(t *testing.T) { testSwitches(t, env) })
	t.Run("a wrong name is a usage error", func(t *testing.T) { testWrongName(t, env) })
	t.Run("a Deployment becomes pods and back, though a replica is killed", func(t *testing.T) { testStory(t, env) })
}

func testSwitches(t *testing.T, env *testenv.Env) {
	all := []string{deployment.Name, replicaset.Name, garbagecollector.Name, ttlafterfinished.Name}
	for flags, without := range map[string]string{
		"":                                       "",
		"--controllers=*,-deployment":            deployment.Name,
		"--controllers=*,-garbagecollector":      garbagecollector.Name,
		"--controllers=*,-" + replicaset.Name:    replicaset.Name,
		"--feature-gates=TTLAfterFinished=false": ttlafterfinished.Name,
	} {
		r := newRegistry()
		enabled := map[string]bool{}
		r.Register(registry.Descriptor{Name: "probe", New: func(_ context.Context,
			c *registry.Context) (registry.Controller, error) {
			for _, name := range all {
				enabled[name] = c.ControllerEnabled(name)
			}
			return nil, nil
		}})
		set := flag.NewFlagSet("controller-manager", flag.ContinueOnError)
		r.BindFlags(set)
		if err := set.Parse(strings.Fields(flags)); err != nil {
			t.Fatal(err)
		}
		m, err := manager.New(env.Config, manager.Options{Scheme: newScheme(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.AddTo(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		for _, name := range all {
			want[name] = name != without
		}
		if !maps.Equal(enabled, want) {
			t.Errorf("%q: got %v, want %v", flags, enabled, want)
		}
	}
}

func testWrongName(t *testing.T, env *testenv.Env) {
	cmd := replica(env, "--controllers=deploymnt")
	text, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(text), `did you mean "deployment"?`) {
		t.Errorf("exit code %d (%v):\n%s", code, err, text)
	}
}

func replica(env *testenv.Env, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append(args, "--kubeconfig="+env.Kubeconfig, "--leader-election-namespace=default",
		"--health-probe-bind-address=0", "--metrics-bind-address=0")...)
	cmd.Env = append(os.Environ(), replicaVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// process is a running replica.
type process struct {
	*exec.Cmd
	output bytes.Buffer
}

// start starts a replica. After it is killed, other replicas can take its lease within seconds.
func start(t *testing.T, env *testenv.Env) *process {
	t.Helper()
	p := &process{Cmd: replica(env, "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
		"--leader-elect-retry-period=200ms")}
	p.Stdout, p.Stderr = &p.output, &p.output
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			p.Process.Kill()
			p.Wait()
		}
		if t.Failed() {
			t.Logf("%s", &p.output)
		}
	})
	return p
}

// story is a test in its own namespace.
type story struct {
	*testing.T
	*world.World
	live *client.REST
}

func testStory(t *testing.T, env *testenv.Env) {
	scheme := newScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	first := start(t, env)
	leader := holder(t, live, "")
	second := start(t, env)
	w, err := world.New(t.Context(), world.NewView(t, env.Config), "story")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := story{t, w, live}
	s.Quota["one"], s.Quota["two"] = math.MaxInt, math.MaxInt

	d := newDeployment(3)
	s.ok(s.Create(t.Context(), d))
	s.rolledOut(3, "one")
	s.edit(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "two" })
	s.rolledOut(3, "two")

	s.ok(first.Process.Kill())
	first.Wait()
	s.edit(func(d *appsv1.Deployment) { *d.Spec.Replicas = 5 })
	s.rolledOut(5, "two")
	if now := holder(t, live, leader); now == leader {
		t.Errorf("%s leads still", leader)
	}

	s.deletesFinishedJob()
	s.ok(s.DeleteDeployment(t.Context(), "web", metav1.DeletePropagationForeground))
	s.ok(s.Await(t.Context(), func() string {
		if n := len(s.ReplicaSetsOf("one")) + len(s.ReplicaSetsOf("two")); n > 0 {
			return fmt.Sprintf("%d ReplicaSets are there still", n)
		}
		return ""
	}))
	s.ok(second.Process.Signal(os.Interrupt))
	s.ok(second.Wait())
}

func (s story) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s story) edit(change func(*appsv1.Deployment)) {
	s.Helper()
	s.ok(world.Edit(s.Context(), s.World, "web", change))
}

// holder waits for a leader with another name than the given one, and returns its name.
func holder(t *testing.T, live *client.REST, than string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
		Name: "controller-manager.kctrl.dev"}}
	lease = testenv.Await(ctx, t, live, lease, func(l *coordinationv1.Lease) bool {
		return l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" && *l.Spec.HolderIdentity != than
	})
	return *lease.Spec.HolderIdentity
}

func newDeployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "one"}}},
			},
		},
	}
}

// rolledOut acts as the kubelet until the rollout is complete, and expects the given number of ready pods, all with the
// image.
func (s story) rolledOut(want int32, image string) {
	s.Helper()
	for played := true; played; {
		var err error
		s.ok(s.Settle(s.Context()))
		played, err = s.PlayPods(s.Context())
		s.ok(err)
	}
	sets := s.ReplicaSetsOf(image)
	text := fmt.Sprintf("Deployment web: %d of %s", want, image)
	if len(sets) != 1 || sets[0].Status.AvailableReplicas != want || !strings.Contains(s.State(), text) ||
		!strings.Contains(s.State(), "NewReplicaSetAvailable") {
		s.Fatalf("it is not %d of %s but\n%s", want, image, s.State())
	}
}

// deletesFinishedJob creates a finished Job and waits until it is deleted.
func (s story) deletesFinishedJob() {
	s.Helper()
	now, second := metav1.Now(), int32(1)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "once"},
		Spec: batchv1.JobSpec{TTLSecondsAfterFinished: &second, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "one"}},
		}}},
	}
	s.ok(s.Create(s.Context(), job))
	job.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue,
			LastTransitionTime: now})
	}
	s.ok(s.live.Status().Update(s.Context(), job))
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	testenv.AwaitGone(ctx, s, s.live, job)
}
