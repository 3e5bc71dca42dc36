package events

import (
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Types of events that API servers accept.
const (
	// Normal is the type of an informational event.
	Normal = "Normal"
	// Warning is the type of an event that may require an action.
	Warning = "Warning"
)

// Maximum lengths of fields that API servers accept, in bytes (k8s.io/api/events/v1, Event).
const (
	maxWord     = 128 // reason and action
	maxInstance = 128
	maxNote     = 1024
)

// Event is an event about an object. It is independent of the API version in which it is stored.
type Event struct {
	// Namespace is the namespace of the regarding object, or "default" if that object is cluster-scoped.
	Namespace string
	// Name is the unique name of the Event object.
	Name string
	// Annotations are the annotations of the Event object. They must not be modified.
	Annotations map[string]string
	// Type is Normal or Warning.
	Type string
	// Reason is a machine-readable word that states why the action was taken, such as "FailedMount".
	Reason string
	// Action is a machine-readable word that states which action was taken, such as "MountVolume".
	Action string
	// Note is the human-readable description, at most 1024 bytes.
	Note string
	// Regarding is the object that the event is about.
	Regarding Reference
	// Related is a second object that is involved; the zero value means none.
	Related Reference
	// Controller is the name of the reporting controller.
	Controller string
	// Instance identifies the process that runs the controller.
	Instance string
	// First is the time of the first occurrence.
	First time.Time
	// Last is the time of the last occurrence that Count includes.
	Last time.Time
	// Count is the number of occurrences. It is 1 until a broadcaster counts repetitions.
	Count int
}

// String returns the type, the reason and the note, such as "Warning FailedMount no such volume".
func (e Event) String() string { return e.Type + " " + e.Reason + " " + e.Note }

// Reference identifies an object and its resource version.
type Reference struct {
	APIVersion      string
	Kind            string
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string
}

// String returns the kind and the key, such as "Pod default/web-0".
func (r Reference) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// object returns r without the resource version, so that it is equal for all events of one object.
func (r Reference) object() Reference {
	r.ResourceVersion = ""
	return r
}

const truncated = "... (truncated)"

// fitNote returns note in a form that the API server accepts: it is valid UTF-8, and a note that is too long is
// truncated and marked.
func fitNote(note string) string {
	note = strings.ToValidUTF8(note, string(utf8.RuneError))
	if len(note) <= maxNote {
		return note
	}
	return cut(note, maxNote-len(truncated)) + truncated
}

// cut returns the longest prefix of whole characters of s with at most limit bytes.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

var errNoObject = errors.New("there is no object")

// ReferenceTo returns a reference to o in its current state. ReferenceTo takes the kind of a typed object from scheme,
// or from the object if scheme does not have its type.
func ReferenceTo(o object.Object, scheme *runtime.Scheme) (Reference, error) {
	if isNil(o) {
		return Reference{}, errNoObject
	}
	gvk, err := object.GVK(o, scheme)
	if err != nil {
		if gvk = o.GetObjectKind().GroupVersionKind(); gvk.Kind == "" || gvk.Version == "" {
			return Reference{}, fmt.Errorf("kind of the object: %w", err)
		}
	}
	return referenceTo(o, gvk), nil
}

func referenceTo(o object.Object, gvk schema.GroupVersionKind) Reference {
	return Reference{
		APIVersion:      gvk.GroupVersion().String(),
		Kind:            gvk.Kind,
		Namespace:       o.GetNamespace(),
		Name:            o.GetName(),
		UID:             o.GetUID(),
		ResourceVersion: o.GetResourceVersion(),
	}
}

// isNil reports whether o is nil or a nil pointer.
func isNil(o runtime.Object) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// nameOf returns the name of an event: the name of the object and a stamp, or random letters if an event cannot have
// that name.
func nameOf(regarding Reference, stamp time.Duration) string {
	name := fmt.Sprintf("%s.%x", regarding.Name, int64(stamp))
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return strings.ToLower(rand.Text())
	}
	return name
}
