package admission

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

var errNothingToDecode = errors.New("there is no content to decode")

// Decoder decodes the objects of requests.
type Decoder interface {
	// Decode decodes the object of a request.
	Decode(req Request, into runtime.Object) error
	// DecodeRaw decodes an object, such as the old one of a request.
	DecodeRaw(rawObj runtime.RawExtension, into runtime.Object) error
}

// NewDecoder returns a decoder for the types of scheme. It panics if scheme is nil.
func NewDecoder(scheme *runtime.Scheme) Decoder {
	if scheme == nil {
		panic("scheme should never be nil")
	}
	return decoder{serializer.NewCodecFactory(scheme).UniversalDeserializer()}
}

type decoder struct{ from runtime.Decoder }

// Decode implements [Decoder].
func (d decoder) Decode(req Request, into runtime.Object) error { return d.DecodeRaw(req.Object, into) }

// DecodeRaw implements [Decoder].
func (d decoder) DecodeRaw(rawObj runtime.RawExtension, into runtime.Object) error {
	if len(rawObj.Raw) == 0 {
		return errNothingToDecode
	}
	if u, ok := into.(runtime.Unstructured); ok {
		var content map[string]any
		if err := json.Unmarshal(rawObj.Raw, &content); err != nil {
			return err
		}
		u.SetUnstructuredContent(content)
		return nil
	}
	return runtime.DecodeInto(d.from, rawObj.Raw, into)
}
