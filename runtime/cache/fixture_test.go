package cache_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	configMaps = "configmaps"
	secrets    = "secrets"
	namespaces = "namespaces"
)

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"name": name}},
		Data:       map[string]string{"key": name},
	}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// metadata returns an empty ConfigMap prototype for metadata-only reads.
func metadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.APIVersion, o.Kind = "v1", "ConfigMap"
	return o
}

func untyped() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
}

// fixture is a running cache in front of an in-memory API server.
type fixture struct {
	*testing.T
	ctx   context.Context
	api   *api
	live  *client.REST
	cache *cache.Cache
}

// run runs a test twice, each time in a bubble of virtual time: with a cache that keeps objects unpacked, and with one
// that packs them. Each cache stops before its test ends.
func run(t *testing.T, opts cache.Options, test func(f *fixture)) {
	t.Helper()
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprintf("packed=%v", packed), func(t *testing.T) {
			opts.Unpacked = !packed
			runIn(t, opts, test)
		})
	}
}

// runIn is like run, with only the form of objects that opts sets.
func runIn(t *testing.T, opts cache.Options, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		opts.Logger = slog.New(slog.DiscardHandler)
		f := &fixture{T: t, ctx: t.Context(), api: a, live: connect(t, a)}
		f.cache = cache.New(f.live, opts)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.cache.Run(ctx) }()
		synctest.Wait()
		test(f)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// declare declares the kind of prototype and drops the requests recorded so far.
func (f *fixture) declare(prototype object.Object) *cache.Informer {
	f.Helper()
	i, err := f.cache.Informer(prototype)
	if err != nil {
		f.Fatal(err)
	}
	synctest.Wait()
	f.api.take()
	return i
}

func (f *fixture) get(namespace, name string, o object.Object, opts ...client.GetOption) error {
	return f.cache.Get(f.ctx, object.Key{Namespace: namespace, Name: name}, o, opts...)
}

// list returns the names in a List of ConfigMaps, in order.
func (f *fixture) list(opts ...client.ListOption) []string {
	f.Helper()
	var list corev1.ConfigMapList
	if err := f.cache.List(f.ctx, &list, opts...); err != nil {
		f.Fatal(err)
	}
	return namesOf(list)
}

func namesOf(list corev1.ConfigMapList) []string {
	var names []string
	for _, o := range list.Items {
		names = append(names, object.KeyOf(&o).String())
	}
	return names
}
