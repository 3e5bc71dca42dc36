package admission

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Operation is one operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Diff returns the operations that change the JSON document original to current. The result is never nil.
func Diff(original, current []byte) ([]Operation, error) {
	var before, after any
	if err := utiljson.Unmarshal(original, &before); err != nil {
		return nil, err
	}
	if err := utiljson.Unmarshal(current, &after); err != nil {
		return nil, err
	}
	d := newDiffer(original)
	d.ops = []Operation{}
	d.untyped(before, after)
	return d.ops, d.err
}

func apply(document []byte, ops []Operation) ([]byte, error) {
	var root any
	if err := utiljson.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	for _, op := range ops {
		var err error
		if root, err = op.apply(root); err != nil {
			return nil, fmt.Errorf("patch: %s %s: %w", op.Op, op.Path, err)
		}
	}
	return json.Marshal(root)
}

// apply returns root with the operation applied. It may modify parts of root.
func (o Operation) apply(root any) (any, error) {
	path, err := parsePointer(o.Path)
	if err != nil {
		return nil, err
	}
	var value any
	switch o.Op {
	case "remove":
		return remove(root, path)
	case "move", "copy":
		from, err := parsePointer(o.From)
		if err != nil {
			return nil, err
		}
		if value, err = find(root, from); err == nil && o.Op == "move" {
			root, err = remove(root, from)
		}
		if err != nil {
			return nil, fmt.Errorf("from %s: %w", o.From, err)
		}
		return put(root, path, runtime.DeepCopyJSONValue(value))
	}
	if err := utiljson.Unmarshal(o.Value, &value); err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	switch o.Op {
	case "add":
		return put(root, path, value)
	case "replace":
		if len(path) == 0 {
			return value, nil
		}
		if root, err = remove(root, path); err != nil {
			return nil, err
		}
		return put(root, path, value)
	case "test":
		found, err := find(root, path)
		if err == nil && !reflect.DeepEqual(found, value) {
			err = fmt.Errorf("it is not %s", o.Value)
		}
		return root, err
	}
	return nil, fmt.Errorf("there is no such operation")
}

func parsePointer(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("%q is not a JSON pointer", pointer)
	}
	path := strings.Split(pointer[1:], "/")
	for i, name := range path {
		path[i] = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
	}
	return path, nil
}

// change replaces the container that the last step of path refers to with the result of edit, and returns the new root.
func change(root any, path []string, edit func(container any, last string) (any, error)) (any, error) {
	if len(path) == 1 {
		return edit(root, path[0])
	}
	child, err := find(root, path[:1])
	if err != nil {
		return nil, err
	}
	if child, err = change(child, path[1:], edit); err != nil {
		return nil, err
	}
	switch container := root.(type) {
	case map[string]any:
		container[path[0]] = child
	case []any:
		n, _ := index(container, path[0], false) // find has validated it
		container[n] = child
	}
	return root, nil
}

func find(root any, path []string) (any, error) {
	for _, name := range path {
		switch container := root.(type) {
		case map[string]any:
			member, ok := container[name]
			if !ok {
				return nil, fmt.Errorf("there is no %q", name)
			}
			root = member
		case []any:
			n, err := index(container, name, false)
			if err != nil {
				return nil, err
			}
			root = container[n]
		default:
			return nil, fmt.Errorf("%q is in nothing that has members", name)
		}
	}
	return root, nil
}

// put adds value at path. It replaces a member of an object, or inserts an element into a list.
func put(root any, path []string, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	return change(root, path, func(container any, last string) (any, error) {
		switch container := container.(type) {
		case map[string]any:
			container[last] = value
			return container, nil
		case []any:
			n, err := index(container, last, true)
			if err != nil {
				return nil, err
			}
			return slices.Insert(container, n, value), nil
		}
		return nil, fmt.Errorf("%q is in nothing that has members", last)
	})
}

func remove(root any, path []string) (any, error) {
	if len(path) == 0 {
		return nil, fmt.Errorf("the whole object cannot be removed")
	}
	if _, err := find(root, path); err != nil {
		return nil, err
	}
	return change(root, path, func(container any, last string) (any, error) {
		switch container := container.(type) {
		case map[string]any:
			delete(container, last)
		case []any:
			n, _ := index(container, last, false) // find has validated it
			return slices.Delete(container, n, n+1), nil
		}
		return container, nil
	})
}

// index returns the index that name refers to in list. If adding is set, - refers to the index after the end.
func index(list []any, name string, adding bool) (int, error) {
	if name == "-" && adding {
		return len(list), nil
	}
	n, err := strconv.Atoi(name)
	if err != nil || n < 0 || n > len(list) || n == len(list) && !adding {
		return 0, fmt.Errorf("there is no element %s of %d", name, len(list))
	}
	return n, nil
}
