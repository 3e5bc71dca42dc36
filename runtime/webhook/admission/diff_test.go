package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// sample has a field of each form.
type sample struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              sampleSpec   `json:"spec"`
	Status            sampleStatus `json:"status,omitzero"`
}

type sampleSpec struct {
	Inlined  `json:",inline"`
	Text     string             `json:"text"`
	Number   int32              `json:"number,omitempty"`
	Pointer  *int64             `json:"pointer,omitempty"`
	Nullable *string            `json:"nullable"`
	Flag     bool               `json:"flag,omitempty"`
	Float    float64            `json:"float,omitempty"`
	Labels   map[string]string  `json:"labels,omitempty"`
	Nested   map[string]element `json:"nested,omitempty"`
	Elements []element          `json:"elements,omitempty"`
	Pointers []*element         `json:"pointers,omitempty"`
	Strings  []string           `json:"strings"`
	Struct   element            `json:"struct,omitempty"`
	Optional *element           `json:"optional,omitempty"`
	// These types have their own encoding, or only a codec can encode them.
	Time     *metav1.Time                 `json:"time,omitempty"`
	Quantity resource.Quantity            `json:"quantity,omitempty"`
	Limits   map[string]resource.Quantity `json:"limits,omitempty"`
	Port     intstr.IntOrString           `json:"port,omitempty"`
	Raw      *runtime.RawExtension        `json:"raw,omitempty"`
	Any      map[string]any               `json:"any,omitempty"`
	Bytes    []byte                       `json:"bytes,omitempty"`
	Quoted   quoted                       `json:"quoted,omitempty"`
	Array    [2]int                       `json:"array"`
	Encoded  encoded                      `json:"encoded,omitempty"`
	ByNumber map[int]string               `json:"byNumber,omitempty"`
	// These fields are omitted if they are zero. Some of the types define IsZero.
	Zero  element           `json:"zero,omitzero"`
	Start metav1.Time       `json:"start,omitzero"`
	Both  map[string]string `json:"both,omitempty,omitzero"`
	Lists []string          `json:"lists,omitzero"`
	Parts []element         `json:"parts,omitempty,omitzero"`
}

// Inlined is embedded in the spec.
type Inlined struct {
	Inline string `json:"inline,omitempty"`
}

// encoded is a struct whose fields the comparer does not see, but the JSON encoder does.
type encoded struct {
	inlinedElement `json:",inline"`
	List           []element `json:"list,omitempty"`
}

type inlinedElement struct {
	Inline2 string `json:"inline2,omitempty"`
}

type quoted struct {
	Number int `json:"number,string"`
}

type element struct {
	Name  string            `json:"name,omitempty"`
	Value string            `json:"value,omitempty"`
	Count int               `json:"count,omitempty"`
	More  []element         `json:"more,omitempty"`
	Map   map[string]string `json:"map,omitempty"`
}

type sampleStatus struct {
	Ready bool `json:"ready,omitempty"`
}

func (s *sample) DeepCopyObject() runtime.Object {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	c := &sample{}
	if err := json.Unmarshal(text, c); err != nil {
		panic(err)
	}
	return c
}

// random generates random values.
type random struct{ *rand.Rand }

func (r random) word() string {
	return []string{"", "a", "b", "a/b", "m~n", "ü", "x\"y", "<&>"}[r.IntN(8)]
}

func (r random) element(depth int) element {
	e := element{Name: fmt.Sprint("n", r.IntN(6)), Value: r.word(), Count: r.IntN(3)}
	if r.IntN(4) == 0 {
		e.Name = ""
	}
	if r.IntN(3) == 0 {
		e.Map = map[string]string{r.word(): r.word()}
	}
	for depth > 0 && r.IntN(2) == 0 {
		e.More = append(e.More, r.element(depth-1))
	}
	return e
}

