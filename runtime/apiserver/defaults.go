package apiserver

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// defaulter sets the defaults of values of one Go type, wherever they are in an object.
type defaulter struct {
	of  reflect.Type
	set func(pointer any)
}

func defaultsOf[T any](f func(value *T)) defaulter {
	return defaulter{reflect.TypeFor[T](), func(pointer any) { f(pointer.(*T)) }}
}

// set gives a value that is not there a default.
func set[T comparable](value *T, usual T) {
	if *value == *new(T) {
		*value = usual
	}
}

// setPointer is set for what may be absent.
func setPointer[T any](value **T, usual T) {
	if *value == nil {
		*value = &usual
	}
}

// defaulters are those of all built-in kinds.
var defaulters = sync.OnceValue(func() map[reflect.Type]func(any) {
	known := map[reflect.Type]func(any){}
	for _, list := range [][]defaulter{
		coreDefaults(), podDefaults(), serviceDefaults(), appsDefaults(), batchDefaults(), networkingDefaults(), autoscalingDefaults(),
		storageDefaults(), discoveryDefaults(), schedulingDefaults(), authenticationDefaults(), rbacDefaults(), admissionDefaults(),
	} {
		for _, d := range list {
			known[d.of] = d.set
		}
	}
	return known
})

// setAllDefaults sets the defaults of an object: of each struct before what is in it.
func setAllDefaults(object any) {
	v := reflect.ValueOf(object).Elem()
	planOf(v.Type()).apply(v)
}

// defaultPlan says where in the values of a type there is something to default.
type defaultPlan struct {
	set    func(any)
	texts  map[int]string       // JSON of the defaults of fields
	fields map[int]*defaultPlan // nil for those without anything
	order  []int
	elem   *defaultPlan
}

var plans struct {
	mu    sync.Mutex
	known map[reflect.Type]*defaultPlan
}

func planOf(t reflect.Type) *defaultPlan {
	plans.mu.Lock()
	defer plans.mu.Unlock()
	if plans.known == nil {
		plans.known = map[reflect.Type]*defaultPlan{}
	}
	return planLocked(t)
}

// planLocked is the plan of a type, or nil when there is nothing to do.
func planLocked(t reflect.Type) *defaultPlan {
	if p, ok := plans.known[t]; ok {
		return p
	}
	p := &defaultPlan{set: defaulters()[t]}
	plans.known[t] = p
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		p.elem = planLocked(t.Elem())
	case reflect.Struct:
		p.addFields(t)
	}
	if p.set == nil && p.elem == nil && len(p.order) == 0 {
		p = nil
	}
	plans.known[t] = p
	return p
}

func (p *defaultPlan) addFields(t reflect.Type) {
	p.texts, p.fields = map[int]string{}, map[int]*defaultPlan{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		text, usual := strings.CutPrefix(merging()[goName(t)+"."+name], "default ")
		inner := planLocked(f.Type)
		if !usual && inner == nil {
			continue
		}
		p.order, p.fields[i] = append(p.order, i), inner
		if usual {
			p.texts[i] = text
		}
	}
}

func (p *defaultPlan) apply(v reflect.Value) {
	if p == nil {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.elem.apply(v.Elem())
		}
		return
	case reflect.Slice:
		for i := range v.Len() {
			p.elem.apply(v.Index(i))
		}
		return
	}
	if p.set != nil {
		p.set(v.Addr().Interface())
	}
	for _, i := range p.order {
		if text, ok := p.texts[i]; ok && v.Field(i).IsZero() {
			must(json.Unmarshal([]byte(text), v.Field(i).Addr().Interface()))
		}
		p.fields[i].apply(v.Field(i))
	}
}
