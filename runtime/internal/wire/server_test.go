package wire_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// formatServer is a server whose answers are compared between JSON and protobuf.
type formatServer struct {
	*client.REST
	env       *testenv.Env
	namespace string
	answers   *answers
}

// TestFormatsOfARealServer compares the answers of one server between formats.
func TestFormatsOfARealServer(t *testing.T) {
	env := testenv.Start(t, testenv.WithFaults())
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	answers := &answers{}
	config := rest.CopyConfig(env.Config)
	config.Wrap(answers.wrap)
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		rule string
		run  func(*testing.T, formatServer)
	}{
		{"a built-in kind is the same in protobuf as in JSON", testBuiltInKindInEachFormat},
		{"a refusal is understood in each format", testRefusalInEachFormat},
		{"a version that is too old is an error event in each format", testExpiredWatchInEachFormat},
	} {
		t.Run(test.rule, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "wire-"}}
			if err := c.Create(t.Context(), namespace); err != nil {
				t.Fatal(err)
			}
			test.run(t, formatServer{c, env, namespace.Name, answers})
		})
	}
}

// answers records the Content-Type of the last answer.
type answers struct {
	mu   sync.Mutex
	last string
}

func (a *answers) wrap(next http.RoundTripper) http.RoundTripper { return tripper{a, next} }

func (a *answers) format() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	media, _, _ := strings.Cut(a.last, ";")
	return media
}

type tripper struct {
	*answers
	next http.RoundTripper
}

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.last = resp.Header.Get("Content-Type")
	}
	return resp, err
}

// scopes returns the scopes to request in a format: whole objects, objects with managed fields, and parts of objects.
func (s formatServer) scopes(format client.Format, paths ...string) []client.Scope {
	return []client.Scope{
		{Namespace: s.namespace, Formats: []client.Format{format}},
		{Namespace: s.namespace, Formats: []client.Format{format}, KeepManagedFields: true},
		{Namespace: s.namespace, Formats: []client.Format{format}, Mask: paths},
	}
}

func listWatcher[T object.Object](t *testing.T, s formatServer, prototype T,
	scope client.Scope) *client.ListWatcher[T] {
	t.Helper()
	lw, err := client.NewListWatcher(s.REST, prototype, scope)
	if err != nil {
		t.Fatal(err)
	}
	return lw
}

// compareLists checks that lists of prototype in format equal the lists in JSON.
func compareLists[T object.Object](t *testing.T, s formatServer, prototype T, format client.Format, media string,
	paths ...string) {
	t.Helper()
	plain := s.scopes(client.JSON, paths...)
	for i, scope := range s.scopes(format, paths...) {
		if _, ok := any(prototype).(*metav1.PartialObjectMetadata); ok && len(scope.Mask) > 0 {
			continue
		}
		want, err := listWatcher(t, s, prototype, plain[i]).List(t.Context(), metav1.ListOptions{})
		if err != nil || s.answers.format() != string(client.JSON) || len(want.Items) == 0 {
			t.Fatalf("got %v of %s, %v", want, s.answers.format(), err)
		}
		got, err := listWatcher(t, s, prototype, scope).List(t.Context(), metav1.ListOptions{})
		if err != nil || s.answers.format() != media {
			t.Fatalf("%T in %s: got %s, %v", prototype, format, s.answers.format(), err)
		}
		if !reflect.DeepEqual(got.Items, want.Items) {
			t.Errorf("%T, scope %d: got\n%+v\nwant\n%+v", prototype, i, got.Items, want.Items)
		}
		// The server itself may write between the two lists.
		if before, after := version(t, want.ResourceVersion), version(t, got.ResourceVersion); after < before {
			t.Errorf("%T, scope %d: version %d, want at least %d", prototype, i, after, before)
		}
	}
}

