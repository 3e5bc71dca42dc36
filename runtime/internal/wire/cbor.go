package wire

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// newCBOR returns apimachinery's codec for objects like prototype.
func newCBOR[T object.Object](prototype T, gvk schema.GroupVersionKind) (runtime.Decoder, error) {
	if gvk.Version == "" || gvk.Kind == "" {
		return nil, errors.New("CBOR needs a kind")
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(gvk, prototype)
	if _, ok := any(prototype).(*metav1.PartialObjectMetadata); ok {
		scheme.AddKnownTypeWithName(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"), prototype)
	}
	return cbor.NewSerializer(scheme, scheme), nil
}

// cborObject returns the object that the item data is, and whether known has it.
func (d *Decoder[T]) cborObject(c *cursor, data []byte, known Known[T]) (obj T, reused bool, err error) {
	data = untagged(data)
	if len(data) == 0 || data[0]>>5 != cborMap {
		return obj, false, errors.New("it has no object")
	}
	if d.cbor == nil {
		return obj, false, errors.New("the server sent CBOR, which it was not asked for")
	}
	if known != nil {
		if id, ok := cborIdentity(data); ok {
			if obj, ok := known(id); ok {
				return obj, true, nil
			}
		}
	}
	if c.scratch, err = d.mask.appendCBOR(c.scratch[:0], data); err != nil {
		return obj, false, err
	}
	built := d.empty()
	if u, ok := any(built).(*unstructured.Unstructured); ok {
		return built, false, direct.Unmarshal(c.scratch, &u.Object)
	}
	if got := cborKind(c, data); !got.Empty() {
		if err := d.asked.Object(got); err != nil {
			return obj, false, err // the codec would say that it does not know the kind
		}
	}
	decoded, _, err := d.cbor.Decode(c.scratch, &d.gvk, built)
	if err == nil && decoded != runtime.Object(built) {
		return obj, false, fmt.Errorf("the server sent %s, not %s", decoded.GetObjectKind().GroupVersionKind(), d.gvk)
	}
	return built, false, err
}

// cborKind returns the kind that the map data says to be of.
func cborKind(c *cursor, data []byte) schema.GroupVersionKind {
	var apiVersion, kind string
	_, _ = cborMembers(data, func(key, value []byte) error { // which is well-formed
		name, _ := cborKey(key)
		text, _ := cborKey(value)
		switch string(name) {
		case "apiVersion":
			apiVersion = c.strings.text(text)
		case "kind":
			kind = c.strings.text(text)
		}
		return nil
	})
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// cborIdentity returns what the map data identifies, and reports false if that cannot be told.
func cborIdentity(data []byte) (id Identity, ok bool) {
	found := 0
	_, err := cborMembers(data, func(key, value []byte) error {
		if name, _ := cborKey(key); string(name) != "metadata" {
			return nil
		}
		found++
		_, err := cborMembers(untagged(value), func(key, value []byte) error {
			name, _ := cborKey(key)
			text, _ := cborKey(value)
			switch string(name) {
			case "name":
				id.Name = text
			case "namespace":
				id.Namespace = text
			case "uid":
				id.UID = text
			case "resourceVersion":
				id.ResourceVersion = text
			}
			return nil
		})
		return err
	})
	return id, err == nil && found == 1 && len(id.Name) > 0 && len(id.UID) > 0 && len(id.ResourceVersion) > 0
}

// nextCBOR returns the next event of a watch: items, one after the other.
func (s *Stream[T]) nextCBOR() (Event[T], error) {
	frame, err := s.frames.item(s.frames.fill)
	if err != nil {
		return Event[T]{}, err
	}
	event, err := s.decoder.cborEvent(s.cursor, frame, s.known)
	if err != nil {
		return Event[T]{}, formError(err)
	}
	return event, nil
}

func (d *Decoder[T]) cborEvent(c *cursor, frame []byte, known Known[T]) (Event[T], error) {
	var event Event[T]
	var raw []byte
	isMap, err := cborMembers(untagged(frame), func(key, value []byte) error {
		switch name, _ := cborKey(key); string(name) {
		case "type":
			text, ok := cborKey(value)
			if !ok || event.Type != "" {
				return errors.New("want one type, a string")
			}
			event.Type = watch.EventType(c.strings.text(text))
		case "object":
			if raw != nil {
				return errors.New("want one object")
			}
			raw = value
		}
		return nil
	})
	if err == nil && !isMap {
		err = errors.New("it is no map")
	}
	if err == nil {
		err = d.setCBOR(c, &event, raw, known)
	}
	return event, err
}

// setCBOR sets the object of event to what raw is.
func (d *Decoder[T]) setCBOR(c *cursor, event *Event[T], raw []byte, known Known[T]) (err error) {
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		if event.Type == watch.Deleted {
			known = nil
		}
		if event.Object, event.Known, err = d.cborObject(c, raw, known); err == nil && !event.Known {
			err = d.settle(event.Object, false)
		}
		return err
	case watch.Error:
		return failure(raw, string(CBOR))
	case watch.Bookmark:
		var content unstructured.Unstructured
		if err := direct.Unmarshal(raw, &content.Object); err != nil {
			return err
		}
		bookmark := &metav1.PartialObjectMetadata{}
		bookmark.ResourceVersion, bookmark.Annotations = content.GetResourceVersion(), content.GetAnnotations()
		return d.setBookmark(event, content.GroupVersionKind(), bookmark)
	}
	return fmt.Errorf("unknown event type %q", event.Type)
}
