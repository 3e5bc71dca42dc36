package collect

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

type thing = *metav1.PartialObjectMetadata

func named(name, version string) thing {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}

// gathered formats the objects of a state in order.
func gathered(t *testing.T, all State) string {
	var names []string
	for _, o := range all.(*List[thing, thing]).Values() {
		names = append(names, o.Name+o.ResourceVersion)
		if !all.Has(object.KeyOf(o)) {
			t.Errorf("the list lacks the key of %s", o.Name)
		}
	}
	has := 0
	for _, name := range []string{"a", "b", "c"} {
		if all.Has(object.Key{Name: name}) {
			has++
		}
	}
	if has != all.Len() || len(names) != all.Len() {
		t.Errorf("%d keys and %d objects of %d", has, len(names), all.Len())
	}
	return fmt.Sprint(names)
}

func TestStateHasTheLastOfEachObjectInTheOrderOfTheFirst(t *testing.T) {
	for steps, want := range map[string]string{
		"":                        "[]",
		"a1 b1":                   "[a1 b1]",
		"a1 b1 a2":                "[a2 b1]",
		"a1 b1 a2 -b c1 -a b2 a3": "[a3 b2 c1]",
		"a1 -a":                   "[]",
		"a1 ?a b1":                "[b1] a",
		"a1 ?a a2":                "[a2]",
	} {
		w := NewWhole[thing](0, nil)
		for rest := steps; rest != ""; rest = rest[min(3, len(rest)):] {
			switch key := (object.Key{Name: rest[1:2]}); rest[0] {
			case '-':
				w.Remove(key)
			case '?':
				w.Retain(key)
			default:
				w.Set(object.Key{Name: rest[:1]}, named(rest[:1], rest[1:2]))
			}
		}
		all, retained := w.State()
		got := gathered(t, all)
		for _, key := range retained {
			got += " " + key.Name
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", steps, got, want)
		}
	}
}

func TestObjectsThatTheStoreHasAreKept(t *testing.T) {
	held := named("a", "1")
	w := NewWhole(2, func(key object.Key, obj thing) (thing, bool) {
		return held, key.Name == held.Name && obj.ResourceVersion == held.ResourceVersion
	})
	if !w.Keep(object.Key{Name: "a"}, named("a", "1")) || w.Keep(object.Key{Name: "a"}, named("a", "2")) {
		t.Error("Keep does not say whether the store has the state")
	}
	all, _ := w.State()
	if all.(*List[thing, thing]).Values()[0] != held {
		t.Error("the state has another object than the store")
	}
}

func TestManyObjectsStayInOrder(t *testing.T) {
	w := NewWhole[thing](10, nil)
	for n := range 5000 {
		o := named(fmt.Sprint(n), "1")
		w.Set(object.KeyOf(o), o)
	}
	all, _ := w.State()
	next := 0
	for _, o := range all.(*List[thing, thing]).Values() {
		if o.Name != fmt.Sprint(next) {
			t.Fatalf("%s comes at %d", o.Name, next)
		}
		next++
	}
	if next != 5000 {
		t.Errorf("%d objects", next)
	}
}

func TestPrecedesIsTheOrderOfTheKeysOfTheAPIServer(t *testing.T) {
	names := []string{"", "a", "a-b", "a.b", "a0", "ab", "b"}
	for _, an := range names {
		for _, bn := range names {
			for _, a := range names[1:] {
				for _, b := range names[1:] {
					got := precedes(object.Key{Namespace: an, Name: a}, object.Key{Namespace: bn, Name: b})
					if want := an+"/"+a < bn+"/"+b; got != want {
						t.Errorf("%s/%s before %s/%s: %v", an, a, bn, b, got)
					}
				}
			}
		}
	}
}
