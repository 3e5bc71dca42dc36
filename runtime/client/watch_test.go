package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const watchA = "GET /api/v1/namespaces/default/configmaps"

// watchOf opens a watch of the kind of prototype whose body is stream.
func watchOf[T object.Object](t testing.TB, ctx context.Context, prototype T, stream io.ReadCloser) client.Stream[T] {
	t.Helper()
	s := newServer()
	s.on(watchA, func(int) answer { return answer{stream: stream} })
	lw, err := client.NewListWatcher(connect(t, s, client.Options{}), prototype, client.Scope{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	events, err := lw.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = events.Close() })
	return events
}

// closer counts the calls of Close.
type closer struct {
	io.Reader
	closed atomic.Int32
}

func (c *closer) Close() error { c.closed.Add(1); return nil }

func text(s string) *closer { return &closer{Reader: strings.NewReader(s)} }

func configMapEvent(eventType, name, version string) string {
	return `{"type":"` + eventType + `","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + name +
		`","resourceVersion":"` + version + `"}}}` + "\n"
}

const (
	bookmark12 = `{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"12"}}}` + "\n"
	initialEnd = `{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"13","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
)

func TestEventsOfEachTypeAreRead(t *testing.T) {
	body := configMapEvent("ADDED", "a", "9") + configMapEvent("MODIFIED", "a", "10") + configMapEvent("DELETED", "a",
		"11") + bookmark12 + initialEnd
	stream := &closer{Reader: iotest.OneByteReader(strings.NewReader(body))}
	events := watchOf(t, t.Context(), configMap(""), stream)
	for i, want := range []client.WatchEvent[*corev1.ConfigMap]{
		{Type: watch.Added, ResourceVersion: "9"},
		{Type: watch.Modified, ResourceVersion: "10"},
		{Type: watch.Deleted, ResourceVersion: "11"},
		{Type: watch.Bookmark, ResourceVersion: "12"},
		{Type: watch.Bookmark, ResourceVersion: "13", InitialEventsEnd: true},
	} {
		got, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if (got.Object == nil) != (want.Type == watch.Bookmark) || got.Object != nil &&
			(got.Object.Name != "a" || got.Object.ResourceVersion != want.ResourceVersion || got.Object.Kind != "ConfigMap") {
			t.Errorf("event %d has the object %v", i, got.Object)
		}
		if got.Object, got.Bytes = nil, 0; got != want {
			t.Errorf("event %d: got %v, want %v", i, got, want)
		}
	}
	for range 2 {
		if _, err := events.Next(); err != io.EOF {
			t.Errorf("got %v", err)
		}
	}
	if stream.closed.Load() == 0 {
		t.Error("the body is open after the end")
	}
}

func TestEventsInEachForm(t *testing.T) {
	const untouched = `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"more":{"big":1152921504606846977}}}`
	plain, err := watchOf(t, t.Context(), untyped("v1", "ConfigMap", "", ""), text(untouched)).Next()
	if more, _, _ := unstructured.NestedInt64(plain.Object.Object, "more", "big"); err != nil || more != 1<<60+1 ||
		plain.Object.GetKind() != "ConfigMap" {
		t.Errorf("got %v, %v", plain.Object, err)
	}
	meta, err := watchOf(t, t.Context(), metadataOf(""), text(`{"type":"ADDED","object":`+metadataOfA+`}`)).Next()
	if err != nil || meta.Object.Name != "a" || meta.Object.Kind != "ConfigMap" {
		t.Errorf("got %v, %v", meta.Object, err)
	}
	mixed, err := watchOf[object.Object](t, t.Context(), configMap(""), text(configMapEvent("ADDED", "a", "1"))).Next()
	if _, ok := mixed.Object.(*corev1.ConfigMap); !ok || err != nil {
		t.Errorf("got %T, %v", mixed.Object, err)
	}
}

func TestErrorEventIsTheErrorOfNext(t *testing.T) {
	expired := `{"type":"ERROR","object":` + status(410, metav1.StatusReasonExpired, "too old resource version: 1 (7)") +
		`}`
	events := watchOf(t, t.Context(), configMap(""), text(configMapEvent("ADDED", "a", "1")+expired+configMapEvent("ADDED",
		"b", "2")))
	if _, err := events.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := events.Next(); !apierrors.IsResourceExpired(err) || !strings.Contains(err.Error(), "too old") {
			t.Errorf("got %v", err)
		}
	}
}

func TestEventThatCannotBeReadIsADecodeErrorThatNamesTheWatch(t *testing.T) {
	for want, event := range map[string]string{
		"it begins with '<'":                  `<html>`,
		"offset":                              `{"type":"ADDED","object":{}` + `,}`,
		"want one object":                     `{"type":"ADDED","object":{},"object":{}}`,
		"it has no object":                    `{"type":"ADDED"}`,
		"unknown event type \"NEW\"":          `{"type":"NEW","object":{}}`,
		"unknown event type \"\"":             `{}`,
		"cannot unmarshal":                    `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","data":7}}`,
		"invalid character":                   `{"type":"ADDED","object":{]}`,
		"/v1, Kind=Secret, not":               `{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1"}}`,
		"kind \"\", not /v1":                  `{"type":"MODIFIED","object":{}}`,
		"Kind=Status, not /v1":                `{"type":"DELETED","object":{"kind":"Status","apiVersion":"v1"}}`,
		"the bookmark has no resourceVersion": `{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1"}}`,
		"unexpected end of JSON":              `{"type":"BOOKMARK"}`,
		"holds no failure Status: \"{}\"":     `{"type":"ERROR","object":{}}`,
	} {
		t.Run(want, func(t *testing.T) {
			stream := text(configMapEvent("ADDED", "a", "1") + event + configMapEvent("ADDED", "b", "2"))
			events := watchOf(t, t.Context(), configMap(""), stream)
			if _, err := events.Next(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got, err := events.Next()
				decode, ok := errors.AsType[*client.DecodeError](err)
				if !ok || decode.What != "event of watch configmaps in default" || !strings.Contains(err.Error(), want) ||
					got.Object != nil || got.Type != "" {
					t.Errorf("got %v, %v", got, err)
				}
			}
			if stream.closed.Load() == 0 {
				t.Error("the body is open after the error")
			}
		})
	}
}

