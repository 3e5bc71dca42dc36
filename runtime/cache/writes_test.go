package cache_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// TestWritesOfOneKindDoNotWaitForAnother holds up a write of a ConfigMap. Meanwhile it writes a Secret, whose kind is
// cached, and a Namespace, whose kind is not.
func TestWritesOfOneKindDoNotWaitForAnother(t *testing.T) {
	c := cache.New(connect(t, newAPI()), cache.Options{})
	for _, prototype := range []object.Object{&corev1.ConfigMap{}, &corev1.Secret{}} {
		if _, err := c.Informer(prototype); err != nil {
			t.Fatal(err)
		}
	}
	write := func(kind string) <-chan struct{} {
		noted := make(chan struct{})
		go func() {
			defer close(noted)
			gvk := schema.GroupVersionKind{Version: "v1", Kind: kind}
			w := writes.Write{GVK: gvk, Key: object.Key{Name: "a"}, ResourceVersion: "7"}
			writes.LogOf(c.Journal()).Record(t.Context(), w)
		}()
		return noted
	}
	// The first write of each kind also allocates the kind's tracker, so the test makes it before it measures.
	for _, kind := range []string{"ConfigMap", "Secret", "Namespace"} {
		<-write(kind)
	}
	release := c.HoldTrackers(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	held := write("ConfigMap")
	c.AwaitWriter()
	for _, kind := range []string{"Secret", "Namespace"} {
		select {
		case <-write(kind):
		case <-time.After(10 * time.Second):
			t.Errorf("the write of a %s waits for that of a ConfigMap", kind)
		}
	}
	release()
	<-held
}
