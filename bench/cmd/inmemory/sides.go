package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	real "github.com/kctrl-dev/kctrl/bench/internal/apiserver"
	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	kctrl "github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// side is an API server or the fake client. Both are called through controller-runtime's client; servers are also
// called without a client.
type side struct {
	name   string
	client client.Client
	kctrl  *kctrl.REST // nil for the fake client, like http
	http   *http.Client
	url    string

	processes []int // of the server, without this one

	count  int    // operations so far
	before string // resource version before the watched changes

	mine    *v1.Widget // the object to update
	updates string     // the client that read mine
}

const (
	listed = "listed" // namespace with many objects
	made   = "made"   // namespace of created and deleted objects
	many   = 1000
)

func pathOf(namespace string) string {
	return "/apis/bench.example.com/v1/namespaces/" + namespace + "/widgets"
}

func newScheme() (*kruntime.Scheme, error) {
	scheme := kruntime.NewScheme()
	return scheme, errors.Join(corev1.AddToScheme(scheme), v1.AddToScheme(scheme))
}

// newSides starts the servers; stop ends them.
func newSides(ctx context.Context, command string) (sides []*side, stop func(), err error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, nil, err
	}
	memory := apiserver.New(apiserver.Options{})
	started, err := real.Start(command, "")
	if err != nil {
		memory.Close()
		return nil, nil, err
	}
	stop = func() { memory.Close(); _ = started.Stop() }
	config, err := started.Config()
	if err != nil {
		stop()
		return nil, nil, err
	}
	for name, config := range map[string]*rest.Config{"in memory": memory.Config(), "real": config} {
		s, err := newServer(ctx, name, config, scheme)
		if err != nil {
			stop()
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if name == "real" {
			s.processes = started.PIDs
		}
		sides = append(sides, s)
	}
	sides = append(sides, &side{name: "fake", client: fake.NewClientBuilder().WithScheme(scheme).Build()})
	for _, s := range sides {
		if err := s.fill(ctx); err != nil {
			stop()
			return nil, nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return sides, stop, nil
}

// newServer connects to a server and creates the CRD.
func newServer(ctx context.Context, name string, config *rest.Config, scheme *kruntime.Scheme) (*side, error) {
	config.QPS = -1
	s := &side{name: name, url: config.Host}
	var err error
	if s.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, err
	}
	crd, err := yaml.YAMLToJSON([]byte(widgets.CRD))
	if err != nil {
		return nil, err
	}
	if err := s.send(ctx, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json",
		string(crd)); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(time.Minute); ; {
		err := s.send(ctx, http.MethodGet, "/apis/bench.example.com/v1/widgets", "", "")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return nil, err
		}
	}
	if s.kctrl, err = kctrl.New(config, kctrl.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	s.client, err = client.New(config, client.Options{Scheme: scheme, HTTPClient: s.http})
	return s, err
}

// widget returns object i without server-set fields.
func widget(namespace string, i int) *v1.Widget {
	w := widgets.New(i)
	w.Namespace, w.ManagedFields = namespace, nil
	return w
}

// fill creates the objects to read.
func (s *side) fill(ctx context.Context) error {
	for _, name := range []string{listed, made} {
		if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	for deadline := time.Now().Add(time.Minute); ; { // a real server rejects the first objects for a moment
		err := s.client.Create(ctx, widget(listed, 0))
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return err
		}
	}
	for i := 1; i < many; i++ {
		if err := s.client.Create(ctx, widget(listed, i)); err != nil {
			return err
		}
	}
	return nil
}

// send sends a request and discards the answer.
func (s *side) send(ctx context.Context, method, path, contentType, body string) error {
	response, err := s.open(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func (s *side) open(ctx context.Context, method, path, contentType, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := s.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("%s %s: %d: %s", method, path, response.StatusCode, text)
	}
	return response, nil
}

// watch reads count events after a resource version.
func (s *side) watch(ctx context.Context, version string, count int) error {
	response, err := s.open(ctx, http.MethodGet, pathOf(listed)+"?watch=1&resourceVersion="+version, "", "")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for range count {
		if !lines.Scan() {
			return fmt.Errorf("the watch ended: %w", cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
		}
	}
	return nil
}
