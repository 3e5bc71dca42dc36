package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// withUID returns a ConfigMap with that name and UID.
func withUID(name, uid string) *corev1.ConfigMap {
	o := configMap("ns", name)
	o.UID = types.UID(uid)
	return o
}

// record records a write in the client's journal. The write is to a ConfigMap unless w has a kind.
func (f *fixture) record(ctx context.Context, w writes.Write) {
	if w.GVK.Empty() {
		w.GVK = configMapKind
	}
	writes.LogOf(f.live.Journal()).Record(ctx, w)
}

// write stores o on the server and reports the write as a client does.
func (f *fixture) write(ctx context.Context, o *corev1.ConfigMap) {
	f.api.put(configMaps, o)
	f.record(ctx, writes.Write{
		Key: object.KeyOf(o), UID: o.UID, ResourceVersion: o.ResourceVersion, Object: o,
	})
}

// erase deletes o from the server and reports it as a client does, without a version.
func (f *fixture) erase(ctx context.Context, o *corev1.ConfigMap) {
	f.api.remove(configMaps, o)
	f.record(ctx, writes.Write{Key: object.KeyOf(o), UID: o.UID, Gone: true})
}

// takes fails the test unless what takes exactly d.
func (f *fixture) takes(d time.Duration, what func()) {
	f.Helper()
	start := time.Now()
	what()
	if took := time.Since(start); took != d {
		f.Errorf("took %v, want %v", took, d)
	}
}

// lagging runs a test with a cache of ConfigMaps whose watch is one second late.
func lagging(t *testing.T, opts cache.Options, test func(f *fixture)) {
	t.Helper()
	run(t, opts, func(f *fixture) {
		f.write(f.ctx, withUID("existing", "0"))
		f.declare(&corev1.ConfigMap{})
		f.api.lag = time.Second
		test(f)
	})
}

// S05
//
// Stronger: each read waits for all earlier writes, so callers need not name the objects that they wrote.
func TestReadSeesWritesThatReturnedBefore(t *testing.T) {
	lagging(t, cache.Options{}, func(f *fixture) {
		a := withUID("a", "1")
		f.write(f.ctx, a)
		var got corev1.ConfigMap
		f.takes(time.Second, func() {
			if err := f.get("ns", "a", &got); err != nil || got.ResourceVersion != a.ResourceVersion {
				t.Errorf("after the creation: %s, %v", got.ResourceVersion, err)
			}
		})
		a.Data["key"] = "changed"
		f.write(f.ctx, a)
		f.takes(time.Second, func() {
			if err := f.get("ns", "a", &got); err != nil || got.Data["key"] != "changed" {
				t.Errorf("after the update: %v, %v", got.Data, err)
			}
		})
		f.erase(f.ctx, a)
		f.takes(time.Second, func() {
			if err := f.get("ns", "a", &got); !apierrors.IsNotFound(err) {
				t.Errorf("after the deletion: %v", err)
			}
		})
		f.takes(0, func() { expect(t, "list", f.list(), "ns/existing") })
	})
}

func TestListSeesWritesOfItsNamespaceOnly(t *testing.T) {
	lagging(t, cache.Options{}, func(f *fixture) {
		f.write(f.ctx, withUID("a", "1"))
		f.takes(0, func() { expect(t, "other namespace", f.list(client.InNamespace("other"))) })
		f.takes(0, func() {
			if err := f.get("ns", "existing", &corev1.ConfigMap{}); err != nil {
				t.Errorf("another object: %v", err)
			}
		})
		f.takes(time.Second, func() { expect(t, "its namespace", f.list(client.InNamespace("ns")), "ns/a", "ns/existing") })
		a := withUID("a", "1")
		f.erase(f.ctx, a)
		f.takes(time.Second, func() { expect(t, "all namespaces", f.list(), "ns/existing") })
	})
}

func TestListWithASelectorSeesTheWritesThatItConcerns(t *testing.T) {
	lagging(t, cache.Options{}, func(f *fixture) {
		relabelled := withUID("existing", "0")
		relabelled.Labels = map[string]string{"name": "changed"}
		f.write(f.ctx, relabelled)
		for name, c := range map[string]struct {
			selected client.ListOption
			takes    time.Duration
		}{
			"other label": {client.MatchingLabels{"name": "other"}, 0},
			"other name":  {client.MatchingFields{"metadata.name": "other"}, 0},
		} {
			f.takes(c.takes, func() { expect(t, name, f.list(c.selected)) })
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.takes(time.Second, func() { expect(t, "label before", f.list(client.MatchingLabels{"name": "existing"})) })
		}()
		f.takes(time.Second, func() {
			expect(t, "label after", f.list(client.MatchingLabels{"name": "changed"}),
				"ns/existing")
		})
		<-ended
		f.erase(f.ctx, relabelled)
		f.takes(0, func() { expect(t, "other label", f.list(client.MatchingLabels{"name": "other"})) })
		f.takes(time.Second, func() { expect(t, "label of the deleted", f.list(client.MatchingLabels{"name": "changed"})) })
	})
}

