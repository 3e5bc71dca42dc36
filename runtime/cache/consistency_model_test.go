package cache_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
)

// author writes objects that nobody else writes, and so knows how they are.
type author struct {
	*fixture
	random *rand.Rand
	prefix string
	born   int
	truth  map[string]*corev1.ConfigMap // by name
}

// write creates, updates or deletes an object.
func (a *author) write() {
	name := a.prefix + strconv.Itoa(a.random.IntN(3))
	o := a.truth[name]
	if o != nil && a.random.IntN(3) == 0 {
		delete(a.truth, name)
		a.erase(a.ctx, o)
		return
	}
	if o == nil {
		a.born++
		o = withUID(name, fmt.Sprint(name, "-", a.born))
		a.truth[name] = o
	}
	o.Labels = map[string]string{"shard": strconv.Itoa(a.random.IntN(2))}
	a.fixture.write(a.ctx, o)
}

// get reads an object.
func (a *author) get() {
	name := a.prefix + strconv.Itoa(a.random.IntN(3))
	var got corev1.ConfigMap
	err := a.fixture.get("ns", name, &got)
	switch want := a.truth[name]; {
	case want == nil && !apierrors.IsNotFound(err):
		a.Errorf("%s was deleted; got version %s, %v", name, got.ResourceVersion, err)
	case want != nil && (err != nil || got.ResourceVersion != want.ResourceVersion):
		a.Errorf("%s has version %s; got %s, %v", name, want.ResourceVersion, got.ResourceVersion, err)
	}
}

// list reads a shard, or all objects.
func (a *author) list() {
	shard := strconv.Itoa(a.random.IntN(3))
	var opts []client.ListOption
	if shard != "2" {
		opts = append(opts, client.MatchingLabels{"shard": shard})
	}
	var list corev1.ConfigMapList
	if err := a.cache.List(a.ctx, &list, opts...); err != nil {
		a.Error(err)
	}
	got, want := map[string]string{}, map[string]string{}
	for _, o := range list.Items {
		if strings.HasPrefix(o.Name, a.prefix) {
			got[o.Name] = o.ResourceVersion
		}
	}
	for name, o := range a.truth {
		if shard == "2" || o.Labels["shard"] == shard {
			want[name] = o.ResourceVersion
		}
	}
	if !maps.Equal(got, want) {
		a.Errorf("shard %s is %v; got %v", shard, want, got)
	}
}

// TestNoReadIsOlderThanTheWritesBeforeIt lets authors write and read at random, with watches that are late by up to two
// seconds. An author has to find its objects exactly as it left them.
func TestNoReadIsOlderThanTheWritesBeforeIt(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			run(t, cache.Options{ConsistencyTimeout: time.Hour}, func(f *fixture) {
				f.declare(&corev1.ConfigMap{})
				var all sync.WaitGroup
				for n := range uint64(4) {
					a := &author{f, rand.New(rand.NewPCG(seed, n)), fmt.Sprint("author", n, "-"), 0, map[string]*corev1.ConfigMap{}}
					all.Go(func() {
						for range 100 {
							time.Sleep(time.Duration(a.random.IntN(200)) * time.Millisecond)
							a.api.late(time.Duration(a.random.IntN(2000)) * time.Millisecond)
							[]func(){a.write, a.write, a.get, a.list}[a.random.IntN(4)]()
						}
					})
				}
				all.Wait()
			})
		})
	}
}
