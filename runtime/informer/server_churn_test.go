package informer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

var churned = map[string]string{"churned": "yes"}

func newConfigMap(namespace, name, data string) configMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: churned},
		Data:       map[string]string{"random": data},
	}
}

// churn makes a random change to one of count config maps.
func churn(ctx context.Context, c *client.REST, random *rand.Rand, namespace string, count int) error {
	cm := newConfigMap(namespace, fmt.Sprint("cm-", random.IntN(count)), fmt.Sprint(random.Int()))
	switch random.IntN(3) {
	case 0:
		return client.IgnoreNotFound(c.Delete(ctx, cm))
	case 1:
		return client.IgnoreAlreadyExists(c.Create(ctx, cm))
	}
	return client.IgnoreNotFound(c.Update(ctx, cm))
}

func testNamespacesComeAndGo(t *testing.T, s *server) {
	ctx := deadline(t, time.Minute)
	for _, namespace := range []string{"one", "two"} {
		s.createNamespace(ctx, t, namespace)
	}
	factory := informer.NewFactory(informer.FactoryOptions{Namespaces: []string{"one"}})
	open := informer.FromClient(s.admin, &corev1.ConfigMap{}, client.Scope{Labels: labels.SelectorFromSet(churned)})
	shared, err := informer.Shared(factory, open, informer.KindOptions[configMap]{Options: informer.Options[configMap]{
		Name: "configmaps", Mutated: func(e *informer.MutationError) { t.Error(e) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	j := newJournal[configMap](t, nil)
	shared.AddHandler(j.handle)
	running, stop := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- factory.Run(running) }()
	if err := factory.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for n := range 300 {
		if n == 150 {
			if err := factory.AddNamespace("two"); err != nil {
				t.Fatal(err)
			}
		}
		if err := churn(ctx, s.admin, random, []string{"one", "two"}[random.IntN(2)], 8); err != nil {
			t.Fatal(err)
		}
	}
	for _, namespace := range []string{"one", "two"} {
		if err := s.admin.Create(ctx, newConfigMap(namespace, "end", "")); err != nil {
			t.Fatal(err)
		}
		last := object.Key{Namespace: namespace, Name: "end"}
		j.await(ctx, func(states map[object.Key]configMap) bool { return states[last] != nil })
	}
	want, err := s.versions(client.MatchingLabels(churned))(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	compareWith(t, "the handler", j.states, want)
	listed := make(map[object.Key]configMap)
	for _, cm := range shared.Lister().List(nil) {
		listed[object.KeyOf(cm)] = cm
	}
	compareWith(t, "the lister", listed, want)
}

// testObjectsChurn uses three handlers: one keeps up, one blocks until the end, and one is added halfway.
func testObjectsChurn(t *testing.T, s *server, count int) {
	ctx := deadline(t, time.Minute+time.Duration(count)*10*time.Millisecond)
	s.createNamespace(ctx, t, "many")
	source, err := client.NewListWatcher(s.admin, &corev1.ConfigMap{}, client.Scope{Namespace: "many"})
	if err != nil {
		t.Fatal(err)
	}
	s.atOnce(t, count, func(_ *rand.Rand, n int) error {
		if n%2 == 0 {
			return nil
		}
		return s.admin.Create(ctx, newConfigMap("many", fmt.Sprint("cm-", n), ""))
	})
	f := followServer(ctx, t, source, informer.Options[configMap]{Name: "configmaps", Namespace: "many"})
	over := make(chan struct{})
	f.addJournal(func() { <-over })
	<-f.informer.Synced()
	for half := range 2 {
		s.atOnce(t, count, func(random *rand.Rand, _ int) error { return churn(ctx, s.admin, random, "many", count) })
		if half == 0 {
			f.addJournal(nil)
		}
	}
	if err := s.admin.Create(ctx, newConfigMap("many", "end", "")); err != nil {
		t.Fatal(err)
	}
	close(over)
	f.end(ctx, object.Key{Namespace: "many", Name: "end"}, s.versions(client.InNamespace("many")))
	for n, j := range f.journals {
		t.Logf("%d objects: handler %d received %d events", count, n, j.events)
	}
}

// atOnce calls work once for each number below count, from several goroutines.
func (s *server) atOnce(t *testing.T, count int, work func(random *rand.Rand, n int) error) {
	t.Helper()
	const workers = 8
	var working sync.WaitGroup
	for w := range workers {
		working.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for n := w; n < count; n += workers {
				if err := work(random, n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	working.Wait()
	if t.Failed() {
		t.FailNow()
	}
}
