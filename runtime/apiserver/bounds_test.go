package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/runtime/apiserver"
)

// TestNegotiatesAsTheRealServer asks for and sends types of content that there are and that there are not.
func TestNegotiatesAsTheRealServer(t *testing.T) {
	const gadget = `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Gadget","metadata":{"name":"negotiated"}}`
	const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"negotiated"}}`
	var requests []asked
	for collection, body := range map[string]string{"/apis/fidelity.kctrl.dev/v1/gadgets": gadget, "/api/v1/namespaces/default/configmaps": configMap} {
		one := collection + "/negotiated"
		requests = append(requests, asked{method: "POST", path: collection, body: body})
		for _, accept := range []string{
			"application/cbor", "application/cbor-seq", "text/plain", "image/*", "*/*", "application/*;q=0.1", "application/json;q=0", "APPLICATION/JSON", "text/plain , */*",
			"application/json;as=Nothing;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v2;g=meta.k8s.io", "application/json;stream=watch", "application/json,text/plain;q=0.5",
			"application/json;pretty=1", "application/yaml", "application/cbor,application/json",
		} {
			for _, a := range []asked{
				{method: "GET", path: one}, {method: "GET", path: collection + "?fieldSelector=metadata.name%3Dnegotiated&resourceVersion=0"},
				{method: "POST", path: collection, body: body}, {method: "PATCH", path: one, body: "{}", contentType: "application/merge-patch+json"},
				{method: "DELETE", path: one + "none"}, {method: "GET", path: one + "/nothing"},
			} {
				a.accept = accept
				requests = append(requests, a)
			}
		}
		for _, contentType := range []string{
			"application/cbor", "text/plain", "application/json; charset=utf-8", "application/apply-patch+cbor", "garbage;;", "application/json", "application/merge-patch+json",
			"application/merge-patch+json;x=y", "application/strategic-merge-patch+json",
		} {
			for _, a := range []asked{{method: "PATCH", path: one, body: `{"metadata":{"labels":{"a":"b"}}}`}, {method: "POST", path: collection, body: body}, {method: "DELETE", path: one + "none", body: "{}"}} {
				a.contentType = contentType
				requests = append(requests, a)
			}
		}
		requests = append(requests, []asked{
			{method: "PUT", path: collection, body: body}, {method: "PATCH", path: collection, body: "{}", contentType: "application/merge-patch+json"}, {method: "POST", path: one, body: body},
			{method: "POST", path: one + "/status", body: body}, {method: "DELETE", path: one + "/status"}, {method: "GET", path: one + "/status"}, {method: "GET", path: one + "/a/b"},
			{method: "GET", path: collection + "none"}, {method: "POST", path: collection + "none", body: body}, {method: "GET", path: collection + "none/x"}, {method: "OPTIONS", path: one}, {method: "DELETE", path: one},
		}...)
	}
	for _, path := range []string{"/api/v2", "/api/v2/x", "/apis/nobody", "/apis/nobody/v1", "/apis/nobody/v1/x", "/apis/fidelity.kctrl.dev/v7", "/apis/fidelity.kctrl.dev/v7/x", "/api/v1/namespaces/default/finalize"} {
		requests = append(requests, asked{method: "GET", path: path})
	}
	compareRequests(t, requests)
}

// TestBoundsAreTheRealServers sends what is too large, too deep or too much.
func TestBoundsAreTheRealServers(t *testing.T) {
	gadget := func(name, content string) string {
		return fmt.Sprintf(`{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Gadget","metadata":{"name":%q},%s}`, name, content)
	}
	long := func(size int) string { return `"x":"` + strings.Repeat("y", size) + `"` }
	deep := func(depth int) string {
		return `"x":` + strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
	}
	const gadgets, configMaps = "/apis/fidelity.kctrl.dev/v1/gadgets", "/api/v1/namespaces/default/configmaps"
	requests := []asked{
		{method: "POST", path: gadgets, body: gadget("big", long(2_000_000))},
		{method: "POST", path: gadgets, body: gadget("big", long(3_200_000))},
		{method: "POST", path: gadgets, body: gadget("big", long(10_000_000))},
		{method: "POST", path: gadgets, body: gadget("big", long(5))},
		{method: "PATCH", path: gadgets + "/big", contentType: "application/merge-patch+json", body: "{" + long(2_000_000) + "}"},
		{method: "PATCH", path: gadgets + "/big?fieldManager=a", contentType: "application/apply-patch+yaml", body: gadget("big", long(2_000_000))},
		{method: "PUT", path: gadgets + "/big", body: gadget("big", long(2_000_000))},
		{method: "DELETE", path: gadgets + "/big"},
		{method: "POST", path: configMaps, body: `{"metadata":{"name":"big"},"data":{"a":"` + strings.Repeat("x", 1_500_000) + `"}}`},
		{method: "POST", path: configMaps, body: `{"metadata":{"name":"big","annotations":{"a":"` + strings.Repeat("x", 300_000) + `"}}}`},
		{method: "POST", path: configMaps, body: `{"metadata":{"name":"big"},"data":{"a":"` + strings.Repeat("x", 3_200_000) + `"}}`},
		{method: "POST", path: gadgets, body: gadget("deep", deep(10_001))},
		{method: "POST", path: gadgets, body: gadget("deep", deep(20_000))},
		{method: "POST", path: gadgets, contentType: "application/yaml", body: gadget("deep", deep(20_000))},
		{method: "POST", path: configMaps, body: `{"metadata":{"name":"deep"},` + deep(20_000) + `}`},
	}
	compareRequests(t, requests)
}