// fill sets some fields of s at random and keeps the other fields.
func (r random) fill(s *sample) {
	spec := &s.Spec
	for range r.IntN(6) {
		switch r.IntN(28) {
		case 0:
			spec.Text = r.word()
		case 1:
			spec.Number = int32(r.IntN(2))
		case 2:
			spec.Pointer = []*int64{nil, new(int64(0)), new(int64(7))}[r.IntN(3)]
		case 3:
			spec.Nullable = []*string{nil, new(r.word())}[r.IntN(2)]
		case 4:
			spec.Flag = !spec.Flag
		case 5:
			spec.Float = float64(r.IntN(4)) / 2
		case 6:
			spec.Labels = map[string]string{r.word(): r.word(), "k": r.word()}
		case 7:
			spec.Labels = []map[string]string{nil, {}}[r.IntN(2)]
		case 8:
			if spec.Nested == nil {
				spec.Nested = map[string]element{}
			}
			spec.Nested[r.word()] = r.element(1)
			if r.IntN(3) == 0 {
				delete(spec.Nested, "a")
			}
		case 9, 10:
			spec.Elements = r.list(spec.Elements)
		case 11:
			e := r.element(1)
			spec.Pointers = append(spec.Pointers, []*element{&e, nil}[r.IntN(2)])
		case 12:
			spec.Strings = append(slices.Clone(spec.Strings), r.word())
		case 13:
			spec.Strings = [][]string{nil, {}, {"a"}, {"b", "a"}}[r.IntN(4)]
		case 14:
			spec.Struct = r.element(2)
		case 15:
			e := r.element(1)
			spec.Optional = []*element{nil, &e, {}}[r.IntN(3)]
		case 16:
			spec.Time = []*metav1.Time{nil, new(metav1.NewTime(time.Unix(int64(r.IntN(3)), 0)))}[r.IntN(2)]
		case 17:
			spec.Quantity = *resource.NewMilliQuantity(int64(r.IntN(3))*500, resource.DecimalSI)
		case 18:
			spec.Limits = map[string]resource.Quantity{"cpu": *resource.NewMilliQuantity(int64(r.IntN(3))*500,
				resource.DecimalSI)}
		case 19:
			spec.Port = []intstr.IntOrString{intstr.FromInt32(8), intstr.FromString("http")}[r.IntN(2)]
		case 20:
			spec.Raw = []*runtime.RawExtension{nil, {Raw: []byte(`{"a":1,"b":[1,2]}`)},
				{Raw: []byte(`{"a":2,"b":[2]}`)}}[r.IntN(3)]
		case 21:
			spec.Any = map[string]any{"list": []any{map[string]any{"name": r.word()}, r.word()}, r.word(): int64(r.IntN(2))}
		case 22:
			spec.Bytes = []byte(r.word())
		case 23:
			spec.Quoted.Number = r.IntN(2)
			spec.Array[r.IntN(2)] = r.IntN(2)
			spec.Inline = r.word()
			spec.Encoded.Inline2, spec.Encoded.List = r.word(), r.list(spec.Encoded.List)
		case 24:
			spec.ByNumber = map[int]string{r.IntN(2): r.word()}
		case 25:
			s.Status.Ready = !s.Status.Ready
			s.Labels = map[string]string{"app": r.word()}
		case 26:
			spec.Zero = []element{{}, r.element(1)}[r.IntN(2)]
			spec.Start = []metav1.Time{{}, {Time: time.Time{}.Local()},
				metav1.NewTime(time.Unix(int64(r.IntN(2)), 0))}[r.IntN(3)]
		case 27:
			spec.Both = []map[string]string{nil, {}, {"a": r.word()}}[r.IntN(3)]
			spec.Lists = [][]string{nil, {}, {r.word()}}[r.IntN(3)]
			spec.Parts = [][]element{nil, {}, {r.element(0)}}[r.IntN(3)]
		}
	}
}

// list returns l with a change that users make: it is sorted, or elements are added, removed or changed.
func (r random) list(l []element) []element {
	l = slices.Clone(l)
	switch r.IntN(5) {
	case 0:
		slices.SortFunc(l, func(a, b element) int { return strings.Compare(a.Name+a.Value, b.Name+b.Value) })
	case 1:
		l = slices.Insert(l, r.IntN(len(l)+1), r.element(1))
	case 2:
		if len(l) > 0 {
			i := r.IntN(len(l))
			l = slices.Delete(l, i, i+1)
		}
	case 3:
		for i := range l {
			l[i].Count++
		}
	case 4:
		l = append(l, r.element(2), r.element(1))
	}
	return l
}

