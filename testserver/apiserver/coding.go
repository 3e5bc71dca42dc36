package apiserver

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

// customCodec stores objects in the storage version and reads them in another version. When it reads an object that was
// stored under another schema, it adapts the object to the current schema.
type customCodec struct {
	definition *definition
	version    string
}

func (c *customCodec) encode(object runtime.Object) (*store.Record, error) {
	u, err := c.convert(object.(*unstructured.Unstructured), c.definition.storageVersion)
	if err != nil {
		return nil, err
	}
	u.SetSelfLink("")
	known := c.definition.known[c.definition.storageVersion]
	if known != nil && !known.Defaults() && c.definition.settled(u) && u.GetGeneration() > 0 {
		document, err := store.NewDocument(u.Object)
		if err != nil {
			return nil, err
		}
		r := &store.Record{Document: document, Schema: c.definition, Labels: u.GetLabels()}
		r.Keep(u)
		return r, nil
	}
	written, err := store.NewDocument(u.Object)
	if err != nil {
		return nil, err
	}
	u.Object = canonical(u.Object).(map[string]any)
	if err := c.definition.read(u); err != nil {
		return nil, err
	}
	read, err := store.NewDocument(u.Object)
	if err != nil {
		return nil, err
	}
	r := &store.Record{Document: read, Schema: c.definition, Labels: u.GetLabels()}
	if !bytes.Equal(read.Data, written.Data) {
		r.Written = written.Data
	}
	r.Keep(u)
	return r, nil
}

// settled returns true, because defaults are stored.
func (*customCodec) settled(*store.Record) bool { return true }

func (c *customCodec) decode(r *store.Record) (runtime.Object, error) {
	if r.Schema != c.definition { // an older schema may have other defaults
		object, err := r.Stored()
		if err == nil {
			err = c.definition.read(object)
		}
		if err != nil {
			return nil, err
		}
		return c.convert(object, c.version)
	}
	object, err := r.Custom()
	if err != nil || c.verbatim(r) {
		return object, err
	}
	return c.convert(object.DeepCopy(), c.version)
}

// verbatim reports whether readers receive an object in its stored form.
func (c *customCodec) verbatim(r *store.Record) bool {
	return r.Schema == c.definition && c.version == c.definition.storageVersion
}

// convert converts an object to a version.
func (c *customCodec) convert(object *unstructured.Unstructured, version string) (*unstructured.Unstructured, error) {
	target := c.definition.groupVersion(version)
	if object.GroupVersionKind().GroupVersion() == target {
		return object, nil
	}
	converted, err := c.definition.converter.ConvertToVersion(object, target)
	if err != nil {
		return nil, err
	}
	u := converted.(*unstructured.Unstructured)
	_, err = (&coercer{definition: c.definition}).coerce(u)
	return u, err
}

// read applies the schema to a stored object.
func (d *definition) read(u *unstructured.Unstructured) error {
	if _, err := (&coercer{definition: d, lenient: true}).coerce(u); err != nil {
		return err
	}
	d.setDefaults(u)
	return nil
}

func (d *definition) setDefaults(u runtime.Unstructured) {
	defaulting.Default(u.UnstructuredContent(), d.schemas[u.GetObjectKind().GroupVersionKind().Version])
}

// settled reports whether it is certain that coercion would not change an object. It ignores managedFields.
func (d *definition) settled(u *unstructured.Unstructured) bool {
	kind, known := u.GroupVersionKind(), d.known[u.GroupVersionKind().Version]
	if known == nil || kind.Group != d.crd.Spec.Group || kind.Kind != d.crd.Status.AcceptedNames.Kind ||
		!known.Has(u.Object) {
		return false
	}
	metadata, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		return false
	}
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	typed := &metav1.ObjectMeta{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, typed); err != nil {
		return false
	}
	again, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	return err == nil && reflect.DeepEqual(again, metadata)
}

