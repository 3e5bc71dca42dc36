package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// define adds a CRD of a kind in a group, with a schema of its spec.
func define(t *testing.T, p *peer, group, kind, resource, spec string) {
	t.Helper()
	body := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[3]s.%[1]s"},"spec":{"group":"%[1]s","scope":"Namespaced",
		"names":{"kind":"%[2]s","plural":"%[3]s"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":%[4]s}}}}]}}`,
		group, kind, resource, spec)
	if status, answer, _ := p.do(t, asked{method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
		body: body}); status != http.StatusCreated {
		t.Fatalf("%d %s", status, answer)
	}
	p.await(t, "/apis/"+group+"/v1/"+resource)
}

func TestGroupsOfDefinitionsAreSorted(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	for _, group := range []string{"zoo.example.com", "ant.example.com", "mouse.example.com"} {
		define(t, p, group, "Animal", "animals", `{"type":"object"}`)
	}
	_, body, _ := p.do(t, asked{method: "GET", path: "/apis"})
	var list metav1.APIGroupList
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, group := range list.Groups {
		names = append(names, group.Name)
	}
	if last := names[len(names)-4:]; !slices.Equal(last, []string{"ant.example.com", "fidelity.kctrl.dev",
		"mouse.example.com", "zoo.example.com"}) {
		t.Errorf("the last groups are %v", last)
	}
}

func TestOpenAPIV2OmitsPartsThatKubectlCannotRead(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	define(t, p, "ant.example.com", "Animal", "animals", `{"type":"object","properties":{
		"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}},
		"none":{"type":"string","nullable":true},"some":{"type":"array","items":{"type":"string"}}}}`)
	_, body, _ := p.do(t, asked{method: "GET", path: "/openapi/v2"})
	var document struct {
		Definitions map[string]struct {
			Properties map[string]struct {
				Properties map[string]map[string]any
			}
		}
	}
	if err := json.Unmarshal(body, &document); err != nil {
		t.Fatal(err)
	}
	spec := document.Definitions["com.example.ant.v1.Animal"].Properties["spec"].Properties
	if free := spec["free"]; free["type"] != nil || free["properties"] != nil ||
		free["x-kubernetes-preserve-unknown-fields"] != true {
		t.Errorf("free is %v", free)
	}
	if none, some := spec["none"], spec["some"]; none["type"] != nil || some["type"] != "array" {
		t.Errorf("none is %v, some is %v", none, some)
	}
}

func TestReviewsHaveNoTables(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	status, body, _ := p.do(t, asked{
		method: "POST", path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
		accept: "application/json;as=Table;g=meta.k8s.io;v=v1",
		body:   `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`,
	})
	if status != http.StatusNotAcceptable {
		t.Errorf("%d %s", status, body)
	}
}

func TestRequestEndsWithItsTimeout(t *testing.T) {
	p, hooks := newPeer(t, "in memory", apiserver.New(apiserver.Options{})), newHooks(t)
	hook := fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"hang"},"webhooks":[{"name":"hang.example.com",
		"clientConfig":{"url":"%s/hang","caBundle":"%s"},"admissionReviewVersions":["v1"],"sideEffects":"None","timeoutSeconds":30,
		"rules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["*"],"resources":["configmaps"]}]}]}`, hooks.url, hooks.bundle)
	if status, body, _ := p.do(t, asked{method: "POST",
		path: "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
		body: hook}); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	status, body, _ := p.do(t, asked{method: "POST", path: "/api/v1/namespaces/default/configmaps?timeout=100ms",
		body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`})
	if status != http.StatusGatewayTimeout && status != http.StatusInternalServerError {
		t.Errorf("%d %s", status, body)
	}
}
