package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// TestSameSeedSameBytes sends the same requests to two servers with the same seed, each in a bubble with the same
// clock. The answers must be identical.
func TestSameSeedSameBytes(t *testing.T) {
	run := func(seed, sequence uint64, collects bool) (all []byte) {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(t, "in memory", apiserver.New(apiserver.Options{Seed: seed}))
			m := newMask()
			for _, a := range requestsOf(sequence, "") {
				a.path, a.body = m.fill(a.path), m.fill(a.body)
				if collects { // makes the server drop its parsed documents
					runtime.GC()
				}
				status, body, header := p.do(t, a)
				all = fmt.Appendf(all, "%d %v\n%s\n", status, header, body)
				m.masked(body)
				time.Sleep(time.Second)
			}
		})
		return all
	}
	for sequence := range uint64(3) {
		one, again := sortCauseBytes(run(1, sequence, false)), sortCauseBytes(run(1, sequence, true))
		if !bytes.Equal(one, again) {
			t.Errorf("sequence %d: one seed gave two answers: %s", sequence, cmp.Diff(strings.Split(string(one), "\n"),
				strings.Split(string(again), "\n")))
		}
		if bytes.Equal(one, run(2, sequence, false)) {
			t.Error("two seeds gave the same UIDs")
		}
	}
}

// sortCauseBytes drops the lines of answers about invalid objects and conflicts, because upstream writes their parts in
// map order.
func sortCauseBytes(all []byte) []byte {
	lines := bytes.Split(all, []byte("\n"))
	for i, line := range lines {
		if bytes.Contains(line, []byte(`"reason":"Invalid"`)) || bytes.Contains(line, []byte("typed patch object")) ||
			bytes.Contains(line, []byte("FieldManagerConflict")) {
			lines[i] = nil
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// TestWatchLastsInABubble watches for hours of virtual time, across bookmarks, until the server ends.
func TestWatchLastsInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(apiserver.Options{})
		client := &http.Client{Transport: server.Config().Transport}
		response,
			err := client.Get("http://server/api/v1/namespaces?watch=1&allowWatchBookmarks=true&timeoutSeconds=7200&resourceVersion=5&fieldSelector=metadata.name%3Dlate")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + time.Second)
		body := strings.NewReader(`{"metadata":{"name":"late"}}`)
		created, err := client.Post("http://server/api/v1/namespaces", "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		created.Body.Close()
		start := time.Now()
		var bookmarks, added int
		for decoder := json.NewDecoder(response.Body); ; {
			var event struct{ Type string }
			if err := decoder.Decode(&event); err != nil {
				break
			}
			switch event.Type {
			case "BOOKMARK":
				bookmarks++
			case "ADDED":
				added++
			}
		}
		if lasted := time.Since(start); bookmarks < 100 || added != 1 || lasted < 50*time.Minute {
			t.Errorf("got %d bookmarks and %d objects in %v", bookmarks, added, lasted)
		}
		response.Body.Close()
		server.Close()
		server.Close()
		if _, err := client.Get("http://server/api/v1/namespaces"); err == nil ||
			!strings.Contains(err.Error(), "the API server is closed") {
			t.Errorf("got %v", err)
		}
	})
}

// TestErrorsTakeNoVirtualTime checks that errors in a bubble do not depend on the real clock.
func TestErrorsTakeNoVirtualTime(t *testing.T) {
	fail := func() {
		server := apiserver.New(apiserver.Options{})
		defer server.Close()
		client := &http.Client{Transport: server.Config().Transport}
		for range 3 {
			request := httptest.NewRequest("PATCH", "http://server/api/v1/namespaces/default/configmaps/a?fieldManager=x",
				strings.NewReader(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":{}}}`))
			request.RequestURI = ""
			request.Header.Set("Content-Type", "application/apply-patch+yaml")
			response, err := client.Do(request)
			if err != nil || response.StatusCode != http.StatusInternalServerError {
				t.Fatal(response, err)
			}
		}
	}
	fail()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		fail()
		if took := time.Since(start); took != 0 {
			t.Errorf("errors took %v", took)
		}
	})
}

// TestSlowWatchLosesItsPlace checks that the server buffers nothing for a watcher that does not read, and that it sends
// the watcher an error.
func TestSlowWatchLosesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(apiserver.Options{History: 8})
		defer server.Close()
		client := &http.Client{Transport: server.Config().Transport}
		response, err := client.Get("http://server/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=60")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		large := strings.Repeat("x", 400_000)
		for i := range 40 {
			created, err := client.Post("http://server/api/v1/namespaces/default/configmaps", "application/json",
				strings.NewReader(fmt.Sprintf(`{"metadata":{"name":"c%d"},"data":{"k":%q}}`, i, large)))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, created.Body); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		data, err := io.ReadAll(response.Body)
		if err != nil || !bytes.Contains(data, []byte(`"too old resource version: `)) || len(data) > 20*len(large) {
			t.Errorf("got %d bytes that end in %s, %v", len(data), data[max(0, len(data)-300):], err)
		}
	})
}

