package client_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// piece is a part of an answer's body, and its delay after the previous part.
type piece struct {
	after time.Duration
	text  string
}

// slow is a transport that answers after a delay with a body in parts. After the last part, reads of the body block
// unless that part is theEnd.
type slow struct {
	header time.Duration
	code   int // 0 means success
	parts  []piece
}

const theEnd = "the end"

func (s slow) RoundTrip(req *http.Request) (*http.Response, error) {
	wait := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-req.Context().Done():
			return false
		}
	}
	if !wait(s.header) {
		return nil, req.Context().Err()
	}
	reader, writer := io.Pipe()
	go func() {
		for _, p := range s.parts {
			switch {
			case !wait(p.after):
			case p.text == theEnd:
				writer.Close()
				return
			default:
				_, _ = io.WriteString(writer, p.text)
			}
		}
		<-req.Context().Done()
		writer.CloseWithError(req.Context().Err())
	}()
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: cmp.Or(s.code, http.StatusOK), Header: header, Body: reader, Request: req}, nil
}

// slowly returns a ListWatcher of ConfigMaps at s.
func slowly(t *testing.T, s slow) *client.ListWatcher[*corev1.ConfigMap] {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: "http://server"}, client.Options{Scheme: newScheme(t), Mapper: mapper,
		HTTPClient: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	lw, err := client.NewListWatcher(c, &corev1.ConfigMap{}, client.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	return lw
}

func TestListIsGivenUpWhenTheServerSendsNothing(t *testing.T) {
	const head, item = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[`,
		`{"metadata":{"name":"a"}}`
	slowBody := []piece{{0, head}}
	for range 5 {
		slowBody = append(slowBody, piece{time.Minute, item + ","})
	}
	slowBody = append(slowBody, piece{time.Minute, item + "]}"}, piece{time.Minute, theEnd})
	for name, test := range map[string]struct {
		slow
		took time.Duration // time until the client gives up; 0 means that it does not
	}{
		"no answer":              {slow{header: time.Hour}, 2 * time.Minute},
		"late answer":            {slow{header: 110 * time.Second, parts: []piece{{0, head + "]}"}, {0, theEnd}}}, 0},
		"no body":                {slow{}, 2 * time.Minute},
		"body that stops":        {slow{parts: []piece{{time.Minute, head}, {time.Minute, item}}}, 4 * time.Minute},
		"body that has no end":   {slow{parts: []piece{{0, head + "]}"}}}, 2 * time.Minute},
		"body that comes slowly": {slow{parts: slowBody}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				page, err := slowly(t, test.slow).List(t.Context(), metav1.ListOptions{})
				switch took := time.Since(start); {
				case test.took == 0 && (err != nil || page.ResourceVersion != "5"):
					t.Errorf("got %v, %v", page, err)
				case test.took > 0 && (err == nil || !strings.Contains(err.Error(), "sends nothing") || took != test.took):
					t.Errorf("got %v, %v after %v", page, err, took)
				case test.took > 0 && errors.Is(err, context.Canceled):
					t.Errorf("it was not canceled: %v", err)
				}
			})
		})
	}
}

// thorough is an object that takes three minutes to decode.
type thorough struct{ corev1.ConfigMap }

func (o *thorough) UnmarshalJSON(text []byte) error {
	time.Sleep(3 * time.Minute)
	return json.Unmarshal(text, &o.ConfigMap)
}

func TestListIsNotGivenUpWhileTheCallerIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
		scheme, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper(nil)
		scheme.AddKnownTypes(gv, &thorough{})
		mapper.Add(gv.WithKind("thorough"), meta.RESTScopeNamespace)
		const head,
			item = `{"kind":"thoroughList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"5"},"items":[`,
			`{"metadata":{"name":"a"}}`
		server := slow{parts: []piece{{0, head + item}, {0, "," + item}, {0, "," + item + "]}"}, {0, theEnd}}}
		c, err := client.New(&rest.Config{Host: "http://server"}, client.Options{Scheme: scheme, Mapper: mapper,
			HTTPClient: &http.Client{Transport: server}})
		if err != nil {
			t.Fatal(err)
		}
		lw, err := client.NewListWatcher(c, &thorough{}, client.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		if page, err := lw.List(t.Context(), metav1.ListOptions{}); err != nil || page.ResourceVersion != "5" {
			t.Errorf("got %v, %v", page, err)
		}
	})
}

func TestWatchIsGivenUpWhenTheServerDoesNotAnswerButNotWhenItIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := slowly(t, slow{header: time.Hour}).Watch(t.Context(), metav1.ListOptions{})
		if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "sends nothing") || took != 2*time.Minute {
			t.Errorf("got %v after %v", err, took)
		}
		start = time.Now()
		_, err = slowly(t, slow{code: http.StatusInternalServerError,
			parts: []piece{{0, `{"kind":"Status",`}}}).Watch(t.Context(), metav1.ListOptions{})
		if took := time.Since(start); !apierrors.IsInternalError(err) || took != 2*time.Minute {
			t.Errorf("of a failure without an end: got %v after %v", err, took)
		}
		event := `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"6"}}}`
		stream, err := slowly(t, slow{parts: []piece{{time.Hour, event}, {time.Hour, event}, {time.Hour, theEnd}}}).Watch(
			t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if e, err := stream.Next(); err != nil || e.ResourceVersion != "6" {
				t.Errorf("got %v, %v", e, err)
			}
		}
		if _, err := stream.Next(); err != io.EOF {
			t.Errorf("got %v at the end", err)
		}
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestDiscoveryIsGivenUpWhenTheServerSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New(&rest.Config{Host: "http://server"},
			client.Options{Scheme: newScheme(t), HTTPClient: &http.Client{Transport: slow{header: time.Hour}}})
		if err != nil {
			t.Fatal(err)
		}
		lw, err := client.NewListWatcher(c, &corev1.ConfigMap{}, client.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		// If a discovery document cannot be read, all requests that wait for it fail.
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				start := time.Now()
				_, err := lw.List(t.Context(), metav1.ListOptions{})
				if took := time.Since(start); err == nil || !strings.Contains(err.Error(),
					"discover /api/v1: the server sends nothing") || took > 3*time.Minute {
					t.Errorf("got %v after %v", err, took)
				}
			})
		}
		// A request whose caller gave up does not fail the other requests: the next request reads the document again.
		waiting.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := lw.List(ctx, metav1.ListOptions{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v at the end of the context", err)
			}
		})
		waiting.Wait()
	})
}

func TestEndOfTheContextOfASilentListIsItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := slowly(t, slow{header: time.Hour}).List(ctx, metav1.ListOptions{}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
