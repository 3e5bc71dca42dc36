package admission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

var gvk = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              thingSpec `json:"spec,omitempty"`
}

type thingSpec struct {
	Size int    `json:"size,omitempty"`
	Name string `json:"name,omitempty"`
}

func (t *thing) DeepCopyObject() runtime.Object {
	c := *t
	t.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(gvk, &thing{})
	return s
}

// body returns the review of an operation on a Thing. The values in fields override fields of its request.
func body(t *testing.T, operation admissionv1.Operation, object, oldObject string, fields map[string]any) string {
	t.Helper()
	request := map[string]any{
		"uid": "some-uid", "operation": operation, "name": "a", "namespace": "default",
		"kind":     map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind},
		"resource": map[string]any{"group": gvk.Group, "version": gvk.Version, "resource": "things"},
	}
	for name, raw := range map[string]string{"object": object, "oldObject": oldObject} {
		if raw != "" {
			request[name] = json.RawMessage(raw)
		}
	}
	for name, value := range fields {
		request[name] = value
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": request})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const small = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":1,"unknown":true}}`

// post sends a body to a handler, and returns the status code and the text of the answer.
func post(h admission.Handler, body io.Reader, change func(*http.Request)) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/path?timeout=10s", body)
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	admission.NewReviewer(h, slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// review sends a body and returns the response.
func review(t *testing.T, h admission.Handler, body string) *admissionv1.AdmissionResponse {
	t.Helper()
	code, text := post(h, strings.NewReader(body), nil)
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal([]byte(text), &answer); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s: %v", code, text, err)
	}
	if answer.APIVersion != "admission.k8s.io/v1" || answer.Kind != "AdmissionReview" ||
		answer.Response.UID != "some-uid" {
		t.Errorf("it is no answer: %s", text)
	}
	return answer.Response
}

// defaulting returns a handler that calls typed defaulters.
func defaulting(t *testing.T, defaulters ...admission.Defaulter[*thing]) admission.Handler {
	t.Helper()
	h, err := admission.NewDefaulting(scheme(), &thing{}, defaulters...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func grow(_ context.Context, o *thing) error {
	o.Spec.Size++
	return nil
}

// failing is a body whose reads fail.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestInvalidReviewsAreOneClearError(t *testing.T) {
	called := admission.HandlerFunc(func(context.Context, *admission.Request) admission.Response {
		t.Error("the handler was called")
		return admission.Allowed("")
	})
	for name, c := range map[string]struct {
		body   string
		change func(*http.Request)
		code   int
		want   string
	}{
		"nothing": {"", nil, 400, "the body is not an AdmissionReview: unexpected end of JSON input"},
		"no JSON": {"kind: AdmissionReview", nil, 400,
			`the body is not an AdmissionReview: want a JSON object, got "kind: AdmissionReview"`},
		"a list": {"[]", nil, 400, `the body is not an AdmissionReview: want a JSON object, got "[]"`},
		"null":   {"null", nil, 400, `the body is not an AdmissionReview: want a JSON object, got "null"`},
		"cut off": {`{"kind":"AdmissionReview","request":{"uid":"a`, nil, 400,
			"the body is not an AdmissionReview: unexpected end of JSON input"},
		"two documents": {`{} {}`, nil, 400, "the body is not an AdmissionReview: invalid character '{' at offset 3, " +
			"want the end"},
		"another type": {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":7}}`, nil, 400,
			`the body is not an AdmissionReview: cannot unmarshal "7" at offset 78 into a types.UID`},
		"another kind": {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{}}`, nil, 400,
			`the body is a "ConversionReview" of "apiextensions.k8s.io/v1", want an AdmissionReview of admission.k8s.io/v1`},
		"another version": {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v2","request":{"uid":"a"}}`, nil,
			400, `the body is a "AdmissionReview" of "admission.k8s.io/v2", want an AdmissionReview of admission.k8s.io/v1`},
		"no kind": {`{"request":{"uid":"a"}}`, nil, 400,
			`the body is a "" of "", want an AdmissionReview of admission.k8s.io/v1`},
		"no request": {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, nil, 400,
			"the AdmissionReview has no request"},
		"no uid": {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}}`, nil, 400,
			"the request of the AdmissionReview has no uid"},
		"GET": {"", func(r *http.Request) { r.Method = http.MethodGet }, 405,
			"an AdmissionReview is sent by POST, not by GET"},
		"no content type": {"{}", func(r *http.Request) { r.Header.Del("Content-Type") }, 415,
			`the content type is "", want application/json`},
		"YAML": {"{}", func(r *http.Request) { r.Header.Set("Content-Type", "application/yaml") }, 415,
			`the content type is "application/yaml", want application/json`},
		"too large": {strings.Repeat(" ", 2000),
			func(r *http.Request) { r.Body = http.MaxBytesReader(nil, r.Body, 1000) }, 413,
			"read the AdmissionReview: http: request body too large"},
		"a slow client": {"", func(r *http.Request) { r.Body = io.NopCloser(failing{os.ErrDeadlineExceeded}) }, 408,
			"read the AdmissionReview: i/o timeout"},
		"a client that left": {"", func(r *http.Request) { r.Body = io.NopCloser(failing{io.ErrUnexpectedEOF}) }, 400,
			"read the AdmissionReview: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			code, text := post(called, strings.NewReader(c.body), c.change)
			if code != c.code || text != c.want+"\n" {
				t.Errorf("got  %d %q\nwant %d %q", code, text, c.code, c.want+"\n")
			}
		})
	}
}

// TestReviewsWithoutAVersionAreOfV1 uses reviews without a version, which tests of operators send. controller-runtime
// also accepts them.
func TestReviewsWithoutAVersionAreOfV1(t *testing.T) {
	allowed := admission.HandlerFunc(func(context.Context,
		*admission.Request) admission.Response {
		return admission.Allowed("")
	})
	if response := review(t, allowed, `{"kind":"AdmissionReview","request":{"uid":"some-uid"}}`); !response.Allowed {
		t.Errorf("the answer is %+v", response)
	}
}

// TestLargeObjectsAreReviewedWholeOrNotAtAll sends reviews of a server that allows objects larger than usual.
func TestLargeObjectsAreReviewedWholeOrNotAtAll(t *testing.T) {
	s := server.New(server.Options{Logger: slog.New(slog.DiscardHandler)})
	h := defaulting(t, admission.DefaulterFunc[*thing](grow))
	if err := s.Handle("/path", admission.NewReviewer(h, slog.New(slog.DiscardHandler)), server.MaxReview); err != nil {
		t.Fatal(err)
	}
	ask := func(body string) (int, string) {
		r := httptest.NewRequest(http.MethodPost, "/path?timeout=30s", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	large := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":1,"unknown":%q,"name":%q}}`,
		strings.Repeat("u", 2<<20), strings.Repeat("n", 3<<20))
	code, text := ask(body(t, "CREATE", large, "", nil))
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal([]byte(text), &answer); err != nil || code != http.StatusOK || answer.Response == nil {
		t.Fatalf("5 MB: %d, %.100q, %v", code, text, err)
	}
	if want := `[{"op":"replace","path":"/spec/size","value":2}]`; !answer.Response.Allowed ||
		string(answer.Response.Patch) != want {
		t.Errorf("5 MB: the patch is %.200s, want %s", answer.Response.Patch, want)
	}
	if code, text := ask(body(t, "UPDATE", large, large, nil)); code != http.StatusRequestEntityTooLarge ||
		text != "http: request body too large\n" {
		t.Errorf("10 MB: %d %.200q", code, text)
	}
}

