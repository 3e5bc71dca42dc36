package wire

import (
	"cmp"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Status returns the Status that data is, in the format that contentType names, if it is one of a failure. A server that
// refuses a request answers in a format that the request accepts.
func Status(data []byte, contentType string) (*metav1.Status, bool) {
	status := &metav1.Status{}
	format, err := FormatOf(contentType, Protobuf, CBOR, JSON)
	if err != nil {
		format = JSON // a proxy's word for it
	}
	switch format {
	case Protobuf:
		err = protoStatus(data, status)
	case CBOR:
		err = cborStatus(data, status)
	default:
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

func cborStatus(data []byte, into *metav1.Status) error {
	var content unstructured.Unstructured
	if err := direct.Unmarshal(data, &content.Object); err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, into)
}
