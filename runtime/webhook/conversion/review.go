package conversion

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"runtime/debug"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/internal/httpserver"
	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Path is the path to which the API server posts reviews.
const Path = "/convert"

// review is the request in a ConversionReview of apiextensions.k8s.io/v1.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *request `json:"request"`
}

type request struct {
	UID               string `json:"uid"`
	DesiredAPIVersion string `json:"desiredAPIVersion"`
	Objects           []raw  `json:"objects"`

	at int // index of the object that is being converted
}

// raw is a JSON value in the body. It shares memory with the body.
type raw []byte

func (r *raw) UnmarshalJSON(text []byte) error {
	*r = text
	return nil
}

// New returns a converter without kinds. A nil logger means slog.Default().
func New(logger *slog.Logger) *Converter {
	decoder, err := wire.NewDocumentDecoder(reflect.TypeFor[review](), true)
	if err != nil {
		panic(err) // the type is known to be valid
	}
	return &Converter{
		logger: log.Brief(cmp.Or(logger, slog.Default())), decoder: decoder, kinds: map[schema.GroupKind]*kind{},
	}
}

// ServeHTTP answers a ConversionReview. It rejects other bodies with a line of text.
func (c *Converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, answer := c.buffers.Get(), c.buffers.Get()
	defer c.buffers.Put(body)
	defer c.buffers.Put(answer)
	asked, code, err := c.read(r, body)
	if err != nil {
		c.logger.Error("rejected an invalid conversion request", "path", r.URL.Path, "client", r.RemoteAddr, "err", err)
		http.Error(w, err.Error(), code)
		return
	}
	defer func() {
		if p := recover(); p != nil {
			object := describe(asked.at, asked.Objects[asked.at])
			c.logger.Error("panic", "path", r.URL.Path, "object", object, "to", asked.DesiredAPIVersion, "panic", p, "stack",
				string(debug.Stack()))
			httpserver.CountPanic(w)
			http.Error(w, "the conversion panicked, see its log", http.StatusInternalServerError)
		}
	}()
	c.answer(r.Context(), asked, answer)
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer.Bytes())
}

// read returns the request in the review r. It shares memory with body.
func (c *Converter) read(r *http.Request, body *bytes.Buffer) (*request, int, error) {
	text, code, err := httpserver.Posted(r, "a ConversionReview", body)
	if err != nil {
		return nil, code, err
	}
	var v review
	if err := c.decoder.Decode(text, reflect.ValueOf(&v).Elem()); err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("the body is not a ConversionReview: %w", err)
	}
	switch {
	case v.Kind != "ConversionReview" || v.APIVersion != "apiextensions.k8s.io/v1":
		return nil, http.StatusBadRequest, fmt.Errorf("the body is a %q of %q, want a ConversionReview of "+
			"apiextensions.k8s.io/v1", v.Kind, v.APIVersion)
	case v.Request == nil:
		return nil, http.StatusBadRequest, errors.New("the ConversionReview has no request")
	case v.Request.UID == "":
		return nil, http.StatusBadRequest, errors.New("the request of the ConversionReview has no uid")
	}
	return v.Request, 0, nil
}

// response is the answer to a [request] without the objects, which are written after it.
type response struct {
	UID    string        `json:"uid"`
	Result metav1.Status `json:"result"`
}

// answer writes the review with the converted objects, or with the first error.
func (c *Converter) answer(ctx context.Context, asked *request, out *bytes.Buffer) {
	const head = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":`
	result := response{UID: asked.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	out.WriteString(head)
	writeOpen(out, result)
	out.WriteString(`,"convertedObjects":`)
	err := c.convertAll(ctx, asked, out)
	if err == nil {
		out.WriteString("}}")
		return
	}
	c.logger.Error("cannot convert", "to", asked.DesiredAPIVersion, "err", err)
	result.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
	out.Reset()
	out.WriteString(head)
	writeOpen(out, result)
	out.WriteString("}}")
}

// writeOpen writes the JSON of r without its closing brace.
func writeOpen(out *bytes.Buffer, r response) {
	text, _ := json.Marshal(r) // strings can always be encoded
	out.Write(bytes.TrimSuffix(text, []byte("}")))
}

// convertAll writes the list of converted objects.
func (c *Converter) convertAll(ctx context.Context, asked *request, out *bytes.Buffer) error {
	var last source
	out.WriteByte('[')
	for i, text := range asked.Objects {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		asked.at = i
		if i > 0 {
			out.WriteByte(',')
		}
		var err error
		if last, err = c.convert(ctx, text, asked.DesiredAPIVersion, last, out); err != nil {
			return fmt.Errorf("%s: %w", describe(i, text), err)
		}
	}
	out.WriteByte(']')
	return nil
}

// convert writes the object in text, converted to a version. It returns the source of the object.
func (c *Converter) convert(ctx context.Context, text []byte, apiVersion string, last source,
	out *bytes.Buffer) (source, error) {
	o, from, err := c.decode(text, last)
	if err != nil {
		return from, err
	}
	to := from.versions[apiVersion]
	if to == nil {
		return from, fmt.Errorf("%s has no version %s here", from.hub.gvk.GroupKind(), apiVersion)
	}
	converted, err := from.convert(ctx, o, from.version, to)
	if err != nil {
		return from, err
	}
	encoded, err := json.Marshal(converted)
	out.Write(encoded)
	return from, err
}

// source is the kind and version of an object.
type source struct {
	*kind
	version *version
}

// decode returns an object and its source. It tries the last source first, because most objects have the same.
func (c *Converter) decode(text []byte, last source) (object.Object, source, error) {
	if last.kind != nil {
		o, err := last.version.decode(text)
		if err == nil && o.GetObjectKind().GroupVersionKind() == last.version.gvk {
			return o, last, nil
		}
	}
	apiVersion, kindName := textOf(wire.Member(text, "apiVersion")), textOf(wire.Member(text, "kind"))
	gv, err := schema.ParseGroupVersion(apiVersion)
	switch {
	case err != nil:
		return nil, source{}, err
	case apiVersion == "" || kindName == "":
		return nil, source{}, errors.New("it has no apiVersion or no kind")
	}
	gk := schema.GroupKind{Group: gv.Group, Kind: kindName}
	c.mu.RLock()
	k := c.kinds[gk]
	c.mu.RUnlock()
	if k == nil {
		return nil, source{}, fmt.Errorf("there is no conversion of %s here", gk)
	}
	v := k.versions[apiVersion]
	if v == nil {
		return nil, source{}, fmt.Errorf("%s has no version %s here", gk, apiVersion)
	}
	o, err := v.decode(text)
	return o, source{k, v}, err
}

func textOf(value []byte) string {
	var text string
	_ = json.Unmarshal(value, &text) // a value that is not a string yields ""
	return text
}

// describe identifies object i in errors by version, kind, namespace and name, as far as the object has them.
func describe(i int, text []byte) string {
	apiVersion, kindName := textOf(wire.Member(text, "apiVersion")), textOf(wire.Member(text, "kind"))
	metadata := wire.Member(text, "metadata")
	key := object.Key{Namespace: textOf(wire.Member(metadata, "namespace")), Name: textOf(wire.Member(metadata, "name"))}
	if apiVersion == "" || kindName == "" {
		return fmt.Sprintf("objects[%d]", i)
	}
	return fmt.Sprintf("%s %s %s", apiVersion, kindName, strings.TrimPrefix(key.String(), "/"))
}