// TestRequestThatTheHandlerIsNotForIsRefused uses well-formed reviews of other kinds and operations.
func TestRequestThatTheHandlerIsNotForIsRefused(t *testing.T) {
	validating, err := admission.NewValidating(scheme(), &thing{},
		admission.Validator[*thing](admission.ValidatorFuncs[*thing]{}))
	if err != nil {
		t.Fatal(err)
	}
	other := map[string]any{"kind": map[string]any{"group": "example.com", "version": "v2", "kind": "Thing"}}
	for name, c := range map[string]struct{ body, want string }{
		"another version": {body(t, "CREATE", small, "", other),
			"the request is about example.com/v2, Kind=Thing, this webhook is for example.com/v1, Kind=Thing: check the rules " +
				"of its configuration"},
		"no object": {body(t, "CREATE", "", "", nil), "the request has no object"},
		"a null":    {body(t, "CREATE", "null", "", nil), "the request has no object"},
		"an object of a kind": {body(t, "CREATE", strings.Replace(small, "Thing", "Other", 1), "", nil),
			"object is a example.com/v1, Kind=Other, want a example.com/v1, Kind=Thing"},
		"an object that does not fit the Go type": {body(t, "CREATE", strings.Replace(small, `"size":1`, `"size":"big"`, 1),
			"", nil), `object: cannot unmarshal "\"big\"" at offset 85 into a int`},
	} {
		for kind, h := range map[string]admission.Handler{"defaulting": defaulting(t), "validating": validating} {
			got := review(t, h, c.body)
			if got.Allowed || got.Result.Code != http.StatusBadRequest || got.Result.Message != c.want {
				t.Errorf("%s, %s: %+v\nwant %s", name, kind, got.Result, c.want)
			}
		}
	}
	if got := review(t, validating, body(t, "UPDATE", small, "", nil)); got.Allowed ||
		got.Result.Message != "the request has no oldObject" {
		t.Errorf("update without an old object: %+v", got.Result)
	}
	if got := review(t, validating, body(t, "PATCH", small, small, nil)); got.Allowed ||
		got.Result.Message != `there is no operation "PATCH"` {
		t.Errorf("unknown operation: %+v", got.Result)
	}
}

