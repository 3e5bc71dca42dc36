package pack

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Packed is a packed object. It begins with the identity and resource version of the object, followed by its labels.
type Packed string

// Packer packs objects of one Go type. It is safe for concurrent use.
type Packer[T object.Object] struct {
	form    reflect.Type // the struct type to which T points
	body    *codec
	meta    []int // index of the metadata in form; nil if body has all of them
	strings *table

	mu      sync.Mutex
	scratch writer
}

// New returns a packer of objects with the Go type of prototype. T may be that pointer type or an interface such as
// object.Object. New fails if the type has a field that cannot be packed: a channel, a function, or a struct with
// unexported fields that does not implement its own JSON encoding.
func New[T object.Object](prototype T) (*Packer[T], error) {
	form := reflect.TypeOf(prototype)
	if form == nil || form.Kind() != reflect.Pointer || form.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("the prototype is %T, which is not a pointer to a struct", prototype)
	}
	p := &Packer[T]{form: form.Elem(), strings: newTable()}
	p.scratch.strings = p.strings
	if p.form == reflect.TypeFor[unstructured.Unstructured]() {
		p.body = &codec{pack: packUnstructured, unpack: unpackUnstructured}
		return p, nil
	}
	if f, ok := p.form.FieldByName("ObjectMeta"); ok && f.Type == metaType && len(f.Index) == 1 {
		p.meta = f.Index
	}
	var err error
	p.body, err = newCodec(p.form, p.meta != nil)
	return p, err
}

// Pack returns the packed form of obj, which it does not retain. It fails for interface values that no decoder creates.
func (p *Packer[T]) Pack(obj T) (Packed, error) {
	v := reflect.ValueOf(obj)
	if !v.IsValid() || v.Type() != reflect.PointerTo(p.form) || v.IsNil() {
		return "", fmt.Errorf("pack a %T as a *%s", obj, p.form)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &p.scratch
	w.begin()
	if p.meta != nil {
		meta := v.Elem().FieldByIndex(p.meta).Addr().Interface().(*metav1.ObjectMeta)
		w.identity(string(meta.UID), meta.ResourceVersion, meta.Namespace, meta.Name)
		w.stringMap(meta.Labels, (*writer).word)
	} else {
		w.identity(string(obj.GetUID()), obj.GetResourceVersion(), obj.GetNamespace(), obj.GetName())
		w.stringMap(obj.GetLabels(), (*writer).word)
	}
	p.body.pack(w, v.Elem())
	if w.err != nil {
		return "", fmt.Errorf("pack %s: %w", object.KeyOf(obj), w.err)
	}
	return Packed(w.buf), nil
}

// Unpack returns a new object that is equal to the packed one. It fails for data that the packer has not created.
func (p *Packer[T]) Unpack(packed Packed) (T, error) {
	var none T
	r := reader{data: string(packed), strings: p.strings.all()}
	r.id.uid, r.id.version = r.text(), r.text()
	r.id.namespace, r.id.name = r.text(), r.text()
	var labels map[string]string
	if p.meta != nil {
		labels = r.stringMap()
	} else {
		r.skipLabels()
	}
	obj := reflect.New(p.form)
	p.body.unpack(&r, obj.Elem())
	if r.err == nil && r.at != len(r.data) {
		r.fail("%d extra bytes", r.left())
	}
	if r.err != nil {
		return none, fmt.Errorf("unpack a %s: %w", p.form, r.err)
	}
	if p.meta != nil {
		meta := obj.Elem().FieldByIndex(p.meta).Addr().Interface().(*metav1.ObjectMeta)
		meta.UID, meta.ResourceVersion = types.UID(r.id.uid), r.id.version
		meta.Namespace, meta.Name, meta.Labels = r.id.namespace, r.id.name, labels
	}
	return obj.Interface().(T), nil
}

// Key returns the key of the object. Its strings are substrings of packed.
func (p *Packer[T]) Key(packed Packed) object.Key {
	r := reader{data: string(packed), strings: p.strings.all()}
	r.skipText()
	r.skipText()
	return object.Key{Namespace: r.text(), Name: r.text()}
}

// UID returns the UID of the object.
func (p *Packer[T]) UID(packed Packed) types.UID {
	r := reader{data: string(packed), strings: p.strings.all()}
	return types.UID(r.text())
}

// ResourceVersion returns the version of the object.
func (p *Packer[T]) ResourceVersion(packed Packed) string {
	r := reader{data: string(packed), strings: p.strings.all()}
	r.skipText()
	return r.text()
}

// SameObject reports whether p and other, which have the same key, are states of the same object, which means that
// their UIDs are equal. It reports false if the object was deleted and created again in between.
func (p Packed) SameObject(other Packed) bool {
	r := reader{data: string(p)}
	r.skipText()
	return strings.HasPrefix(string(other), string(p[:r.at]))
}

// SameState reports whether p and other are the same state of the same object, which means that they have the same UID
// and the same resource version, and that this version is not empty.
func (p Packed) SameState(other Packed) bool {
	r := reader{data: string(p)}
	r.skipText()
	version := r.at
	r.skipText()
	return r.err == nil && p[version] != emptyText && strings.HasPrefix(string(other), string(p[:r.at]))
}

// IsState reports whether p has that UID and that resource version, which must not be empty.
func (p Packed) IsState(uid, version []byte) bool {
	if len(version) == 0 {
		return false
	}
	var space [96]byte
	id := appendText(appendText(space[:0], uid), version)
	return len(p) >= len(id) && string(p[:len(id)]) == string(id)
}
