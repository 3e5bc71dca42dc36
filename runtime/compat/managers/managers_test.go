package managers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/compat/managers"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/manager"
)

func TestAManagerAnswersByItself(t *testing.T) {
	m, err := manager.New(&rest.Config{Host: "http://localhost"}, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if managers.APIReader(m) != client.Reader(m.Live()) || managers.HTTPClient(m) != m.HTTPClient() ||
		managers.FieldIndexer(m) != cache.FieldIndexer(m.Cache()) || managers.Elected(m) != m.Elected() {
		t.Error("the manager answers otherwise than its methods")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := managers.Run(ended, m); err != nil {
		t.Error(err)
	}
}

// partial has what a setup function asks for, and nothing else.
type partial struct {
	controller.Manager // nil

	client client.Client
}

func (p partial) Client() client.Client                 { return p.client }
func (p partial) Cache() *cache.Cache                   { return nil }
func (p partial) EventRecorder(string) *events.Recorder { return nil }

// whole answers all.
type whole struct {
	partial

	reader  client.Reader
	http    *http.Client
	indexer cache.FieldIndexer
	elected chan struct{}
	core    *events.Recorder
}

var errRan = errors.New("ran")

func (w whole) APIReader() client.Reader                 { return w.reader }
func (w whole) HTTPClient() *http.Client                 { return w.http }
func (w whole) FieldIndexer() cache.FieldIndexer         { return w.indexer }
func (w whole) Elected() <-chan struct{}                 { return w.elected }
func (w whole) EventRecorderFor(string) *events.Recorder { return w.core }
func (w whole) Run(context.Context) error                { return errRan }

func TestADoubleAnswersByItsMethods(t *testing.T) {
	live, err := client.New(&rest.Config{Host: "http://localhost"}, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	p := partial{client: client.NewClient(live, live)}
	if managers.APIReader(p) != client.Reader(p.client) || managers.HTTPClient(p) != nil || managers.Elected(p) != nil ||
		managers.FieldIndexer(p) != cache.FieldIndexer(p.Cache()) || managers.EventRecorderFor(p, "a") != nil || managers.Run(t.Context(), p) == nil {
		t.Error("a double with few methods answers otherwise than by these")
	}
	w := whole{p, live, &http.Client{}, &cache.Cache{}, make(chan struct{}), &events.Recorder{}}
	if managers.APIReader(w) != w.reader || managers.HTTPClient(w) != w.http || managers.FieldIndexer(w) != w.indexer ||
		managers.Elected(w) != (<-chan struct{})(w.elected) || managers.EventRecorderFor(w, "a") != w.core || !errors.Is(managers.Run(t.Context(), w), errRan) {
		t.Error("a double answers otherwise than by its methods")
	}
}

// apiServer creates events, and says of what form they are.
type apiServer chan string

func (s apiServer) RoundTrip(req *http.Request) (*http.Response, error) {
	body := any(metav1.APIResourceList{APIResources: []metav1.APIResource{{Kind: "Event", Name: "events", Namespaced: true}}})
	if strings.HasSuffix(req.URL.Path, "/events") {
		var event struct {
			metav1.TypeMeta
			Reason string
		}
		if err := json.NewDecoder(req.Body).Decode(&event); err != nil {
			return nil, err
		}
		s <- event.APIVersion + " " + event.Reason
		body = event
	}
	text, err := json.Marshal(body)
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewReader(text))}, err
}

func TestRecordersForOldRolesWriteTheOldForm(t *testing.T) {
	server := make(apiServer, 1)
	m, err := manager.New(&rest.Config{Host: "http://apiserver", Transport: server}, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	recorder := managers.EventRecorderFor(m, "guestbook")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	recorder.Eventf(&metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Guestbook"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"},
	}, nil, events.Normal, "Old", "Test", "")
	if got := <-server; got != "v1 Old" {
		t.Errorf("got %q", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