// TestPatchMakesWhatTheDefaulterMade applies the patches of random changes with an independent library.
func TestPatchMakesWhatTheDefaulterMade(t *testing.T) {
	c := newComparer(reflect.TypeFor[sample]())
	seeds.Each(t, 2, func(t *testing.T, seed uint64) {
		r := random{rand.New(rand.NewPCG(seed, 1))}
		for range 1000 {
			before := &sample{}
			for range 3 {
				r.fill(before)
			}
			raw := r.write(t, before)
			before = &sample{} // decode the document, as a server does
			if err := json.Unmarshal(raw, before); err != nil {
				t.Fatal(err)
			}
			after := before.DeepCopyObject().(*sample)
			before = before.DeepCopyObject().(*sample)
			r.fill(after)
			d := newDiffer(raw)
			c.diff(d, reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem())
			if d.err != nil {
				t.Fatal(d.err)
			}
			patched := applied(t, raw, d.ops)
			got := &sample{}
			if err := json.Unmarshal(patched, got); err != nil {
				t.Fatal(err)
			}
			if a, b := asJSON(t, got), asJSON(t, after); a != b {
				t.Fatalf("%s\nbefore %s\npatch  %s\ngot    %s\nwant   %s", raw, asJSON(t, before), asJSON(t, d.ops), a, b)
			}
			ours, err := apply(raw, d.ops)
			if err != nil || canonical(t, ours) != canonical(t, patched) {
				t.Fatalf("patch %s of %s: %v\ngot  %s\nwant %s", asJSON(t, d.ops), raw, err, ours, patched)
			}
			if unknown := strings.Count(string(patched), `"unknown"`); len(d.ops) == 0 &&
				unknown != strings.Count(string(raw), `"unknown"`) {
				t.Fatal("unknown fields are gone")
			}
			if a, b := asJSON(t, before), asJSON(t, after); a == b && len(d.ops) > 0 {
				t.Fatalf("nothing has changed, but the patch is %s", asJSON(t, d.ops))
			}
		}
	})
}

// TestElementsKeepWhatIsTheirsWhereverTheyMove checks lists of many lengths. Their elements have names or other
// identifying fields, and fields that the Go type does not have. A defaulter changes, moves, adds and removes elements.
// Each element must keep its unknown fields.
func TestElementsKeepWhatIsTheirsWhereverTheyMove(t *testing.T) {
	c := newComparer(reflect.TypeFor[sample]())
	seeds.Each(t, 2, func(t *testing.T, seed uint64) {
		r := random{rand.New(rand.NewPCG(seed, 2))}
		for range 150 {
			named, untyped := r.IntN(3) > 0, r.IntN(3) == 0
			var elements []map[string]any
			for n := range []int{3, 8, 49, 51, 60, 130}[r.IntN(6)] {
				e := map[string]any{"count": 1 + r.IntN(2), "unknown": fmt.Sprint("of-", n)}
				if named {
					e["name"] = fmt.Sprint("n", n)
				} else {
					e["value"] = fmt.Sprint("v", n)
				}
				elements = append(elements, e)
			}
			raw := []byte(asJSON(t, map[string]any{"spec": map[string]any{"elements": elements}}))
			before, after := &sample{}, &sample{}
			for _, s := range []*sample{before, after} {
				if err := json.Unmarshal(raw, s); err != nil {
					t.Fatal(err)
				}
			}
			list := after.Spec.Elements
			for n := range list {
				if named && r.IntN(2) == 0 { // an element without a name is identified by its fields, so they must not change
					list[n].Count += 7
				}
			}
			switch r.IntN(3) {
			case 0:
				slices.Reverse(list)
			case 1:
				r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			}
			removes := r.IntN(2) == 0
			if removes {
				n := r.IntN(len(list))
				list = slices.Delete(list, n, n+1)
			}
			for range r.IntN(4) {
				if removes && !named {
					break // a new element without a name could be mistaken for a removed one
				}
				list = slices.Insert(list, r.IntN(len(list)+1), element{Name: fmt.Sprint("new", r.Uint64()), Value: "new"})
			}
			after.Spec.Elements = list
			d := newDiffer(raw)
			if untyped {
				old, now := map[string]any{}, map[string]any{}
				if err := errors.Join(json.Unmarshal([]byte(asJSON(t, before)), &old), json.Unmarshal([]byte(asJSON(t, after)),
					&now)); err != nil {
					t.Fatal(err)
				}
				d.untyped(old, now)
			} else {
				c.diff(d, reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem())
			}
			if d.err != nil {
				t.Fatal(d.err)
			}
			var got struct {
				Spec struct {
					Elements []struct {
						element
						Unknown string
					}
				}
			}
			if err := json.Unmarshal(applied(t, raw, d.ops), &got); err != nil {
				t.Fatal(err)
			}
			for n, e := range got.Spec.Elements {
				want := ""
				if name, isOld := strings.CutPrefix(e.Name+e.Value, map[bool]string{true: "n", false: "v"}[named]); isOld &&
					e.Value != "new" {
					want = "of-" + name
				}
				if !reflect.DeepEqual(e.element, list[n]) || e.Unknown != want {
					t.Fatalf("element %d of %d is %+v, want %+v with %q", n, len(list), e, list[n], want)
				}
			}
			if len(got.Spec.Elements) != len(list) {
				t.Fatalf("%d elements, want %d", len(got.Spec.Elements), len(list))
			}
		}
	})
}

