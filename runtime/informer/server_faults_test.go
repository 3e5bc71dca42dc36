package informer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// faulty is an informer of a namespace's config maps, with helpers for tests that cause failures.
type faulty struct {
	*followed[configMap]
	tap       *tap
	registry  *metrics.Registry
	namespace string
	random    *rand.Rand
	server    *server
}

// newFaulty creates the namespace and runs the informer until it has synced.
func newFaulty(ctx context.Context, t *testing.T, s *server, namespace string, change func(*rest.Config)) *faulty {
	t.Helper()
	s.createNamespace(ctx, t, namespace)
	c, tap := s.tapped(t, change)
	source, err := client.NewListWatcher(c, &corev1.ConfigMap{}, client.Scope{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{tap: tap, registry: metrics.NewRegistry(), namespace: namespace, random: rand.New(rand.NewPCG(2, 2)),
		server: s}
	f.followed = followServer(ctx, t, source, informer.Options[configMap]{Name: "configmaps", Namespace: namespace,
		Metrics: f.registry})
	return f
}

func (f *faulty) synced(ctx context.Context) {
	f.t.Helper()
	select {
	case <-f.informer.Synced():
	case <-ctx.Done():
		f.t.Fatal(context.Cause(ctx), f.informer.Err())
	}
}

// churn makes some changes. Errors fail the test unless mayFail is true.
func (f *faulty) churn(ctx context.Context, mayFail bool) {
	for range 60 {
		if err := churn(ctx, f.server.admin, f.random, f.namespace, 8); err != nil && !mayFail {
			f.t.Error(err)
		}
	}
}

// finish makes the last change, waits for it, and compares the results.
func (f *faulty) finish(ctx context.Context) {
	f.t.Helper()
	if err := f.server.admin.Create(ctx, newConfigMap(f.namespace, "end", "")); err != nil {
		f.t.Fatal(err)
	}
	last := object.Key{Namespace: f.namespace, Name: "end"}
	f.end(ctx, last, f.server.versions(client.InNamespace(f.namespace)))
}

// lists returns how often the informer has listed all objects.
func (f *faulty) lists() (n int) {
	f.t.Helper()
	var text strings.Builder
	if _, err := f.registry.WriteTo(&text); err != nil {
		f.t.Fatal(err)
	}
	sample := fmt.Sprintf("informer_lists_total{informer=%q} ", "configmaps/"+f.namespace)
	if _, value, ok := strings.Cut(text.String(), sample); ok {
		_, _ = fmt.Sscan(value, &n)
	}
	return n
}

func unchanged(*rest.Config) {}

// kill kills a part of the server while objects change, and restarts it.
func (f *faulty) kill(ctx context.Context, part testenv.Part) {
	f.t.Helper()
	var changing sync.WaitGroup
	changing.Go(func() { f.churn(ctx, true) })
	if err := f.server.env.Kill(part); err != nil {
		f.t.Fatal(err)
	}
	if err := f.server.env.Restart(part); err != nil {
		f.t.Fatal(err)
	}
	changing.Wait()
}

func testAPIServerIsKilled(t *testing.T, s *server) {
	ctx := deadline(t, 2*time.Minute)
	f := newFaulty(ctx, t, s, "apiserver-killed", unchanged)
	f.synced(ctx)
	f.churn(ctx, false)
	f.kill(ctx, testenv.APIServer)
	f.churn(ctx, false)
	f.finish(ctx)
}

func testEtcdIsKilled(t *testing.T, s *server) {
	ctx := deadline(t, 2*time.Minute)
	f := newFaulty(ctx, t, s, "etcd-killed", unchanged)
	f.synced(ctx)
	f.churn(ctx, false)
	f.kill(ctx, testenv.Etcd)
	f.churn(ctx, false)
	f.finish(ctx)
}

// testHistoryIsCompacted deletes and recreates objects while the watch is down, and makes the server lose that part of
// the history. It also restarts the API server, because the server keeps the last changes in memory.
func testHistoryIsCompacted(t *testing.T, s *server) {
	ctx := deadline(t, 2*time.Minute)
	f := newFaulty(ctx, t, s, "compacted", unchanged)
	f.synced(ctx)
	for _, name := range []string{"gone", "again", "kept", "seen"} {
		if err := s.admin.Create(ctx, newConfigMap(f.namespace, name, "")); err != nil {
			t.Fatal(err)
		}
	}
	seen := object.Key{Namespace: f.namespace, Name: "seen"}
	f.journal.await(ctx, func(states map[object.Key]configMap) bool { return states[seen] != nil })
	f.tap.hold()
	f.tap.cut()
	for _, err := range []error{
		s.admin.Delete(ctx, newConfigMap(f.namespace, "gone", "")),
		s.admin.Delete(ctx, newConfigMap(f.namespace, "again", "")),
		s.admin.Create(ctx, newConfigMap(f.namespace, "again", "another")),
		s.env.Compact(),
		s.env.Kill(testenv.APIServer),
		s.env.Restart(testenv.APIServer),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if lists := f.lists(); lists != 1 {
		t.Errorf("%v lists before the compaction is noticed", lists)
	}
	f.tap.release()
	f.finish(ctx)
	if lists := f.lists(); lists < 2 {
		t.Errorf("%v lists: the lost history was not noticed", lists)
	}
}
