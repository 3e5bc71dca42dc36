package wire

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
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

// Format is an encoding of the API.
type Format string

// The formats, by the media types that servers know them by.
const (
	JSON     Format = "application/json"
	Protobuf Format = "application/vnd.kubernetes.protobuf"
)

// FormatOf returns the format that a Content-Type names. It fails when that is none of those that were asked for. An
// answer that says none is taken for JSON.
func FormatOf(contentType string, asked ...Format) (Format, error) {
	format := JSON
	if contentType != "" {
		media, _, _ := mime.ParseMediaType(contentType)
		format = Format(media)
	}
	if !slices.Contains(asked, format) {
		return "", &Error{fmt.Errorf("the server answered with %q, which it was not asked for", contentType)}
	}
	return format, nil
}

// formats returns which of wanted a type can be decoded from, and JSON.
func formats(wanted []Format, form reflect.Type) []Format {
	if len(wanted) == 0 {
		wanted = []Format{Protobuf}
	}
	var all []Format
	for _, f := range append(slices.Clone(wanted), JSON) {
		if !slices.Contains(all, f) && (f != Protobuf || hasProtobuf(form)) {
			all = append(all, f)
		}
	}
	return all
}

// Accept returns the Accept header of a request for a watch, or for a list: the formats in order of preference, and only
// metadata if no more is built.
func (d *Decoder[T]) Accept(list bool) string {
	var clauses []string
	if d.form == reflect.TypeFor[metav1.PartialObjectMetadata]() {
		as := ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		if list {
			as = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		}
		for _, f := range d.formats {
			clauses = append(clauses, string(f)+as)
		}
		return strings.Join(append(clauses, string(JSON)), ",")
	}
	for _, f := range d.formats {
		clauses = append(clauses, string(f))
	}
	return strings.Join(clauses, ",")
}

// Status returns the Status that data is, in the format that contentType names, if it is one of a failure. A server that
// refuses a request answers in a format that the request accepts.
func Status(data []byte, contentType string) (*metav1.Status, bool) {
	status := &metav1.Status{}
	format, err := FormatOf(contentType, Protobuf, JSON)
	if err != nil {
		format = JSON // a proxy's word for it
	}
	if format == Protobuf {
		err = protoStatus(data, status)
	} else {
		err = utiljson.Unmarshal(data, status)
	}
	if err != nil || status.Kind != "Status" || status.Status == metav1.StatusSuccess {
		return nil, false
	}
	return status, true
}

// statusError is the error for a Status that came with a success, where something else was asked for: what a failure says,
// as an apierrors.APIStatus error, and an *[Error] that cites any other.
func statusError(status *metav1.Status) error {
	if status.Status == metav1.StatusFailure {
		status.Message = cmp.Or(status.Message, "the server failed, and does not say why")
		return apierrors.FromObject(status)
	}
	return &Error{fmt.Errorf("the server sent a bare Status: %q", status.Message)}
}

// isOfStatus reports whether name is that of a member of a Status, and of no list.
func isOfStatus(name string) bool {
	return slices.Contains([]string{"status", "message", "reason", "code", "details"}, name)
}

func protoStatus(data []byte, into *metav1.Status) error {
	kind, message, err := unwrap(data)
	if err == nil {
		err = into.Unmarshal(message)
	}
	into.Kind = kind.Kind
	return err
}
