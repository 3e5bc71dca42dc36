package wire

import (
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
	var err error
	switch formatOf(contentType) {
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