// TestObjectsWithoutAKindHaveTheRequestedOne also checks that the patch adds no kind. controller-runtime behaves in the
// same way.
func TestObjectsWithoutAKindHaveTheRequestedOne(t *testing.T) {
	got := review(t, defaulting(t, admission.DefaulterFunc[*thing](grow)),
		body(t, "CREATE", `{"metadata":{"name":"a"},"spec":{"size":1}}`, "", nil))
	if want := `[{"op":"replace","path":"/spec/size","value":2}]`; !got.Allowed || string(got.Patch) != want {
		t.Errorf("%v, %s, want %s", got.Result, got.Patch, want)
	}
}

func TestDefaultersMakeOnePatch(t *testing.T) {
	rename := admission.DefaulterFunc[*thing](func(ctx context.Context, o *thing) error {
		req, err := admission.RequestFromContext(ctx)
		o.Spec.Name = fmt.Sprint(req.Namespace, o.Spec.Size)
		return err
	})
	h := defaulting(t, admission.DefaulterFunc[*thing](grow), rename, admission.DefaulterFunc[*thing](grow))
	for _, operation := range []admissionv1.Operation{"CREATE", "UPDATE"} {
		got := review(t, h, body(t, operation, small, small, nil))
		const want = `[{"op":"replace","path":"/spec/size","value":3},{"op":"add","path":"/spec/name","value":"default2"}]`
		if !got.Allowed || string(got.Patch) != want || *got.PatchType != admissionv1.PatchTypeJSONPatch {
			t.Errorf("%s: %+v with %s", operation, got, got.Patch)
		}
	}
	for _, operation := range []admissionv1.Operation{"DELETE", "CONNECT"} {
		if got := review(t, h, body(t, operation, "", small, nil)); !got.Allowed || got.Patch != nil || got.PatchType != nil {
			t.Errorf("%s: %+v", operation, got)
		}
	}
}

// TestAnyKindCanBeDefaulted defaults unstructured objects.
func TestAnyKindCanBeDefaulted(t *testing.T) {
	prototype := &unstructured.Unstructured{}
	prototype.SetGroupVersionKind(gvk)
	h, err := admission.NewDefaulting(scheme(), prototype,
		admission.Defaulter[*unstructured.Unstructured](admission.DefaulterFunc[*unstructured.Unstructured](
			func(_ context.Context, u *unstructured.Unstructured) error {
				return unstructured.SetNestedField(u.Object, "b", "spec", "more", "a")
			})))
	if err != nil {
		t.Fatal(err)
	}
	got := review(t, h, body(t, "CREATE", small, "", nil))
	if want := `[{"op":"add","path":"/spec/more","value":{"a":"b"}}]`; string(got.Patch) != want {
		t.Errorf("patch %s", got.Patch)
	}
}