func TestObjectThatIsDeletedAndCreatedAgainIsTheNewOne(t *testing.T) {
	lagging(t, cache.Options{}, func(f *fixture) {
		f.erase(f.ctx, withUID("existing", "0"))
		f.write(f.ctx, withUID("existing", "1"))
		var got corev1.ConfigMap
		f.takes(time.Second, func() {
			if err := f.get("ns", "existing", &got); err != nil || got.UID != "1" {
				t.Errorf("got %s, %v", got.UID, err)
			}
		})
	})
}

// restore resets the server to that version with the object o, as if from a backup, and ends all watches.
func (f *fixture) restore(version int, o *corev1.ConfigMap) {
	f.Helper()
	synctest.Wait() // the cache has reached versions that the server then rolls back
	f.api.mu.Lock()
	f.api.version, f.api.objects = version, map[string]map[object.Key]json.RawMessage{}
	f.api.cutLocked()
	f.api.mu.Unlock()
	f.api.put(configMaps, o)
	time.Sleep(time.Minute)
}

func TestObjectThatIsBackFromABackupIsDeletedAgain(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		for range 20 {
			f.write(f.ctx, withUID("other", "0"))
		}
		a := withUID("a", "1")
		f.write(f.ctx, a)
		f.erase(f.ctx, a)
		expect(t, "before", f.list(), "ns/other")
		f.restore(12, a)
		expect(t, "with the backup", f.list(), "ns/a")
		f.api.late(time.Second)
		f.erase(f.ctx, a)
		f.takes(time.Second, func() {
			if err := f.get("ns", "a", &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
				t.Errorf("got %v", err)
			}
		})
		f.takes(0, func() { expect(t, "after", f.list()) })
	})
}

func TestObjectThatIsBackFromABackupIsTheOneOfTheBackup(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		a := withUID("a", "1")
		f.write(f.ctx, a)
		version, _ := strconv.Atoi(a.ResourceVersion)
		for range 20 {
			f.write(f.ctx, withUID("other", "0"))
		}
		a.Data = map[string]string{"key": "another"}
		f.restore(version-1, a) // the changed object gets the same version as before
		var got corev1.ConfigMap
		if err := f.get("ns", "a", &got); err != nil || got.ResourceVersion != strconv.Itoa(version) ||
			got.Data["key"] != "another" {
			t.Errorf("got %v, %v", got.Data, err)
		}
	})
}

func TestDeletionOfAnObjectThatTheCacheHasNotSeenIsSeen(t *testing.T) {
	lagging(t, cache.Options{}, func(f *fixture) {
		a := withUID("a", "1")
		f.api.put(configMaps, a) // by another process
		time.Sleep(time.Second / 2)
		f.erase(f.ctx, a)
		f.takes(0, func() {
			if err := f.get("ns", "a", &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
				t.Errorf("before its creation is in the cache: %v", err)
			}
		})
		time.Sleep(time.Second/2 + 1)
		f.takes(time.Second/2-1, func() {
			if err := f.get("ns", "a", &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
				t.Errorf("after its creation is in the cache: %v", err)
			}
		})
	})
}

func TestDeletionThatMayHaveBegunIsSeenWithItsTimestamp(t *testing.T) {
	lagging(t, cache.Options{}, func(f *fixture) {
		o := withUID("existing", "0")
		now := metav1.Now()
		o.DeletionTimestamp, o.Finalizers = &now, []string{"example.com/hold"}
		f.api.put(configMaps, o)
		f.record(f.ctx, writes.Write{Key: object.KeyOf(o), UID: o.UID, Ending: true})
		var got corev1.ConfigMap
		f.takes(time.Second, func() {
			if err := f.get("ns", "existing", &got); err != nil || got.DeletionTimestamp == nil {
				t.Errorf("got %v, %v", got.DeletionTimestamp, err)
			}
		})
	})
}

