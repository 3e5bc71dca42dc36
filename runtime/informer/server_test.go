package informer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

type configMap = *corev1.ConfigMap

// C01, W01, W03, S08: on a real API server, with a namespace that is added while its objects change.
func TestOnARealServer(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live, err := client.New(testenv.Start(t).Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, ns := range []string{"one", "two"} {
		if err := live.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
			t.Fatal(err)
		}
	}
	churned := labels.SelectorFromSet(labels.Set{"churned": "yes"})
	factory := informer.NewFactory(informer.FactoryOptions{Namespaces: []string{"one"}})
	open := openVerified(t, live, client.Scope{Labels: churned})
	shared, err := informer.Shared(factory, open, informer.KindOptions[configMap]{Options: informer.Options[configMap]{
		Name: "configmaps", Mutated: func(e *informer.MutationError) { t.Error(e) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{t: t, states: make(map[object.Key]configMap), ended: make(chan string, 2)}
	shared.AddHandler(j.handle)
	done := make(chan error)
	go func() { done <- factory.Run(ctx) }()
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
		if err := churn(ctx, live, random); err != nil {
			t.Fatal(err)
		}
	}
	for _, ns := range []string{"one", "two"} {
		end := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "end", Labels: map[string]string{"churned": "yes"}}}
		if err := live.Create(ctx, end); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		select {
		case <-j.ended:
		case <-ctx.Done():
			t.Fatal("the last object was not told", factory.Wait(ctx))
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	var want corev1.ConfigMapList
	if err := live.List(t.Context(), &want, client.MatchingLabels{"churned": "yes"}); err != nil {
		t.Fatal(err)
	}
	if listed := shared.Lister().List(nil); len(want.Items) != len(j.states) || len(listed) != len(j.states) {
		t.Errorf("the handler has %d objects, the lister %d, the server %d", len(j.states), len(listed), len(want.Items))
	}
	for _, o := range want.Items {
		if have := j.states[object.KeyOf(&o)]; have == nil || have.ResourceVersion != o.ResourceVersion {
			t.Errorf("%s: the handler has %v, the server %s", object.KeyOf(&o), have, o.ResourceVersion)
		}
	}
}

// openVerified opens the config maps of live, with streaming lists that are compared with lists.
func openVerified(t *testing.T, live *client.REST, scope client.Scope) informer.Open[configMap] {
	open := informer.FromClient(live, &corev1.ConfigMap{}, scope)
	return func(namespace string) (informer.ListerWatcher[configMap], error) {
		source, err := open(namespace)
		if err != nil {
			return nil, err
		}
		return informer.Verify(source, func(e *informer.InconsistencyError) { t.Error(e) }), nil
	}
}

// churn changes one of a few config maps.
func churn(ctx context.Context, live *client.REST, random *rand.Rand) error {
	cm := &corev1.ConfigMap{}
	cm.Namespace, cm.Name = []string{"one", "two"}[random.IntN(2)], fmt.Sprint("cm-", random.IntN(8))
	cm.Labels = map[string]string{"churned": "yes"}
	cm.Data = map[string]string{"random": fmt.Sprint(random.Int())}
	switch random.IntN(3) {
	case 0:
		return client.IgnoreNotFound(live.Delete(ctx, cm))
	case 1:
		return client.IgnoreAlreadyExists(live.Create(ctx, cm))
	}
	return client.IgnoreNotFound(live.Update(ctx, cm))
}

// journal is a handler that replays what it is told and checks it. It may be read when it is not called any more.
type journal struct {
	t      *testing.T
	states map[object.Key]configMap
	ended  chan string // namespaces of which the last object was told
}

func (j *journal) handle(e informer.Event[configMap]) {
	old, has := j.states[e.Key()]
	switch {
	case has == (e.Type == informer.Added):
		j.t.Errorf("%v of %s, which is there: %v", e.Type, e.Key(), has)
	case e.Type == informer.Updated && old.UID != e.Object.UID:
		j.t.Errorf("%s became another object without a deletion", e.Key())
	case e.Type == informer.Updated:
		if order, err := resourceversion.CompareResourceVersion(old.ResourceVersion, e.Object.ResourceVersion); err != nil || order >= 0 {
			j.t.Errorf("%s went from %s to %s, %v", e.Key(), old.ResourceVersion, e.Object.ResourceVersion, err)
		}
	}
	j.states[e.Key()] = e.Object
	if e.Type == informer.Deleted {
		delete(j.states, e.Key())
	}
	if e.Key().Name == "end" {
		j.ended <- e.Key().Namespace
	}
}
