package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const getA = "GET /api/v1/namespaces/default/configmaps/a"

var keyA = object.Key{Namespace: "default", Name: "a"}

// closing is a body that records when it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (b *closing) Close() error {
	b.closed = true
	return nil
}

// fixedAnswer is a transport that returns the same answer to every request.
type fixedAnswer struct{ *http.Response }

func (a fixedAnswer) RoundTrip(*http.Request) (*http.Response, error) { return a.Response, nil }

func TestBodiesOfErrorsAreClosed(t *testing.T) {
	body := &closing{Reader: strings.NewReader("it broke")}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: "http://server"}, client.Options{
		Scheme: newScheme(t), Mapper: mapper, HTTPClient: &http.Client{Transport: fixedAnswer{&http.Response{StatusCode: 500,
			Body: body}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), keyA, configMap("a")); err == nil || !body.closed {
		t.Errorf("got %v, closed %t", err, body.closed)
	}
}

func TestStatusOfTheServerIsTheError(t *testing.T) {
	for name, test := range map[string]struct {
		code   int
		reason metav1.StatusReason
		is     func(error) bool
	}{
		"not found":    {404, metav1.StatusReasonNotFound, apierrors.IsNotFound},
		"conflict":     {409, metav1.StatusReasonConflict, apierrors.IsConflict},
		"exists":       {409, metav1.StatusReasonAlreadyExists, apierrors.IsAlreadyExists},
		"forbidden":    {403, metav1.StatusReasonForbidden, apierrors.IsForbidden},
		"unauthorized": {401, metav1.StatusReasonUnauthorized, apierrors.IsUnauthorized},
		"invalid":      {422, metav1.StatusReasonInvalid, apierrors.IsInvalid},
		"gone":         {410, metav1.StatusReasonGone, apierrors.IsGone},
		"expired":      {410, metav1.StatusReasonExpired, apierrors.IsResourceExpired},
		"internal":     {500, metav1.StatusReasonInternalError, apierrors.IsInternalError},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			c := connect(t, s, client.Options{})
			s.fails(getA, test.code, status(test.code, test.reason, "configmaps \"a\" it is"))
			cm := configMap("before")
			err := c.Get(t.Context(), keyA, cm)
			if !test.is(err) || err.Error() != `configmaps "a" it is` {
				t.Errorf("got %v", err)
			}
			if known, ok := errors.AsType[*apierrors.StatusError](err); !ok || known.ErrStatus.TypeMeta != (metav1.TypeMeta{}) {
				t.Errorf("got %#v, which is not what apierrors makes", err)
			}
			if cm.Name != "before" {
				t.Error("the object was touched")
			}
		})
	}
}

func TestStatusWithoutACodeGetsThatOfTheAnswer(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.fails(getA, 403, `{"kind":"Status","status":"Failure","message":"no"}`)
	var failure apierrors.APIStatus
	if err := c.Get(t.Context(), keyA, configMap("")); !errors.As(err, &failure) || failure.Status().Code != 403 {
		t.Errorf("got %#v", err)
	}
}

func TestAnswersThatAreNoStatusNameVerbAndResource(t *testing.T) {
	for name, test := range map[string]struct {
		code  int
		media string
		body  string
		is    func(error) bool
		want  []string
	}{
		"proxy page": {502, "text/html; charset=utf-8", "<html>bad gateway</html>", nil,
			[]string{"(get configmaps a)", "bad gateway"}},
		"no media type":     {403, "", "go away", apierrors.IsForbidden, []string{"(get configmaps a)", "go away"}},
		"binary":            {500, "application/octet-stream", "\x00", apierrors.IsInternalError, []string{"unknown"}},
		"invalid UTF-8":     {400, "text/plain", "a\xffb", apierrors.IsBadRequest, []string{"(get configmaps a)", "a?b"}},
		"empty":             {404, "text/plain", "", apierrors.IsNotFound, []string{"(get configmaps a)"}},
		"redirect":          {304, "text/plain", "", nil, []string{"(get configmaps a)"}},
		"long":              {400, "text/plain", strings.Repeat("x", 1<<20) + "end", apierrors.IsBadRequest, nil},
		"too many requests": {429, "text/plain", "slow down", apierrors.IsTooManyRequests, []string{"slow down"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			c := connect(t, s, client.Options{})
			s.on(getA, func(int) answer {
				return answer{code: test.code, header: map[string]string{"Content-Type": test.media}, body: test.body}
			})
			err := c.Get(t.Context(), keyA, configMap(""))
			if err == nil || test.is != nil && !test.is(err) || len(err.Error()) > 4096 {
				t.Fatalf("got %.200v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(strings.ToLower(err.Error())+detailsOf(err), want) {
					t.Errorf("got %q %s, want %s", err, detailsOf(err), want)
				}
			}
		})
	}
}