func version(t *testing.T, text string) uint64 {
	t.Helper()
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// compareWatches checks that the streaming lists of prototype, and the events after them, are equal in all formats.
func compareWatches[T object.Object](t *testing.T, s formatServer, prototype T, formats map[client.Format]string,
	change func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	opened := map[client.Format]client.Stream[T]{}
	for format, media := range formats {
		lw := listWatcher(t, s, prototype, client.Scope{Namespace: s.namespace, Formats: []client.Format{format}})
		stream, err := lw.Watch(ctx, metav1.ListOptions{SendInitialEvents: new(true),
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
		if err != nil || s.answers.format() != media {
			t.Fatalf("%s: got %s, %v", format, s.answers.format(), err)
		}
		opened[format] = stream
	}
	change()
	read := map[client.Format][]client.WatchEvent[T]{}
	for format, stream := range opened {
		for len(read[format]) == 0 || read[format][len(read[format])-1].Type != watch.Deleted {
			event, err := stream.Next()
			if err != nil {
				t.Fatalf("%s: got %v", format, err)
			}
			if event.Type == watch.Bookmark && !event.InitialEventsEnd {
				continue // the server decides when it sends bookmarks
			}
			read[format] = append(read[format], event)
		}
	}
	want := read[client.JSON]
	for _, expected := range []watch.EventType{watch.Added, watch.Bookmark, watch.Modified, watch.Deleted} {
		if !slices.ContainsFunc(want, func(e client.WatchEvent[T]) bool { return e.Type == expected }) {
			t.Errorf("%T: there was no %s", prototype, expected)
		}
	}
	for format, got := range read {
		for i := range min(len(got), len(want)) {
			if !reflect.DeepEqual(got[i].Object, want[i].Object) || got[i].Type != want[i].Type ||
				got[i].InitialEventsEnd != want[i].InitialEventsEnd {
				t.Errorf("%s: event %d: got\n%+v\nwant\n%+v", format, i, got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: got %d events, want %d", format, len(got), len(want))
		}
	}
}

func testBuiltInKindInEachFormat(t *testing.T, s formatServer) {
	secret := func(i int) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprint("secret-", i),
				Labels: map[string]string{"n": fmt.Sprint(i)}},
			Data:      map[string][]byte{"bytes": {0, 0xff, byte(i)}, "text": []byte("grün"), "empty": {}},
			Immutable: new(i%2 == 0),
		}
	}
	for i := range 20 {
		create(t, s, secret(i))
	}
	compareLists(t, s, &corev1.Secret{}, client.Protobuf, string(client.Protobuf), "metadata.labels", "data")
	media := map[client.Format]string{
		client.JSON: string(client.JSON), client.Protobuf: string(client.Protobuf),
	}
	compareWatches(t, s, &corev1.Secret{}, media, func() { change(t, s, secret(101), &corev1.Secret{}) })
}

// testExpiredWatchInEachFormat watches from a version that the server no longer has.
func testExpiredWatchInEachFormat(t *testing.T, s formatServer) {
	create(t, s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "later"}})
	for _, fault := range []func() error{
		s.env.Compact,
		func() error { return s.env.Kill(testenv.APIServer) },
		func() error { return s.env.Restart(testenv.APIServer) },
	} {
		if err := fault(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for format, media := range map[client.Format]string{
		client.JSON: string(client.JSON), client.Protobuf: string(client.Protobuf),
	} {
		lw := listWatcher(t, s, &corev1.Secret{}, client.Scope{Namespace: s.namespace, Formats: []client.Format{format}})
		stream, err := lw.Watch(ctx, metav1.ListOptions{ResourceVersion: "1"})
		if err != nil || s.answers.format() != media {
			t.Fatalf("%s: got %s, %v", format, s.answers.format(), err)
		}
		if event, err := stream.Next(); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			t.Errorf("%s: got %v, %v", format, event, err)
		}
	}
}

func testRefusalInEachFormat(t *testing.T, s formatServer) {
	for _, format := range []client.Format{client.JSON, client.Protobuf} {
		lw := listWatcher(t, s, &corev1.Secret{}, client.Scope{Namespace: s.namespace, Formats: []client.Format{format}})
		if _, err := lw.List(t.Context(), metav1.ListOptions{Continue: "none"}); !apierrors.IsBadRequest(err) ||
			!strings.Contains(err.Error(), "continue") {
			t.Errorf("%s: got %v of %s", format, err, s.answers.format())
		}
	}
}

func create(t *testing.T, s formatServer, obj object.Object) {
	t.Helper()
	if err := s.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// change creates obj, adds a label and deletes it. It uses empty for reading.
func change(t *testing.T, s formatServer, obj, empty object.Object) {
	t.Helper()
	create(t, s, obj)
	err := s.Get(t.Context(), object.KeyOf(obj), empty)
	if err == nil {
		empty.SetLabels(map[string]string{"changed": "yes"})
		err = s.Update(t.Context(), empty)
	}
	if err == nil {
		err = s.Delete(t.Context(), empty)
	}
	if err != nil {
		t.Fatal(err)
	}
}
