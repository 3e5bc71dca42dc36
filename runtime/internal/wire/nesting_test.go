package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deepBodies returns JSON values that are nested to the given depth.
func deepBodies(levels int) [][]byte {
	wrap := func(open, value, shut string) []byte {
		b := bytes.Repeat([]byte(open), levels)
		return append(append(b, value...), bytes.Repeat([]byte(shut), levels)...)
	}
	return [][]byte{
		wrap(`[`, `1`, `]`), wrap(`{"a":`, `1`, `}`), wrap(`[{"not":`, `{}`, `}]`), wrap(`{"properties":{"a":`, `{}`, `}}`),
	}
}

// TestNestingIsBoundedInEachPlace puts deeply nested values into fields that the decoder reads and into fields that it
// skips. Unbounded recursion would overflow the stack, which the test makes small.
func TestNestingIsBoundedInEachPlace(t *testing.T) { testNesting(t, false) }

func TestNestingIsBoundedInEveryPlace(t *testing.T) { testNesting(t, true) }

func testNesting(t *testing.T, everywhere bool) {
	places := []string{ // the value replaces %s
		`{"kind":"GadgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"},%s}]}`,
		`{"kind":"GadgetList","apiVersion":"example.com/v1","metadata":{},"items":[{"metadata":{"name":"a"},"spec":{%s}}]}`,
		`{"kind":"GadgetList","apiVersion":"example.com/v1","items":[],%s}`,
		`{"kind":"GadgetList","apiVersion":"example.com/v1","metadata":{%s}}`,
		`{"type":"ADDED","object":{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"name":"a"},%s}}`,
		`{"object":{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"name":"a"},%s},"type":"ADDED"}`,
		`{"type":"BOOKMARK","object":{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"resourceVersion":"a"},%s}}`,
		`{"type":"ERROR","object":{"kind":"Status",%s}}`,
	}
	names := []string{"unknown", "spec", "extension", "code", "details", "managedFields", "annotations", "any"}
	debug.SetMaxStack(64 << 20)
	defer debug.SetMaxStack(1 << 30)
	turn := 0 // rotates the places, so that each value is tested in some
	for _, levels := range []int{9990, maxDepth + 10, 300_000} {
		values := deepBodies(levels)
		for form, prototype := range prototypesOf(gadgetKind, &gadget{}) {
			for _, opts := range []Options{{}, {KeepManagedFields: true}, {Mask: []string{"metadata.annotations"}}} {
				if levels != maxDepth+10 && !everywhere && (form != "typed" || opts.KeepManagedFields || opts.Mask != nil) {
					continue // these options do not change how unknown values are skipped
				}
				opts.GVK = gadgetKind
				d := decoderOf(t, prototype, opts)
				turn++
				for n, value := range values {
					for m, place := range places {
						if (n+m+turn)%16 > 0 && !everywhere {
							continue
						}
						name := names[(n+m)%len(names)]
						body := []byte(fmt.Sprintf(place, fmt.Sprintf("%q:%s", name, value)))
						_, err := d.List(bytes.NewReader(body), jsonType, nil)
						_, watchErr := d.Watch(bytes.NewReader(body), jsonType, nil).Next()
						if levels > maxDepth && (err == nil || watchErr == nil) {
							t.Errorf("%s: %d levels at %.80q are read: %v, %v", form, levels, body, err, watchErr)
						}
					}
				}
			}
		}
	}
}

// TestUnknownFieldsOfProtobufMayBeNested uses protobuf groups. Servers do not send them, but the decoder must find
// where they end.
func TestUnknownFieldsOfProtobufMayBeNested(t *testing.T) {
	s := binaryServers(t)[Protobuf]
	pod := s.encode(t, &corev1.Pod{TypeMeta: podType, ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}})
	_, message, err := unwrap(pod)
	if err != nil {
		t.Fatal(err)
	}
	const levels = 1_000_000
	for what, more := range map[string][]byte{
		"groups":         append(bytes.Repeat([]byte{0xfb, 0x3e}, levels), bytes.Repeat([]byte{0xfc, 0x3e}, levels)...),
		"groups, open":   bytes.Repeat([]byte{0xfb, 0x3e}, levels),
		"groups, closed": bytes.Repeat([]byte{0xfc, 0x3e}, levels),
	} {
		for _, opts := range []Options{{GVK: podKind}, {GVK: podKind, KeepManagedFields: true}} {
			d := decoderOf(t, &corev1.Pod{}, opts)
			c := d.cursor()
			if obj, _, err := d.protoObject(c, append(bytes.Clone(message), more...), nil); err == nil && obj.GetName() != "a" {
				t.Errorf("%s: got %v", what, obj)
			}
			if _, err := d.List(bytes.NewReader(append(append([]byte{}, protoPrefix...), more...)), string(Protobuf),
				nil); err == nil {
				t.Errorf("%s: no error", what)
			}
		}
	}
}

