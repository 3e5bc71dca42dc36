package untyped_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/compat/untyped"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
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

// body returns a review of an operation on a Thing.
func body(t *testing.T, operation admissionv1.Operation, object, oldObject string) string {
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
	text, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const small = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":1,"unknown":true}}`

// post sends a body to a handler and returns the code and the text of the answer.
func post(h admission.Handler, body io.Reader) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/path?timeout=10s", body)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	admission.NewReviewer(h, slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// review sends a body and returns the response.
func review(t *testing.T, h admission.Handler, body string) *admissionv1.AdmissionResponse {
	t.Helper()
	code, text := post(h, strings.NewReader(body))
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal([]byte(text), &answer); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s: %v", code, text, err)
	}
	if answer.APIVersion != "admission.k8s.io/v1" || answer.Kind != "AdmissionReview" || answer.Response.UID != "some-uid" {
		t.Errorf("it is no answer: %s", text)
	}
	return answer.Response
}

// ofAnything asks which kind it is given.
type ofAnything struct{}

func (ofAnything) Default(_ context.Context, obj runtime.Object) error {
	obj.(*thing).Spec.Size = 3
	return nil
}

func (ofAnything) ValidateCreate(_ context.Context, obj runtime.Object) (admission.Warnings, error) {
	return admission.Warnings{fmt.Sprintf("created %T", obj)}, nil
}

func (ofAnything) ValidateUpdate(_ context.Context, oldObj, newObj runtime.Object) (admission.Warnings, error) {
	return nil, fmt.Errorf("from %d to %d", oldObj.(*thing).Spec.Size, newObj.(*thing).Spec.Size)
}

func (ofAnything) ValidateDelete(_ context.Context, obj runtime.Object) (admission.Warnings, error) {
	return nil, fmt.Errorf("%T stays", obj)
}

// typedThings is for one kind.
type typedThings struct {
	admission.ValidatorFuncs[*thing]
}

func (typedThings) Default(_ context.Context, obj *thing) error {
	obj.Spec.Size = 4
	return nil
}

func TestWebhooksOfAnyObjectAreAskedAboutThoseOfAKind(t *testing.T) {
	larger := strings.Replace(small, `"size":1`, `"size":5`, 1)
	validator := untyped.WithCustomValidator(scheme(), &thing{}, ofAnything{})
	for name, c := range map[string]struct {
		handler admission.Handler
		body    string
		want    string
	}{
		"a defaulter":         {untyped.WithCustomDefaulter(scheme(), &thing{}, ofAnything{}), body(t, "CREATE", small, ""), `"value":3`},
		"a creation":          {validator, body(t, "CREATE", small, ""), `created *untyped_test.thing`},
		"an update":           {validator, body(t, "UPDATE", larger, small), `from 1 to 5`},
		"a deletion":          {validator, body(t, "DELETE", "", small), `*untyped_test.thing stays`},
		"a defaulter of one":  {untyped.WithDefaulter(scheme(), admission.Defaulter[*thing](typedThings{})), body(t, "CREATE", small, ""), `"value":4`},
		"a validator of one":  {untyped.WithValidator(scheme(), admission.Validator[*thing](typedThings{})), body(t, "CREATE", small, ""), `"allowed":true`},
		"a kind of no scheme": {untyped.WithCustomValidator(runtime.NewScheme(), &thing{}, ofAnything{}), body(t, "CREATE", small, ""), `"code":500`},
		"no metadata":         {untyped.WithCustomDefaulter(scheme(), &runtime.Unknown{}, ofAnything{}), body(t, "CREATE", small, ""), `"code":500`},
	} {
		t.Run(name, func(t *testing.T) {
			code, text := post(c.handler, strings.NewReader(c.body))
			if code != 200 {
				t.Fatalf("answered %d %s", code, text)
			}
			if strings.Contains(c.want, "value") {
				text = string(review(t, c.handler, c.body).Patch)
			}
			if !strings.Contains(text, c.want) {
				t.Errorf("answered %s, want %s", text, c.want)
			}
		})
	}
}

// selfMade is a kind whose objects are their own webhooks.
type selfMade struct{ thing }

func (s *selfMade) DeepCopyObject() runtime.Object {
	return &selfMade{*s.thing.DeepCopyObject().(*thing)}
}

func (s *selfMade) Default() { s.Spec.Size++ }

func (s *selfMade) ValidateCreate() (admission.Warnings, error) {
	return admission.Warnings{fmt.Sprint("created ", s.Spec.Size)}, nil
}

func (s *selfMade) ValidateUpdate(old runtime.Object) (admission.Warnings, error) {
	return nil, fmt.Errorf("from %d to %d", old.(*selfMade).Spec.Size, s.Spec.Size)
}

func (s *selfMade) ValidateDelete() (admission.Warnings, error) { return nil, errors.New("it stays") }

// TestObjectsThatAreTheirOwnWebhooks is about the form of API packages for controller-runtime before v0.20.
func TestObjectsThatAreTheirOwnWebhooks(t *testing.T) {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(gvk, &selfMade{})
	larger := strings.Replace(small, `"size":1`, `"size":5`, 1)
	for _, c := range []struct {
		reviewer *admission.Reviewer
		body     string
		want     string
	}{
		{untyped.DefaultingWebhookFor(s, &selfMade{}), body(t, admissionv1.Create, small, ""), `"patchType":"JSONPatch"`},
		{untyped.ValidatingWebhookFor(s, &selfMade{}), body(t, admissionv1.Create, small, ""), `"warnings":["created 1"]`},
		{untyped.ValidatingWebhookFor(s, &selfMade{}), body(t, admissionv1.Update, larger, small), `from 1 to 5`},
		{untyped.ValidatingWebhookFor(s, &selfMade{}), body(t, admissionv1.Delete, "", small), `it stays`},
		{untyped.ValidatingWebhookFor(runtime.NewScheme(), &selfMade{}), body(t, admissionv1.Create, small, ""), `"code":500`},
	} {
		r := httptest.NewRequest(http.MethodPost, "/path?timeout=10s", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		c.reviewer.ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("answered %s, want %s", w.Body, c.want)
		}
	}
}

// TestDecoderDecodesWhatARequestHas: the object, of a deletion the old one, and whichever a handler chooses.
func TestDecoderDecodesWhatARequestHas(t *testing.T) {
	var req admission.Request
	req.Operation = admissionv1.Update
	req.Object.Raw, req.OldObject.Raw = []byte(`{"spec":{"size":2}}`), []byte(small)
	d := untyped.NewDecoder(scheme())
	for want, decode := range map[int]func(obj any) error{
		2: func(obj any) error { return d.Decode(&req, obj) },
		1: func(obj any) error { return d.DecodeRaw(req.OldObject, obj) },
	} {
		var got thing
		if err := decode(&got); err != nil || got.Spec.Size != want {
			t.Errorf("got size %d, want %d: %v", got.Spec.Size, want, err)
		}
	}
	if err := d.DecodeRaw(runtime.RawExtension{}, &thing{}); err == nil {
		t.Error("nothing was decoded")
	}
}
