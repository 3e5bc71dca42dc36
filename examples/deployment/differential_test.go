package deployment_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctrl-dev/kctrl/examples/deployment"
	"github.com/kctrl-dev/kctrl/examples/internal/world"
	"github.com/kctrl-dev/kctrl/examples/replicaset"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// recording is the file with kube-controller-manager's results for the seeds 1 to recorded.
const (
	recording = "testdata/rollouts.json.gz"
	recorded  = 6
)

// recordVariable names the environment variable that makes TestRollsOutAsKubeControllerManagerDoes write the recording
// if it is "record".
const recordVariable = "KCTRL_TEST_FIDELITY"

// tries is the number of attempts for a sequence with different results, because kube-controller-manager's controllers
// race with each other.
const tries = 8

// TestRollsOutAsKubeControllerManagerDid runs the recorded sequences with our Deployment and ReplicaSet controllers and
// the garbage collector, and compares the results with the recording.
func TestRollsOutAsKubeControllerManagerDid(t *testing.T) {
	theirs := &side{name: "kube-controller-manager", stories: load(t)}
	if len(theirs.stories) != recorded {
		t.Fatalf("%s has %d sequences, want %d: record it again", recording, len(theirs.stories), recorded)
	}
	ours := newSide(t, "our controllers alone", testenv.WithGarbageCollector())
	ours.run(t, &deployment.Reconciler{}, &replicaset.Reconciler{CountTerminating: true})
	converge(t, upTo(recorded), theirs, []*side{ours}, func(try int, sequences []uint64) { ours.play(t, try, sequences) })
}

// TestRollsOutAsKubeControllerManagerDoes applies random sequences of changes on three API servers. The first has
// kube-controller-manager with all controllers. The second has it without its Deployment controller, beside ours. The
// third has only our Deployment and ReplicaSet controllers and the garbage collector.
//
// After each change, and whenever pods become ready, all servers must reach the same Deployments and ReplicaSets:
// sizes, revisions, annotations, counts and conditions.
func TestRollsOutAsKubeControllerManagerDoes(t *testing.T) {
	theirs := newSide(t, "kube-controller-manager",
		testenv.WithControllerManager("deployment-controller", "replicaset-controller", "garbage-collector-controller"))
	if os.Getenv(recordVariable) == "record" {
		for try := range tries {
			theirs.play(t, try, upTo(recorded))
		}
		if !t.Failed() {
			store(t, theirs.stories)
		}
		return
	}
	ours := []*side{
		newSide(t, "our Deployment controller", testenv.WithControllerManager("replicaset-controller",
			"garbage-collector-controller")),
		newSide(t, "our controllers alone", testenv.WithGarbageCollector()),
	}
	ours[0].run(t, &deployment.Reconciler{})
	ours[1].run(t, &deployment.Reconciler{}, &replicaset.Reconciler{CountTerminating: true})
	var all []uint64
	seeds.Each(t, 10, func(_ *testing.T, seed uint64) { all = append(all, seed) })
	converge(t, all, theirs, ours, func(try int, sequences []uint64) {
		var playing sync.WaitGroup
		for _, s := range append(ours, theirs) {
			playing.Go(func() { s.play(t, try, sequences) })
		}
		playing.Wait()
	})
}

// converge repeats sequences until each result of our controllers is also a result of kube-controller-manager. It fails
// for sequences without a common result after all attempts.
func converge(t *testing.T, sequences []uint64, theirs *side, ours []*side, play func(try int, sequences []uint64)) {
	t.Helper()
	count := len(sequences)
	for try := range tries {
		play(try, sequences)
		if t.Failed() {
			return
		}
		sequences = slices.DeleteFunc(sequences, func(seed uint64) bool {
			return !slices.ContainsFunc(ours, func(s *side) bool { return !s.agrees(theirs, seed) })
		})
		t.Logf("try %d: %d of %d sequences differ: %d", try+1, len(sequences), count, sequences)
		for _, seed := range sequences {
			for _, s := range ours {
				t.Logf("sequence %d under %s\n%s", seed, s.name, difference(theirs.story(seed, try), s.story(seed, try)))
			}
		}
		if len(sequences) == 0 {
			return
		}
	}
	t.Errorf("sequences %d differ in each try", sequences)
}

func upTo(n uint64) (all []uint64) {
	for seed := range n {
		all = append(all, seed+1)
	}
	return all
}