// canonical returns a JSON value in the form that it has after it was written and read. In this form, an integer is an
// int64.
func canonical(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			switch member.(type) {
			case map[string]any, []any, float64:
				value[name] = canonical(member)
			}
		}
	case []any:
		for i, member := range value {
			value[i] = canonical(member)
		}
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1e18 {
			return int64(value)
		}
	}
	return value
}

// coercer removes the fields of an object that its schema lacks, and checks its metadata.
type coercer struct {
	definition *definition
	lenient    bool // drop invalid metadata
	report     bool // return unknown fields
}

func (c *coercer) coerce(u *unstructured.Unstructured) (unknown []string, err error) {
	if metadata, _ := u.Object["metadata"].(map[string]any); metadata["managedFields"] == nil && c.definition.settled(u) &&
		(!c.lenient || u.GetGeneration() > 0) {
		return nil, nil
	}
	kind, hasKind, err := unstructured.NestedString(u.Object, "kind")
	if err != nil {
		return nil, err
	}
	apiVersion, hasVersion, err := unstructured.NestedString(u.Object, "apiVersion")
	if err != nil {
		return nil, err
	}
	metadata, hasMetadata, unknown, err := objectmeta.GetObjectMetaWithOptions(u.Object,
		objectmeta.ObjectMetaOptions{DropMalformedFields: c.lenient, ReturnUnknownFieldPaths: c.report})
	if err != nil {
		return nil, err
	}
	gv, err := runtimeschema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	if crd := c.definition.crd; gv.Group == crd.Spec.Group && kind == crd.Status.AcceptedNames.Kind {
		s := c.definition.schemas[gv.Version]
		if !crd.Spec.PreserveUnknownFields {
			unknown = append(unknown, pruning.PruneWithOptions(u.Object, s, true,
				schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: c.report})...)
			defaulting.PruneNonNullableNullsWithoutDefaults(u.Object, s)
		}
		problem, paths := objectmeta.CoerceWithOptions(nil, u.Object, s, false,
			objectmeta.CoerceOptions{DropInvalidFields: c.lenient, ReturnUnknownFieldPaths: c.report})
		if problem != nil {
			return nil, problem
		}
		unknown = append(unknown, paths...)
		if c.lenient && metadata.Generation == 0 {
			metadata.Generation = 1
		}
	}
	if hasKind {
		u.SetKind(kind)
	}
	if hasVersion {
		u.SetAPIVersion(apiVersion)
	}
	if hasMetadata {
		return unknown, objectmeta.SetObjectMeta(u.Object, metadata)
	}
	return unknown, nil
}

// customSerializer encodes and decodes the bodies of requests for custom resources.
type customSerializer struct {
	definition *definition
	media      []runtime.SerializerInfo
}

func mediaTypes(typer runtime.ObjectTyper) []runtime.SerializerInfo {
	jsonWith := func(options json.SerializerOptions) runtime.Serializer {
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, customCreater{}, typer, options)
	}
	return []runtime.SerializerInfo{
		{
			MediaType: "application/json", MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
			Serializer:       jsonWith(json.SerializerOptions{StreamingCollectionsEncoding: true}),
			PrettySerializer: jsonWith(json.SerializerOptions{Pretty: true}),
			StrictSerializer: jsonWith(json.SerializerOptions{Strict: true, StreamingCollectionsEncoding: true}),
			StreamSerializer: &runtime.StreamSerializerInfo{EncodesAsText: true, Serializer: jsonWith(json.SerializerOptions{}),
				Framer: json.Framer},
		},
		{
			MediaType: "application/yaml", MediaTypeType: "application", MediaTypeSubType: "yaml", EncodesAsText: true,
			Serializer:       jsonWith(json.SerializerOptions{Yaml: true}),
			StrictSerializer: jsonWith(json.SerializerOptions{Yaml: true, Strict: true}),
		},
		{ // for tables and metadata-only objects
			MediaType: "application/vnd.kubernetes.protobuf", MediaTypeType: "application",
			MediaTypeSubType: "vnd.kubernetes.protobuf",
			Serializer: protobuf.NewSerializerWithOptions(customCreater{}, typer,
				protobuf.SerializerOptions{StreamingCollectionsEncoding: true}),
			StreamSerializer: &runtime.StreamSerializerInfo{Serializer: protobuf.NewRawSerializer(customCreater{}, typer),
				Framer: protobuf.LengthDelimitedFramer},
		},
	}
}

