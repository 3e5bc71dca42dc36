package conversion_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"
)

// The kind Thing has three versions, of which v2 is the hub. Each version stores its text in another field.
type (
	hub struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Text              string `json:"text,omitempty"`
		Style             string `json:"style,omitempty"`
	}
	first struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Message           string `json:"message,omitempty"`
	}
	third struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Texts             []string `json:"texts,omitempty"`
	}
)

func (o *hub) DeepCopyObject() runtime.Object   { c := *o; return &c }
func (o *first) DeepCopyObject() runtime.Object { c := *o; return &c }
func (o *third) DeepCopyObject() runtime.Object { c := *o; return &c }

func gvk(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Thing"}
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(gvk("v2"), &hub{})
	s.AddKnownTypeWithName(gvk("v1"), &first{})
	s.AddKnownTypeWithName(gvk("v3"), &third{})
	return s
}

var (
	ofFirst = conversion.NewSpoke(
		func(_ context.Context, h *hub, s *first) error {
			s.Message = h.Text
			return conversion.Keep(s, h.Style)
		},
		func(_ context.Context, s *first, h *hub) error {
			switch s.Message {
			case "bad":
				return errors.New("bad text")
			case "panic":
				panic("oh no")
			}
			h.Text = s.Message
			return conversion.Restore(s, &h.Style)
		})
	ofThird = conversion.NewSpoke(
		func(_ context.Context, h *hub, s *third) error {
			s.Texts = []string{h.Text, h.Style}
			return nil
		},
		func(_ context.Context, s *third, h *hub) error {
			h.Text, h.Style = s.Texts[0], s.Texts[1]
			return nil
		})
)

func converter(t testing.TB, logger *slog.Logger) *conversion.Converter {
	t.Helper()
	c := conversion.New(logger)
	if err := conversion.Register(c, scheme(), ofFirst, ofThird); err != nil {
		t.Fatal(err)
	}
	return c
}

// review returns a ConversionReview that requests the conversion of objects to a version.
func review(version string, objects ...string) string {
	return fmt.Sprintf(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"some-uid","desiredAPIVersion":%q,"objects":[%s]}}`,
		version, strings.Join(objects, ","))
}

func thing(version, name, rest string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/%s","kind":"Thing","metadata":{"name":%q,"namespace":"default","uid":"u","labels":{"a":"b"},"managedFields":[{"manager":"m"}]}%s}`, version, name, rest)
}

func post(h http.Handler, body string, change func(*http.Request)) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/convert", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// answer is the response of a ConversionReview as the API server reads it.
type answer struct {
	Kind, APIVersion string
	Response         struct {
		UID              string
		Result           metav1.Status
		ConvertedObjects []json.RawMessage
	}
}

func converted(t *testing.T, body string) (objects []string, failure string) {
	t.Helper()
	code, text := post(converter(t, slog.New(slog.DiscardHandler)), body, nil)
	var got answer
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s: %v", code, text, err)
	}
	if got.Kind != "ConversionReview" || got.APIVersion != "apiextensions.k8s.io/v1" || got.Response.UID != "some-uid" {
		t.Errorf("it is no answer: %s", text)
	}
	for _, o := range got.Response.ConvertedObjects {
		objects = append(objects, string(o))
	}
	if (got.Response.Result.Status == metav1.StatusSuccess) == (got.Response.Result.Message != "") {
		t.Errorf("result %+v", got.Response.Result)
	}
	return objects, got.Response.Result.Message
}

func TestObjectsOfAllVersionsBecomeOne(t *testing.T) {
	objects, failure := converted(t, review("example.com/v3",
		thing("v1", "a", `,"message":"hello"`), thing("v2", "b", `,"text":"x","style":"bold"`),
		thing("v3", "c", `,"texts":["1","2"]`), thing("v1", "d", "")))
	const metadata = `{"kind":"Thing","apiVersion":"example.com/v3","metadata":{"name":%q,"namespace":"default","uid":"u","labels":{"a":"b"}},"texts":%s}`
	for i, want := range []string{
		fmt.Sprintf(metadata, "a", `["hello",""]`), fmt.Sprintf(metadata, "b", `["x","bold"]`),
		fmt.Sprintf(metadata, "c", `["1","2"]`), fmt.Sprintf(metadata, "d", `["",""]`),
	} {
		if failure != "" || len(objects) != 4 || objects[i] != want {
			t.Fatalf("%s\ngot  %s\nwant %s", failure, objects, want)
		}
	}
	if objects, failure := converted(t, review("example.com/v1")); len(objects) != 0 || failure != "" {
		t.Errorf("of no objects: %q %s", objects, failure)
	}
}

