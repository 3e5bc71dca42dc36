package cache_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// TestOnAServer compares cached reads with live reads of an API server.
func TestOnAServer(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	config := inmemory.Start(t).Config
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for name, prototype := range map[string]object.Object{"typed": &corev1.ConfigMap{}, "metadata": metadata(),
		"untyped": untyped()} {
		t.Run(name, func(t *testing.T) { readsAgree(t, live, name, prototype) })
	}
	t.Run("lists", func(t *testing.T) { listsAgree(t, live) })
	t.Run("scopes", func(t *testing.T) { scopesHold(t, live) })
	t.Run("views", func(t *testing.T) { viewsShare(t, config, live) })
}

// readsAgree checks that cached reads eventually equal reads of the server.
func readsAgree(t *testing.T, live *client.REST, ns string, prototype object.Object) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	existing := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "existing"},
		Data: map[string]string{"key": "value"}}
	if err := errors.Join(live.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}),
		live.Create(ctx, existing)); err != nil {
		t.Fatal(err)
	}
	c := cache.New(live, cache.Options{Namespaces: []string{ns}, KeepManagedFields: true})
	stopped := make(chan error, 1)
	c.Begin()
	go func() { stopped <- c.Run(ctx) }()
	i, err := c.Informer(prototype)
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan string, 100)
	registration := i.AddHandler(func(e informer.Event[object.Object]) {
		received <- e.Type.String() + " " + e.Object.GetName() + " " + string(e.Object.GetUID())
	})
	if err := registration.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	sameRead(t, ctx, c, live, prototype, object.KeyOf(existing))

	temporary := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "temporary"}}
	if err := live.Create(ctx, temporary); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, received, "Added temporary "+string(temporary.UID))
	sameRead(t, ctx, c, live, prototype, object.KeyOf(temporary))
	if err := live.Delete(ctx, temporary); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, received, "Deleted temporary "+string(temporary.UID))
	o := prototype.DeepCopyObject().(object.Object)
	if err := c.Get(ctx, object.KeyOf(temporary), o); !apierrors.IsNotFound(err) {
		t.Errorf("the deleted object: %v", err)
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// sameRead fails unless the cache and the server return the same object for key.
func sameRead(t *testing.T, ctx context.Context, cached, live client.Reader, prototype object.Object, key object.Key) {
	t.Helper()
	a, b := prototype.DeepCopyObject().(object.Object), prototype.DeepCopyObject().(object.Object)
	if err := errors.Join(cached.Get(ctx, key, a), live.Get(ctx, key, b)); err != nil {
		t.Error(err)
	}
	b.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if got, want := string(encode(a)), string(encode(b)); got != want {
		t.Errorf("cached %s\nlive   %s", got, want)
	}
}

// listsAgree tests that cached lists equal the server's lists, in their order and page by page.
func listsAgree(t *testing.T, live *client.REST) {
	const ns = "lists"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	errs := []error{live.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})}
	for _, name := range []string{"b", "a-b", "a", "c", "a.b"} {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name,
			Labels: map[string]string{"first": name[:1]}}}
		errs = append(errs, live.Create(ctx, o))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	c := cache.New(live, cache.Options{KeepManagedFields: true})
	stopped := make(chan error, 1)
	c.Begin()
	go func() { stopped <- c.Run(ctx) }()
	if _, err := c.Informer(&corev1.ConfigMap{}); err != nil {
		t.Fatal(err)
	}
	for what, opts := range map[string][]client.ListOption{
		"all":         {client.InNamespace(ns)},
		"by label":    {client.InNamespace(ns), client.MatchingLabels{"first": "a"}},
		"by name":     {client.InNamespace(ns), client.MatchingFields{"metadata.name": "a.b"}},
		"in pages":    {client.InNamespace(ns), client.Limit(2)},
		"in no place": {client.InNamespace("nowhere")},
	} {
		got, want := pages(t, ctx, c, opts), pages(t, ctx, live, opts)
		expect(t, what, got, want...)
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// pages returns the JSON of the items that r lists, page by page.
func pages(t *testing.T, ctx context.Context, r client.Reader, opts []client.ListOption) []string {
	t.Helper()
	var pages []string
	var list corev1.ConfigMapList
	for token := ""; ; token = list.Continue {
		if err := r.List(ctx, &list, append(opts, client.Continue(token))...); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		}
		pages = append(pages, string(encode(list.Items)))
		if list.Continue == "" {
			return pages
		}
	}
}

func await(t *testing.T, ctx context.Context, received <-chan string, want string) {
	t.Helper()
	for {
		select {
		case got := <-received:
			if got == want {
				return
			}
		case <-ctx.Done():
			t.Fatalf("no %q", want)
		}
	}
}
