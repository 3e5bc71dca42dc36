package garbagecollector_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/garbagecollector"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// recording is the file with the results of kube-controller-manager's collector for the seeds 1 to recorded.
const (
	recording = "testdata/collected.json.gz"
	recorded  = 40
)

// recordVariable names the environment variable that, when it is "record", makes
// TestCollectsWhatKubeControllerManagerCollects write the recording.
const recordVariable = "KCTRL_TEST_FIDELITY"

// latencies has one entry for each try: the maximum random delay of our collector's requests.
var latencies = []time.Duration{
	0, 0, 0, 0, 20 * time.Millisecond, 0, 50 * time.Millisecond, 0, 0, 0, 100 * time.Millisecond, 0,
}

// TestCollectsWhatKubeControllerManagerCollected compares our collector with the recording. It repeats graphs
// with different results, as TestCollectsWhatKubeControllerManagerCollects does.
func TestCollectsWhatKubeControllerManagerCollected(t *testing.T) {
	theirs := load(t)
	if len(theirs) != recorded {
		t.Fatalf("%s has %d graphs, want %d: record it again", recording, len(theirs), recorded)
	}
	converge(t, upTo(recorded), theirs, func(t *testing.T, try int, graphs []uint64, ours outcomes) {
		env := inmemory.Start(t, testenv.WithCRDs("testdata/crds.yaml"))
		ours.add(newTrial(t, newClient(t, env), "ours", graphs), try,
			func() (stop func()) { return collect(t, env, latencies[try]) })
	})
}

// TestCollectsWhatKubeControllerManagerCollects creates random ownership graphs and deletes objects in them at random,
// once under kube-controller-manager's collector and once under ours, on one API server. The same objects must remain,
// with the same owner references and finalizers.
//
// The result of some graphs depends on the order in which a collector processes objects, for example if one owner
// orphans an object while another one is deleted. So the test repeats a graph with different results, and fails if none
// of our results is among theirs.
//
// Each attempt has its own API server, because a starting collector would first process the objects of earlier
// attempts. From the second attempt on, the collector restarts after each step, because a running collector retries
// failed lookups of owners after growing delays. In every second attempt it starts before the objects exist. In some
// attempts our requests are delayed at random.
func TestCollectsWhatKubeControllerManagerCollects(t *testing.T) {
	if os.Getenv(recordVariable) == "record" {
		theirs := outcomes{}
		for try := range 6 {
			t.Run(fmt.Sprintf("Try%d", try+1), func(t *testing.T) { theirs.addTheirs(t, startReal(t), try, upTo(recorded)) })
		}
		if !t.Failed() {
			store(t, theirs)
		}
		return
	}
	var all []uint64
	seeds.Each(t, 12, func(_ *testing.T, seed uint64) { all = append(all, seed) })
	theirs := outcomes{}
	converge(t, all, theirs, func(t *testing.T, try int, graphs []uint64, ours outcomes) {
		env := startReal(t)
		theirs.addTheirs(t, env, try, graphs)
		ours.add(newTrial(t, newClient(t, env), "ours", graphs), try,
			func() (stop func()) { return collect(t, env, latencies[try]) })
	})
}

// converge repeats graphs until each result of our collector is also a result of theirs.
func converge(
	t *testing.T, graphs []uint64, theirs outcomes, attempt func(t *testing.T, try int, graphs []uint64, ours outcomes),
) {
	t.Helper()
	ours, count := outcomes{}, len(graphs)
	for try := range latencies {
		if !t.Run(fmt.Sprintf("Try%d", try+1), func(t *testing.T) { attempt(t, try, graphs, ours) }) {
			return
		}
		graphs = slices.DeleteFunc(graphs, func(seed uint64) bool { return theirs.meet(ours, seed) })
		t.Logf("try %d: %d of %d graphs differ: %d", try+1, len(graphs), count, graphs)
		if len(graphs) == 0 {
			return
		}
	}
	for _, seed := range graphs {
		t.Errorf("graph %d differs\n%s\nunder kube-controller-manager:\n%s\nunder ours:\n%s", seed, newPlan(seed),
			strings.Join(slices.Sorted(maps.Keys(theirs[seed])), "or\n"), strings.Join(slices.Sorted(maps.Keys(ours[seed])),
				"or\n"))
	}
}