// load reads the recording.
func load(t *testing.T) (stories map[uint64][]string) {
	t.Helper()
	file, err := os.Open(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err == nil {
		err = json.NewDecoder(unzipped).Decode(&stories)
	}
	if err != nil {
		t.Fatalf("read %s: %v", recording, err)
	}
	return stories
}

// store writes the recording: each story once.
func store(t *testing.T, stories map[uint64][]string) {
	t.Helper()
	for seed, all := range stories {
		slices.Sort(all)
		stories[seed] = slices.Compact(all)
	}
	var data bytes.Buffer
	zipped := gzip.NewWriter(&data)
	err := errors.Join(json.NewEncoder(zipped).Encode(stories), zipped.Close())
	if err == nil {
		err = os.WriteFile(recording, data.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reasoned lists the differences that README.md explains, as prefixes of lines under kube-controller-manager and under
// ours.
var reasoned = []struct{ theirs, ours string }{
	{"Progressing=True NewReplicaSetCreated: ", "Progressing=True ReplicaSetUpdated: "},
}

func same(theirs, ours string) bool {
	return slices.EqualFunc(strings.Split(theirs, "\n"), strings.Split(ours, "\n"), func(a, b string) bool {
		a, b = strings.TrimSpace(a), strings.TrimSpace(b)
		return a == b || slices.ContainsFunc(reasoned, func(r struct{ theirs, ours string }) bool {
			return strings.HasPrefix(a, r.theirs) && strings.HasPrefix(b, r.ours)
		})
	})
}

// difference returns both stories from their last common step to the end of the first step that differs.
func difference(theirs, ours string) string {
	a, b := strings.Split(theirs, "step "), strings.Split(ours, "step ")
	for i := range min(len(a), len(b)) {
		if !same(a[i], b[i]) {
			return fmt.Sprintf("after\n%sunder kube-controller-manager: step %sunder ours: step %s",
				strings.Join(a[max(0, i-2):i], "step "), a[i], b[i])
		}
	}
	return "no difference"
}

// side is an API server with its controllers.
type side struct {
	name    string
	env     *testenv.Env
	view    *world.View
	stories map[uint64][]string // results of each sequence, by attempt
}

// story is the result of a sequence in one attempt, or the last one in a recording.
func (s *side) story(seed uint64, try int) string {
	all := s.stories[seed]
	return all[min(try, len(all)-1)]
}

func newSide(t *testing.T, name string, controllers testenv.Option) *side {
	env := testenv.Start(t, controllers)
	return &side{name, env, world.NewView(t, env.Config), map[uint64][]string{}}
}

// run runs our controllers until the test ends.
func (s *side) run(t *testing.T, controllers ...interface {
	SetupWithManager(controller.Manager) error
}) {
	m, err := manager.New(s.env.Config, manager.Options{
		Controller: manager.ControllerOptions{MaxConcurrentReconciles: 5},
		Logger:     slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err == nil {
		err = errors.Join(appsv1.AddToScheme(m.Scheme()), corev1.AddToScheme(m.Scheme()))
	}
	for _, c := range controllers {
		if err == nil {
			err = c.SetupWithManager(m)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	world.Run(t, m.Run)
}

// agrees reports whether any result of a sequence is also a result of the other side.
func (s *side) agrees(theirs *side, seed uint64) bool {
	return slices.ContainsFunc(theirs.stories[seed], func(a string) bool {
		return slices.ContainsFunc(s.stories[seed], func(b string) bool { return same(a, b) })
	})
}

// play runs several sequences in parallel and stores their results.
func (s *side) play(t *testing.T, try int, sequences []uint64) {
	var mu sync.Mutex
	var playing sync.WaitGroup
	limit := make(chan struct{}, 12)
	for _, seed := range sequences {
		limit <- struct{}{}
		playing.Go(func() {
			defer func() { <-limit }()
			story, err := s.record(t.Context(), fmt.Sprintf("sequence-%d-%d", seed, try), seed)
			if err != nil {
				t.Errorf("sequence %d under %s: %v\n%s", seed, s.name, err, story)
			}
			mu.Lock()
			defer mu.Unlock()
			s.stories[seed] = append(s.stories[seed], story)
		})
	}
	playing.Wait()
}

// record runs one sequence in its own namespace and returns its result.
func (s *side) record(ctx context.Context, namespace string, seed uint64) (string, error) {
	w, err := world.New(ctx, s.view, namespace)
	if err != nil {
		return "", err
	}
	defer w.Close()
	random := rand.New(rand.NewPCG(seed, 11))
	w.Pace = []int{1, 3, math.MaxInt}[random.IntN(3)]
	var story strings.Builder
	steps := append([]step{begin(random)}, newSequence(random)...)
	for i, step := range steps {
		fmt.Fprintf(&story, "step %d: %s\n", i, step.name)
		if err := step.do(ctx, w); err != nil {
			return story.String(), fmt.Errorf("%s: %w", step.name, err)
		}
		for rounds := 0; ; rounds++ {
			if err := w.Settle(ctx); err != nil {
				return story.String(), err
			}
			if rounds > 50 {
				return story.String(), errors.New("pods come and go without end")
			}
			state := w.State()
			fmt.Fprintln(&story, state)
			played, err := w.PlayPods(ctx)
			if err != nil {
				return story.String(), err
			}
			if !played {
				break
			}
		}
		if err := w.NextSecond(ctx); err != nil { // makes the next ReplicaSet younger
			return story.String(), err
		}
	}
	return story.String(), nil
}

// step is one change by a user or a kubelet.
type step struct {
	name   string
	do     func(ctx context.Context, w *world.World) error
	change func(*appsv1.Deployment) // the change of do, if do updates the Deployment
}

// begin creates the Deployment.
func begin(r *rand.Rand) step {
	d := newDeployment("web", r)
	return step{name: fmt.Sprintf("create %d %s", *d.Spec.Replicas, describeStrategy(d)),
		do: func(ctx context.Context, w *world.World) error {
			for _, image := range images {
				w.Quota[image] = math.MaxInt
			}
			return w.Create(ctx, d.DeepCopy())
		}}
}

var images = []string{"a", "b", "c", "d"}

func newDeployment(name string, r *rand.Rand) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"example.com/note": "made"}},
		Spec: appsv1.DeploymentSpec{
			Replicas:                new(int32),
			Selector:                &metav1.LabelSelector{MatchLabels: labels},
			ProgressDeadlineSeconds: new(int32),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "a"}}},
			},
		},
	}
	*d.Spec.Replicas = r.Int32N(9)
	*d.Spec.ProgressDeadlineSeconds = deadline
	setStrategy(d, r)
	if r.IntN(2) == 0 {
		d.Spec.RevisionHistoryLimit = new(int32)
		*d.Spec.RevisionHistoryLimit = r.Int32N(4)
	}
	return d
}