// TestResponsesAreCompleteForAnyReadSize reads responses in chunks of random sizes.
func TestResponsesAreCompleteForAnyReadSize(t *testing.T) {
	server := apiserver.New(apiserver.Options{})
	defer server.Close()
	client := &http.Client{Transport: server.Config().Transport}
	var names []string
	for i := range 300 {
		name := fmt.Sprintf("c%03d", i)
		names = append(names, name)
		created, err := client.Post("http://server/api/v1/namespaces/default/configmaps", "application/json",
			strings.NewReader(fmt.Sprintf(`{"metadata":{"name":%q},"data":{"k":%q}}`, name, strings.Repeat("y", 8000))))
		if err != nil {
			t.Fatal(err)
		}
		created.Body.Close()
	}
	for range 10 {
		response, err := client.Get("http://server/api/v1/namespaces/default/configmaps")
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for {
			chunk := make([]byte, 1+rand.IntN(100_000))
			n, err := response.Body.Read(chunk)
			all = append(all, chunk[:n]...)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var list struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		if err := json.Unmarshal(all, &list); err != nil {
			t.Fatal(err)
		}
		for i, item := range list.Items {
			if item.Metadata.Name != names[i] {
				t.Fatalf("got %s at %d", item.Metadata.Name, i)
			}
		}
	}
}

// TestDefinitionIsDeletedWithItsLastObject deletes a CRD while finalizers keep its objects.
func TestDefinitionIsDeletedWithItsLastObject(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const gadgets, crd = "/apis/fidelity.kctrl.dev/v1/gadgets",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.fidelity.kctrl.dev"
	expect := func(want int, a asked, part string) {
		t.Helper()
		if status, body, _ := p.do(t, a); status != want || !strings.Contains(string(body), part) {
			t.Fatalf("%s: %d %s, want %d and %s", a, status, body, want, part)
		}
	}
	gadget := func(name, metadata string) string {
		return `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Gadget","metadata":{"name":"` + name + `"` + metadata + `}}`
	}
	expect(201, asked{method: "POST", path: gadgets, body: gadget("free", "")}, "")
	expect(201, asked{method: "POST", path: gadgets, body: gadget("kept", `,"finalizers":["fidelity.kctrl.dev/hold"]`)},
		"")
	expect(200, asked{method: "DELETE", path: crd}, "InstanceDeletionPending")
	expect(200, asked{method: "GET", path: crd}, "InstanceDeletionInProgress")
	expect(404, asked{method: "GET", path: gadgets + "/free"}, "")
	expect(403, asked{method: "POST", path: gadgets, body: gadget("late", "")},
		"create not allowed while custom resource definition is terminating")
	expect(200, asked{method: "PATCH", path: gadgets + "/kept", contentType: "application/merge-patch+json",
		body: `{"metadata":{"finalizers":null}}`}, "")
	expect(404, asked{method: "GET", path: crd}, "")
	expect(404, asked{method: "GET", path: gadgets}, "")
}

// TestWatchesEndWithTheirDefinition creates and deletes CRDs while clients watch their objects. A watch must receive
// all objects, and must end when its CRD is deleted but not before.
func TestWatchesEndWithTheirDefinition(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const crds, gadgets = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/late.kctrl.dev/v1/lates"
	const crd = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"lates.late.kctrl.dev"},"spec":{"group":"late.kctrl.dev","scope":"Cluster","names":{"kind":"Late","plural":"lates"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for ctx.Err() == nil {
				if response, err := p.client.Get(p.host + gadgets); err == nil {
					response.Body.Close()
				}
			}
		})
	}
	defer asking.Wait()
	defer cancel()
	for range 40 {
		if status, body, _ := p.do(t, asked{method: "POST", path: crds, body: crd}); status != http.StatusCreated {
			t.Fatalf("%d %s", status, body)
		}
		var watches []*http.Response
		for _, accept := range []string{"application/json", asPartial} { // in the stored form and in upstream's
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.host+gadgets+"?watch=1", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept", accept)
			response, err := p.client.Do(request)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatal(response, err)
			}
			watches = append(watches, response)
		}
		if status, body, _ := p.do(t, asked{method: "POST", path: gadgets,
			body: `{"apiVersion":"late.kctrl.dev/v1","kind":"Late","metadata":{"name":"a"}}`}); status != http.StatusCreated {
			t.Fatalf("%d %s", status, body)
		}
		if status, body, _ := p.do(t, asked{method: "DELETE",
			path: crds + "/lates.late.kctrl.dev"}); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		for _, watch := range watches {
			var types []string
			for decoder := json.NewDecoder(watch.Body); ; {
				var event struct{ Type string }
				if err := decoder.Decode(&event); err != nil {
					break
				}
				types = append(types, event.Type)
			}
			watch.Body.Close()
			if strings.Join(types, " ") != "ADDED DELETED" {
				t.Fatalf("a watch sent %q", types)
			}
		}
	}
}