func TestInexpressibleFieldsAreKept(t *testing.T) {
	objects, _ := converted(t, review("example.com/v1", thing("v2", "a", `,"text":"x","style":"bold"`)))
	if !strings.Contains(objects[0], `"annotations":{"conversion.kctrl.dev/kept":"\"bold\""}`) {
		t.Fatal(objects[0])
	}
	objects, _ = converted(t, review("example.com/v2", strings.Replace(objects[0], `"message":"x"`, `"message":"y"`, 1)))
	if want := `"labels":{"a":"b"}},"text":"y","style":"bold"}`; !strings.HasSuffix(objects[0], want) {
		t.Errorf("back it is %s, want %s", objects[0], want)
	}
	if objects, _ = converted(t, review("example.com/v1", thing("v2", "a", `,"text":"x"`))); strings.Contains(objects[0],
		"kept") {
		t.Errorf("nothing is kept as %s", objects[0])
	}
	broken := strings.Replace(thing("v1", "a", ""), `"labels"`, `"annotations":{"conversion.kctrl.dev/kept":"{"},"labels"`,
		1)
	if _, failure := converted(t, review("example.com/v2", broken)); failure != "example.com/v1 Thing default/a: "+
		"annotation conversion.kctrl.dev/kept: unexpected end of JSON input" {
		t.Errorf("a broken annotation: %s", failure)
	}
	if err := conversion.Keep(&first{}, strings.Repeat("a", 300<<10)); err == nil ||
		!strings.Contains(err.Error(), "307202 bytes") {
		t.Errorf("too much: %v", err)
	}
}

func TestZeroPointerTargetsAreKept(t *testing.T) {
	type empty struct{}
	for _, c := range []struct {
		value any
		want  string // in the annotation; empty means none
	}{
		{new(bool), "false"}, {new(int32), "0"}, {new(string), `""`}, {&empty{}, "{}"},
		{(*bool)(nil), ""}, {false, ""}, {0, ""}, {"", ""}, {empty{}, ""}, {[]string{}, ""}, {nil, ""},
	} {
		o := &first{}
		if err := conversion.Keep(o, c.value); err != nil || o.Annotations["conversion.kctrl.dev/kept"] != c.want {
			t.Errorf("%T: got %q, %v, want %q", c.value, o.Annotations, err, c.want)
		}
	}
	o, got := &first{}, new(true)
	if err := errors.Join(conversion.Keep(o, new(bool)), conversion.Restore(o, &got)); err != nil || got == nil || *got {
		t.Errorf("a false comes back as %v, %v", got, err)
	}
}

func TestObjectThatCannotBeConvertedIsNamed(t *testing.T) {
	good := thing("v1", "good", "")
	for name, c := range map[string]struct{ object, to, want string }{
		"its function fails": {thing("v1", "a", `,"message":"bad"`), "v2", "example.com/v1 Thing default/a: bad text"},
		"an unknown version": {thing("v9", "a", ""), "v2",
			"example.com/v9 Thing default/a: Thing.example.com has no version example.com/v9 here"},
		"to an unknown one": {thing("v1", "a", ""), "v9",
			"example.com/v1 Thing default/good: Thing.example.com has no version example.com/v9 here"},
		"another kind": {strings.Replace(thing("v1", "a", ""), "Thing", "Other", 1), "v2",
			"example.com/v1 Other default/a: there is no conversion of Other.example.com here"},
		"no kind": {`{"metadata":{"name":"a"}}`, "v2", "objects[1]: it has no apiVersion or no kind"},
		"not of its type": {thing("v1", "a", `,"message":1`), "v2",
			`example.com/v1 Thing default/a: cannot unmarshal "1" at offset 165 into a string`},
		"no object": {`"text"`, "v2", "objects[1]: it has no apiVersion or no kind"},
		"a strange version": {strings.Replace(thing("v1", "a", ""), "example.com/v1", "a/b/c", 1), "v2",
			"a/b/c Thing default/a: unexpected GroupVersion string: a/b/c"},
		"cluster scoped": {strings.Replace(thing("v1", "a", `,"message":"bad"`), `"namespace":"default",`, "", 1), "v2",
			"example.com/v1 Thing a: bad text"},
	} {
		objects, failure := converted(t, review("example.com/"+c.to, good, c.object))
		if failure != c.want || len(objects) > 0 {
			t.Errorf("%s: %q and %d objects, want %q", name, failure, len(objects), c.want)
		}
	}
}

