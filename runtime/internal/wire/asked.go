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

// Asked describes what a request asks for: objects of one kind, or their metadata. For all formats, it decides which
// answers are acceptable, namely only those with the requested kind in the requested version.
type Asked struct {
	// GVK is the kind of the objects.
	GVK schema.GroupVersionKind
	// Metadata means that only metadata were requested. A server that does not support that form sends complete objects.
	Metadata bool
	// Serves reports whether the server has another kind in the group version of GVK. It is called for a list whose kind
	// is not the kind of the objects with the suffix List, which a CustomResourceDefinition can define. Such a list is
	// accepted unless its kind is the kind of other objects. If Serves is nil, such lists are rejected.
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
	case a.Serves == nil, got.GroupVersion() != want.GroupVersion(), got.Kind == "", got.Kind == "List",
		!strings.Contains(a.GVK.Group, "."): // the group of a CustomResourceDefinition is a domain name
		return other
	}
	isOther, err := a.Serves(strings.TrimSuffix(got.Kind, "List"))
	if err == nil && isOther {
		err = other
	}
	return err
}

// Object returns an error unless got is the kind of the objects.
func (a Asked) Object(got schema.GroupVersionKind) error {
	if got == a.GVK || a.Metadata && got == metadataKind {
		return nil
	}
	return a.mismatch(got, a.GVK)
}

// Item returns an error unless got and name belong to an item of a list. Items of built-in kinds have no kind.
func (a Asked) Item(got schema.GroupVersionKind, name string) error {
	if !got.Empty() {
		if err := a.Object(got); err != nil {
			return err
		}
	}
	if name == "" {
		return errors.New("it has no name")
	}
	return nil
}

// mismatch returns the error for an answer of kind got.
func (a Asked) mismatch(got, want schema.GroupVersionKind) error {
	if got.Kind == "" || got.Version == "" {
		return fmt.Errorf("the server sent something with apiVersion %q and kind %q, not %s", got.GroupVersion(), got.Kind,
			want)
	}
	return &OtherKindError{Got: got, Want: want}
}

// OtherKindError is the error of an answer that has another kind than the requested one.
type OtherKindError struct{ Got, Want schema.GroupVersionKind }

// Error returns both kinds.
func (e *OtherKindError) Error() string {
	return fmt.Sprintf("the server sent %s, not %s", e.Got, e.Want)
}

// Format is an encoding of the API.
type Format string

// Formats by media type.
const (
	JSON     Format = "application/json"
	Protobuf Format = "application/vnd.kubernetes.protobuf"
)

// FormatOf returns the format for a Content-Type, by default JSON. It fails for a format that was not requested.
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

// formats returns the formats in wanted from which a type can be decoded, followed by JSON.
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

// Accept returns the Accept header of a request for a watch or a list. The header lists the formats in order of
// preference. It requests only metadata if the decoder needs no other fields.
func (d *Decoder[T]) Accept(list bool) string {
	as := ""
	if d.asked.Metadata {
		as = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		if list {
			as = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		}
	}
	var clauses []string
	for _, f := range d.formats {
		clauses = append(clauses, string(f)+as)
	}
	if d.asked.Metadata {
		clauses = append(clauses, string(JSON)) // complete objects
	}
	return strings.Join(clauses, ",")
}

// Status returns the Status in data, in the format of contentType, if data is a Status of a failure. A server that
// rejects a request answers in a format that the request accepts.
func Status(data []byte, contentType string) (*metav1.Status, bool) {
	status := &metav1.Status{}
	format, err := FormatOf(contentType, Protobuf, JSON)
	if err != nil {
		format = JSON // the answer of a proxy
	}
	if format == Protobuf {
		var kind schema.GroupVersionKind
		var message []byte
		if kind, message, err = unwrap(data); err == nil {
			err = status.Unmarshal(message)
		}
		status.Kind = kind.Kind
	} else {
		err = utiljson.Unmarshal(data, status)
	}
	if err != nil || status.Kind != "Status" || status.Status == metav1.StatusSuccess {
		return nil, false
	}
	return status, true
}

// BareStatusError is the cause of an [Error] for an answer that is a Status without a failure.
type BareStatusError struct{ message string }

// Error returns a message that quotes the Status.
func (e *BareStatusError) Error() string {
	return fmt.Sprintf("the server sent a bare Status: %q", e.message)
}

// StatusError returns the error for an unexpected Status in a successful answer. A failure is returned as an
// apierrors.APIStatus error, and any other Status as an *[Error] with a *[BareStatusError].
func StatusError(status *metav1.Status) error {
	if status.Status == metav1.StatusFailure {
		status.Message = cmp.Or(status.Message, "the server failed without a reason")
		return apierrors.FromObject(status)
	}
	return &Error{&BareStatusError{status.Message}}
}