// certificate returns a server's CA bundle as a JSON string.
func certificate(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// TestWebhooksConvert checks conversions on writes and on reads, of single objects and of lists, and the errors for
// invalid answers of a webhook.
func TestWebhooksConvert(t *testing.T) {
	answer := func(object map[string]any) {
		spec, _ := object["spec"].(map[string]any)
		if object["apiVersion"] == "hooks.kctrl.dev/v1" {
			object["apiVersion"], object["spec"] = "hooks.kctrl.dev/v2", map[string]any{"second": spec["first"]}
		} else {
			object["apiVersion"], object["spec"] = "hooks.kctrl.dev/v1", map[string]any{"first": spec["second"]}
		}
	}
	mangle := func(map[string]any) {}
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			APIVersion, Kind string
			Request          struct {
				UID     string
				Objects []map[string]any
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		for _, object := range review.Request.Objects {
			answer(object)
			mangle(object)
		}
		fmt.Fprint(w, marshal(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{
			"uid": review.Request.UID, "result": map[string]any{"status": "Success"}, "convertedObjects": review.Request.Objects,
		}}))
	}))
	defer hook.Close()
	server := apiserver.New(apiserver.Options{})
	p := newPeer(t, "in memory", server)
	schema := func(field string) map[string]any {
		return map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
			"properties": map[string]any{"spec": map[string]any{"type": "object",
				"properties": map[string]any{field: map[string]any{"type": "string"}}}}}}
	}
	crd := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "hooks.hooks.kctrl.dev"},
		"spec": map[string]any{
			"group": "hooks.kctrl.dev", "scope": "Cluster", "names": map[string]any{"kind": "Hook", "plural": "hooks"},
			"conversion": map[string]any{"strategy": "Webhook",
				"webhook": map[string]any{"conversionReviewVersions": []string{"v1"},
					"clientConfig": map[string]any{"url": hook.URL, "caBundle": certificate(hook)}}},
			"versions": []any{
				map[string]any{"name": "v1", "served": true, "storage": true, "schema": schema("first")},
				map[string]any{"name": "v2", "served": true, "storage": false, "schema": schema("second")},
			},
		},
	}
	expect := func(want int, a asked, parts ...string) {
		t.Helper()
		status, body, _ := p.do(t, a)
		if status != want {
			t.Fatalf("%s: %d %s", a, status, body)
		}
		for _, part := range parts {
			if !strings.Contains(string(body), part) {
				t.Errorf("%s: got %s, want %s in it", a, body, part)
			}
		}
	}
	expect(201, asked{method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body: marshal(crd)})
	expect(201, asked{method: "POST", path: "/apis/hooks.kctrl.dev/v2/hooks",
		body: `{"apiVersion":"hooks.kctrl.dev/v2","kind":"Hook","metadata":{"name":"a"},"spec":{"second":"x"}}`},
		`"second":"x"`)
	expect(200, asked{method: "GET", path: "/apis/hooks.kctrl.dev/v1/hooks/a"}, `"first":"x"`,
		`"apiVersion":"hooks.kctrl.dev/v1"`)
	expect(200, asked{method: "GET", path: "/apis/hooks.kctrl.dev/v2/hooks"}, `"second":"x"`)
	expect(200, asked{method: "PATCH", path: "/apis/hooks.kctrl.dev/v2/hooks/a",
		contentType: "application/merge-patch+json", body: `{"spec":{"second":"y"}}`}, `"second":"y"`)
	expect(200, asked{method: "GET", path: "/apis/hooks.kctrl.dev/v1/hooks"}, `"first":"y"`)
	for _, wrong := range []struct {
		change func(object map[string]any)
		want   string
	}{
		{func(object map[string]any) { object["apiVersion"] = "hooks.kctrl.dev/v3" },
			"returned invalid object at index 0: invalid groupVersion (expected hooks.kctrl.dev/v2, received hooks.kctrl.dev/v3)"},
		{func(object map[string]any) { object["metadata"].(map[string]any)["name"] = "b" },
			"returned invalid object: must have the same name: a != b"},
		{func(object map[string]any) {
			object["metadata"].(map[string]any)["labels"] = map[string]any{"a": 1}
		}, "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"},
	} {
		mangle = wrong.change
		expect(500, asked{method: "GET", path: "/apis/hooks.kctrl.dev/v2/hooks/a"},
			"conversion webhook for hooks.kctrl.dev/v1, Kind=Hook "+wrong.want)
	}

	// A request ends when its context or the server ends, even while it waits for a webhook. Reads that need no webhook do
	// not wait.
	begun, answered := make(chan struct{}, 2), make(chan struct{})
	mangle = func(map[string]any) {
		begun <- struct{}{}
		<-answered
	}
	defer close(answered)
	ask := func(ctx context.Context) chan error {
		failed := make(chan error, 1)
		go func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.host+"/apis/hooks.kctrl.dev/v2/hooks/a", nil)
			if err == nil {
				var response *http.Response
				if response, err = p.client.Do(request); err == nil {
					err = fmt.Errorf("answered %d", response.StatusCode)
					response.Body.Close()
				}
			}
			failed <- err
		}()
		<-begun
		return failed
	}
	ctx, cancel := context.WithCancel(t.Context())
	given := ask(ctx)
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was given up: %v", err)
	}
	waiting := ask(t.Context())
	expect(200, asked{method: "GET", path: "/apis/hooks.kctrl.dev/v1/hooks/a"}, `"first":"y"`)
	server.Close()
	<-waiting
}

// TestEndlessBodyEndsWithItsRequest checks that neither a request nor the server's Close waits for data that a client
// does not send.
func TestEndlessBodyEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(apiserver.Options{})
		client := &http.Client{Transport: server.Config().Transport}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			body, ends := io.Pipe()
			request, err := http.NewRequestWithContext(ctx, method, "http://server/api/v1/namespaces/default", body)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/merge-patch+json")
			if method == http.MethodPost {
				request.URL.Path = "/api/v1/namespaces"
			}
			if response, err := client.Do(request); err == nil {
				response.Body.Close()
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", method, err)
			}
			synctest.Wait()
			if _, err := ends.Write([]byte("{")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%s: the server still reads the body: %v", method, err)
			}
			cancel()
		}
		server.Close()
	})
}