func TestErrorsBecomeTheStatusThatTheUserSees(t *testing.T) {
	path := field.NewPath("spec", "size")
	for name, c := range map[string]struct {
		err    error
		code   int32
		reason metav1.StatusReason
		want   string
	}{
		"any": {errors.New("no"), 403, metav1.StatusReasonForbidden, "no"},
		"of the API": {fmt.Errorf("wrapped: %w", apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "a",
			errors.New("old"))), 409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on things "a": old`},
		"of a field": {field.Required(path, "say it"), 422, metav1.StatusReasonInvalid,
			`Thing.example.com "a" is invalid: spec.size: Required value: say it`},
		"of a list": {field.ErrorList{field.Required(path, "x"), field.Invalid(path, 3, "y")}.ToAggregate(), 422,
			metav1.StatusReasonInvalid,
			`Thing.example.com "a" is invalid: [spec.size: Required value: x, spec.size: Invalid value: 3: y]`},
		"joined": {errors.Join(field.Required(path, "x"), field.ErrorList{field.Invalid(path, 3, "y")}.ToAggregate()),
			422, metav1.StatusReasonInvalid,
			`Thing.example.com "a" is invalid: [spec.size: Required value: x, spec.size: Invalid value: 3: y]`},
		"of a mixture": {errors.Join(errors.New("a"), field.Required(path, "x")), 403, metav1.StatusReasonForbidden,
			"a\nspec.size: Required value: x"},
	} {
		h := defaulting(t, admission.DefaulterFunc[*thing](grow),
			admission.DefaulterFunc[*thing](func(context.Context, *thing) error { return c.err }))
		got := review(t, h, body(t, "CREATE", small, "", nil))
		if got.Allowed || got.Patch != nil || got.Result.Code != c.code || got.Result.Reason != c.reason ||
			got.Result.Message != c.want {
			t.Errorf("%s: %+v", name, got.Result)
		}
	}
}

// Tests written for controller-runtime compare the result of a handler with an expected Response. So the fields that
// the API server requires are added only when the answer is sent.
func TestResponsesHaveOnlyGivenFields(t *testing.T) {
	for name, c := range map[string]struct{ got, want admission.Response }{
		"denied": {admission.Denied("no"), admission.Response{Result: &metav1.Status{Code: 403,
			Reason: metav1.StatusReasonForbidden, Message: "no"}}},
		"refused": {admission.ValidationResponse(false, "no"), admission.Denied("no")},
		"let": {admission.ValidationResponse(true, "well"),
			admission.Response{Allowed: true, Result: &metav1.Status{Code: 200, Message: "well"}}},
		"errored": {admission.Errored(400, errors.New("bad")),
			admission.Response{Result: &metav1.Status{Code: 400, Message: "bad"}}},
		"allowed": {admission.Allowed(""), admission.Response{Allowed: true, Result: &metav1.Status{Code: 200}}},
		"patched": {admission.PatchResponseFromRaw([]byte(`{}`), []byte(`{"a":"b"}`)),
			admission.Response{Allowed: true, Patches: []admission.Operation{
				{Op: "add", Path: "/a", Value: json.RawMessage(`"b"`)}}}},
		"same": {admission.PatchResponseFromRaw([]byte(`{}`), []byte(`{}`)),
			admission.Response{Allowed: true, Patches: []admission.Operation{}}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, c.got, c.want)
		}
	}
	refuse := admission.HandlerFunc(func(context.Context,
		*admission.Request) admission.Response {
		return admission.Denied("no")
	})
	if got := review(t, refuse, body(t, "CREATE", small, "", nil)); got.Result.Status != metav1.StatusFailure {
		t.Errorf("the API server gets %+v", got.Result)
	}
}

// TestChainPassesOnWhatItsHandlersMade combines typed handlers with other handlers.
func TestChainPassesOnWhatItsHandlersMade(t *testing.T) {
	var sizes []int
	look := admission.HandlerFunc(func(ctx context.Context, req *admission.Request) admission.Response {
		if of, err := admission.RequestFromContext(ctx); of != req || err != nil {
			t.Errorf("the context is that of %v, %v", of, err)
		}
		var o thing
		if err := req.Decode(&o); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		sizes = append(sizes, o.Spec.Size)
		return admission.Patched("", admission.Operation{Op: "add", Path: "/spec/seen",
			Value: json.RawMessage(`{"a":[]}`)}).WithWarnings(fmt.Sprint("size ", o.Spec.Size))
	})
	raw := admission.HandlerFunc(func(_ context.Context, req *admission.Request) admission.Response {
		return admission.PatchResponseFromRaw(req.Object.Raw, bytes.Replace(req.Object.Raw, []byte(`"unknown":true`),
			[]byte(`"unknown":false`), 1))
	})
	h := admission.Chain(look, defaulting(t, admission.DefaulterFunc[*thing](grow)), raw, look)
	got := review(t, h, body(t, "CREATE", small, "", nil))
	const want = `[{"op":"add","path":"/spec/seen","value":{"a":[]}},{"op":"replace","path":"/spec/size","value":2},` +
		`{"op":"replace","path":"/spec/unknown","value":false},{"op":"add","path":"/spec/seen","value":{"a":[]}}]`
	if !got.Allowed || string(got.Patch) != want {
		t.Errorf("%s", got.Patch)
	}
	if !slices.Equal(sizes, []int{1, 2}) || !slices.Equal(got.Warnings, []string{"size 1", "size 2"}) {
		t.Errorf("sizes %v, warnings %q", sizes, got.Warnings)
	}
	refuse := admission.HandlerFunc(func(context.Context,
		*admission.Request) admission.Response {
		return admission.Denied("no")
	})
	got = review(t, admission.Chain(look, refuse, look), body(t, "CREATE", small, "", nil))
	if got.Allowed || got.Patch != nil || got.Result.Message != "no" || len(got.Warnings) != 1 {
		t.Errorf("refused with %+v", got)
	}
}

func TestPanicIs500AndLogged(t *testing.T) {
	var logged bytes.Buffer
	h := defaulting(t, admission.DefaulterFunc[*thing](func(context.Context, *thing) error { panic("oh no") }))
	r := httptest.NewRequest(http.MethodPost, "/path", strings.NewReader(body(t, "CREATE", small, "", nil)))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	w := httptest.NewRecorder()
	admission.NewReviewer(h, slog.New(slog.NewTextHandler(&logged, nil))).ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError || w.Body.String() != "the webhook panicked, see its log\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, want := range []string{`panic="oh no"`, "review_test.go", "kind=Thing", "key=default/a"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("no %s in %s", want, &logged)
		}
	}
}

// TestManagedFieldsAreLeftAlone checks that a patch does not touch managed fields, which every object has and no
// defaulter receives.
func TestManagedFieldsAreLeftAlone(t *testing.T) {
	object := strings.Replace(small, `"metadata":{`,
		`"metadata":{"managedFields":[{"manager":"kubectl","operation":"Update","fieldsV1":{"f:spec":{}}}],`, 1)
	got := review(t, defaulting(t, admission.DefaulterFunc[*thing](grow)), body(t, "CREATE", object, "", nil))
	if want := `[{"op":"replace","path":"/spec/size","value":2}]`; string(got.Patch) != want {
		t.Errorf("patch %s", got.Patch)
	}
}

// FuzzReview sends arbitrary bodies. Each must be answered without a panic.
func FuzzReview(f *testing.F) {
	f.Add(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"a","operation":"CREATE","kind":{"group":"example.com","version":"v1","kind":"Thing"},"object":` + small + `}}`)
	f.Add(`{"request":{"object":null}}`)
	h, err := admission.NewDefaulting(scheme(), &thing{},
		admission.Defaulter[*thing](admission.DefaulterFunc[*thing](grow)))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		switch code, text := post(h, strings.NewReader(body), nil); code {
		case http.StatusOK, http.StatusBadRequest:
		default:
			t.Errorf("%d %s", code, text)
		}
	})
}
