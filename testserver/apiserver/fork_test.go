package apiserver_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// answerOf sends a request to a server and returns the code and the body.
func answerOf(t *testing.T, server *apiserver.Server, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://in-memory"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := server.Config().Transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

const forkedDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"apps.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
"names":{"kind":"App","plural":"apps"},"versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
"size":{"type":"integer","default":1},"%s":{"type":"string"}}}}}}}]}}`

// TestForksAreIndependent checks that a fork has the objects, the CRDs and the history of built-in kinds of its origin,
// and that later writes to one of the servers do not affect the other.
func TestForksAreIndependent(t *testing.T) {
	origin := apiserver.New(apiserver.Options{})
	defer origin.Close()
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	const apps = "/apis/example.com/v1/namespaces/default/apps"
	write := func(server *apiserver.Server, method, path, body string) {
		t.Helper()
		if code, answer := answerOf(t, server, method, path, body); code >= 300 {
			t.Fatalf("%s %s: %s", method, path, answer)
		}
	}
	write(origin, "POST", definitions, fmt.Sprintf(forkedDefinition, "image"))
	app := func(name string) string {
		return `{"apiVersion":"example.com/v1","kind":"App","metadata":{"name":"` + name + `"},"spec":{"image":"x"}}`
	}
	write(origin, "POST", apps, app("a"))
	_, before := answerOf(t, origin, "GET", apps+"/a", "")

	one, other := origin.Fork(1), origin.Fork(2)
	defer one.Close()
	defer other.Close()
	if _, same := answerOf(t, one, "GET", apps+"/a", ""); same != before || !strings.Contains(same, `"size":1`) {
		t.Errorf("a fork has %s, the origin %s", same, before)
	}
	write(one, "DELETE", apps+"/a", "")
	write(one, "POST", apps, app("b"))
	for name, server := range map[string]*apiserver.Server{"origin": origin, "other fork": other} {
		if code, _ := answerOf(t, server, "GET", apps+"/b", ""); code != http.StatusNotFound {
			t.Errorf("the %s has an object of a fork: %d", name, code)
		}
		if _, now := answerOf(t, server, "GET", apps+"/a", ""); now != before {
			t.Errorf("the %s has %s, want %s", name, now, before)
		}
	}
	_, past := answerOf(t, other, "GET", "/api/v1/namespaces?watch=1&resourceVersion=2&timeoutSeconds=1", "")
	if !strings.Contains(past, `"ADDED"`) {
		t.Errorf("a fork has no history: %s", past)
	}

	// A CRD that changes in one fork is compiled again there, and stays unchanged in the other fork.
	_, definition := answerOf(t, one, "GET", definitions+"/apps.example.com", "")
	write(one, "PUT", definitions+"/apps.example.com", strings.ReplaceAll(definition, `"image"`, `"picture"`))
	body := `{"apiVersion":"example.com/v1","kind":"App","metadata":{"name":"c"},"spec":{"image":"x","picture":"y"}}`
	for kept, server := range map[string]*apiserver.Server{`"picture":"y"`: one, `"image":"x"`: other} {
		_, answer := answerOf(t, server, "POST", apps, body)
		if strings.Count(answer, `"x"`)+strings.Count(answer, `"y"`) != 1 || !strings.Contains(answer, kept) {
			t.Errorf("got %s, want %s", answer, kept)
		}
	}
}
