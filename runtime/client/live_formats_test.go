package client_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// negotiation notes what was accepted and what was answered last.
type negotiation struct {
	next             http.RoundTripper
	accept, answered string
}

func (n *negotiation) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := n.next.RoundTrip(r)
	if err == nil {
		n.accept, n.answered = r.Header.Get("Accept"), resp.Header.Get("Content-Type")
	}
	return resp, err
}

// testFormatThatIsNotServed asks a server for CBOR that has none of it.
func testFormatThatIsNotServed(t *testing.T, c live) {
	c.create(t, "a", "b")
	var last *negotiation
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		last = &negotiation{next: next}
		return last
	})
	asking, err := client.New(config, client.Options{Scheme: newScheme(t)})
	ok(t, err)
	lw, err := client.NewListWatcher(asking, configMap(""), client.Scope{Namespace: c.namespace, Formats: []client.Format{client.CBOR}})
	ok(t, err)
	inJSON := func(what string, err error) {
		t.Helper()
		if err != nil || !strings.HasPrefix(last.accept, string(client.CBOR)+",") || last.answered != string(client.JSON) {
			t.Fatalf("%s: asked for %s, got %s, %v", what, last.accept, last.answered, err)
		}
	}
	page, err := lw.List(t.Context(), metav1.ListOptions{})
	inJSON("list", err)
	if len(page.Items) != 2 {
		t.Errorf("got %d objects", len(page.Items))
	}
	timeout := int64(time.Minute / time.Second)
	stream, err := lw.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0", TimeoutSeconds: &timeout})
	inJSON("watch", err)
	defer stream.Close()
	if event, err := stream.Next(); err != nil || event.Object.Namespace != c.namespace {
		t.Errorf("got %v, %v", event, err)
	}
}
