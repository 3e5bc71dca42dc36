package wire

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Asked is what a request asks for: objects of one kind, or their metadata. It is where it is decided what the answer may
// be, whatever its format: nothing but the kind that was asked for, in the version that was asked for.
type Asked struct {
	// GVK is the kind of the objects.
	GVK schema.GroupVersionKind
	// Metadata is set when only the metadata was asked for. A server that has no such form sends the kind itself.
	Metadata bool
	// Serves reports whether the server has objects of another kind in the group version of GVK. It is asked about a list
	// whose kind is not that of the objects with List behind it, as a CustomResourceDefinition may call it: such a list is
	// taken if it is not that of another kind. Nil takes no such list.
	Serves func(kind string) (bool, error)
}

var (
	metadataKind     = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
	metadataListKind = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList")
	statusKind       = schema.GroupVersionKind{Version: "v1", Kind: "Status"}
)

// List returns an error unless got is the kind of a list of the objects.
func (a Asked) List(got schema.GroupVersionKind) error {
	want := a.GVK
	want.Kind += "List"
	if got == want || a.Metadata && got == metadataListKind {
		return nil
	}
	other := a.mismatch(got, want)
	switch {
	case a.Serves == nil, !mayBeCustom(a.GVK.Group), got.GroupVersion() != want.GroupVersion(), got.Kind == "", got.Kind == "List":
		return other
	}
	isOther, err := a.Serves(strings.TrimSuffix(got.Kind, "List"))
	if err == nil && isOther {
		err = other
	}
	return err
}

// mayBeCustom reports whether a CustomResourceDefinition can be of that group: its name is that of a domain.
func mayBeCustom(group string) bool { return strings.Contains(group, ".") }

// Object returns an error unless got is the kind of the objects.
func (a Asked) Object(got schema.GroupVersionKind) error {
	if got == a.GVK || a.Metadata && got == metadataKind {
		return nil
	}
	return a.mismatch(got, a.GVK)
}

// Item returns an error unless got and name are those of an item of a list. The server leaves the kind out of the items of
// built-in kinds.
func (a Asked) Item(got schema.GroupVersionKind, name string) error {
	if !got.Empty() {
		if err := a.Object(got); err != nil {
			return err
		}
	}
	return checkName(name)
}

// checkName returns an error for an object that nothing could be called by.
func checkName(name string) error {
	if name == "" {
		return errors.New("it has no name")
	}
	return nil
}

// mismatch is the error for what says to be got.
func (a Asked) mismatch(got, want schema.GroupVersionKind) error {
	if got.Kind == "" || got.Version == "" {
		return fmt.Errorf("the server sent something with apiVersion %q and kind %q, not %s", got.GroupVersion(), got.Kind, want)
	}
	return fmt.Errorf("the server sent %s, not %s", got, want)
}