// TestNamespaceStaysUntilItIsFinalized checks that a write of the status does not end the namespace earlier.
func TestNamespaceStaysUntilItIsFinalized(t *testing.T) {
	server := apiserver.New(apiserver.Options{})
	defer server.Close()
	for _, step := range []struct {
		method, path, contentType, body string
		want                            int
	}{
		{"POST", "", "application/json", `{"metadata":{"name":"going"}}`, http.StatusCreated},
		{"DELETE", "/going", "application/json", "", http.StatusOK},
		{"PATCH", "/going/status", "application/merge-patch+json",
			`{"status":{"conditions":[{"type":"NamespaceContentRemaining","status":"True"}]}}`, http.StatusOK},
		{"PATCH", "/going", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`, http.StatusOK},
		{"GET", "/going", "", "", http.StatusOK},
		{"PUT", "/going/finalize", "application/json",
			`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"going"},"spec":{}}`, http.StatusOK},
		{"GET", "/going", "", "", http.StatusNotFound},
	} {
		request := httptest.NewRequest(step.method, "/api/v1/namespaces"+step.path, strings.NewReader(step.body))
		request.Header.Set("Content-Type", step.contentType)
		answer := httptest.NewRecorder()
		if server.ServeHTTP(answer, request); answer.Code != step.want {
			t.Errorf("%s %s: got %d %s", step.method, step.path, answer.Code, answer.Body)
		}
	}
}

// TestReviewsCanOnlyBeCreated checks that reviews support only creation. An operator that lists all kinds of its scheme
// must receive a Status for them.
func TestReviewsCanOnlyBeCreated(t *testing.T) {
	server := apiserver.New(apiserver.Options{})
	defer server.Close()
	for _, want := range []struct {
		path string
		code int
	}{
		{"/apis/authentication.k8s.io/v1/tokenreviews", http.StatusMethodNotAllowed},
		{"/apis/authentication.k8s.io/v1/tokenreviews?watch=1", http.StatusMethodNotAllowed},
		{"/apis/authentication.k8s.io/v1/tokenreviews/a", http.StatusNotFound},
		{"/apis/authentication.k8s.io/v1/selfsubjectreviews", http.StatusMethodNotAllowed},
		{"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", http.StatusMethodNotAllowed},
		{"/apis/authorization.k8s.io/v1/namespaces/default/selfsubjectaccessreviews", http.StatusNotFound},
		{"/apis/authorization.k8s.io/v1/subjectaccessreviews", http.StatusMethodNotAllowed},
		{"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", http.StatusMethodNotAllowed},
		{"/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews", http.StatusMethodNotAllowed},
		{"/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews/a", http.StatusNotFound},
		{"/apis/authorization.k8s.io/v1/localsubjectaccessreviews", http.StatusNotFound},
	} {
		for _, method := range []string{"GET", "DELETE", "PUT", "PATCH"} {
			request := httptest.NewRequest(method, want.path, strings.NewReader("{}"))
			request.Header.Set("Content-Type", "application/merge-patch+json")
			answer := httptest.NewRecorder()
			if server.ServeHTTP(answer, request); answer.Code != want.code ||
				!strings.Contains(answer.Body.String(), `"kind":"Status"`) {
				t.Errorf("%s %s: got %d %s, want %d", method, want.path, answer.Code, answer.Body, want.code)
			}
		}
	}
}

// TestNodePortsOfAServiceDiffer adds a port before a port that keeps its node port.
func TestNodePortsOfAServiceDiffer(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const services = "/api/v1/namespaces/default/services"
	if status, body, _ := p.do(t, asked{method: "POST", path: services,
		body: `{"metadata":{"name":"a"},"spec":{"type":"NodePort","ports":[{"name":"b","port":2}]}}`}); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	status, body, _ := p.do(t, asked{method: "PUT", path: services + "/a",
		body: `{"metadata":{"name":"a"},"spec":{"type":"NodePort","ports":[{"name":"a","port":1},{"name":"b","port":2}]}}`})
	var updated struct {
		Spec struct{ Ports []struct{ NodePort int } }
	}
	if err := json.Unmarshal(body, &updated); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if ports := updated.Spec.Ports; len(ports) != 2 || ports[0].NodePort == 0 || ports[0].NodePort == ports[1].NodePort {
		t.Errorf("got %v", ports)
	}
}

// TestDefaultsOfReadsAreWritten writes back the status of a Job whose labels come only from the defaults of reads.
func TestDefaultsOfReadsAreWritten(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	path := "/apis/batch/v1/namespaces/default/jobs"
	p.do(t,
		asked{method: "POST", path: path,
			body: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"b"}]}}}}`})
	write := func(method, contentType, body string) string {
		_, answer, _ := p.do(t, asked{method: method, path: path + "/a/status", contentType: contentType, body: body})
		var job struct {
			Metadata struct{ ResourceVersion string }
		}
		if err := json.Unmarshal(answer, &job); err != nil || job.Metadata.ResourceVersion == "" {
			t.Fatalf("%v: %s", err, answer)
		}
		return job.Metadata.ResourceVersion
	}
	body := `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"status":{"active":1}}`
	if one, two := write("PUT", "", body), write("PUT", "", body); one == two {
		t.Error("a status without labels was not written again")
	}
	patch := `{"status":{"active":1}}`
	if one, two := write("PATCH", "application/merge-patch+json", patch), write("PATCH", "application/merge-patch+json",
		patch); one != two {
		t.Error("a status with the labels that a reader finds was written again")
	}
}

// TestInvalidVersionsOfCreations creates objects with invalid resource versions. An apply parses the version, but a
// creation does not.
func TestInvalidVersionsOfCreations(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const configMaps = "/api/v1/namespaces/default/configmaps"
	for version, want := range map[string]int{"0": http.StatusCreated, "abc": http.StatusCreated, "-1": http.StatusCreated,
		"1": http.StatusInternalServerError} {
		body := fmt.Sprintf(`{"metadata":{"name":"a%s","resourceVersion":%q}}`, version, version)
		if status, answer, _ := p.do(t, asked{method: "POST", path: configMaps, body: body}); status != want {
			t.Errorf("a creation with version %q: %d %s", version, status, answer)
		}
	}
	apply := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","resourceVersion":"abc"}}`
	status, answer, _ := p.do(t, asked{method: "PATCH", path: configMaps + "/b?fieldManager=a",
		contentType: "application/apply-patch+yaml", body: apply})
	if status != http.StatusInternalServerError || !bytes.Contains(answer,
		[]byte(`strconv.ParseUint: parsing \"abc\": invalid syntax`)) {
		t.Errorf("an apply: %d %s", status, answer)
	}
}

