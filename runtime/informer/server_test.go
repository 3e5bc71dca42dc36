package informer_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

type configMap = *corev1.ConfigMap

// C01, C02, C03, W01, W03, R01, S08: on an API server, with all operations that clients use.
func TestOnAServer(t *testing.T) {
	onServer(t, inmemory.Start(t), []rule{
		{"objects churn in namespaces that come and go", testNamespacesComeAndGo},
		{"objects churn while handlers are slow, blocked and late",
			func(t *testing.T, s *server) { testObjectsChurn(t, s, 300) }},
		{"a CRD is deleted and created again", testCRDIsDeletedAndCreatedAgain},
		{"the right to watch is taken away and given back", testRightsAreTakenAwayAndGivenBack},
	})
}

func TestOnAServerWithManyObjects(t *testing.T) {
	onServer(t, inmemory.Start(t), []rule{
		{"50,000 objects churn", func(t *testing.T, s *server) { testObjectsChurn(t, s, 50_000) }},
	})
}

// R01, R06.
//
// TestOnAServerThatFails kills the processes of a real server.
func TestOnAServerThatFails(t *testing.T) {
	onServer(t, testenv.Start(t, testenv.WithFaults()), []rule{
		{"the API server is killed", testAPIServerIsKilled},
		{"etcd is killed", testEtcdIsKilled},
		{"history is compacted while the informer is away", testHistoryIsCompacted},
	})
}

func onServer(t *testing.T, env *testenv.Env, rules []rule) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, rbacv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &server{env: env, scheme: scheme}
	s.admin = s.client(t, env.Config)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) { rule.test(t, s) })
	}
}

// rule is a guarantee to test on a server. A rule does not see objects of the rules after it.
type rule struct {
	name string
	test func(*testing.T, *server)
}

// server is the API server of these tests.
type server struct {
	env    *testenv.Env
	scheme *runtime.Scheme
	admin  *client.REST
}

func (s *server) client(t *testing.T, config *rest.Config) *client.REST {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: s.scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tapped returns a new client and the tap of its transport.
func (s *server) tapped(t *testing.T, change func(*rest.Config)) (*client.REST, *tap) {
	t.Helper()
	config := rest.CopyConfig(s.env.Config)
	change(config)
	tap := newTap()
	config.Wrap(tap.wrap)
	return s.client(t, config), tap
}

func (s *server) createNamespace(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
}

// deadline returns a context for a test that waits for a server.
func deadline(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// followServer runs an informer of source until end is called. Its handler is a journal.
func followServer[T object.Object](ctx context.Context, t *testing.T, source reflector.ListerWatcher[T],
	opts informer.Options[T]) *followed[T] {
	f := &followed[T]{t: t, informer: informer.New(source, opts), done: make(chan error, 1)}
	f.journal = f.addJournal(nil)
	ctx, f.stop = context.WithCancel(ctx)
	go func() { f.done <- f.informer.Run(ctx) }()
	return f
}

// followed is a running informer.
type followed[T object.Object] struct {
	t        *testing.T
	informer *informer.Informer[T]
	journal  *journal[T]
	journals []*journal[T]
	stop     context.CancelFunc
	done     chan error
}

// addJournal adds a journal as a handler. If pace is not nil, it slows the handler down.
func (f *followed[T]) addJournal(pace func()) *journal[T] {
	j := newJournal[T](f.t, pace)
	f.informer.AddHandler(j.handle)
	f.journals = append(f.journals, j)
	return j
}

// end waits until all journals have the server's last state, which contains an object with the key last. Then it stops
// the informer and compares the journals and the store with the list.
func (f *followed[T]) end(ctx context.Context, last object.Key,
	list func(context.Context) (map[object.Key]string, error)) {
	f.t.Helper()
	for _, j := range f.journals {
		j.await(ctx, func(states map[object.Key]T) bool { _, ok := states[last]; return ok })
	}
	want, err := list(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	f.stop()
	if err := <-f.done; err != nil {
		f.t.Error(err)
	}
	stored := make(map[object.Key]T)
	for key, obj := range f.informer.Store().All() {
		stored[key] = obj
	}
	compareWith(f.t, "the store", stored, want)
	for _, j := range f.journals {
		compareWith(f.t, "a handler", j.states, want)
	}
}

// compareWith compares states with the server's versions of the objects.
func compareWith[T object.Object](t *testing.T, whose string, states map[object.Key]T, want map[object.Key]string) {
	t.Helper()
	if len(states) != len(want) {
		t.Errorf("%s has %d objects, the server %d", whose, len(states), len(want))
	}
	for key, version := range want {
		if have, ok := states[key]; !ok {
			t.Errorf("%s does not have %s", whose, key)
		} else if have.GetResourceVersion() != version {
			t.Errorf("%s has %s in version %s, the server in %s", whose, key, have.GetResourceVersion(), version)
		}
	}
}

// versions returns a function that reads the versions of the selected config maps with quorum.
func (s *server) versions(opts ...client.ListOption) func(context.Context) (map[object.Key]string, error) {
	return func(ctx context.Context) (map[object.Key]string, error) {
		var list corev1.ConfigMapList
		if err := s.admin.List(ctx, &list, opts...); err != nil {
			return nil, err
		}
		versions := make(map[object.Key]string)
		for _, o := range list.Items {
			versions[object.KeyOf(&o)] = o.ResourceVersion
		}
		return versions, nil
	}
}

// tap is an informer's connection to the API server, which the test can interrupt.
type tap struct {
	next    http.RoundTripper
	answers chan answer

	mu   sync.Mutex
	open []io.Closer   // bodies of open watches
	gate chan struct{} // closed while requests may pass
}

// answer is the server's answer to a list or a watch.
type answer struct {
	watch  bool
	status int
}

func newTap() *tap {
	tap := &tap{answers: make(chan answer, 1024), gate: make(chan struct{})}
	close(tap.gate)
	return tap
}

func (t *tap) wrap(next http.RoundTripper) http.RoundTripper {
	t.next = next
	return t
}

func (t *tap) RoundTrip(request *http.Request) (*http.Response, error) {
	t.mu.Lock()
	gate := t.gate
	t.mu.Unlock()
	select {
	case <-gate:
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	watch := request.URL.Query().Has("watch")
	if watch {
		t.mu.Lock()
		t.open = append(t.open, response.Body)
		t.mu.Unlock()
	}
	select {
	case t.answers <- answer{watch, response.StatusCode}:
	default:
	}
	return response, nil
}

// hold blocks all requests until release is called.
func (t *tap) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gate = make(chan struct{})
}

func (t *tap) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.gate)
}

// cut breaks all open watches.
func (t *tap) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, body := range t.open {
		_ = body.Close()
	}
	t.open = nil
}