// compareRequests compares the answers of both servers. Those that both give are the real ones.
func compareRequests(t *testing.T, requests []asked) {
	t.Helper()
	ours, theirs := newPeer(t, "in memory", apiserver.New(apiserver.Options{})), newPeer(t, "real", nil)
	m, n := newMask(), newMask()
	for _, a := range requests {
		if diff := cmp.Diff(theirs.answer(t, n, a), ours.answer(t, m, a)); diff != "" {
			a.body = a.body[:min(len(a.body), 200)]
			t.Errorf("%s\n-real +in memory\n%.3000s", a, diff)
		}
	}
}

// TestManyWatches has 10,000 watches hear of one change.
func TestManyWatches(t *testing.T) {
	server := apiserver.New(apiserver.Options{})
	p := newPeer(t, "in memory", server)
	const count = 10_000
	var watches []*json.Decoder
	for range count {
		response, err := p.client.Get(p.host + "/apis/fidelity.kctrl.dev/v1/gadgets?watch=1")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		watches = append(watches, json.NewDecoder(response.Body))
	}
	if status, body, _ := p.do(t, asked{method: "POST", path: "/apis/fidelity.kctrl.dev/v1/gadgets", body: `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Gadget","metadata":{"name":"a"}}`}); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	for _, w := range watches {
		var event struct {
			Type   string
			Object struct{ Metadata struct{ Name string } }
		}
		if err := w.Decode(&event); err != nil || event.Type != "ADDED" || event.Object.Metadata.Name != "a" {
			t.Fatal(event, err)
		}
	}
}

// TestAWatchThatIsTooSlowEnds has a client that reads nothing while more happens than the history has.
func TestAWatchThatIsTooSlowEnds(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{History: 10}))
	const gadgets = "/apis/fidelity.kctrl.dev/v1/gadgets"
	response, err := p.client.Get(p.host + gadgets + "?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	long := strings.Repeat("x", 200_000)
	for i := range 60 { // more than may wait for the client
		p.do(t, asked{method: "POST", path: gadgets, body: fmt.Sprintf(`{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Gadget","metadata":{"name":"g%d"},"x":%q}`, i, long)})
	}
	last := ""
	for decoder := json.NewDecoder(response.Body); ; {
		var event struct {
			Type   string
			Object struct{ Code int }
		}
		if err := decoder.Decode(&event); err != nil {
			break
		}
		last = fmt.Sprint(event.Type, event.Object.Code)
	}
	if last != "ERROR410" {
		t.Errorf("the watch ended with %q", last)
	}
}
