package managers_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

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
		managers.FieldIndexer(m) != cache.FieldIndexer(m.Cache()) || managers.Elected(m) != m.Elected() ||
		managers.EventRecorderFor(m, "a") == nil {
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
