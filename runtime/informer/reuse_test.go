package informer_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// relister answers each streaming list with the config maps of the next round, and ends the last watch with 410.
type relister struct {
	mu     sync.Mutex
	rounds []string
	expire chan struct{} // closed to end the watch that is open
}

func (r *relister) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := func(code int, body io.Reader) (*http.Response, error) {
		header := http.Header{"Content-Type": {"application/json"}}
		return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(body), Request: request}, nil
	}
	if len(r.rounds) == 0 || request.URL.Query().Get("sendInitialEvents") == "" {
		return answer(410, strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`))
	}
	round := r.rounds[0]
	r.rounds = r.rounds[1:]
	r.expire = make(chan struct{})
	read, write := io.Pipe()
	go func(expire chan struct{}) {
		_, _ = io.WriteString(write, round)
		select {
		case <-expire:
		case <-request.Context().Done():
		}
		_, _ = io.WriteString(write, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`)
		_ = write.Close()
	}(r.expire)
	return answer(200, read)
}

// round is a streaming list of config maps with these names, of these versions in turn.
func round(version string, objects ...string) string {
	var b strings.Builder
	for i := 0; i < len(objects); i += 2 {
		fmt.Fprintf(&b, `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"n","uid":"u-%s","resourceVersion":%q},"data":{"v":%q}}}`+"\n",
			objects[i], objects[i], objects[i+1], objects[i+1])
	}
	fmt.Fprintf(&b, `{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":%q,"annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", version)
	return b.String()
}

func TestRelistKeepsTheObjectsThatHaveNotChanged(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := &relister{rounds: []string{round("9", "a", "1", "b", "2", "c", "3"), round("19", "a", "1", "b", "12", "d", "4")}}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: "http://server"}, client.Options{Scheme: scheme, Mapper: mapper, HTTPClient: &http.Client{Transport: server}})
	if err != nil {
		t.Fatal(err)
	}
	source, err := client.NewListWatcher(c, &corev1.ConfigMap{}, client.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	inf := informer.New(source, informer.Options[configMap]{Transform: func(o configMap) (configMap, error) {
		o.Data["v"] += "!"
		return o, nil
	}})
	done := make(chan error)
	go func() { done <- inf.Run(ctx) }()
	<-inf.Synced()
	get := func(name string) configMap {
		o, _ := inf.Store().Get(object.Key{Namespace: "n", Name: name})
		return o
	}
	a, b := get("a"), get("b")
	relisted := make(chan struct{})
	inf.AddHandler(func(e informer.Event[configMap]) {
		if e.Object.Name == "d" {
			close(relisted)
		}
	})
	close(server.expire)
	<-relisted
	if get("a") != a || a.Data["v"] != "1!" {
		t.Errorf("the unchanged object is another one, or was transformed twice: %v", get("a"))
	}
	if get("b") == b || get("b").Data["v"] != "12!" || get("c") != nil || get("d").Data["v"] != "4!" {
		t.Errorf("got %v, %v, %v", get("b"), get("c"), get("d"))
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
