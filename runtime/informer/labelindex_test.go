package informer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

// labelStore is a store and its expected content.
type labelStore struct {
	*contents[*corev1.ConfigMap]
	want    map[object.Key]*corev1.ConfigMap
	version int
}

func newLabelStore(t *testing.T, packed bool) *labelStore {
	t.Helper()
	var packing *Packing[*corev1.ConfigMap]
	if packed {
		var err error
		if packing, err = NewPacking(&corev1.ConfigMap{}); err != nil {
			t.Fatal(err)
		}
	}
	return &labelStore{newContents[*corev1.ConfigMap](nil, packing), map[object.Key]*corev1.ConfigMap{}, 0}
}

// object returns a new state of object n with random labels.
func (s *labelStore) object(random *rand.Rand, n int) *corev1.ConfigMap {
	s.version++
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n" + strconv.Itoa(n%3), Name: "o" + strconv.Itoa(n),
		UID: types.UID("u" + strconv.Itoa(n)), ResourceVersion: strconv.Itoa(s.version), Labels: map[string]string{},
	}}
	for i, values := range []int{20, 200, 2000, 2000, 2000, 2000} {
		if random.IntN(10) > 0 {
			o.Labels["l"+strconv.Itoa(i)] = "v" + strconv.Itoa(random.IntN(values))
		}
	}
	return o
}

func (s *labelStore) set(o *corev1.ConfigMap) {
	s.want[object.KeyOf(o)] = o
	s.apply(reflector.Deltas[*corev1.ConfigMap]{
		{Type: reflector.Updated, Key: object.KeyOf(o), Object: o, ResourceVersion: o.ResourceVersion},
	})
}

func (s *labelStore) delete(key object.Key) {
	o := s.want[key]
	delete(s.want, key)
	s.apply(reflector.Deltas[*corev1.ConfigMap]{{Type: reflector.Deleted, Key: key, Object: o}})
}

// check compares a read with its expected result.
func (s *labelStore) check(t *testing.T, namespace string, selector labels.Selector) {
	t.Helper()
	var got, want []string
	for key, o := range (Store[*corev1.ConfigMap]{s.contents}).Select(namespace, selector, nil) {
		got = append(got, fmt.Sprint(key, o.ResourceVersion))
	}
	for key, o := range s.want {
		if (namespace == "" || key.Namespace == namespace) && selector.Matches(labels.Set(o.Labels)) {
			want = append(want, fmt.Sprint(key, o.ResourceVersion))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("%s in %q: %d objects, want %d", selector, namespace, len(got), len(want))
	}
}

func (s *labelStore) indexed() []string { return slices.Sorted(maps.Keys(s.labels.byLabel)) }

// TestReadsByLabelAreThoseOfAScan reads by label between changes and relists, often enough for label indexes to be
// built and dropped.
func TestReadsByLabelAreThoseOfAScan(t *testing.T) {
	seeds.Each(t, 1, func(t *testing.T, seed uint64) {
		for _, packed := range []bool{false, true} {
			random := rand.New(rand.NewPCG(seed, 3))
			s := newLabelStore(t, packed)
			for n := range 1100 {
				s.set(s.object(random, n))
			}
			built := map[string]bool{}
			for range 500 {
				switch n := random.IntN(1100); random.IntN(40) {
				case 0:
					// Some of the relists change more than [changedInPlace] objects.
					odds := 1 + random.IntN(4)
					var all []*corev1.ConfigMap
					for key, o := range s.want {
						if random.IntN(odds) == 0 {
							uid := o.UID
							o = s.object(random, n)
							o.Namespace, o.Name, o.UID = key.Namespace, key.Name, uid
							s.want[key] = o
						}
						all = append(all, o)
					}
					s.advance(reflector.Deltas[*corev1.ConfigMap]{list(s.contents, strconv.Itoa(s.version), all...)})
				case 1, 2, 3, 4, 5:
					s.set(s.object(random, n))
				case 6:
					for key := range s.want {
						s.delete(key)
						break
					}
				default:
					label, value := "l"+strconv.Itoa(random.IntN(6)), "v"+strconv.Itoa(random.IntN(200))
					texts := []string{
						label + "=" + value, label + " in (v1,v2," + value + ")", label + "=" + value + ",l0!=v3",
						label + "!=" + value, "l0," + label + "=v5",
					}
					selector, err := labels.Parse(texts[random.IntN(len(texts))])
					if err != nil {
						t.Fatal(err)
					}
					s.check(t, []string{"", "n1"}[random.IntN(2)], selector)
				}
				for _, label := range s.indexed() {
					built[label] = true
				}
				if len(s.indexed()) > mostLabelIndexes {
					t.Fatalf("there are indexes of %q", s.indexed())
				}
			}
			if len(built) <= mostLabelIndexes {
				t.Errorf("there were indexes of %d labels", len(built))
			}
		}
	})
}

func TestIndexOfALabelComesWithReadsAndGoesWithoutThem(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	s := newLabelStore(t, true)
	for n := range leastIndexed {
		s.set(s.object(random, n))
	}
	read := func(times int, text string) {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for range times {
			s.check(t, "", selector)
		}
	}
	if read(scansPerIndex-1, "l2=v1"); len(s.indexed()) > 0 {
		t.Errorf("%d reads build an index", scansPerIndex-1)
	}
	if read(2, "l2=v1"); !slices.Equal(s.indexed(), []string{"l2"}) {
		t.Errorf("%d reads build indexes of %q, want l2", scansPerIndex+1, s.indexed())
	}
	if read(3*scansPerIndex, "absent!=v1"); len(s.indexed()) != 1 {
		t.Errorf("reads that select nearly all objects build an index: %q", s.indexed())
	}
	for n := range changesPerIndex*leastIndexed + 1 {
		s.set(s.object(random, n%leastIndexed))
	}
	if len(s.indexed()) > 0 {
		t.Errorf("an index of %q stays without reads", s.indexed())
	}
}

func BenchmarkReadsByLabel(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, text := range []string{"l3=v1", "l3=v1,l0", "l3!=v1,l3,l4=v2"} {
		b.Run(text, func(b *testing.B) {
			packing, err := NewPacking(&corev1.ConfigMap{})
			if err != nil {
				b.Fatal(err)
			}
			s := &labelStore{newContents[*corev1.ConfigMap](nil, packing), map[object.Key]*corev1.ConfigMap{}, 0}
			for n := range 20_000 {
				s.set(s.object(random, n))
			}
			selector, err := labels.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				for range (Store[*corev1.ConfigMap]{s.contents}).Select("", selector, nil) {
				}
			}
		})
	}
}

func TestReadsBuildIndexesWhileTheStoreChanges(t *testing.T) {
	s := newLabelStore(t, true)
	random := rand.New(rand.NewPCG(1, 1))
	for n := range leastIndexed {
		s.set(s.object(random, n))
	}
	var readers sync.WaitGroup
	for reader := range 4 {
		readers.Go(func() {
			for n := range 200 {
				label := "l" + strconv.Itoa((n+reader)%6)
				selector := labels.SelectorFromSet(labels.Set{label: "v1"})
				for _, o := range (Store[*corev1.ConfigMap]{s.contents}).Select("", selector, nil) {
					if o.Labels[label] != "v1" {
						t.Errorf("%s has %s=%s", o.Name, label, o.Labels[label])
					}
				}
			}
		})
	}
	for n := range 2000 {
		s.set(s.object(random, n%leastIndexed))
	}
	readers.Wait()
}
