package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// encoder writes values in valid encodings that servers do not use: with members in any order or repeated, with unknown
// fields, and with every notation of a value.
type encoder struct {
	*rand.Rand
	odd int // probability of an unusual encoding, in thousandths
}

func (e encoder) oddly() bool { return e.IntN(1000) < e.odd }

// keyed contains the members that must not be null, since the value would not be a list without them.
var keyed = map[string]bool{"kind": true, "apiVersion": true, "items": true, "metadata": true, "name": true,
	"type": true, "object": true}

// stale returns an earlier value for a repeated field. The last value replaces it or is merged into it.
func (e encoder) stale(value any) any {
	switch value := value.(type) {
	case map[string]any:
		half := map[string]any{}
		for name, member := range value {
			if e.IntN(2) == 0 {
				half[name] = e.stale(member)
			}
		}
		return half
	case []any:
		return value[:e.IntN(len(value)+1)]
	case string:
		return "stale"
	}
	return value
}

// member is a member of a JSON object. A later member replaces an earlier one with the same name, or is merged into it.
type member struct {
	name  string
	value any
}

// members returns the members of an object in random order. The last of several members with one name is the current
// one.
func (e encoder) members(object map[string]any, again bool) []member {
	var all []member
	for name, value := range object {
		switch {
		case value != nil && !keyed[name] && e.oddly():
			value = nil
		case again && (!keyed[name] || name == "metadata" || name == "name") && e.oddly():
			all = append(all, member{name, e.stale(value)})
		}
		all = append(all, member{name, value})
	}
	if e.oddly() {
		all = append(all, member{"unknown", []any{map[string]any{"a": nil, "}": "]"}, "\"", 1.5, map[string]any{}}})
	}
	last := map[string]any{}
	for _, m := range all {
		last[m.name] = m.value
	}
	e.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i := range all { // move the current value to the last place
		for j := i + 1; j < len(all); j++ {
			if all[i].name == all[j].name && reflect.DeepEqual(all[i].value, last[all[i].name]) {
				all[i], all[j] = all[j], all[i]
			}
		}
	}
	return all
}

// json appends a value in JSON.
func (e encoder) json(b []byte, value any) []byte {
	b = e.space(b)
	switch value := value.(type) {
	case map[string]any:
		b = append(b, '{')
		for i, m := range e.members(value, true) {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.space(e.jsonText(e.space(b), m.name))
			b = e.json(append(b, ':'), m.value)
		}
		b = append(b, '}')
	case []any:
		b = append(b, '[')
		for i, element := range value {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.json(b, element)
		}
		b = append(e.space(b), ']')
	case string:
		b = e.jsonText(b, value)
	case json.Number:
		b = append(b, e.jsonNumber(value.String())...)
	default:
		text, _ := json.Marshal(value)
		b = append(b, text...)
	}
	return e.space(b)
}

func (e encoder) space(b []byte) []byte {
	for e.oddly() {
		b = append(b, " \t\r\n"[e.IntN(4)])
	}
	return b
}

func (e encoder) jsonText(b []byte, text string) []byte {
	b = append(b, '"')
	for _, r := range text {
		switch {
		case r > 0xffff || r >= ' ' && r != '"' && r != '\\' && !e.oddly():
			b = append(b, string(r)...)
		default:
			b = fmt.Appendf(b, []string{`\u%04x`, `\u%04X`}[e.IntN(2)], r)
		}
	}
	return append(b, '"')
}

func (e encoder) jsonNumber(text string) string {
	if !e.oddly() || e.IntN(8) > 0 { // most of these suffixes make an integer invalid
		return text
	}
	return text + []string{"e0", ".0", "E+0", "e-0", ".50", "0"}[e.IntN(6)]
}

