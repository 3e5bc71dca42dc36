package wire

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Page is one page of a list.
type Page[T object.Object] struct {
	// Items are the objects in the server's order. The caller owns them, except those that a [Known] returned.
	Items []T
	// ResourceVersion is the version of the list.
	ResourceVersion string
	// Continue is the token of the next page. It is empty on the last page.
	Continue string
}

// listReader reads the JSON of one list, one value at a time.
type listReader[T object.Object] struct {
	decoder *Decoder[T]
	cursor  *cursor
	source  source
	known   Known[T]

	apiVersion, kind string
	status           map[string]any // other members, if the list may be a Status
	meta             metav1.ListMeta
	items            []T
	reused           []bool // for each item, if known is set
	listed           bool   // the member items exists
	alone            bool   // only this goroutine decodes, because items have no common beginning
}

func (d *Decoder[T]) listJSON(body io.Reader, known Known[T]) (*Page[T], error) {
	r := &listReader[T]{decoder: d, cursor: d.cursor(), source: d.source(body), known: known}
	defer d.release(r.cursor)
	defer r.source.close()
	if err := r.members(); err != nil {
		return nil, err
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return r.page()
}

func (r *listReader[T]) page() (*Page[T], error) {
	if err := r.checkKind(); err != nil {
		return nil, err
	}
	for i, item := range r.items {
		if r.reused != nil && r.reused[i] {
			continue
		}
		if err := r.decoder.accept(item, true); err != nil {
			return nil, &Error{fmt.Errorf("item %d: %w", i, err)}
		}
	}
	return &Page[T]{Items: r.items, ResourceVersion: r.meta.ResourceVersion, Continue: r.meta.Continue}, nil
}

// checkKind checks that the list is the requested one.
func (r *listReader[T]) checkKind() error {
	kind := schema.FromAPIVersionAndKind(r.apiVersion, r.kind)
	err := r.decoder.asked.List(kind)
	switch {
	case err == nil:
		return nil
	case kind != statusKind:
		return &Error{err}
	}
	status := &metav1.Status{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.status, status); err != nil {
		return &Error{fmt.Errorf("the server sent a Status that cannot be read: %w", err)}
	}
	return StatusError(status)
}

func (r *listReader[T]) members() error {
	var name string
	var found bool
	next := func(more bool, err error) error {
		text, ok, err := r.cursor.nextName(more, err)
		name, found = string(text), ok
		return err
	}
	err := r.source.value(r.cursor, 0, func() error {
		if b, err := r.cursor.peek(); err != nil || b != '{' {
			return r.cursor.mismatch(reflect.ValueOf(&r.meta))
		}
		return next(r.cursor.enter('}'))
	})
	for found && err == nil {
		if err = r.member(name); err == nil {
			err = r.source.value(r.cursor, 1, func() error { return next(r.cursor.more('}')) })
		}
	}
	return err
}

func (r *listReader[T]) member(name string) error {
	if name == "items" {
		return r.list()
	}
	return r.source.value(r.cursor, 1, func() error {
		switch {
		case name == "kind":
			return decodeString(r.cursor, reflect.ValueOf(&r.kind).Elem())
		case name == "apiVersion":
			return decodeString(r.cursor, reflect.ValueOf(&r.apiVersion).Elem())
		case name == "metadata" && r.decoder.value == nil:
			return r.untypedMeta()
		case name == "metadata":
			return r.decoder.list.decode(r.cursor, reflect.ValueOf(&r.meta).Elem())
		case !slices.Contains([]string{"status", "message", "reason", "code", "details"}, name):
			return r.cursor.skip() // neither a list nor a Status has it
		}
		value, err := r.cursor.untyped(nil)
		if r.status == nil {
			r.status = make(map[string]any)
		}
		r.status[name] = value
		return err
	})
}

// untypedMeta reads the metadata of a list of untyped objects. Metadata that occur twice are not merged.
func (r *listReader[T]) untypedMeta() error {
	metadata, err := r.cursor.untyped(nil)
	if err != nil {
		return err
	}
	list := unstructured.UnstructuredList{Object: map[string]any{"metadata": metadata}}
	r.meta.ResourceVersion, r.meta.Continue = list.GetResourceVersion(), list.GetContinue()
	return nil
}

func (r *listReader[T]) list() error {
	if r.kind != "" && r.apiVersion != "" { // otherwise it is checked at the end
		if err := r.checkKind(); err != nil {
			return err
		}
	}
	var more bool
	err := r.source.value(r.cursor, 1, func() (err error) {
		switch b, err := r.cursor.peek(); {
		case err != nil:
			return err
		case b != '[':
			return r.cursor.mismatch(reflect.ValueOf(r.items))
		case r.listed:
			return errors.New("items are given twice")
		}
		more, err = r.cursor.enter(']')
		return err
	})
	r.listed = true // set after the call, because short input is read again
	for more && err == nil {
		if workers := r.decoder.workers(len(r.source.unused())); r.alone || workers == 1 || !r.decodeBacklog(workers) {
			err = r.source.value(r.cursor, 2, r.item)
		}
		if err == nil {
			err = r.source.value(r.cursor, 2, func() (err error) {
				more, err = r.cursor.more(']')
				return err
			})
		}
	}
	return err
}

func (r *listReader[T]) item() error {
	b, err := r.cursor.peek()
	if err != nil {
		return err
	}
	if null, err := r.cursor.null(); null || err != nil {
		return cmp.Or(err, fmt.Errorf("item %d is null", len(r.items)))
	}
	if b == '{' {
		if obj, ok := r.decoder.reuse(r.cursor, r.known); ok {
			r.add(obj, true)
			return nil
		}
	}
	obj, err := r.decoder.object(r.cursor)
	if err == nil {
		r.add(obj, false)
	}
	return err
}

func (r *listReader[T]) add(obj T, reused bool) {
	r.items = append(r.items, obj)
	if r.known != nil {
		r.reused = append(r.reused, reused)
	}
}

// end checks that no data follows the list.
func (r *listReader[T]) end() error {
	for {
		r.cursor.reset(r.source.unused(), 0, true)
		if err := r.cursor.end(); err != nil {
			return &Error{err}
		}
		r.source.start = r.source.end
		if err := r.source.fill(); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}