func (s *customSerializer) SupportedMediaTypes() []runtime.SerializerInfo { return s.media }

func (s *customSerializer) EncoderForVersion(encoder runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	if encoder == s.media[0].Serializer && len(s.definition.known) > 0 {
		encoder = quickEncoder{encoder}
	}
	return versioning.NewCodec(encoder, nil, safeConverter{s.definition.converter}, metaScheme, metaScheme, metaScheme, gv,
		nil, "customResources")
}

func (s *customSerializer) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	strict := false
	if serializer, ok := decoder.(*json.Serializer); ok {
		strict = serializer.IsStrict()
	}
	coercing := coercingDecoder{decoder, coercer{definition: s.definition, report: strict}}
	return versioning.NewCodec(nil, coercing, runtime.UnsafeObjectConvertor(metaScheme), metaScheme, metaScheme,
		customDefaulter{s.definition, metaScheme}, nil, gv, "customResources")
}

// coercingDecoder decodes objects and coerces them to their schema.
type coercingDecoder struct {
	runtime.Decoder
	coercer coercer
}

func (d coercingDecoder) Decode(data []byte, defaults *runtimeschema.GroupVersionKind,
	into runtime.Object) (runtime.Object, *runtimeschema.GroupVersionKind, error) {
	object, kind, err := d.Decoder.Decode(data, defaults, into)
	var strict []error
	if err != nil {
		problems, ok := runtime.AsStrictDecodingError(err)
		if !ok || object == nil {
			return nil, kind, err
		}
		strict = problems.Errors()
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		unknown, err := d.coercer.coerce(u)
		if err != nil {
			return nil, kind, err
		}
		for _, path := range unknown {
			strict = append(strict, fmt.Errorf(`unknown field "%s"`, path))
		}
	}
	if d.coercer.report && len(strict) > 0 {
		return object, kind, runtime.NewStrictDecodingError(strict)
	}
	return object, kind, nil
}

// customDefaulter sets the defaults of the schemas. It passes objects of other kinds, such as options, to others.
type customDefaulter struct {
	definition *definition
	others     runtime.ObjectDefaulter
}

func (d customDefaulter) Default(object runtime.Object) {
	u, ok := object.(runtime.Unstructured)
	kind := runtimeschema.GroupKind{Group: d.definition.crd.Spec.Group, Kind: d.definition.crd.Status.AcceptedNames.Kind}
	if !ok || u.GetObjectKind().GroupVersionKind().GroupKind() != kind {
		d.others.Default(object)
		return
	}
	d.definition.setDefaults(u)
}

type customCreater struct{}

func (customCreater) New(kind runtimeschema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// customTyper returns the kinds of unstructured objects. For all other objects, it calls others.
type customTyper struct{ others runtime.ObjectTyper }

func (t customTyper) ObjectKinds(object runtime.Object) ([]runtimeschema.GroupVersionKind, bool, error) {
	if _, ok := object.(runtime.Unstructured); !ok {
		return t.others.ObjectKinds(object)
	}
	kind := object.GetObjectKind().GroupVersionKind()
	if kind.Kind == "" {
		return nil, false, runtime.NewMissingKindErr("object has no kind field ")
	}
	if kind.Version == "" {
		return nil, false, runtime.NewMissingVersionErr("object has no apiVersion field")
	}
	return []runtimeschema.GroupVersionKind{kind}, false, nil
}

func (t customTyper) Recognizes(kind runtimeschema.GroupVersionKind) bool {
	return t.others.Recognizes(kind)
}

// quickEncoder writes custom resources as JSON.
type quickEncoder struct{ runtime.Encoder }

func (e quickEncoder) Encode(object runtime.Object, w io.Writer) error {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return e.Encoder.Encode(object, w)
	}
	data, err := store.Encode(u.Object)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