// TestColumnsOfDefinitions requests a CRD as a table, as kubectl get does.
func TestColumnsOfDefinitions(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	version := func(name string, stored bool) string {
		return fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object"}}}`, name,
			stored)
	}
	body := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.b.c"},
		"spec":{"group":"b.c","scope":"Cluster","names":{"plural":"as","kind":"A","shortNames":["x","y"]},"versions":[%s,%s]}}`, version("v2", true), version("v1", false))
	if status, answer, _ := p.do(t, asked{method: "POST", path: definitions, body: body}); status != http.StatusCreated {
		t.Fatalf("%d %s", status, answer)
	}
	_, answer, _ := p.do(t, asked{method: "GET", path: definitions + "/as.b.c",
		accept: "application/json;as=Table;v=v1;g=meta.k8s.io"})
	var table struct {
		ColumnDefinitions []struct {
			Name     string
			Priority int
		}
		Rows []struct{ Cells []any }
	}
	if err := json.Unmarshal(answer, &table); err != nil || len(table.Rows) != 1 || len(table.Rows[0].Cells) != 8 {
		t.Fatalf("%v: %s", err, answer)
	}
	var names []string
	for _, c := range table.ColumnDefinitions {
		names = append(names, fmt.Sprint(c.Name, c.Priority))
	}
	if want := []string{"Name0", "Scope0", "Versions0", "Created At0", "Group1", "Kind1", "ShortNames1",
		"Established1"}; !cmp.Equal(names, want) {
		t.Errorf("columns are %v, want %v", names, want)
	}
	cells := table.Rows[0].Cells
	cells[3] = "" // the creation time
	if want := []any{"as.b.c", "Cluster", "v1,v2(storage)", "", "b.c", "A", "x,y", true}; !cmp.Equal(cells, want) {
		t.Errorf("cells are %v, want %v", cells, want)
	}
}

// TestStatusOfADefinitionChangesItsLabelsToo checks that a write of a CRD's status also changes its labels, as in
// kube-apiserver, which protects the metadata of other kinds: https://github.com/kubernetes/kubernetes/issues/137681.
func TestStatusOfADefinitionChangesItsLabelsToo(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	body := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
		"metadata":{"name":"as.b.c","labels":{"a":"before"}},
		"spec":{"group":"b.c","scope":"Cluster","names":{"plural":"as","kind":"A"},"versions":[
			{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	create := asked{method: "POST", path: definitions, body: body}
	if status, answer, _ := p.do(t, create); status != http.StatusCreated {
		t.Fatalf("%d %s", status, answer)
	}
	status, answer, _ := p.do(t, asked{
		method: "PATCH", path: definitions + "/as.b.c/status", contentType: "application/merge-patch+json",
		body: `{"metadata":{"labels":{"a":"after"},"finalizers":["b.c/x"]},"spec":{"scope":"Namespaced"}}`,
	})
	var got struct {
		Metadata metav1.ObjectMeta
		Spec     struct{ Scope string }
	}
	if err := json.Unmarshal(answer, &got); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	if got.Metadata.Labels["a"] != "after" || !slices.Equal(got.Metadata.Finalizers, []string{"b.c/x"}) ||
		got.Spec.Scope != "Cluster" {
		t.Errorf("got %s", answer)
	}
}

// TestDuplicateServiceKeepsTheAddress creates a service twice. The first service keeps the requested address.
func TestDuplicateServiceKeepsTheAddress(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	for _, spec := range []string{`{"clusterIP":"10.0.0.77","ports":[{"port":1}]}`,
		`{"type":"NodePort","ports":[{"port":1,"nodePort":30100}]}`, `{"ports":[{"port":1}]}`} {
		create := asked{method: "POST", path: "/api/v1/namespaces/default/services",
			body: fmt.Sprintf(`{"metadata":{"name":"a"},"spec":%s}`, spec)}
		if status, answer, _ := p.do(t, create); status != http.StatusCreated {
			t.Fatalf("%d %s", status, answer)
		}
		want := http.StatusUnprocessableEntity
		if !strings.Contains(spec, "0") {
			want = http.StatusConflict
		}
		if status, answer, _ := p.do(t, create); status != want {
			t.Errorf("%s again: %d %s", spec, status, answer)
		}
		p.do(t, asked{method: "DELETE", path: "/api/v1/namespaces/default/services/a"})
	}
}

// TestEvictionsAreConditions evicts a pod. The pod exists until a kubelet ends it.
func TestEvictionsAreConditions(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const pod = "/api/v1/namespaces/default/pods/a"
	p.do(t, asked{method: "POST", path: "/api/v1/namespaces/default/pods",
		body: `{"metadata":{"name":"a"},"spec":{"nodeName":"n","containers":[{"name":"a","image":"b"}]}}`})
	evict := func(query, options string) (int, []byte) {
		status, answer, _ := p.do(t, asked{method: "POST", path: pod + "/eviction" + query,
			body: fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"},"deleteOptions":%s}`,
				options)})
		return status, answer
	}
	get := func() (version string, evicted bool) {
		_, answer, _ := p.do(t, asked{method: "GET", path: pod})
		var object struct {
			Metadata struct{ ResourceVersion string }
		}
		if err := json.Unmarshal(answer, &object); err != nil {
			t.Fatal(err)
		}
		return object.Metadata.ResourceVersion, bytes.Contains(answer, []byte(`"type":"DisruptionTarget","status":"True"`)) &&
			bytes.Contains(answer, []byte(`"reason":"EvictionByEvictionAPI","message":"Eviction API: evicting"`))
	}
	if status, answer := evict("?dryRun=All", "{}"); status != http.StatusCreated {
		t.Errorf("a dry run: %d %s", status, answer)
	}
	if status, answer := evict("", `{"preconditions":{"resourceVersion":"1"}}`); status != http.StatusConflict ||
		!bytes.Contains(answer, []byte("the ResourceVersion in the precondition (1) does not match")) {
		t.Errorf("an old version: %d %s", status, answer)
	}
	version, evicted := get()
	if evicted {
		t.Error("evicted by a dry run or in spite of a conflict")
	}
	if status, answer := evict("", fmt.Sprintf(`{"preconditions":{"resourceVersion":%q}}`,
		version)); status != http.StatusCreated {
		t.Errorf("%d %s", status, answer)
	}
	if _, evicted := get(); !evicted {
		t.Error("an evicted pod does not say so")
	}
}

