package events

import (
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// The types of events that API servers accept.
const (
	// Normal is the type of an event that is only information.
	Normal = "Normal"
	// Warning is the type of an event after which somebody may have to do something.
	Warning = "Warning"
)

// The longest fields that API servers accept, in bytes (k8s.io/api/events/v1, Event).
const (
	maxReason   = 128
	maxAction   = 128
	maxInstance = 128
	maxNote     = 1024
)

// Event says what happened to an object. Its fields have the names of events.k8s.io/v1.
type Event struct {
	// Namespace is that of the object which the event is about, or "default" when that is cluster-scoped.
	Namespace string
	// Name is unique.
	Name string
	// Annotations are those of the Event object. They must not be modified.
	Annotations map[string]string
	// Type is Normal or Warning.
	Type string
	// Reason says in one word for programs why something was done: "FailedMount".
	Reason string
	// Action says in one word for programs what was done: "MountVolume".
	Action string
	// Note says all of it for people, in at most 1024 bytes.
	Note string
	// Regarding is the object that the event is about.
	Regarding Reference
	// Related is a second object that took part; the zero value is none.
	Related Reference
	// Controller is the name of the controller that reports.
	Controller string
	// Instance tells the processes apart that run the controller.
	Instance string
	// First is when it happened first.
	First time.Time
	// Last is when it happened last, as far as Count goes.
	Last time.Time
	// Count is how often it happened; it is 1 until something counts.
	Count int
}

// String returns the type, the reason and the note, such as "Warning FailedMount no such volume".
func (e Event) String() string { return e.Type + " " + e.Reason + " " + e.Note }

// Reference names an object, and a state of it.
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

// object returns r without the state that the object was in: the same for all events about one object.
func (r Reference) object() Reference {
	r.ResourceVersion = ""
	return r
}

const truncated = "... (truncated)"

// fitNote returns note as the API server takes it: valid UTF-8, and marked when it had to be cut.
func fitNote(note string) string {
	note = strings.ToValidUTF8(note, string(utf8.RuneError))
	if len(note) <= maxNote {
		return note
	}
	return cut(note, maxNote-len(truncated)) + truncated
}

// cut returns the first characters of s, at most limit bytes of them.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

var errNoObject = errors.New("there is no object")

// ReferenceTo returns a reference to o in its present state. scheme tells the kind of a typed object; when it does not,
// what the object says itself counts.
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
	return Reference{
		APIVersion:      gvk.GroupVersion().String(),
		Kind:            gvk.Kind,
		Namespace:       o.GetNamespace(),
		Name:            o.GetName(),
		UID:             o.GetUID(),
		ResourceVersion: o.GetResourceVersion(),
	}, nil
}

// isNil reports whether o is nil, or a nil pointer.
func isNil(o runtime.Object) bool {
	if o == nil {
		return true
	}
	v := reflect.ValueOf(o)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// namespaceOf returns the namespace in which events about an object are.
func namespaceOf(regarding Reference) string {
	if regarding.Namespace == "" {
		return metav1.NamespaceDefault
	}
	return regarding.Namespace
}

// nameOf returns the name of an event about an object: that of the object and a stamp, or random letters when the name
// of the object is none that an event could have.
func nameOf(regarding Reference, stamp time.Duration) string {
	name := fmt.Sprintf("%s.%x", regarding.Name, int64(stamp))
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return strings.ToLower(rand.Text())
	}
	return name
}