func TestWriteInAnotherVersionOfTheKindCounts(t *testing.T) {
	lagging(t, cache.Options{}, func(f *fixture) {
		a := withUID("a", "1")
		f.api.put(configMaps, a)
		f.record(f.ctx, writes.Write{
			GVK: schema.GroupVersionKind{Version: "v1beta1", Kind: "ConfigMap"}, Key: object.KeyOf(a),
			ResourceVersion: a.ResourceVersion,
		})
		f.takes(time.Second, func() { expect(t, "list", f.list(), "ns/a", "ns/existing") })
	})
}

func TestWriteBeforeTheKindWasDeclaredCounts(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.lag = time.Second
		f.api.stale = true
		f.write(f.ctx, withUID("a", "1"))
		f.declare(&corev1.ConfigMap{})
		f.api.put(configMaps, withUID("b", "2"))
		f.takes(time.Second, func() { expect(t, "list", f.list(), "ns/b") })
	})
}

func TestEveryCachedNamespaceCatchesUpForItself(t *testing.T) {
	run(t, cache.Options{Namespaces: []string{"ns", "other"}}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		f.api.lag = time.Second
		f.write(f.ctx, withUID("a", "1"))
		f.takes(0, func() { expect(t, "other", f.list(client.InNamespace("other"))) })
		f.takes(time.Second, func() { expect(t, "all", f.list(), "ns/a") })
		f.api.take()
		f.write(f.ctx, configMap("uncached", "a"))
		f.takes(0, func() {
			if err := f.get("uncached", "a", &corev1.ConfigMap{}); err != nil {
				t.Error(err)
			}
		})
		expect(t, "requests", f.api.take(), "namespaces/uncached/configmaps/a")
	})
}

// S05
func TestReadFailsWhenTheCacheDoesNotCatchUp(t *testing.T) {
	for name, c := range map[string]struct {
		timeout, waits time.Duration
	}{"by default": {0, 5 * time.Second}, "as set": {time.Minute, time.Minute}} {
		t.Run(name, func(t *testing.T) {
			lagging(t, cache.Options{ConsistencyTimeout: c.timeout}, func(f *fixture) {
				f.api.lag = time.Hour
				f.write(f.ctx, withUID("a", "1"))
				var err error
				f.takes(c.waits, func() { err = f.get("ns", "a", &corev1.ConfigMap{}) })
				stale, ok := errors.AsType[*cache.StaleError](err)
				if !ok || !errors.Is(err, cache.ErrStale) || stale.Key.Name != "a" || stale.GVK != configMapKind ||
					stale.Waited != c.waits {
					t.Errorf("get: %v", err)
				}
				want := "get ConfigMap ns/a: cache has not caught up with a write of this process: ConfigMap ns/a, waited " +
					c.waits.String()
				if err == nil || err.Error() != want {
					t.Errorf("get: %v, want %s", err, want)
				}
				f.takes(c.waits, func() { err = f.cache.List(f.ctx, &corev1.ConfigMapList{}) })
				if !errors.Is(err, cache.ErrStale) {
					t.Errorf("list: %v", err)
				}
			})
		})
	}
}