// TestDiscoveryHasTheMediaTypesOfObjects requests discovery documents with other media types, and with methods other
// than GET, which only built-in groups reject.
func TestDiscoveryHasTheMediaTypesOfObjects(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const (
		aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		unordered  = "application/json;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2"
		router     = `406: Not Acceptable\n\nAvailable representations: `
		handler    = `only the following media types are accepted: `
	)
	for _, c := range []struct {
		method, path, accept, contentType, answer string
		status                                    int
	}{
		{"POST", "/version", "", "application/json", `"code":405`, http.StatusMethodNotAllowed},
		{"POST", "/api", "", "application/json", `"code":405`, http.StatusMethodNotAllowed},
		{"POST", "/api/v1", "", "application/json", `"code":405`, http.StatusMethodNotAllowed},
		{"POST", "/apis/apps/v1", "", "application/json", `"code":405`, http.StatusMethodNotAllowed},
		{"POST", "/apis", "", "application/json", `"kind":"APIGroupList"`, http.StatusOK},
		{"POST", "/apis/apps", "", "application/json", `"kind":"APIGroup"`, http.StatusOK},
		{"GET", "/version", "", "application/json", `"gitVersion": "v1.37.2"`, http.StatusOK},
		{"GET", "/version", "application/yaml", "application/yaml", "406: Not Acceptable", http.StatusNotAcceptable},
		{"GET", "/api", "text/plain", "application/json", router, http.StatusNotAcceptable},
		{"GET", "/api", "application/json;as=Table", "application/json", handler, http.StatusNotAcceptable},
		{"GET", "/apis", "text/plain", "application/json", handler, http.StatusNotAcceptable},
		{"GET", "/apis/apps/v1", "text/plain", "application/json", router, http.StatusNotAcceptable},
		{"GET", "/api", "application/yaml", "application/yaml", "kind: APIVersions\nserver", http.StatusOK},
		{"GET", "/api/v1", "application/yaml", "application/yaml", "groupVersion: v1\nkind: APIResourceList\nresources:",
			http.StatusOK},
		{"GET", "/apis/apps", "application/yaml", "application/yaml", "apiVersion: v1\nkind: APIGroup\n", http.StatusOK},
		{"GET", "/apis/apps/v1", "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf",
			"APIResourceList", http.StatusOK},
		{"GET", "/api", aggregated, aggregated, `"kind":"APIGroupDiscoveryList"`, http.StatusOK},
		{"GET", "/apis", unordered, aggregated, `"kind":"APIGroupDiscoveryList"`, http.StatusOK},
		{"GET", "/apis", strings.Replace(aggregated, "v=v2", "v=v2beta1", 1), "application/json", handler,
			http.StatusNotAcceptable},
		{"GET", "/apis", strings.Replace(aggregated, "v=v2", "v=v2beta1", 1) + ",application/json", "application/json",
			`"kind":"APIGroupList"`, http.StatusOK},
	} {
		status, answer, header := p.do(t, asked{method: c.method, path: c.path, accept: c.accept})
		if status != c.status || header.Get("Content-Type") != c.contentType || !bytes.Contains(answer, []byte(c.answer)) {
			t.Errorf("%s %s %s: %d %s %.300s, want %d %s %s", c.method, c.path, c.accept, status, header.Get("Content-Type"),
				answer, c.status, c.contentType, c.answer)
		}
	}
	_, _, header := p.do(t, asked{method: "GET", path: "/apis", accept: aggregated})
	if status, answer, _ := p.do(t, asked{method: "GET", path: "/apis", accept: aggregated,
		header: [2]string{"If-None-Match", header.Get("Etag")}}); status != http.StatusNotModified || len(answer) > 0 {
		t.Errorf("what has not changed: %d %.100s", status, answer)
	}
}