func TestPanicIs500AndLogged(t *testing.T) {
	var logged bytes.Buffer
	code, text := post(converter(t, slog.New(slog.NewTextHandler(&logged, nil))),
		review("example.com/v2", thing("v1", "good", ""), thing("v1", "a", `,"message":"panic"`)), nil)
	if !strings.Contains(logged.String(), `object="example.com/v1 Thing default/a"`) {
		t.Errorf("the object is not named:\n%s", &logged)
	}
	if code != http.StatusInternalServerError || text != "the conversion panicked, see its log" ||
		!strings.Contains(logged.String(), "conversion_test.go") {
		t.Errorf("%d %s\n%s", code, text, &logged)
	}
}

func TestInvalidReviewsAreOneClearError(t *testing.T) {
	c := converter(t, slog.New(slog.DiscardHandler))
	for name, want := range map[string]struct {
		body   string
		change func(*http.Request)
		code   int
		text   string
	}{
		"nothing": {"", nil, 400, "the body is not a ConversionReview: unexpected end of JSON input"},
		"another kind": {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, nil, 400,
			`the body is a "AdmissionReview" of "admission.k8s.io/v1", want a ConversionReview of apiextensions.k8s.io/v1`},
		"another version": {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1"}`, nil, 400,
			`the body is a "ConversionReview" of "apiextensions.k8s.io/v1beta1", want a ConversionReview of apiextensions.k8s.io/v1`},
		"no request": {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":null}`, nil, 400,
			"the ConversionReview has no request"},
		"no uid": {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{}}`, nil, 400,
			"the request of the ConversionReview has no uid"},
		"GET": {"", func(r *http.Request) { r.Method = http.MethodGet }, 405,
			"a ConversionReview is sent by POST, not by GET"},
		"protobuf": {"", func(r *http.Request) { r.Header.Set("Content-Type", "application/vnd.kubernetes.protobuf") }, 415,
			`the content type is "application/vnd.kubernetes.protobuf", want application/json`},
		"too large": {strings.Repeat(" ", 20), func(r *http.Request) { r.Body = http.MaxBytesReader(nil, r.Body, 10) }, 413,
			"read the ConversionReview: http: request body too large"},
	} {
		if code, text := post(c, want.body, want.change); code != want.code || text != want.text {
			t.Errorf("%s: %d %q\nwant %d %q", name, code, text, want.code, want.text)
		}
	}
}

func TestUnregistrableValuesAreErrors(t *testing.T) {
	other := runtime.NewScheme()
	other.AddKnownTypeWithName(gvk("v2"), &hub{})
	other.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Other"}, &first{})
	for name, c := range map[string]struct {
		scheme *runtime.Scheme
		spokes []conversion.Spoke[*hub]
		want   string
	}{
		"no spokes": {scheme(), nil, "conversion of Thing.example.com: there are no spokes"},
		"a version twice": {scheme(), []conversion.Spoke[*hub]{ofFirst, ofFirst},
			"conversion of Thing.example.com: there are two versions example.com/v1"},
		"another kind": {other, []conversion.Spoke[*hub]{ofFirst},
			"conversion of Thing.example.com: example.com/v1, Kind=Other is another kind"},
		"not in the scheme": {runtime.NewScheme(), []conversion.Spoke[*hub]{ofFirst},
			"no kind is registered for the type conversion_test.hub in scheme"},
	} {
		if err := conversion.Register(conversion.New(nil), c.scheme, c.spokes...); err == nil ||
			!strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	c := converter(t, nil)
	if err := conversion.Register(c, scheme(), ofFirst); err == nil ||
		err.Error() != "conversion of Thing.example.com: it is registered already" {
		t.Errorf("twice: %v", err)
	}
	if kinds := c.Kinds(); len(kinds) != 1 || kinds[0] != gvk("v1").GroupKind() {
		t.Errorf("kinds %v", kinds)
	}
}

// FuzzConvert sends arbitrary bodies. Each must be answered with a complete review.
func FuzzConvert(f *testing.F) {
	f.Add(review("example.com/v2", thing("v1", "a", `,"message":"hello"`), thing("v3", "a", `,"texts":["a","b"]`)))
	f.Add(review("example.com/v1", `null`, `{}`))
	c := converter(f, slog.New(slog.DiscardHandler))
	f.Fuzz(func(t *testing.T, body string) {
		code, text := post(c, body, nil)
		if code == http.StatusOK && !json.Valid([]byte(text)) {
			t.Errorf("%s", text)
		}
	})
}

func (*hub) Hub() {}

func (o *third) ConvertTo(to conversion.Hub) error {
	h := to.(*hub)
	h.Text, h.Style = o.Texts[0], o.Texts[1]
	return nil
}

func (o *third) ConvertFrom(from conversion.Hub) error {
	h := from.(*hub)
	o.Texts = []string{h.Text, h.Style}
	return nil
}

// TestMethodsConvert registers a spoke that converts with its own methods. It uses a scheme that contains the version
// and one that does not.
func TestMethodsConvert(t *testing.T) {
	spoke := conversion.ByMethods[*hub, *third]()
	var there, back hub
	var o third
	there.Name, there.Text, there.Style = "one", "text", "bold"
	if err := errors.Join(spoke.FromHub(t.Context(), &there, &o), spoke.ToHub(t.Context(), &o, &back)); err != nil {
		t.Fatal(err)
	}
	if o.Name != "one" || back.Text != "text" || back.Style != "bold" {
		t.Errorf("got %+v by way of %+v", back, o)
	}
	alone := runtime.NewScheme()
	alone.AddKnownTypeWithName(gvk("v2"), &hub{})
	for want, s := range map[int]*runtime.Scheme{1: scheme(), 0: alone} {
		c := conversion.New(slog.New(slog.DiscardHandler))
		if err := conversion.Register(c, s, spoke); err != nil || len(c.Kinds()) != want {
			t.Errorf("got %v and %v, want %d kinds", c.Kinds(), err, want)
		}
	}
}

// A scheme contains the versions that have conversion methods. In this scheme, third has them and first does not.
func TestConvertibleVersionsOfAScheme(t *testing.T) {
	spokes := conversion.Convertibles[*hub](scheme())
	if len(spokes) != 1 {
		t.Fatalf("got %d spokes", len(spokes))
	}
	var there, back hub
	there.Name, there.Text, there.Style = "one", "text", "bold"
	o := spokes[0].New()
	if err := errors.Join(spokes[0].FromHub(t.Context(), &there, o), spokes[0].ToHub(t.Context(), o, &back)); err != nil {
		t.Fatal(err)
	}
	if _, ok := o.(*third); !ok || back.Name != "one" || back.Style != "bold" {
		t.Errorf("got %+v by way of %+v", back, o)
	}
	c := conversion.New(slog.New(slog.DiscardHandler))
	if err := conversion.Register(c, scheme(), spokes...); err != nil || len(c.Kinds()) != 1 {
		t.Errorf("got %v and %v", c.Kinds(), err)
	}
	if spokes := conversion.Convertibles[*hub](runtime.NewScheme()); len(spokes) != 0 {
		t.Errorf("a scheme without the kind has %d", len(spokes))
	}
}