// write returns s as a user may write it: with unknown fields, nulls, and zero values that the Go type omits.
func (r random) write(t *testing.T, s *sample) []byte {
	t.Helper()
	var document map[string]any
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(text, &document)
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(document["metadata"].(map[string]any), "creationTimestamp")
	r.decorate(document, true)
	spec := document["spec"].(map[string]any)
	for name, zero := range map[string]any{
		"number": 0, "flag": false, "labels": map[string]any{}, "nested": nil, "elements": []any{}, "optional": nil,
		"text": nil, "strings": nil,
		"zero": map[string]any{}, "start": nil, "both": map[string]any{}, "parts": []any{},
	} {
		if _, has := spec[name]; (!has || zero == nil && spec[name] == "") && r.IntN(2) == 0 {
			spec[name] = zero
		}
	}
	if r.IntN(10) == 0 && spec["text"] == "" {
		delete(document, "spec")
	}
	text, err = json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// decorate adds unknown fields to objects that are structs in the Go type.
func (r random) decorate(v any, isStruct bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !slices.Contains([]string{"labels", "map", "limits", "any", "raw", "byNumber", "both", "metadata"}, name) {
				r.decorate(v[name], name != "nested")
			}
		}
		if isStruct && r.IntN(2) == 0 {
			v["unknown"] = map[string]any{"id": r.IntN(1000)}
		}
	case []any:
		for _, e := range v {
			r.decorate(e, true)
		}
	}
}

