package wire

import (
	"fmt"
	"mime"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Format is an encoding of the API.
type Format string

// The formats, by the media types that servers know them by.
const (
	JSON     Format = "application/json"
	Protobuf Format = "application/vnd.kubernetes.protobuf"
	CBOR     Format = "application/cbor"
)

// FormatOf returns the format that a Content-Type names. It fails when that is none of those that were asked for. An
// answer that says none is taken for JSON.
func FormatOf(contentType string, asked ...Format) (Format, error) {
	format := JSON
	if contentType != "" {
		media, _, _ := mime.ParseMediaType(contentType)
		if format = Format(media); media == runtime.ContentTypeCBORSequence {
			format = CBOR
		}
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