// deadline is longer than a test. A step can move the time of the last progress that far into the past.
const deadline = 7200

func setStrategy(d *appsv1.Deployment, r *rand.Rand) {
	if r.IntN(5) == 0 {
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		return
	}
	number := func() *intstr.IntOrString {
		n := intstr.FromInt32(r.Int32N(4))
		if r.IntN(2) == 0 {
			n = intstr.FromString(fmt.Sprintf("%d%%", 10*r.IntN(11)))
		}
		return &n
	}
	rolling := &appsv1.RollingUpdateDeployment{MaxSurge: number(), MaxUnavailable: number()}
	if isZero(rolling.MaxSurge) && isZero(rolling.MaxUnavailable) {
		*rolling.MaxSurge = intstr.FromInt32(1) // the API server rejects zero for both
	}
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: rolling}
}

func isZero(n *intstr.IntOrString) bool { return n.String() == "0" || n.String() == "0%" }

func describeStrategy(d *appsv1.Deployment) string {
	if s := d.Spec.Strategy.RollingUpdate; s != nil {
		return fmt.Sprintf("surge %s unavailable %s", s.MaxSurge, s.MaxUnavailable)
	}
	return string(d.Spec.Strategy.Type)
}

// newSequence returns five to ten steps. Most change the template, the size, or the number of ready pods. Some make two
// changes in one write, because two writes would be a race between user and controller.
func newSequence(r *rand.Rand) []step {
	var steps []step
	for range 5 + r.IntN(6) {
		first, second := newStep(r), newStep(r)
		if first.change == nil || second.change == nil || r.IntN(3) > 0 {
			steps = append(steps, first)
			continue
		}
		steps = append(steps, edit(first.name+", "+second.name, func(d *appsv1.Deployment) {
			first.change(d)
			second.change(d)
		}))
	}
	return steps
}

