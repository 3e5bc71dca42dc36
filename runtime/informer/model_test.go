package informer_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// C01, C02, C04, D02, P01
//
// For any behavior of the source, the store eventually equals the source, and each handler receives a consistent
// sequence: it contains no change of an absent object, no creation of a present one, no state older than the last, and
// no event of an incarnation after its deletion.
func TestInformerFollowsAnySource(t *testing.T) {
	seeds.Each(t, 16, func(t *testing.T, seed uint64) {
		inBothForms(t, func(t *testing.T, in form) { follow(t, in, rand.New(rand.NewPCG(seed, 7))) })
	})
}

func follow(t *testing.T, in form, random *rand.Rand) {
	s := listwatch.New()
	s.Paging = random.IntN(2) == 0
	inf := build(s, in(options{
		DisableWatchList: random.IntN(2) == 0,
		PageSize:         int64(random.IntN(3) * 3),
		Resync:           time.Duration(random.IntN(2)) * 10 * time.Second,
		Indexes:          []informer.Indexer[listwatch.Object]{informer.NewIndex(versionDigit)},
	}))
	views := []*view{newView(t, random)}
	inf.AddHandler(views[0].handle)
	run(t, inf)
	for range 400 {
		disturb(s, random)
		mutate(s, random)
		switch random.IntN(20) {
		case 0:
			v := newView(t, random)
			views = append(views, v)
			v.reg = inf.AddHandler(v.handle)
		case 1:
			if last := views[len(views)-1]; last.reg != nil {
				last.reg.Remove()
				views = views[:len(views)-1]
			}
		case 2, 3:
			pass(time.Duration(random.IntN(int(5 * time.Second))))
		}
	}
	s.Mu.Lock()
	s.OnList, s.OnWatch = nil, nil
	s.Mu.Unlock()
	for _, v := range views {
		v.hurry()
	}
	pass(time.Hour)
	compare(t, "the store", stateOf(inf.Store()), s.Objects)
	for i, v := range views {
		v.mu.Lock()
		compare(t, fmt.Sprint("handler ", i, " of ", len(views)), v.state, s.Objects)
		v.mu.Unlock()
	}
	if err := inf.Err(); err != nil {
		t.Errorf("error at the end: %v", err)
	}
}

// mutate changes one of a few objects.
func mutate(s *listwatch.Source, random *rand.Rand) {
	name := fmt.Sprint("o", random.IntN(6))
	s.Mu.Lock()
	_, exists := s.Objects[listwatch.KeyOf(name)]
	s.Mu.Unlock()
	switch {
	case !exists:
		s.Create(name)
	case random.IntN(3) == 0:
		s.Delete(name)
	default:
		s.Update(name)
	}
}

// disturb makes the source fail now and then.
func disturb(s *listwatch.Source, random *rand.Rand) {
	failures := []error{
		io.EOF, io.ErrUnexpectedEOF, listwatch.TooMany(1), apierrors.NewResourceExpired("expired"), errors.New("no route"),
		apierrors.NewInternalError(errors.New("etcd")), listwatch.Forbidden("watch"), listwatch.TooLarge(),
		listwatch.Invalid(),
	}
	failure := failures[random.IntN(len(failures))]
	switch random.IntN(25) {
	case 0:
		s.Cut(failure)
	case 1:
		s.Cut(io.EOF)
		s.Forget()
	case 2:
		s.Mu.Lock()
		s.OnWatch = listwatch.Once(failure, failure)
		s.Mu.Unlock()
	case 3:
		s.Mu.Lock()
		s.OnList = listwatch.Once(failure)
		s.Mu.Unlock()
	case 4:
		s.Send(listwatch.Bookmark(strconv.Itoa(s.Version)))
	}
}

// view is a handler, possibly a slow one, that replays its events and checks them.
type view struct {
	t     *testing.T
	reg   *informer.Registration
	delay time.Duration

	mu       sync.Mutex
	state    map[object.Key]listwatch.Object
	finished map[string]bool // UIDs with a Deleted event
	last     map[object.Key]int
}

func newView(t *testing.T, random *rand.Rand) *view {
	v := &view{t: t, state: make(map[object.Key]listwatch.Object), finished: make(map[string]bool),
		last: make(map[object.Key]int)}
	v.delay = []time.Duration{0, time.Millisecond, time.Minute}[random.IntN(3)]
	return v
}

func (v *view) hurry() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.delay = 0
}

func (v *view) handle(e informer.Event[listwatch.Object]) {
	v.mu.Lock()
	delay := v.delay
	v.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	key := object.KeyOf(e.Object)
	have, exists := v.state[key]
	switch {
	case e.Type == informer.Added && exists:
		v.t.Errorf("%s, but it has %s", describe(e), have.ResourceVersion)
	case e.Type == informer.Updated && (!exists || !equality.Semantic.DeepEqual(have, e.Old) || have.UID != e.Object.UID):
		v.t.Errorf("%s, but it has %s", describe(e), versionOf(have))
	case e.Type == informer.Deleted && exists && have.UID != e.Object.UID:
		v.t.Errorf("%s, but it has another incarnation", describe(e))
	case e.Type != informer.Deleted && v.finished[string(e.Object.UID)]:
		v.t.Errorf("%s, but that incarnation was deleted", describe(e))
	}
	version, _ := strconv.Atoi(e.Object.ResourceVersion)
	if version < v.last[key] {
		v.t.Errorf("%s, but version %d was delivered before", describe(e), v.last[key])
	}
	v.last[key] = version
	v.state[key] = e.Object
	if e.Type == informer.Deleted {
		delete(v.state, key)
		v.finished[string(e.Object.UID)] = true
	}
}

func versionOf(o listwatch.Object) string {
	if o == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s@%s", o.UID, o.ResourceVersion)
}

func stateOf(store informer.Store[listwatch.Object]) map[object.Key]listwatch.Object {
	state := make(map[object.Key]listwatch.Object)
	for key, o := range store.All() {
		state[key] = o
	}
	return state
}

func compare(t *testing.T, what string, got, want map[object.Key]listwatch.Object) {
	t.Helper()
	list := func(state map[object.Key]listwatch.Object) []string {
		var all []string
		for key, o := range state {
			all = append(all, key.Name+" "+versionOf(o))
		}
		slices.Sort(all)
		return all
	}
	expect(t, what, list(got), list(want)...)
}