// await waits until the server has given the wanted answer.
func (t *tap) await(ctx context.Context, test *testing.T, wanted answer) {
	test.Helper()
	for {
		select {
		case a := <-t.answers:
			if a == wanted {
				return
			}
		case <-ctx.Done():
			test.Fatalf("%v: the server did not answer %v", context.Cause(ctx), wanted)
		}
	}
}

// journal is a handler that replays its events and checks that they are a possible history of each object. Added
// requires an absent object, and Updated and Deleted a present one. The UID changes only after Deleted. Versions only
// increase, also from one incarnation of an object to the next.
type journal[T object.Object] struct {
	t        *testing.T
	pace     func() // called before each event, unless it is nil
	received chan struct{}

	mu     sync.Mutex
	states map[object.Key]T
	last   map[object.Key]lastSeen
	events int
}

// lastSeen is the last state of an object that a journal has received.
type lastSeen struct {
	uid     types.UID
	version string
}

func newJournal[T object.Object](t *testing.T, pace func()) *journal[T] {
	return &journal[T]{
		t: t, pace: pace, received: make(chan struct{}, 1), states: make(map[object.Key]T),
		last: make(map[object.Key]lastSeen),
	}
}

func (j *journal[T]) handle(e informer.Event[T]) {
	if j.pace != nil {
		j.pace()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events++
	j.check(e)
	j.last[e.Key()] = lastSeen{e.Object.GetUID(), e.Object.GetResourceVersion()}
	j.states[e.Key()] = e.Object
	if e.Type == informer.Deleted {
		delete(j.states, e.Key())
	}
	select {
	case j.received <- struct{}{}:
	default:
	}
}

func (j *journal[T]) check(e informer.Event[T]) {
	_, has := j.states[e.Key()]
	last, known := j.last[e.Key()]
	if has == (e.Type == informer.Added) {
		j.t.Errorf("%v of %s, which is there: %v", e.Type, e.Key(), has)
	}
	if !known {
		return
	}
	sameLife := last.uid == e.Object.GetUID()
	if has && !sameLife {
		j.t.Errorf("%v: %s became another object without a deletion", e.Type, e.Key())
	}
	if !has && sameLife {
		j.t.Errorf("%s came back with the UID that it had before its deletion", e.Key())
	}
	order, err := resourceversion.CompareResourceVersion(last.version, e.Object.GetResourceVersion())
	if err != nil || order > 0 || order == 0 && !e.FinalStateUnknown {
		j.t.Errorf("%v: %s went from %s to %s, %v", e.Type, e.Key(), last.version, e.Object.GetResourceVersion(), err)
	}
	if e.Type == informer.Updated && e.Old.GetResourceVersion() != last.version {
		j.t.Errorf("%s was updated from %s, and %s was the last one delivered", e.Key(), e.Old.GetResourceVersion(),
			last.version)
	}
}

// await waits until wanted returns true for the replayed state.
func (j *journal[T]) await(ctx context.Context, wanted func(map[object.Key]T) bool) {
	j.t.Helper()
	for {
		j.mu.Lock()
		ok := wanted(j.states)
		j.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-j.received:
		case <-ctx.Done():
			j.t.Fatalf("%v: a handler did not reach the wanted state; it has %d objects", context.Cause(ctx), len(j.states))
		}
	}
}