// TestUnknownGroupsAndNumbersAreSkipped inserts unknown fields wherever a list may contain fields, and reads the list
// in pieces of any size.
func TestUnknownGroupsAndNumbersAreSkipped(t *testing.T) {
	s := binaryServers(t)[Protobuf]
	data, _ := s.pods(t, 2)
	_, list, err := unwrap(data)
	if err != nil {
		t.Fatal(err)
	}
	plain := encoder{rand.New(rand.NewPCG(1, 1)), 0}
	kind := []byte("\x0a\x0d\x0a\x02v1\x12\x07PodList")
	d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind, KeepManagedFields: true})
	for what, field := range map[string]string{
		"empty group":        "\x7b\x7c",
		"group":              "\x7b\x08\x80\x01\x11" + "12345678" + "\x1d" + "1234" + "\x22\x02ab\x7c",
		"groups in a group":  "\x7b\x83\x01\x84\x01\x0b\x0b\x0c\x0c\x7c",
		"end of another":     "\x7b\x84\x01",
		"long group":         "\x7b" + string(bytes.Repeat([]byte("\x0b\x22\x02ab\x0c"), 100_000)) + "\x7c",
		"group without end":  "\x7b\x0b\x0c",
		"end alone":          "\x7c",
		"cut number":         "\x7b\x08\x80",
		"length past all":    "\x7b\x22\xff\xff\xff\x7f\x7c",
		"unknown wire type":  "\x7b\x0f\x7c",
		"group for the list": "\x0b\x0c",
		"low number":         "\x38\x01",
		"low group":          "\x3b\x3c",
	} {
		for where, message := range map[string][]byte{
			"before the items": append([]byte(field), list...),
			"after the items":  append(bytes.Clone(list), field...),
			"in an item":       append(bytes.Clone(list), plain.protoBytes(nil, 2, []byte(field+"\x0a\x03\x0a\x01a"))...),
		} {
			body := plain.protoBytes(append(bytes.Clone(protoPrefix), kind...), 2, message)
			if where == "after the items" {
				body = append(body, field...)
			}
			want := &corev1.PodList{}
			_, _, wantErr := s.serializer.Decode(body, nil, want)
			for _, size := range []int{0, 1, 5000} {
				if size == 1 && len(field) > 1000 {
					continue
				}
				page, err := d.List(&chunks{body, size}, s.contentType, nil)
				if (err == nil) != (wantErr == nil) {
					t.Errorf("%s %s, in pieces of %d: got %v, want %v", what, where, size, err, wantErr)
				} else if err == nil && len(page.Items) != len(want.Items) {
					t.Errorf("%s %s: got %d items, want %d", what, where, len(page.Items), len(want.Items))
				}
			}
		}
	}
}

// TestRecursiveTypesAreNotReadFromProtobuf shows why a nested message cannot overflow the stack. The generated decoders
// of recursive types do not limit their depth, so the client neither requests nor decodes protobuf for such types.
func TestRecursiveTypesAreNotReadFromProtobuf(t *testing.T) {
	d := decoderOf(t, &node{}, Options{GVK: podKind, Formats: []Format{Protobuf}})
	if _, err := d.List(bytes.NewReader(protoPrefix), string(Protobuf), nil); !isRefusedFormat(err) {
		t.Errorf("list: got %v", err)
	}
	if _, err := d.Watch(bytes.NewReader(make([]byte, 8)), string(Protobuf), nil).Next(); !isRefusedFormat(err) {
		t.Errorf("watch: got %v", err)
	}
}

func isRefusedFormat(err error) bool {
	malformed, ok := errors.AsType[*Error](err)
	return ok && malformed.Err != nil && err != io.EOF && bytes.Contains([]byte(err.Error()), []byte("not asked for"))
}