func newStep(r *rand.Rand) step {
	image := images[r.IntN(len(images))]
	n := r.Int32N(11)
	switch r.IntN(31) {
	case 0, 1, 2, 3, 4, 5, 6:
		return edit("image "+image, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image })
	case 7, 8, 9, 10:
		return edit(fmt.Sprint("scale to ", n), func(d *appsv1.Deployment) { *d.Spec.Replicas = n })
	case 11, 12, 13, 14, 15:
		most := []int{0, 1, 2, 3, math.MaxInt}[r.IntN(5)]
		return step{name: fmt.Sprintf("at most %d pods of %s are ready", most, image),
			do: func(_ context.Context, w *world.World) error {
				w.Quota[image] = most
				return nil
			}}
	case 16, 17:
		return edit("pause or resume", func(d *appsv1.Deployment) { d.Spec.Paused = !d.Spec.Paused })
	case 18, 19:
		to := []string{"0", "0", "1", "2", "3", "77"}[r.IntN(6)]
		return edit("roll back to "+to, func(d *appsv1.Deployment) {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, appsv1.DeprecatedRollbackTo, to)
		})
	case 20:
		seed := r.Uint64()
		return edit("another strategy", func(d *appsv1.Deployment) { setStrategy(d, rand.New(rand.NewPCG(seed, 1))) })
	case 21:
		limit := r.Int32N(3)
		return edit(fmt.Sprint("history limit ", limit), func(d *appsv1.Deployment) { *d.Spec.RevisionHistoryLimit = limit })
	case 22:
		young := r.IntN(2) == 0
		return edit(fmt.Sprint("pods are available after an hour: ", young), func(d *appsv1.Deployment) {
			d.Spec.MinReadySeconds = 0
			if young {
				d.Spec.MinReadySeconds = 3600
			}
		})
	case 23:
		return edit("deadline or none", func(d *appsv1.Deployment) {
			if *d.Spec.ProgressDeadlineSeconds == deadline {
				*d.Spec.ProgressDeadlineSeconds = math.MaxInt32 // no deadline
			} else {
				*d.Spec.ProgressDeadlineSeconds = deadline
			}
		})
	case 24, 25:
		return step{name: "the last progress was long ago", do: func(ctx context.Context, w *world.World) error {
			return world.EditStatus(ctx, w, "web", func(d *appsv1.Deployment) {
				for i, c := range d.Status.Conditions {
					if c.Type == appsv1.DeploymentProgressing {
						d.Status.Conditions[i].LastUpdateTime.Time = c.LastUpdateTime.Add(-2 * deadline * time.Second)
					}
				}
			})
		}}
	case 26:
		note := fmt.Sprint("note ", n)
		return edit(note, func(d *appsv1.Deployment) {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, "example.com/note",
				note)
		})
	case 27:
		return meddle(image, n, r)
	case 28:
		return step{name: fmt.Sprintf("%d pods of %s fail", n, image),
			do: func(ctx context.Context, w *world.World) error { return w.FailPods(ctx, image, int(n)) }}
	case 29:
		return step{name: fmt.Sprintf("%d pods of %s are deleted", n, image),
			do: func(ctx context.Context, w *world.World) error { return w.DeletePods(ctx, image, int(n)) }}
	}
	return remake(r)
}

func edit(name string, change func(*appsv1.Deployment)) step {
	return step{name, func(ctx context.Context, w *world.World) error { return world.Edit(ctx, w, "web", change) }, change}
}

// meddle changes the ReplicaSets of an image directly, which users should not do.
func meddle(image string, n int32, r *rand.Rand) step {
	const prefix = "deployment.kubernetes.io/"
	changes := map[string]func(*appsv1.ReplicaSet){
		"size":        func(set *appsv1.ReplicaSet) { *set.Spec.Replicas = n },
		"no desired":  func(set *appsv1.ReplicaSet) { delete(set.Annotations, prefix+"desired-replicas") },
		"wrong max":   func(set *appsv1.ReplicaSet) { set.Annotations[prefix+"max-replicas"] = "0" },
		"no max":      func(set *appsv1.ReplicaSet) { delete(set.Annotations, prefix+"max-replicas") },
		"revision":    func(set *appsv1.ReplicaSet) { set.Annotations[prefix+"revision"] = "12" },
		"no revision": func(set *appsv1.ReplicaSet) { delete(set.Annotations, prefix+"revision") },
		"no number":   func(set *appsv1.ReplicaSet) { set.Annotations[prefix+"revision"] = "latest" },
		"no owner":    func(set *appsv1.ReplicaSet) { set.OwnerReferences = nil },
		"labels":      func(set *appsv1.ReplicaSet) { set.Labels["app"] = "else" },
	}
	names := slices.Sorted(maps.Keys(changes))
	names = append(names, "delete", "labels") // label changes cause hash collisions
	name := names[r.IntN(len(names))]
	return step{name: fmt.Sprintf("ReplicaSet of %s: %s", image, name),
		do: func(ctx context.Context, w *world.World) error {
			for _, set := range w.ReplicaSetsOf(image) {
				if change, found := changes[name]; found {
					if err := world.Edit(ctx, w, set.Name, change); err != nil {
						return err
					}
				} else if err := w.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
					return err
				}
			}
			return nil
		}}
}

// remake deletes the Deployment with a random propagation policy and creates another one of the same name.
func remake(r *rand.Rand) step {
	policies := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground,
		metav1.DeletePropagationOrphan, metav1.DeletePropagationOrphan}
	policy := policies[r.IntN(len(policies))]
	next := newDeployment("web", r)
	return step{name: fmt.Sprintf("delete (%s), create %d %s", policy, *next.Spec.Replicas, describeStrategy(next)),
		do: func(ctx context.Context, w *world.World) error {
			if err := w.DeleteDeployment(ctx, "web", policy); err != nil {
				return err
			}
			return w.Create(ctx, next.DeepCopy())
		}}
}