// detailsOf formats the fields of a Status except its message.
func detailsOf(err error) string {
	var failure apierrors.APIStatus
	if !errors.As(err, &failure) {
		return ""
	}
	return toJSON(failure.Status())
}

func TestNetworkErrorsNameVerbResourceAndObject(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	const configmaps = "/api/v1/namespaces/default/configmaps"
	for _, what := range []string{getA, "PUT " + configmaps + "/a", "PATCH " + configmaps + "/a",
		"DELETE " + configmaps + "/a", "POST " + configmaps,
		"DELETE " + configmaps, "GET " + configmaps, "GET /api/v1/configmaps", "PUT " + configmaps + "/a/status",
		"GET /api/v1/namespaces/n", "GET /apis/example.com/v1"} {
		s.on(what, func(int) answer { return answer{err: syscall.ECONNREFUSED} })
	}
	ctx, cm := t.Context(), configMap("a")
	for want, err := range map[string]error{
		"get configmaps default/a":           c.Get(ctx, keyA, cm),
		"get namespaces n":                   c.Get(ctx, object.Key{Name: "n"}, &corev1.Namespace{}),
		"create configmaps in default":       c.Create(ctx, cm),
		"update configmaps default/a":        c.Update(ctx, cm),
		"update configmaps/status default/a": c.Status().Update(ctx, cm),
		"patch configmaps default/a":         c.Patch(ctx, cm, client.RawPatch(types.MergePatchType, nil)),
		"apply configmaps default/a":         c.Apply(ctx, cm),
		"delete configmaps default/a":        c.Delete(ctx, cm),
		"delete all configmaps in default":   c.DeleteAllOf(ctx, cm, client.InNamespace("default")),
		"list configmaps in default": c.List(ctx, &corev1.ConfigMapList{},
			client.InNamespace("default")),
		"list configmaps": c.List(ctx, &corev1.ConfigMapList{}),
		"get Gadget default/a: discover /apis/example.com/v1": c.Get(ctx, keyA, untyped("example.com/v1", "Gadget", "", "")),
	} {
		if !errors.Is(err, syscall.ECONNREFUSED) || err.Error() != want+": connection refused" {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestErrorOfAnEndedContextHasItsCause(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	if err := c.Get(t.Context(), keyA, configMap("")); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	s.on(getA, func(int) answer { cancel(cause); return answer{err: errors.New("socket closed")} })
	err := c.Get(ctx, keyA, configMap(""))
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) ||
		!strings.HasPrefix(err.Error(), "get configmaps default/a: ") {
		t.Errorf("got %v", err)
	}
	plain, cancelPlain := context.WithCancel(t.Context())
	s.on(getA, func(int) answer { cancelPlain(); return answer{err: errors.New("socket closed")} })
	err = c.Get(plain, keyA, configMap(""))
	if !errors.Is(err, context.Canceled) || err.Error() != "get configmaps default/a: context canceled" {
		t.Errorf("got %v", err)
	}
}

func TestBodyThatBreaksOffIsANetworkError(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.on(getA, func(int) answer { return answer{stream: broken{syscall.ECONNRESET}} })
	err := c.Get(t.Context(), keyA, configMap(""))
	if !errors.Is(err, syscall.ECONNRESET) || !strings.HasPrefix(err.Error(), "get configmaps default/a: ") {
		t.Errorf("got %v", err)
	}
}

// broken is a body whose reads fail.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
func (b broken) Close() error             { return nil }

func TestAnswersOfAnotherKindAreDecodeErrorsAndLeaveTheObject(t *testing.T) {
	for name, body := range map[string]string{
		"no JSON":      `<html>`,
		"empty":        ``,
		"other kind":   `{"kind":"Secret","apiVersion":"v1"}`,
		"no kind":      `{"metadata":{"name":"a"}}`,
		"status":       `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		"no object":    `[]`,
		"status forms": `{"kind":"Status","apiVersion":"v1","status":"Pending","data":7}`,
		"other group":  `{"kind":"ConfigMap","apiVersion":"example.com/v1","metadata":{"name":"a"}}`,
		"half a kind":  `{"kind":"ConfigMap","metadata":{"name":"a"}}`,
		"list":         `{"kind":"ConfigMapList","apiVersion":"v1","items":[]}`,
		"table":        `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`,
		"more":         `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}{}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			c := connect(t, s, client.Options{})
			s.respond(getA, body)
			typed, plain := configMap("before"), untyped("v1", "ConfigMap", "default", "before")
			for _, obj := range []object.Object{typed, plain, metadataOf("before")} {
				err := c.Get(t.Context(), keyA, obj)
				if decode, ok := errors.AsType[*client.DecodeError](err); !ok || decode.What != "get configmaps default/a" {
					t.Errorf("%T: got %v", obj, err)
				}
				if obj.GetName() != "before" {
					t.Errorf("%T was touched", obj)
				}
			}
		})
	}
}

