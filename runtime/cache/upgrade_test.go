package cache_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// named is a Go type for ConfigMaps that omits their data.
type named struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
}

func (n *named) DeepCopyObject() runtime.Object {
	return &named{n.TypeMeta, *n.ObjectMeta.DeepCopy()}
}

// namedList is a list of named.
type namedList struct {
	metav1.TypeMeta
	metav1.ListMeta `json:"metadata"`
	Items           []named `json:"items"`
}

func (l *namedList) DeepCopyObject() runtime.Object {
	list := &namedList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for _, n := range l.Items {
		list.Items = append(list.Items, *n.DeepCopyObject().(*named))
	}
	return list
}

func TestKindIsCachedInTheGoTypeThatHasTheMost(t *testing.T) {
	prototypes := []object.Object{metadata(), &corev1.ConfigMap{}, untyped()}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			a := newAPI()
			c := cache.New(connect(t, a), cache.Options{})
			received, receivedKeys := make([]string, len(prototypes)), make([]string, len(prototypes))
			for _, n := range order {
				if _, err := c.Informer(prototypes[n]); err != nil {
					t.Fatal(order, err)
				}
			}
			for n, prototype := range prototypes {
				i, err := c.Informer(prototype)
				if err != nil {
					t.Fatal(order, err)
				}
				i.AddHandler(func(e informer.Event[object.Object]) { received[n] = fmt.Sprintf("%T", e.Object) })
				i.AddKeyHandler(func(e informer.Event[object.Object]) { receivedKeys[n] = fmt.Sprintf("%T", e.Object) })
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			c.Begin()
			go func() { ended <- c.Run(ctx) }()
			synctest.Wait()
			whole := untyped()
			whole.SetNamespace("ns")
			whole.SetName("a")
			whole.Object["unknown"] = "field"
			a.put(configMaps, whole)
			synctest.Wait()
			a.take()
			expect(t, fmt.Sprint(order), received, "*v1.PartialObjectMetadata", "*v1.ConfigMap", "*unstructured.Unstructured")
			expect(t, fmt.Sprint(order), receivedKeys, "*v1.PartialObjectMetadata", "*v1.ConfigMap",
				"*unstructured.Unstructured")
			read := untyped()
			for _, o := range []object.Object{metadata(), &corev1.ConfigMap{}, read} {
				if err := c.Get(ctx, object.KeyOf(whole), o); err != nil || o.GetName() != "a" {
					t.Errorf("%v: %T: %v", order, o, err)
				}
			}
			if read.Object["unknown"] != "field" {
				t.Errorf("%v: the unstructured view is %v", order, read.Object)
			}
			if reads := a.take(); len(a.watches) != 1 || len(reads) != 0 {
				t.Errorf("%v: %d watches and %q", order, len(a.watches), reads)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestKindThatHasAHandlerOrATransformStaysTyped(t *testing.T) {
	same := func(o object.Object) (object.Object, error) { return o, nil }
	for what, opts := range map[string]cache.Options{
		"a handler":   {},
		"a transform": {ByKind: []cache.KindOptions{{Object: &corev1.ConfigMap{}, Transform: same}}},
	} {
		c := cache.New(connect(t, newAPI()), opts)
		i, err := c.Informer(&corev1.ConfigMap{})
		if err != nil {
			t.Fatal(err)
		}
		if what == "a handler" {
			i.AddHandler(func(informer.Event[object.Object]) {})
		}
		if _, err := c.Informer(untyped()); err == nil || !strings.Contains(err.Error(), "is cached as *v1.ConfigMap") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// counted counts GET requests for collections of ConfigMaps and for single ConfigMaps.
type counted struct {
	next                http.RoundTripper
	collections, others atomic.Int64
}

func (c *counted) RoundTrip(req *http.Request) (*http.Response, error) {
	switch {
	case req.Method != http.MethodGet:
	case strings.HasSuffix(req.URL.Path, "/configmaps"):
		c.collections.Add(1)
	case strings.Contains(req.URL.Path, "/configmaps/"):
		c.others.Add(1)
	}
	return c.next.RoundTrip(req)
}

// viewsShare tests that typed, unstructured and metadata reads of one kind share one informer, and that each sees
// earlier writes. The Go type has only some of the kind's fields.
func viewsShare(t *testing.T, config *rest.Config, live *client.REST) {
	const ns = "views"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := live.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("ConfigMap"), &named{})
	scheme.AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("ConfigMapList"), &namedList{})
	requests := &counted{}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { requests.next = next; return requests })
	own, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	c := cache.New(own, cache.Options{Namespaces: []string{ns}})
	for _, prototype := range []object.Object{&named{}, metadata(), untyped()} {
		if _, err := c.Informer(prototype); err != nil {
			t.Fatal(err)
		}
	}
	stopped := make(chan error, 1)
	c.Begin()
	go func() { stopped <- c.Run(ctx) }()
	for round := range 50 {
		viewsSee(t, ctx, c, own, ns, fmt.Sprint(round))
	}
	if got := [2]int64{requests.collections.Load(), requests.others.Load()}; got != [2]int64{1, 0} {
		t.Errorf("%d lists and watches, and %d gets", got[0], got[1])
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// viewsSee creates, changes and deletes an object, and reads it in each view after each step.
func viewsSee(t *testing.T, ctx context.Context, c *cache.Cache, own *client.REST, ns, name string) {
	t.Helper()
	written := untyped()
	written.SetNamespace(ns)
	written.SetName(name)
	key := object.KeyOf(written)
	for step, write := range []func() error{
		func() error {
			written.Object["data"] = map[string]any{"step": "0"}
			return own.Create(ctx, written)
		},
		func() error {
			written.Object["data"] = map[string]any{"step": "1"}
			return own.Update(ctx, written)
		},
	} {
		typed, partial, whole := &named{}, metadata(), untyped()
		if err := errors.Join(write(), c.Get(ctx, key, typed), c.Get(ctx, key, partial), c.Get(ctx, key, whole)); err != nil {
			t.Fatal(err)
		}
		version := written.GetResourceVersion()
		if typed.ResourceVersion != version || partial.ResourceVersion != version || whole.GetResourceVersion() != version {
			t.Errorf("written at %s, read at %s, %s and %s", version, typed.ResourceVersion, partial.ResourceVersion,
				whole.GetResourceVersion())
		}
		if got, _, _ := unstructured.NestedString(whole.Object, "data", "step"); got != fmt.Sprint(step) {
			t.Errorf("step %d: got %v", step, whole.Object)
		}
		if list := (&namedList{}); c.List(ctx, list) != nil || len(list.Items) == 0 {
			t.Errorf("listed %d", len(list.Items))
		}
	}
	if err := own.Delete(ctx, written); err != nil {
		t.Fatal(err)
	}
	for _, o := range []object.Object{&named{}, metadata(), untyped()} {
		if err := c.Get(ctx, key, o); !apierrors.IsNotFound(err) {
			t.Errorf("deleted, and read as %T: %v", o, err)
		}
	}
}