// proto appends the encoding of a message of a Go type, with the fields of data.
func (e encoder) proto(b, data []byte, form reflect.Type) []byte {
	fields := protoTypes(form)
	byNumber := map[int][][]byte{}
	var numbers []int
	add := func(number int, field []byte) {
		byNumber[number] = append(byNumber[number], field)
		numbers = append(numbers, number)
	}
	for len(data) > 0 {
		f, rest, err := nextField(data, 0)
		if err != nil {
			panic(err)
		}
		whole := data[:len(data)-len(rest)]
		data = rest
		kind := fields[f.number]
		switch {
		case kind == nil || whole[0]&7 != 2 && kind.Kind() != reflect.Slice: // a number or a field of unknown type
			if kind != nil && e.oddly() {
				add(f.number, e.protoTag(nil, f.number, 0, []byte{7})) // an earlier value of the same field
			}
			add(f.number, whole)
		case whole[0]&7 != 2: // one number of a repeated field; may be written as a packed list of one
			if !e.oddly() {
				add(f.number, whole)
				break
			}
			_, n := binary.Uvarint(whole)
			add(f.number, e.protoBytes(nil, f.number, whole[n:]))
		case kind.Kind() == reflect.Struct && isMessage(kind):
			message := e.proto(nil, f.value, kind)
			if e.oddly() && !singular(form, f.number) {
				add(f.number, e.protoBytes(nil, f.number, message))
				break
			}
			cut := 0
			if singular(form, f.number) && e.oddly() { // split in two messages, which are merged
				for cut < len(message) && e.IntN(3) > 0 {
					_, rest, _ := nextField(message[cut:], 0)
					cut = len(message) - len(rest)
				}
				add(f.number, e.protoBytes(nil, f.number, message[:cut]))
			}
			add(f.number, e.protoBytes(nil, f.number, message[cut:]))
		default:
			if singular(form, f.number) && kind.Kind() == reflect.String && e.oddly() {
				add(f.number, e.protoBytes(nil, f.number, []byte("stale")))
			}
			add(f.number, e.protoBytes(nil, f.number, f.value))
		}
	}
	if e.oddly() {
		add(1000, [][]byte{e.protoTag(nil, 1000, 0, []byte{0x80, 1}), e.protoTag(nil, 1000, 1, make([]byte, 8)),
			e.protoTag(nil, 1000, 5, make([]byte, 4)),
			e.protoBytes(nil, 1000, []byte("unknown")), []byte("\xc3\x3e\x0b\x22\x02ab\x0c\xc4\x3e")}[e.IntN(
			5)]) // the last one is a group
	}
	if e.IntN(4) > 0 {
		e.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	}
	for _, number := range numbers { // repeated values keep their order
		b = append(b, byNumber[number][0]...)
		byNumber[number] = byNumber[number][1:]
	}
	return b
}

func (e encoder) protoTag(b []byte, number int, wireType uint64, value []byte) []byte {
	return append(e.varint(b, uint64(number)<<3|wireType), value...)
}

func (e encoder) protoBytes(b []byte, number int, value []byte) []byte {
	return append(e.varint(e.protoTag(b, number, 2, nil), uint64(len(value))), value...)
}