func TestAmbiguousKindsAreErrorsWithTheVerb(t *testing.T) {
	c := connect(t, newServer(), client.Options{FieldOwner: "me"})
	ctx, unknown := t.Context(), &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	for verb, err := range map[string]error{
		"get":                           c.Get(ctx, keyA, unknown),
		"list":                          c.List(ctx, &metav1.PartialObjectMetadataList{}),
		"create":                        c.Create(ctx, unknown),
		"update":                        c.Update(ctx, unknown),
		"apply":                         c.Apply(ctx, unknown),
		"delete":                        c.Delete(ctx, unknown),
		"delete all":                    c.DeleteAllOf(ctx, unknown),
		"get configmaps/x default/a":    c.SubResource("x").Get(ctx, configMap("a"), unknown),
		"create configmaps/x default/a": c.SubResource("x").Create(ctx, configMap("a"), unknown),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), verb+" ") && !strings.HasPrefix(err.Error(), verb+":") {
			t.Errorf("%s: got %v", verb, err)
		}
	}
}

func TestUnknownKindsAreNoMatchErrors(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	ctx, unknown := t.Context(), untyped("example.com/v1", "Gadget", "default", "a")
	list := untyped("example.com/v1", "GadgetList", "", "")
	for want, err := range map[string]error{
		"get Gadget default/a: ":    c.Get(ctx, keyA, unknown),
		"list Gadget: ":             c.List(ctx, listOf(list)),
		"create Gadget default/a: ": c.Create(ctx, unknown),
		"update Gadget default/a: ": c.Update(ctx, unknown),
		"delete Gadget default/a: ": c.Delete(ctx, unknown),
		"delete all Gadget: ":       c.DeleteAllOf(ctx, unknown, client.InNamespace("default")),
	} {
		if !meta.IsNoMatchError(err) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if requests := s.take(); len(requests) > 0 {
		t.Errorf("requests were sent: %v", requests)
	}
}

func TestConfigsThatCannotBeUsedAreErrors(t *testing.T) {
	for name, config := range map[string]*rest.Config{
		"none":    nil,
		"host":    {Host: "http://a b"},
		"CA file": {Host: "https://server", TLSClientConfig: rest.TLSClientConfig{CAFile: "does/not/exist"}},
	} {
		if _, err := client.New(config, client.Options{}); err == nil || !strings.HasPrefix(err.Error(), "client: ") {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := client.NewMapper(config, nil); err == nil {
			t.Errorf("%s: the mapper accepts it", name)
		}
	}
	if _, err := client.NewMapper(&rest.Config{Host: "http://server"}, http.DefaultClient); err != nil {
		t.Error(err)
	}
}