func applied(t *testing.T, raw []byte, ops []Operation) []byte {
	t.Helper()
	if len(ops) == 0 {
		return raw
	}
	patch, err := jsonpatch.DecodePatch([]byte(asJSON(t, ops)))
	if err != nil {
		t.Fatal(err)
	}
	patched, err := patch.Apply(raw)
	if err != nil {
		t.Fatalf("patch %s of %s: %v", asJSON(t, ops), raw, err)
	}
	return patched
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func canonical(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return asJSON(t, v)
}

// TestPatchHoldsOnlyWhatChanged uses documents to which typed defaulters of other frameworks make unwanted changes.
func TestPatchHoldsOnlyWhatChanged(t *testing.T) {
	for name, c := range map[string]struct {
		raw    string
		change func(*sample)
		want   string
	}{
		"nothing": {
			`{"spec":{"number":0,"labels":{},"elements":[],"quantity":"1000m","unknown":1,"optional":null}}`,
			func(*sample) {}, `null`,
		},
		"a zero that was written": {
			`{"spec":{"number":0,"unknown":1}}`,
			func(s *sample) { s.Spec.Number = 3 }, `[{"op":"replace","path":"/spec/number","value":3}]`,
		},
		"in what is not there": {
			`{}`,
			func(s *sample) { s.Spec.Struct.Map = map[string]string{"a/b": "c"}; s.Spec.Struct.Value = "v" },
			`[{"op":"add","path":"/spec","value":{"struct":{"value":"v"}}},{"op":"add","path":"/spec/struct/map","value":{"a/b":"c"}}]`,
		},
		"in what is null": {
			`{"spec":{"labels":null}}`,
			func(s *sample) { s.Spec.Labels = map[string]string{"a": "b"} },
			`[{"op":"replace","path":"/spec/labels","value":{"a":"b"}}]`,
		},
		"beside unknown members of a zero struct": {
			`{"status":{"unknown":1}}`,
			func(s *sample) { s.Status.Ready = true }, `[{"op":"add","path":"/status/ready","value":true}]`,
		},
		"an element in front of others": {
			`{"spec":{"elements":[{"name":"a","unknown":1},{"name":"b","unknown":2}]}}`,
			func(s *sample) { s.Spec.Elements = slices.Insert(s.Spec.Elements, 0, element{Name: "sidecar"}) },
			`[{"op":"add","path":"/spec/elements/0","value":{"name":"sidecar"}}]`,
		},
		"an element in front of others that change": {
			`{"spec":{"elements":[{"name":"a","unknown":1},{"name":"b","unknown":2}]}}`,
			func(s *sample) {
				for i := range s.Spec.Elements {
					s.Spec.Elements[i].Count = 1
				}
				s.Spec.Elements = slices.Insert(s.Spec.Elements, 0, element{Name: "sidecar"})
			},
			`[{"op":"add","path":"/spec/elements/0","value":{"name":"sidecar"}},{"op":"add","path":"/spec/elements/1/count","value":1},{"op":"add","path":"/spec/elements/2/count","value":1}]`,
		},
		"the first of two goes": {
			`{"spec":{"elements":[{"name":"a","unknown":1},{"name":"b","unknown":2}]}}`,
			func(s *sample) { s.Spec.Elements = s.Spec.Elements[1:] }, `[{"op":"remove","path":"/spec/elements/0"}]`,
		},
		"turned around": {
			`{"spec":{"elements":[{"name":"b","unknown":1},{"name":"a","unknown":2}]}}`,
			func(s *sample) { slices.Reverse(s.Spec.Elements) },
			`[{"op":"remove","path":"/spec/elements/0"},{"op":"add","path":"/spec/elements/1","value":{"name":"b","unknown":1}}]`,
		},
		"an element of another name": {
			`{"spec":{"elements":[{"name":"a","unknown":1}]}}`,
			func(s *sample) { s.Spec.Elements[0] = element{Name: "b"} },
			`[{"op":"remove","path":"/spec/elements/0"},{"op":"add","path":"/spec/elements/0","value":{"name":"b"}}]`,
		},
		"a pointer to nothing": {
			`{"spec":{"optional":{"name":"a","unknown":1},"nullable":"x"}}`,
			func(s *sample) { s.Spec.Optional, s.Spec.Nullable = nil, nil },
			`[{"op":"replace","path":"/spec/nullable","value":null},{"op":"remove","path":"/spec/optional"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := &sample{}, &sample{}
			for _, s := range []*sample{before, after} {
				if err := json.Unmarshal([]byte(c.raw), s); err != nil {
					t.Fatal(err)
				}
			}
			c.change(after)
			d := newDiffer([]byte(c.raw))
			newComparer(reflect.TypeFor[sample]()).diff(d, reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem())
			if got := asJSON(t, d.ops); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// FuzzApply applies arbitrary patches to arbitrary documents.
func FuzzApply(f *testing.F) {
	f.Add(`{"a":[1,{"b":null}],"c":{"d":1}}`,
		`[{"op":"move","from":"/a/1","path":"/c/e"},{"op":"copy","from":"/c/d","path":"/a/-"},{"op":"test","path":"/a/0","value":1}]`)
	f.Add(`{"a":1}`,
		`[{"op":"replace","path":"/a","value":{"x":[]}},{"op":"add","path":"/a/x/0","value":2},{"op":"remove","path":"/a/x/0"}]`)
	f.Fuzz(func(t *testing.T, document, patch string) {
		var ops []Operation
		if json.Unmarshal([]byte(patch), &ops) != nil || !strings.HasPrefix(document, "{") || !json.Valid([]byte(document)) {
			return
		}
		_, _ = apply([]byte(document), ops) // must return without a panic
	})
}