// varint appends a number, possibly in more bytes than necessary.
func (e encoder) varint(b []byte, n uint64) []byte {
	b = binary.AppendUvarint(b, n)
	for more := 0; more < 3 && e.oddly(); more++ {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return b
}

// protoTypes returns the types of a message's fields by number. For a repeated field it is the element type if that is
// a message, and otherwise the slice type.
func protoTypes(form reflect.Type) map[int]reflect.Type {
	all := map[int]reflect.Type{}
	for number, field := range protoFields(form) {
		kind := field
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct {
			kind = kind.Elem()
		}
		all[number] = kind
	}
	return all
}

func protoFields(form reflect.Type) map[int]reflect.Type {
	all := map[int]reflect.Type{}
	for i := range form.NumField() {
		parts := strings.Split(form.Field(i).Tag.Get("protobuf"), ",")
		if len(parts) < 2 {
			continue
		}
		number, err := strconv.Atoi(parts[1])
		if err == nil {
			all[number] = form.Field(i).Type
		}
	}
	return all
}

// singular reports whether a field occurs once.
func singular(form reflect.Type, number int) bool {
	kind := protoFields(form)[number].Kind()
	return kind != reflect.Slice && kind != reflect.Map
}

// isMessage reports whether a struct has the same fields as its protobuf message. This does not hold for times and for
// types with their own decoder.
func isMessage(form reflect.Type) bool {
	return len(protoFields(form)) > 0 && form != reflect.TypeFor[metav1.Time]() &&
		form != reflect.TypeFor[metav1.MicroTime]()
}

// reencoded contains the kinds that the tests encode in unusual ways.
var reencoded = []struct {
	kind schema.GroupVersionKind
	obj  object.Object
	list runtime.Object
}{
	{podKind, &corev1.Pod{}, &corev1.PodList{}},
	{corev1.SchemeGroupVersion.WithKind("Secret"), &corev1.Secret{}, &corev1.SecretList{}},
	{corev1.SchemeGroupVersion.WithKind("Service"), &corev1.Service{}, &corev1.ServiceList{}},
	{corev1.SchemeGroupVersion.WithKind("Event"), &corev1.Event{}, &corev1.EventList{}},
	{appsv1.SchemeGroupVersion.WithKind("Deployment"), &appsv1.Deployment{}, &appsv1.DeploymentList{}},
}

// upstream returns the codecs that clients use, by format.
func upstream(t testing.TB) map[Format]server {
	all := binaryServers(t)
	scheme := testScheme(t)
	all[JSON] = server{contentType: jsonType, serializer: jsonserializer.NewSerializerWithOptions(
		jsonserializer.DefaultMetaFactory, scheme, scheme, jsonserializer.SerializerOptions{})}
	return all
}

// trial is a list or an object of a watch, encoded in one format.
type trial struct {
	format   Format
	form     string // typed, untyped, metadata
	which    int
	contents []byte
	list     bool
}

// newTrial returns a random trial.
func newTrial(t testing.TB, servers map[Format]server, e encoder) trial {
	t.Helper()
	tr := trial{format: []Format{JSON, Protobuf}[e.IntN(2)], form: []string{"typed", "untyped", "metadata"}[e.IntN(3)],
		which: e.IntN(len(reencoded)), list: e.IntN(2) == 0}
	if tr.format == Protobuf && tr.form == "untyped" {
		tr.form = "typed"
	}
	kind := reencoded[tr.which]
	list := reflect.New(reflect.TypeOf(kind.list).Elem())
	items := list.Elem().FieldByName("Items")
	for n := range 1 + e.IntN(3) {
		obj := reflect.New(reflect.TypeOf(kind.obj).Elem())
		filler{e.Rand}.fill(obj.Elem(), 4+e.IntN(2))
		o := obj.Interface().(object.Object)
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		o.SetName(fmt.Sprint("name-", n))
		o.SetUID("uid")
		o.SetResourceVersion(strconv.Itoa(n + 1))
		items.Set(reflect.Append(items, obj.Elem()))
	}
	whole := list.Interface().(runtime.Object)
	list.Interface().(metav1.ListInterface).SetResourceVersion("42")
	list.Interface().(metav1.ListInterface).SetContinue("more")
	whole.GetObjectKind().SetGroupVersionKind(kind.kind.GroupVersion().WithKind(kind.kind.Kind + "List"))
	form := list.Elem().Type()
	if !tr.list {
		whole = items.Index(0).Addr().Interface().(runtime.Object)
		whole.GetObjectKind().SetGroupVersionKind(kind.kind)
		form = items.Index(0).Type()
	}
	if tr.format == Protobuf {
		data := servers[Protobuf].encode(t, whole)
		gvk, message, err := unwrap(data)
		if err != nil {
			t.Fatal(err)
		}
		message = e.proto(nil, message, form)
		apiVersion, name := gvk.ToAPIVersionAndKind()
		typeMeta, err := (&runtime.TypeMeta{APIVersion: apiVersion, Kind: name}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		envelope := e.protoBytes(e.protoBytes(nil, 1, typeMeta), 2, message)
		tr.contents = append(slices.Clone(protoPrefix), e.proto(nil, envelope, reflect.TypeFor[runtime.Unknown]())...)
		return tr
	}
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	var value map[string]any
	if err := numbers.Decode(&value); err != nil {
		t.Fatal(err)
	}
	tr.contents = e.json(nil, value)
	return tr
}

// prototype returns an object of the type into which the contents are decoded.
func (tr trial) prototype() object.Object {
	return prototypesOf(reencoded[tr.which].kind, reencoded[tr.which].obj)[tr.form]
}

// want returns the objects that upstream decodes from the contents.
func (tr trial) want(s server) ([]object.Object, error) {
	kind := reencoded[tr.which]
	var into runtime.Object
	switch {
	case tr.form == "untyped" && tr.list:
		into = &unstructured.UnstructuredList{}
	case tr.form == "untyped":
		into = &unstructured.Unstructured{}
	case tr.form == "metadata" && tr.list:
		into = &metav1.PartialObjectMetadataList{}
	case tr.form == "metadata":
		into = &metav1.PartialObjectMetadata{}
	case tr.list:
		into = reflect.New(reflect.TypeOf(kind.list).Elem()).Interface().(runtime.Object)
	default:
		into = reflect.New(reflect.TypeOf(kind.obj).Elem()).Interface().(runtime.Object)
	}
	var err error
	switch {
	case tr.form == "untyped" && tr.format == JSON:
		_, _, err = unstructured.UnstructuredJSONScheme.Decode(tr.contents, nil, into)
	case tr.form == "metadata" && tr.format == JSON:
		err = codec(tr.contents, into)
	case tr.form == "metadata" && tr.format == Protobuf:
		var message []byte
		unknown := runtime.Unknown{}
		if err = unknown.Unmarshal(bytes.TrimPrefix(tr.contents, protoPrefix)); err == nil {
			message = unknown.Raw
			err = into.(interface{ Unmarshal([]byte) error }).Unmarshal(message)
		}
	default:
		var out runtime.Object
		if out, _, err = s.serializer.Decode(tr.contents, nil, into); err == nil && out != into {
			err = fmt.Errorf("it is a %T", out)
		}
	}
	if err != nil {
		return nil, err
	}
	var all []object.Object
	if !tr.list {
		all = append(all, into.(object.Object))
	} else if err = meta.EachListItem(into, func(o runtime.Object) error {
		all = append(all,
			o.(object.Object))
		return nil
	}); err != nil {
		return nil, err
	}
	for _, o := range all {
		o.GetObjectKind().SetGroupVersionKind(kind.kind)
	}
	if list, ok := into.(metav1.ListInterface); ok && tr.list {
		all = append(all, pageObject(list.GetResourceVersion(), list.GetContinue()))
	}
	return all, nil
}

// pageObject returns the metadata of a list as an object, so that it is compared like the items.
func pageObject(version, next string) object.Object {
	page := &metav1.PartialObjectMetadata{}
	page.Name, page.ResourceVersion = "page before "+next, version
	return page
}

// got returns the objects that a decoder reads from the contents in pieces of that size.
func (tr trial) got(d *Decoder[object.Object], s server, size int,
	known Known[object.Object]) ([]object.Object, error) {
	if tr.list {
		page, err := d.List(&chunks{tr.contents, size}, s.contentType, known)
		if err != nil {
			return nil, err
		}
		return append(page.Items, pageObject(page.ResourceVersion, page.Continue)), nil
	}
	return readAll(d.Watch(&chunks{tr.event(s), size}, s.contentType, known))
}

// event returns a stream with one event that has the contents as its object.
func (tr trial) event(s server) []byte {
	if tr.format == JSON {
		return append(append([]byte(`{"type":"ADDED","object":`), tr.contents...), '}')
	}
	var b bytes.Buffer
	event := &metav1.WatchEvent{Type: string(watch.Added), Object: runtime.RawExtension{Raw: tr.contents}}
	if err := s.stream.Serializer.Encode(event, s.stream.Framer.NewFrameWriter(&b)); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func readAll(stream *Stream[object.Object]) (all []object.Object, err error) {
	for {
		event, err := stream.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, event.Object)
	}
}

// TestObjectsMatchTheCodecInAnyEncoding encodes random objects in valid ways, and damages some encodings. In whatever
// pieces the bytes arrive, the decoder must return the objects that upstream's codecs decode, or an error where the
// codecs return one. It may reuse an object of the caller only if that is equal.
func TestObjectsMatchTheCodecInAnyEncoding(t *testing.T) {
	servers := upstream(t)
	const count = 400
	seeds.Each(t, 2, func(t *testing.T, seed uint64) {
		decoders := map[string]*Decoder[object.Object]{}
		refused := 0
		for n := range count {
			e := encoder{rand.New(rand.NewPCG(seed, uint64(n))), []int{0, 2, 10, 50}[n%4]}
			tr := newTrial(t, servers, e)
			if n%8 == 7 {
				tr.damage(e)
			}
			name := fmt.Sprint(tr.which, tr.form)
			d := decoders[name]
			if d == nil {
				d = decoderOf(t, tr.prototype(), Options{GVK: reencoded[tr.which].kind, KeepManagedFields: true,
					Formats: []Format{Protobuf}})
				decoders[name] = d
			}
			if !tr.check(t, d, servers[tr.format], e, fmt.Sprintf("encoding %d", n), n%8 == 7) {
				refused++
			}
			if t.Failed() {
				return
			}
		}
		if refused > count/2 {
			t.Errorf("%d of %d were refused", refused, count)
		}
	})
}

// damage truncates the contents, flips one bit, repeats their end or deletes a byte.
func (tr *trial) damage(e encoder) {
	at := e.IntN(len(tr.contents))
	switch e.IntN(4) {
	case 0:
		tr.contents = tr.contents[:at]
	case 1:
		tr.contents[at] ^= 1 << e.IntN(8)
	case 2:
		tr.contents = append(tr.contents, tr.contents[at:]...)
	case 3:
		tr.contents = slices.Delete(tr.contents, at, at+1)
	}
}

// check compares the decoded objects with the objects of upstream, and reports whether the contents could be decoded.
func (tr trial) check(t *testing.T, d *Decoder[object.Object], s server, e encoder, what string, damaged bool) bool {
	what = fmt.Sprintf("%s: %s %s %s, list %v", what, tr.format, tr.form, reencoded[tr.which].kind.Kind, tr.list)
	want, wantErr := tr.want(s)
	size := []int{0, 1, 2, 7, 64, 1000}[e.IntN(6)]
	got, err := tr.got(d, s, size, nil)
	if err == nil && wantErr == nil && !sameObjects(got, want) {
		t.Errorf("%s, pieces of %d:\n%.3000q\ngot  %s\nwant %s", what, size, tr.contents, text(got), text(want))
	}
	if err == nil && wantErr != nil {
		t.Errorf("%s: read, and upstream says %v:\n%.3000q", what, wantErr, tr.contents)
	}
	if err != nil && wantErr == nil && !damaged {
		t.Errorf("%s: refused with %v, and upstream reads it:\n%.3000q", what, err, tr.contents)
	}
	if _, ok := errors.AsType[*Error](err); err != nil && !ok && err != io.ErrUnexpectedEOF && !damaged {
		t.Errorf("%s: got %v", what, err)
	}
	// The caller returns an object with the identity of each object that it knows.
	known := func(id Identity) (object.Object, bool) {
		if string(id.ResourceVersion) != "1" {
			return nil, false
		}
		o := &metav1.PartialObjectMetadata{}
		o.Name, o.Namespace, o.ResourceVersion = string(id.Name), string(id.Namespace), string(id.ResourceVersion)
		o.GenerateName = string(id.UID) // records the UID from which the object was looked up
		return o, true
	}
	reused, err := tr.got(d, s, size, known)
	for i, o := range reused {
		o, ok := o.(*metav1.PartialObjectMetadata)
		if err != nil || wantErr != nil || !ok || tr.form == "metadata" {
			continue // a known object is reused without decoding the rest, so errors there are not found
		}
		if strings.HasPrefix(o.Name, "page before ") {
			continue
		}
		if i >= len(want) || o.Name != want[i].GetName() || o.Namespace != want[i].GetNamespace() ||
			o.GenerateName != string(want[i].GetUID()) || o.ResourceVersion != want[i].GetResourceVersion() {
			t.Errorf("%s: %s is taken for %s:\n%.3000q", what, text(o), text(want), tr.contents)
		}
	}
	return err == nil
}

func sameObjects(got, want []object.Object) bool {
	return slices.EqualFunc(got, want, func(a, b object.Object) bool { return equality.Semantic.DeepEqual(a, b) })
}

// TestPartsOfAListAreReadAsByTheCodec checks some of these encodings, in which a list could be mistaken for another
// list.
func TestPartsOfAListAreReadAsByTheCodec(t *testing.T) {
	message := func(field byte, parts ...string) string {
		text := strings.Join(parts, "")
		return string([]byte{field<<3 | 2, byte(len(text))}) + text
	}
	typeMeta := message(1, message(1, "v1"), message(2, "PodList"))
	named := message(2, message(1, message(1, "a"), message(5, "u"), message(6, "1")))
	version, next := message(1, message(2, "42")), message(1, message(3, "more"))
	for what, test := range map[string]struct {
		format Format
		form   string
		body   string
		want   string
	}{
		"protobuf, metadata in parts": {Protobuf, "typed", typeMeta + message(2, version, named, next),
			`1 at "42" before "more"`},
		"protobuf, the kind in parts": {Protobuf, "typed", message(1, message(1, "v1")) + message(2, version,
			named) + message(1, message(2, "PodList")), `1 at "42" before ""`},
		"protobuf, the other kind in parts": {Protobuf, "typed", message(1, message(1, "v1")) + message(2, version,
			named) + message(1, message(2, "SecretList")), "SecretList"},
		"protobuf, numbers that nobody knows": {Protobuf, "typed", "\x50\x81\x01" + typeMeta + message(2, version,
			"\x51\xff\xff\xff\xff\xff\xff\xff\xff", named, "\x55\xff\xff\xff\xff"), `1 at "42" before ""`},
		"protobuf, a number for items": {Protobuf, "typed", typeMeta + message(2, version, "\x10\x01"), "malformed"},
		"JSON, untyped metadata twice": {JSON, "untyped",
			`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"41","continue":"x"},"metadata":{"resourceVersion":"42"},"items":[]}`, `0 at "42" before ""`},
		"JSON, metadata twice": {JSON, "typed",
			`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"41","continue":"x"},"metadata":{"resourceVersion":"42"},"items":[]}`, `0 at "42" before "x"`},
		"JSON, an untyped version that is none": {JSON, "untyped",
			`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"41","resourceVersion":null},"items":[]}`,
			`0 at "" before ""`},
	} {
		d := decoderOf(t, prototypesOf(podKind, &corev1.Pod{})[test.form], Options{GVK: podKind, Formats: []Format{Protobuf}})
		body := test.body
		if test.format == Protobuf {
			body = string(protoPrefix) + body
		}
		for _, size := range []int{0, 1, 3} {
			page, err := d.List(&chunks{[]byte(body), size}, string(test.format), nil)
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprintf("%d at %q before %q", len(page.Items), page.ResourceVersion, page.Continue)
			}
			if err == nil && got != test.want || !strings.Contains(got, test.want) {
				t.Errorf("%s, pieces of %d: got %s, want %s", what, size, got, test.want)
			}
		}
	}
}

// TestNumbersInPlaceOfMessagesAreMalformed encodes a number for each field whose encoding must have a length.
func TestNumbersInPlaceOfMessagesAreMalformed(t *testing.T) {
	for _, field := range []string{"\x08\x01", "\x10\x01", "\x18\x01", "\x20\x01", "\x25\x01\x01\x01\x01"} {
		if _, _, err := unwrap([]byte(string(protoPrefix) + "\x12\x00" + field)); !errors.Is(err, errProto) {
			t.Errorf("an object with %q: got %v", field, err)
		}
	}
	d := decoderOf(t, prototypesOf(podKind, &corev1.Pod{})["typed"], Options{GVK: podKind, Formats: []Format{Protobuf}})
	for _, event := range []string{"\x08\x01", "\x10\x01", "\x12\x02\x08\x01"} {
		if _, err := d.protoEvent(&cursor{}, []byte(event), nil); !errors.Is(err, errProto) {
			t.Errorf("an event of %q: got %v", event, err)
		}
	}
}