func upTo(n uint64) (all []uint64) {
	for seed := range n {
		all = append(all, seed+1)
	}
	return all
}

// startReal starts a real API server. Its kube-controller-manager is stopped until the test restarts it.
func startReal(t *testing.T) *testenv.Env {
	t.Helper()
	env := testenv.Start(t, testenv.WithFaults(), testenv.WithControllerManager("garbage-collector-controller"),
		testenv.WithCRDs("testdata/crds.yaml"))
	if err := env.Kill(testenv.ControllerManager); err != nil {
		t.Fatal(err)
	}
	return env
}

// outcomes contains the results of each graph under one collector.
type outcomes map[uint64]map[string]bool

// addTheirs adds the results of kube-controller-manager's collector for the graphs.
func (o outcomes) addTheirs(t *testing.T, env *testenv.Env, try int, graphs []uint64) {
	t.Helper()
	o.add(newTrial(t, newClient(t, env), "theirs", graphs), try, func() (stop func()) {
		if err := env.Restart(testenv.ControllerManager); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := env.Kill(testenv.ControllerManager); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func (o outcomes) add(tr *trial, try int, start func() (stop func())) {
	tr.Helper()
	tr.run(try > 0, try%2 == 1, start)
	for _, w := range tr.worlds {
		if o[w.seed] == nil {
			o[w.seed] = map[string]bool{}
		}
		var story strings.Builder
		for step, state := range w.story {
			fmt.Fprintf(&story, "  after step %d:\n", step)
			for _, name := range slices.Sorted(maps.Keys(state)) {
				fmt.Fprintf(&story, "    %s: %s\n", name, state[name])
			}
		}
		o[w.seed][story.String()] = true
	}
}

func (o outcomes) meet(other outcomes, seed uint64) bool {
	for story := range o[seed] {
		if other[seed][story] {
			return true
		}
	}
	return false
}

// load reads the recording.
func load(t *testing.T) outcomes {
	t.Helper()
	file, err := os.Open(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := outcomes{}
	unzipped, err := gzip.NewReader(file)
	if err == nil {
		err = json.NewDecoder(unzipped).Decode(&all)
	}
	if err != nil {
		t.Fatalf("read %s: %v", recording, err)
	}
	return all
}

// store writes the recording.
func store(t *testing.T, all outcomes) {
	t.Helper()
	var data bytes.Buffer
	zipped := gzip.NewWriter(&data)
	err := errors.Join(json.NewEncoder(zipped).Encode(all), zipped.Close())
	if err == nil {
		err = os.WriteFile(recording, data.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func newClient(t *testing.T, env *testenv.Env) *client.REST {
	live, err := client.New(env.Config, client.Options{Scheme: runtime.NewScheme(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// late delays each request by a random time of up to most, so that a collector processes objects in a different order.
type late struct {
	http.RoundTripper
	most time.Duration
}

func (l late) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.most > 0 {
		select {
		case <-time.After(rand.N(l.most)):
		case <-r.Context().Done():
		}
	}
	return l.RoundTripper.RoundTrip(r)
}

// collect runs a collector until stop is called. Each of its requests is delayed by a random time of up to most.
func collect(t *testing.T, env *testenv.Env, most time.Duration) (stop func()) {
	httpClient, err := rest.HTTPClientFor(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	httpClient.Transport = late{httpClient.Transport, most}
	collector, err := garbagecollector.New(env.Config,
		garbagecollector.Options{GraphOptions: garbagecollector.GraphOptions{
			HTTPClient: httpClient,
			Logger:     slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := collector.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// The kinds of the graphs.
var (
	configMap = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	secret    = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	widget    = schema.GroupVersionKind{Group: "collector.kctrl.dev", Version: "v1", Kind: "Widget"}
	pool      = schema.GroupVersionKind{Group: "collector.kctrl.dev", Version: "v1", Kind: "Pool"} // cluster-scoped
	unserved  = schema.GroupVersionKind{Group: "collector.kctrl.dev", Version: "v1", Kind: "Nothing"}
)

const hold = "collector.kctrl.dev/hold" // a finalizer of another controller

// plan is a random graph and the actions that change it.
type plan struct {
	objects []planned
	actions []action
}

type planned struct {
	gvk        schema.GroupVersionKind
	namespace  int // 0 or 1 for a namespaced kind
	owners     []ownerPlan
	finalizers []string
	late       bool // created by an action instead of at the start
}

// ownerPlan is an owner reference, possibly with an incorrect field.
type ownerPlan struct {
	object int // -1 means an owner that never existed
	wrong  string
	block  *bool
	gvk    schema.GroupVersionKind // kind of an owner that never existed
}

type action struct {
	verb   string // delete, release or create
	object int
	policy metav1.DeletionPropagation
}

func (p plan) String() string {
	var b strings.Builder
	for i, o := range p.objects {
		fmt.Fprintf(&b, "  %d: %s in %d %v late=%v\n", i, o.gvk.Kind, o.namespace, o.finalizers, o.late)
		for _, owner := range o.owners {
			block := "nil"
			if owner.block != nil {
				block = fmt.Sprint(*owner.block)
			}
			fmt.Fprintf(&b, "     owner %d %s block=%s %s\n", owner.object, owner.wrong, block, owner.gvk.Kind)
		}
	}
	for i, a := range p.actions {
		fmt.Fprintf(&b, "  step %d: %s %d %s\n", i+1, a.verb, a.object, a.policy)
	}
	return b.String()
}

// newPlan returns the graph of a seed.
func newPlan(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 7))
	var p plan
	n := 3 + r.IntN(8)
	for i := range n {
		o := planned{gvk: []schema.GroupVersionKind{configMap, configMap, secret, widget, widget, pool}[r.IntN(6)]}
		if r.IntN(6) == 0 {
			o.namespace = 1
		}
		if r.IntN(6) == 0 {
			o.finalizers = append(o.finalizers, hold)
		}
		if r.IntN(20) == 0 {
			o.finalizers = append(o.finalizers, []string{metav1.FinalizerOrphanDependents,
				metav1.FinalizerDeleteDependents}[r.IntN(2)])
		}
		for range r.IntN(4) {
			o.owners = append(o.owners, randomOwner(r, i, n))
		}
		if i > 1 && r.IntN(8) == 0 {
			o.late = true
		}
		p.objects = append(p.objects, o)
	}
	policies := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground,
		metav1.DeletePropagationOrphan}
	for i, o := range p.objects {
		if o.late {
			p.actions = append(p.actions, action{verb: "create", object: i})
		}
	}
	for range 1 + r.IntN(3) {
		p.actions = append(p.actions, action{"delete", r.IntN(n), policies[r.IntN(3)]})
	}
	for i, o := range p.objects {
		if slices.Contains(o.finalizers, hold) && r.IntN(2) == 0 {
			p.actions = append(p.actions, action{verb: "release", object: i})
		}
	}
	r.Shuffle(len(p.actions), func(i, j int) { p.actions[i], p.actions[j] = p.actions[j], p.actions[i] })
	return p
}

func randomOwner(r *rand.Rand, i, n int) ownerPlan {
	owner := ownerPlan{object: -1, gvk: []schema.GroupVersionKind{configMap, secret, widget, pool, unserved}[r.IntN(5)]}
	if block := r.IntN(3); block > 0 {
		owner.block = new(bool)
		*owner.block = block == 1
	}
	switch kind := r.IntN(20); {
	case kind < 14 && i > 0:
		owner.object = r.IntN(i)
	case kind < 17:
		owner.object = r.IntN(n) // may be the object itself, or one that is created later
	}
	if owner.object >= 0 && r.IntN(6) == 0 {
		owner.wrong = []string{"uid", "name", "kind"}[r.IntN(3)]
	}
	return owner
}

// world is one graph on the API server.
type world struct {
	plan
	seed   uint64
	prefix string
	made   []*unstructured.Unstructured // as created; nil means not yet created
	names  map[types.UID]string
	story  []map[string]string // all objects after each step
}

// trial runs all graphs under one collector.
type trial struct {
	*testing.T
	live   *client.REST
	name   string
	worlds []*world
	rounds int
}

func newTrial(t *testing.T, live *client.REST, name string, seeds []uint64) *trial {
	tr := &trial{T: t, live: live, name: name}
	for _, seed := range seeds {
		p := newPlan(seed)
		tr.worlds = append(tr.worlds, &world{
			plan: p, seed: seed, prefix: fmt.Sprintf("%s-%d", name, seed), made: make([]*unstructured.Unstructured,
				len(p.objects)), names: map[types.UID]string{},
		})
	}
	return tr
}

// each calls do for all worlds, several at a time.
func (tr *trial) each(do func(w *world) error) {
	tr.Helper()
	limit, errs := make(chan struct{}, 16), make([]error, len(tr.worlds))
	var running sync.WaitGroup
	for i, w := range tr.worlds {
		limit <- struct{}{}
		running.Go(func() {
			errs[i] = do(w)
			<-limit
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		tr.Fatal(err)
	}
}

// run creates the graphs, executes their steps and records the results. The collector starts before or after the
// objects exist, and may restart after each step.
func (tr *trial) run(restart, early bool, start func() (stop func())) {
	tr.Helper()
	stop := func() {}
	defer func() { stop() }()
	ctx, cancel := context.WithTimeoutCause(tr.Context(), patience, errPatience)
	defer cancel()
	if early {
		stop = start()
		tr.mark(ctx)
	}
	tr.each(func(w *world) error { return w.begin(tr.Context(), tr.live) })
	if !early {
		stop = start()
	}
	settle := func() {
		tr.settle()
		if restart {
			stop()
			stop = start()
			tr.settle()
		}
		for i, state := range tr.states() {
			if w := tr.worlds[i]; len(w.story) <= len(w.actions) {
				w.story = append(w.story, state)
			}
		}
	}
	settle()
	steps := 0
	for _, w := range tr.worlds {
		steps = max(steps, len(w.actions))
	}
	for step := range steps {
		tr.each(func(w *world) error {
			if step >= len(w.actions) {
				return nil
			}
			return w.act(tr.Context(), tr.live, w.actions[step])
		})
		settle()
	}
}

// begin creates the initial objects. Each gets the references to owners that exist by then. A second round adds the
// remaining references, so that the graph may have cycles.
func (w *world) begin(ctx context.Context, live *client.REST) error {
	for i := range 2 {
		ns := untyped(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", w.namespace(i))
		if err := live.Create(ctx, ns); err != nil {
			return err
		}
	}
	for i, o := range w.objects {
		if o.late {
			continue
		}
		if err := w.create(ctx, live, i); err != nil {
			return err
		}
	}
	for i, o := range w.objects {
		refs := w.references(i)
		if o.late || len(refs) == len(w.made[i].GetOwnerReferences()) {
			continue
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": w.made[i].GetUID(),
			"ownerReferences": refs}})
		if err != nil {
			return err
		}
		err = live.Patch(ctx, w.made[i].DeepCopy(), client.RawPatch(types.MergePatchType, patch))
		if err := client.IgnoreNotFound(err); err != nil {
			return err // NotFound means that the object was already collected
		}
	}
	return nil
}

func (w *world) namespace(i int) string { return fmt.Sprintf("%s-%d", w.prefix, i) }

func untyped(gvk schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func (w *world) create(ctx context.Context, live *client.REST, i int) error {
	o := w.objects[i]
	namespace := w.namespace(o.namespace)
	if o.gvk == pool {
		namespace = ""
	}
	obj := untyped(o.gvk, namespace, fmt.Sprintf("%s-object-%d", w.prefix, i))
	obj.SetFinalizers(o.finalizers)
	obj.SetOwnerReferences(w.references(i))
	if err := live.Create(ctx, obj); err != nil {
		return err
	}
	w.made[i] = obj
	w.names[obj.GetUID()] = strconv.Itoa(i)
	return nil
}

// references returns the owner references of an object, except those to objects that do not exist yet.
func (w *world) references(i int) []metav1.OwnerReference {
	var refs []metav1.OwnerReference
	for j, owner := range w.objects[i].owners {
		ref := metav1.OwnerReference{Name: "nobody", UID: types.UID(fmt.Sprintf("%s-ghost-%d-%d", w.prefix, i, j)),
			BlockOwnerDeletion: owner.block}
		gvk := owner.gvk
		if owner.object >= 0 {
			made := w.made[owner.object]
			if made == nil {
				continue
			}
			gvk, ref.Name = made.GroupVersionKind(), made.GetName()
			if owner.wrong != "uid" {
				ref.UID = made.GetUID()
			}
		}
		switch owner.wrong {
		case "name":
			ref.Name = "else"
		case "kind":
			gvk = owner.gvk
		}
		ref.APIVersion, ref.Kind = gvk.ToAPIVersionAndKind()
		w.names[ref.UID] = cmp.Or(w.names[ref.UID], fmt.Sprintf("ghost-%d-%d", i, j))
		refs = append(refs, ref)
	}
	return refs
}

func (w *world) act(ctx context.Context, live *client.REST, a action) error {
	if a.verb == "create" {
		return w.create(ctx, live, a.object)
	}
	made := w.made[a.object]
	if made == nil {
		return nil
	}
	uid := made.GetUID()
	if a.verb == "delete" {
		return client.IgnoreNotFound(live.Delete(ctx, made.DeepCopy(), client.PropagationPolicy(a.policy),
			client.Preconditions{UID: &uid}))
	}
	for { // a conflict is rare: a collector writes an object a few times at most
		now := untyped(made.GroupVersionKind(), made.GetNamespace(), made.GetName())
		if err := live.Get(ctx, object.KeyOf(made), now); err != nil {
			return client.IgnoreNotFound(err)
		}
		now.SetFinalizers(slices.DeleteFunc(now.GetFinalizers(), func(f string) bool { return f == hold }))
		if err := live.Update(ctx, now); !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
	}
}

// settle returns when the collector has processed the current state of the server. To detect that, it creates an object
// of each kind that the collector must delete, which happens only after all earlier work. The state must not change
// while it does so three times.
func (tr *trial) settle() {
	tr.Helper()
	ctx, cancel := context.WithTimeoutCause(tr.Context(), patience, errPatience)
	defer cancel()
	states := tr.states()
	for quiet := 0; quiet < 3; quiet++ {
		tr.mark(ctx)
		now := tr.states()
		for i := range now {
			if maps.Equal(states[i], now[i]) {
				continue
			}
			if quiet = -1; ctx.Err() != nil {
				tr.Fatalf("graph %d goes on changing, from %v to %v: %v", tr.worlds[i].seed, states[i], now[i], context.Cause(ctx))
			}
		}
		states = now
	}
}

// mark creates an object of each kind whose owner does not exist, and returns when the collector has deleted them.
func (tr *trial) mark(ctx context.Context) {
	tr.Helper()
	tr.rounds++
	var marks []*unstructured.Unstructured
	for _, gvk := range []schema.GroupVersionKind{configMap, secret, widget, pool} {
		namespace := "default"
		if gvk == pool {
			namespace = ""
		}
		name := fmt.Sprintf("%s-mark-%d", tr.name, tr.rounds)
		marker := untyped(gvk, namespace, name)
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: types.UID(name)}
		if gvk == pool {
			owner.APIVersion, owner.Kind = gvk.ToAPIVersionAndKind()
			owner.Name, owner.UID = "no-"+name, "no-"+owner.UID
		}
		marker.SetOwnerReferences([]metav1.OwnerReference{owner})
		if err := tr.live.Create(tr.Context(), marker); err != nil {
			tr.Fatal(err)
		}
		marks = append(marks, marker)
	}
	for _, marker := range marks {
		testenv.AwaitGone(ctx, tr, tr.live, marker)
	}
}

// states returns the objects of each world by their numbers.
func (tr *trial) states() []map[string]string {
	tr.Helper()
	byPrefix := map[string]int{}
	all := make([]map[string]string, len(tr.worlds))
	for i, w := range tr.worlds {
		byPrefix[w.prefix], all[i] = i, map[string]string{}
	}
	for _, gvk := range []schema.GroupVersionKind{configMap, secret, widget, pool} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := tr.live.List(tr.Context(), list); err != nil {
			tr.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			prefix, number, found := strings.Cut(o.Name, "-object-")
			if n, mine := byPrefix[prefix]; found && mine {
				all[n][number] = tr.worlds[n].describe(o)
			}
		}
	}
	return all
}

// describe returns the part of an object's state that must be equal under both collectors.
func (w *world) describe(o *metav1.PartialObjectMetadata) string {
	text := o.Kind
	if o.DeletionTimestamp != nil {
		text += " deleting"
	}
	for _, f := range o.Finalizers {
		text += " " + f
	}
	for _, ref := range o.OwnerReferences {
		block := ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion // nil means false
		text += fmt.Sprintf(" [%s %s block=%t]", ref.Kind, w.names[ref.UID], block)
	}
	return text
}