func TestObjectsOfOtherKindsAreNoEventsInAnyForm(t *testing.T) {
	for name, obj := range map[string]string{"status": `{"kind":"Status","apiVersion":"v1"}`, "nothing": `{}`} {
		event := `{"type":"ADDED","object":` + obj + `}`
		for form, next := range map[string]func() error{
			"typed": func() error { _, err := watchOf(t, t.Context(), configMap(""), text(event)).Next(); return err },
			"unstructured": func() error {
				_, err := watchOf(t, t.Context(), untyped("v1", "ConfigMap", "", ""), text(event)).Next()
				return err
			},
			"metadata": func() error { _, err := watchOf(t, t.Context(), metadataOf(""), text(event)).Next(); return err },
		} {
			if _, ok := errors.AsType[*client.DecodeError](next()); !ok {
				t.Errorf("%s as %s: got %v", name, form, next())
			}
		}
	}
}

func TestBrokenConnectionIsNoDecodeError(t *testing.T) {
	half := configMapEvent("ADDED", "b", "2")[:20]
	for name, test := range map[string]struct {
		body io.Reader
		want error
	}{
		"within an event": {strings.NewReader(half), io.ErrUnexpectedEOF},
		"cut within an event": {io.MultiReader(strings.NewReader(half), iotest.ErrReader(io.ErrUnexpectedEOF)),
			io.ErrUnexpectedEOF},
		"cut between events":   {iotest.ErrReader(io.ErrUnexpectedEOF), io.ErrUnexpectedEOF},
		"reset between events": {iotest.ErrReader(syscall.ECONNRESET), syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			body := io.MultiReader(strings.NewReader(configMapEvent("ADDED", "a", "1")), test.body)
			events := watchOf(t, t.Context(), configMap(""), &closer{Reader: body})
			if _, err := events.Next(); err != nil {
				t.Fatal(err)
			}
			_, err := events.Next()
			if _, ok := errors.AsType[*client.DecodeError](err); ok || !errors.Is(err, test.want) ||
				!strings.HasPrefix(err.Error(), "watch configmaps in default: ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestEndOfTheContextEndsTheWatch(t *testing.T) {
	for name, buffered := range map[string]string{"waiting": "", "with events to read": configMapEvent("ADDED", "a",
		"1")} {
		t.Run(name, func(t *testing.T) {
			cause := errors.New("shutting down")
			ctx, cancel := context.WithCancelCause(t.Context())
			read, write := io.Pipe()
			stop := context.AfterFunc(ctx, func() { _ = write.CloseWithError(errors.New("canceled by the transport")) })
			defer stop()
			events := watchOf(t, ctx, configMap(""), read)
			if buffered != "" {
				go func() { _, _ = io.WriteString(write, buffered+buffered) }()
				if _, err := events.Next(); err != nil {
					t.Fatal(err)
				}
			}
			cancel(cause)
			_, err := events.Next()
			if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCloseEndsARead(t *testing.T) {
	read, write := io.Pipe()
	defer write.Close()
	events := watchOf(t, t.Context(), configMap(""), read)
	ended := make(chan error)
	go func() { _, err := events.Next(); ended <- err }()
	for range 2 {
		if err := events.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) ||
		err.Error() != "watch configmaps in default: use of closed network connection" {
		t.Errorf("got %v", err)
	}
	if _, err := events.Next(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestWatchOfAnUnknownListIsAnError(t *testing.T) {
	list := &metav1.PartialObjectMetadataList{} // a list without a kind
	if stream, err := connect(t, newServer(), client.Options{}).Watch(t.Context(), list); err == nil {
		stream.Close()
		t.Error("a watch of a list without a kind began")
	}
}
