package cache_test

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/cache"
)

// methods records which of its methods were called.
type methods struct{ received []string }

func (m *methods) record(what string, obj any) {
	o := obj.(*corev1.ConfigMap)
	m.received = append(m.received, what+" "+o.Name+"="+o.Data["key"])
}

func (m *methods) OnAdd(obj any, isInInitialList bool) {
	if isInInitialList {
		m.record("first", obj)
		return
	}
	m.record("added", obj)
}

func (m *methods) OnUpdate(oldObj, newObj any) {
	m.record("from", oldObj)
	m.record("to", newObj)
}

func (m *methods) OnDelete(obj any) { m.record("deleted", obj) }

func TestHandlersOfThreeMethodsReceiveTheSame(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.put(configMaps, configMap("ns", "a"))
		var m methods
		registration, err := f.declare(&corev1.ConfigMap{}).AddEventHandler(&m)
		if err != nil {
			t.Fatal(err)
		}
		if err := registration.Wait(f.ctx); err != nil {
			t.Fatal(err)
		}
		if err := f.cache.Wait(f.ctx); err != nil {
			t.Fatal(err)
		}
		changed := configMap("ns", "b")
		changed.Data["key"] = "changed"
		for _, o := range []*corev1.ConfigMap{configMap("ns", "b"), changed} {
			f.api.put(configMaps, o)
			synctest.Wait()
		}
		f.api.remove(configMaps, changed)
		synctest.Wait()
		expect(t, "changes", m.received, "first a=a", "added b=b", "from b=b", "to b=changed", "deleted b=changed")
	})
}