// TestDiscoveryHasTheOrderOfTheRealServer compares the order of groups and resources with the real server's, and which
// of them are stored.
func TestDiscoveryHasTheOrderOfTheRealServer(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	type document struct {
		Groups    []struct{ Name string }
		Resources []struct {
			Name, StorageVersionHash string
			Verbs                    []string
		}
	}
	read := func(path string) (list document) {
		_, answer, _ := p.do(t, asked{method: "GET", path: path})
		if err := json.Unmarshal(answer, &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	var groups []string
	for _, g := range read("/apis").Groups {
		groups = append(groups, g.Name)
	}
	if got, want := strings.Join(groups, " "), "apps events.k8s.io authentication.k8s.io authorization.k8s.io "+
		"autoscaling batch certificates.k8s.io networking.k8s.io policy rbac.authorization.k8s.io "+
		"storage.k8s.io admissionregistration.k8s.io apiextensions.k8s.io scheduling.k8s.io coordination.k8s.io "+
		"node.k8s.io discovery.k8s.io"; !strings.HasPrefix(got, want) {
		t.Errorf("groups are %s, want %s", got, want)
	}
	for _, path := range []string{"/api/v1", "/apis/networking.k8s.io/v1", "/apis/admissionregistration.k8s.io/v1",
		"/apis/authorization.k8s.io/v1"} {
		last := ""
		for _, r := range read(path).Resources {
			if r.Name < last {
				t.Errorf("%s: %s is after %s", path, r.Name, last)
			}
			if creates := len(r.Verbs) == 1 && r.Verbs[0] == "create"; creates && r.StorageVersionHash != "" {
				t.Errorf("%s: %s is reported as stored", path, r.Name)
			}
			last = r.Name
		}
	}
	if hash := read("/apis/apiextensions.k8s.io/v1").Resources[0].StorageVersionHash; hash != "jfWCUB31mvA=" {
		t.Errorf("definitions are stored as %s", hash)
	}
}

// TestVolumesAndAddressesAreChecked creates and updates objects with one mistake each. The expected errors are the real
// server's.
func TestVolumesAndAddressesAreChecked(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const pods, quotas, deployments = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/resourcequotas",
		"/apis/apps/v1/namespaces/default/deployments"
	pod := func(volume string) string {
		return fmt.Sprintf(`{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"v",%s}]}}`, volume)
	}
	p.do(t,
		asked{method: "POST", path: pods, body: `{"metadata":{"name":"b"},"spec":{"containers":[{"name":"a","image":"b"}]}}`})
	status := func(body string) asked {
		return asked{method: "PATCH", path: pods + "/b/status?dryRun=All", contentType: "application/merge-patch+json",
			body: fmt.Sprintf(`{"status":%s}`, body)}
	}
	for _, c := range []struct {
		asked asked
		want  string
	}{
		{asked{method: "POST", path: pods, body: pod(`"csi":{"driver":"a","nodePublishSecretRef":{"name":"A b"}}`)},
			`spec.volumes[0].csi.name: Invalid value: \"A b\": a lowercase RFC 1123 subdomain`},
		{asked{method: "POST", path: pods,
			body: pod(`"ephemeral":{"volumeClaimTemplate":{"metadata":{"name":"x","uid":"y","labels":{"a":"b"}},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}}}}`)},
			`[spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set, spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.uID: Forbidden: cannot be set]`},
		{asked{method: "POST", path: deployments, body: fmt.Sprintf(
			`{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},%s}}`, strings.TrimPrefix(pod(`"image":{}`), `{"metadata":{"name":"a"},`))},
			`spec.template.spec.volumes[0].image.reference: Required value`},
		{asked{method: "POST", path: quotas, body: `{"metadata":{"name":"a"},"spec":{"hard":{"storage":"1"}}}`},
			`spec.hard[storage]: Invalid value: \"storage\": must be a standard resource for quota`},
		{status(`{"podIPs":[{"ip":"1.2.3.4"},{"ip":"1.2.3.5"}]}`),
			`status.podIPs: Invalid value: [{\"IP\":\"1.2.3.4\"},{\"IP\":\"1.2.3.5\"}]: may specify no more than one IP for each IP family`},
		{status(`{"podIPs":[{"ip":"1.2.3.4"},{"ip":"::1"},{"ip":"::2"}]}`),
			`may specify no more than one IP for each IP family`},
		{status(`{"hostIP":"x","hostIPs":[{"ip":"x"}]}`),
			`status.hostIPs[0]: Invalid value: \"x\": must be a valid IP address`},
		{status(`{"podIPs":[{"ip":"1.2.3.4"},{"ip":"::1"}]}`), `"phase":"Pending"`},
	} {
		if _, answer, _ := p.do(t, c.asked); !bytes.Contains(answer, []byte(c.want)) {
			t.Errorf("%s\ngot  %s\nwant %s", c.asked, answer, c.want)
		}
	}
}

// TestTokensAreBound creates tokens that are valid only while an object exists. The expected answers are the real
// server's.
func TestTokensAreBound(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const namespace = "/api/v1/namespaces/default"
	for path, body := range map[string]string{
		namespace + "/serviceaccounts": `{"metadata":{"name":"sa"}}`, namespace + "/secrets": `{"metadata":{"name":"s"}}`,
		"/api/v1/nodes": `{"metadata":{"name":"n"}}`,
	} {
		if status, answer, _ := p.do(t, asked{method: "POST", path: path, body: body}); status != http.StatusCreated {
			t.Fatalf("%d %s", status, answer)
		}
	}
	for name, account := range map[string]string{"a": "sa", "b": "sb"} {
		body := fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"serviceAccountName":%q,"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`, name, account)
		if status, answer, _ := p.do(t, asked{method: "POST", path: namespace + "/pods",
			body: body}); status != http.StatusCreated {
			t.Fatalf("%d %s", status, answer)
		}
	}
	ask := func(to string) (int, string) {
		status, answer, _ := p.do(t, asked{method: "POST", path: namespace + "/serviceaccounts/sa/token",
			body: fmt.Sprintf(`{"spec":{"boundObjectRef":%s}}`, to)})
		var asked struct {
			Message string
			Status  json.RawMessage
		}
		var made struct{ Token string }
		if err := json.Unmarshal(answer, &asked); err != nil {
			t.Fatal(err)
		}
		if status == http.StatusCreated && json.Unmarshal(asked.Status, &made) == nil {
			return status, made.Token
		}
		return status, asked.Message
	}
	for to, want := range map[string]string{
		`{"kind":"Secret","apiVersion":"v1","name":"nope"}`:          `404 secrets "nope" not found`,
		`{"kind":"Secret","apiVersion":"v1"}`:                        `400 Name parameter required.`,
		`{"kind":"Secret","apiVersion":"v1","name":"s","uid":"x"}`:   `409 Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated`,
		`{"kind":"Deployment","apiVersion":"apps/v1","name":"s"}`:    `400 cannot bind token to object of type apps/v1, Kind=Deployment`,
		`{"kind":"Pod","apiVersion":"v1","name":"b","uid":"x"}`:      `400 cannot bind token for serviceaccount "sa" to pod running with different serviceaccount name.`,
		`{"kind":"Pod","apiVersion":"apps/v1","name":"a"}`:           `400 cannot bind token to object of type apps/v1, Kind=Pod`,
		`{"kind":"Node","apiVersion":"v1","name":"other","uid":"x"}`: `404 nodes "other" not found`,
	} {
		if status, message := ask(to); fmt.Sprint(status, " ", message) != want {
			t.Errorf("%s: %d %s, want %s", to, status, message, want)
		}
	}
	review := func(token string) string {
		_, answer, _ := p.do(t, asked{method: "POST", path: "/apis/authentication.k8s.io/v1/tokenreviews",
			body: fmt.Sprintf(`{"spec":{"token":%q}}`, token)})
		return string(answer)
	}
	for _, bound := range []struct{ kind, path, extra string }{
		{"Pod", namespace + "/pods/a", `"authentication.kubernetes.io/pod-name":["a"]`},
		{"Secret", namespace + "/secrets/s", `"authentication.kubernetes.io/credential-id"`},
		{"Node", "/api/v1/nodes/n", `"authentication.kubernetes.io/node-name":["n"]`},
	} {
		status, token := ask(fmt.Sprintf(`{"kind":%q,"name":%q}`, bound.kind,
			bound.path[strings.LastIndex(bound.path, "/")+1:]))
		if status != http.StatusCreated {
			t.Fatalf("%s: %d %s", bound.kind, status, token)
		}
		if answer := review(token); !strings.Contains(answer, `"authenticated":true`) ||
			!strings.Contains(answer, bound.extra) {
			t.Errorf("a token of a %s: %s", bound.kind, answer)
		}
		p.do(t, asked{method: "DELETE", path: bound.path, body: `{"gracePeriodSeconds":0}`})
		if answer := review(token); !strings.Contains(answer, "service account token has been invalidated") {
			t.Errorf("a token of a %s that is gone: %s", bound.kind, answer)
		}
	}
}

// TestRareAnswers sends requests that no seed contains. The expected answers are the real server's.
func TestRareAnswers(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const namespaces, configMaps = "/api/v1/namespaces", "/api/v1/namespaces/default/configmaps"
	const review = `{"spec":{"user":"x","resourceAttributes":{"namespace":"%s","verb":"get","resource":"pods"}}}`
	configMap := func(name string) asked {
		return asked{method: "POST", path: configMaps, body: fmt.Sprintf(`{"metadata":{"name":%q},"data":{"a":"%s"}}`, name,
			strings.Repeat("x", 70000))}
	}
	p.do(t, configMap("early"))
	_, list, _ := p.do(t, asked{method: "GET", path: configMaps})
	var at struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(list, &at); err != nil {
		t.Fatal(err)
	}
	p.do(t, configMap("late"))
	p.do(t, asked{method: "POST", path: "/apis/fidelity.kctrl.dev/v1/gadgets",
		body: `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Gadget","metadata":{"name":"plain"}}`})
	curl := [2]string{"User-Agent", "curl/8"}
	copies := strings.TrimSuffix(strings.Repeat(`{"op":"copy","from":"/data","path":"/data/b"},`, 12), ",")
	for _, one := range []struct {
		a    asked
		want int
		text string
	}{
		{asked{method: "DELETE", path: namespaces}, 405, "the server does not allow this method on the requested resource"},
		{asked{method: "DELETE", path: configMaps + "?resourceVersion=" + at.Metadata.ResourceVersion}, 200, `"early"`},
		{asked{method: "GET", path: configMaps + "/early"}, 404, ""},
		{asked{method: "GET", path: configMaps + "/late"}, 200, ""}, // newer than the version of the deletion
		{asked{method: "PATCH", path: configMaps + "/late", contentType: "application/json-patch+json",
			body: "[" + copies + "]"}, 422, "the server rejected our request due to an error in our request"},
		{asked{method: "PATCH", path: configMaps + "/late", contentType: "application/merge-patch+json,application/json",
			body: "{}"}, 415, "application/strategic-merge-patch+json, application/apply-patch+yaml"},
		{asked{method: "POST", path: "/apis/authorization.k8s.io/v1/namespaces/none/localsubjectaccessreviews",
			body: fmt.Sprintf(review, "none")}, 201, `"allowed":false`},
		{asked{method: "GET", path: configMaps + "?watch=1&timeoutSeconds=1&resourceVersion=18446744073709551615"}, 200,
			"null"},
		{asked{method: "GET", path: "/apis/fidelity.kctrl.dev/v1/gadgets/plain", header: curl}, 200,
			"\n  \"kind\": \"Gadget\""},
		{asked{method: "GET", path: namespaces + "/default"}, 200, `"kind":"Namespace"`},
		// The same request after a token was issued for another audience.
		{asked{method: "GET", path: namespaces + "/default", header: curl}, 200, "\n  \"kind\": \"Namespace\""},
		{asked{method: "POST", path: "/api/v1/watch/namespaces/default/configmaps?timeoutSeconds=1", body: "{}"}, 405,
			"the server does not allow this method on the requested resource"},
	} {
		if status, body, _ := p.do(t, one.a); status != one.want || !strings.Contains(string(body), one.text) {
			t.Errorf("%s: %d %.300s, want %d and %s", one.a, status, body, one.want, one.text)
		}
	}
}

// TestReadDefaultsFollowTheSchema converts an object that is stored without defaults. Readers must see the defaults of
// the current schema.
func TestReadDefaultsFollowTheSchema(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const crds, things = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/moved.kctrl.dev/v1/things"
	versions := func(stored, size string) string {
		version := func(name, size string) string {
			return fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","properties":{"size":{"type":"string"%s}}}}}`, name, name == stored, size)
		}
		return "[" + version("v1", "") + "," + version("v2", size) + "]"
	}
	definition := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.moved.kctrl.dev"},"spec":{"group":"moved.kctrl.dev","scope":"Cluster","names":{"kind":"Thing","plural":"things"},"versions":%s}}`
	change := func(versions string) asked {
		return asked{method: "PATCH", path: crds + "/things.moved.kctrl.dev", contentType: "application/merge-patch+json",
			body: `{"spec":{"versions":` + versions + `}}`}
	}
	for _, one := range []struct {
		a        asked
		has, not string
	}{
		{a: asked{method: "POST", path: crds, body: fmt.Sprintf(definition, versions("v2", `,"default":"large"`))}},
		{a: asked{method: "POST", path: things,
			body: `{"apiVersion":"moved.kctrl.dev/v1","kind":"Thing","metadata":{"name":"a"}}`}},
		{a: asked{method: "GET", path: things + "/a"}, has: `"size":"large"`},
		{a: change(versions("v2", ""))},
		{a: asked{method: "GET", path: things + "/a"}, not: "size"},
		{a: asked{method: "GET", path: things}, not: "large"},
		{a: change(versions("v2", `,"default":"small"`))},
		{a: asked{method: "GET", path: things + "/a"}, has: `"size":"small"`},
	} {
		status, body, _ := p.do(t, one.a)
		if status >= http.StatusMultipleChoices || !strings.Contains(string(body), one.has) || one.not != "" &&
			strings.Contains(string(body), one.not) {
			t.Errorf("%s: %d %s, want %q and not %q", one.a, status, body, one.has, one.not)
		}
	}
}