func TestStaleErrorHasTheCause(t *testing.T) {
	err := &cache.StaleError{GVK: configMapKind, Waited: time.Second, Err: errors.New("forbidden")}
	if !strings.HasSuffix(err.Error(), "waited 1s: forbidden") || !errors.Is(err, err.Err) {
		t.Error(err)
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	lagging(t, cache.Options{}, func(f *fixture) {
		f.write(f.ctx, withUID("a", "1"))
		why := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(f.ctx, time.Millisecond, why)
		defer cancel()
		if err := f.cache.Get(ctx, object.Key{Namespace: "ns", Name: "a"}, &corev1.ConfigMap{}); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
	})
}

func TestReadDoesNotWaitForLaterWrites(t *testing.T) {
	lagging(t, cache.Options{}, func(f *fixture) {
		a := withUID("a", "1")
		f.write(f.ctx, a)
		ended := make(chan time.Time, 2)
		go func() { _ = f.get("ns", "a", &corev1.ConfigMap{}); ended <- time.Now() }()
		go func() { _ = f.list(); ended <- time.Now() }()
		start := time.Now()
		for range 19 {
			time.Sleep(100 * time.Millisecond)
			f.write(f.ctx, a)
		}
		for range 2 {
			if took := (<-ended).Sub(start); took != time.Second {
				t.Errorf("took %v", took)
			}
		}
		f.takes(time.Second, func() { f.list() })
	})
}

func TestConsistencyCanBeTurnedOff(t *testing.T) {
	lagging(t, cache.Options{DisableConsistency: true}, func(f *fixture) {
		f.write(f.ctx, withUID("a", "1"))
		f.takes(0, func() { expect(t, "list", f.list(), "ns/existing") })
	})
}

func TestDisabledKindsAreReadLive(t *testing.T) {
	lagging(t, cache.Options{DisableFor: []object.Object{&corev1.ConfigMap{}}}, func(f *fixture) {
		f.write(f.ctx, withUID("a", "1"))
		f.takes(0, func() {
			if err := f.get("ns", "a", &corev1.ConfigMap{}); err != nil {
				t.Error(err)
			}
		})
		expect(t, "requests", f.api.take(), "namespaces/ns/configmaps/a")
	})
}

func TestWritesAreTracked(t *testing.T) {
	lagging(t, cache.Options{}, func(f *fixture) {
		ctx, tracked := writes.Track(f.ctx)
		if tracked.Timeout() != 0 || tracked.WhenSeen(func() { t.Error("called") }) {
			t.Error("there are writes before the first")
		}
		a := withUID("a", "1")
		f.write(ctx, a)
		f.write(f.ctx, withUID("c", "3")) // without ctx, so it is not tracked
		time.Sleep(time.Second / 2)
		f.write(ctx, withUID("b", "2"))
		f.erase(ctx, withUID("existing", "0"))
		f.write(f.ctx, a)
		if tracked.Timeout() != 5*time.Second {
			t.Errorf("timeout %v", tracked.Timeout())
		}
		seen := make(chan struct{})
		if !tracked.WhenSeen(func() { close(seen) }) {
			t.Error("they were seen at once")
		}
		f.takes(time.Second, func() { <-seen })
		synctest.Wait()
	})
}

// eraseMany creates many objects for a test to erase.
func (f *fixture) eraseMany(count int) []*corev1.ConfigMap {
	var all []*corev1.ConfigMap
	for n := range count {
		o := withUID(fmt.Sprint("many-", n), fmt.Sprint("uid-", n))
		f.api.put(configMaps, o)
		all = append(all, o)
	}
	synctest.Wait()
	return all
}

func TestDeletionsBeyondEveryBoundAreNotReadStale(t *testing.T) {
	for _, unheld := range []int{1, 100, 8192} {
		run(t, cache.Options{}, func(f *fixture) {
			f.cache.SetBounds(unheld, unheld)
			i := f.declare(&corev1.ConfigMap{})
			all := f.eraseMany(1500)
			f.api.late(time.Hour)
			for _, o := range all {
				before := o.ResourceVersion
				f.api.remove(configMaps, o)
				f.record(f.ctx, writes.Write{
					Key: object.KeyOf(o), UID: o.UID, Before: before, Ending: true,
				})
			}
			for n := 0; n < len(all); n += 300 {
				if err := f.get("ns", all[n].Name, &corev1.ConfigMap{}); !errors.Is(err, cache.ErrStale) {
					t.Fatalf("%d: got %v", n, err)
				}
			}
			if err := f.cache.List(f.ctx, &corev1.ConfigMapList{}); !errors.Is(err, cache.ErrStale) {
				t.Errorf("list: %v", err)
			}
			time.Sleep(2 * time.Hour)
			if open := i.Open(); open != 0 {
				t.Errorf("%d writes are open for ever", open)
			}
			expect(t, "list", f.list())
		})
	}
}

func TestDeletionsThatTheStoreHasSeenFirstLeaveNothingOpen(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		i := f.declare(&corev1.ConfigMap{})
		var deletions []writes.Write
		for _, o := range f.eraseMany(3000) {
			deletions = append(deletions, writes.Write{
				Key: object.KeyOf(o), UID: o.UID, Before: o.ResourceVersion, Ending: true,
			})
			f.api.remove(configMaps, o)
		}
		synctest.Wait()
		for _, w := range deletions {
			f.record(f.ctx, w)
		}
		if open := i.Open(); open != 0 {
			t.Errorf("%d writes are open", open)
		}
	})
}

func TestEventsAreOneKindInTwoGroups(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		i := f.declare(&corev1.Event{})
		f.record(f.ctx, writes.Write{
			GVK: schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"},
			Key: object.Key{Namespace: "ns", Name: "a"}, ResourceVersion: "99",
		})
		if i.Open() != 1 {
			t.Errorf("%d writes are open", i.Open())
		}
	})
}
