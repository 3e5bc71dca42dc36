package apiserver_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

func TestBuiltInKindsBeyondRecordings(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{}))
	const pods, container = "/api/v1/namespaces/default/pods", `"containers":[{"name":"a","image":"b"}]`
	for _, step := range []struct {
		name   string
		asked  asked
		status int
		answer string // substring of the answer
	}{
		{"an autoscaler of a controller of the core group", asked{
			method: "POST", path: "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
			body: `{"metadata":{"name":"a"},"spec":{"maxReplicas":2,"scaleTargetRef":{"apiVersion":"v1","kind":"ReplicationController","name":"a"}}}`,
		}, http.StatusCreated, ""},
		{"a class of the system goes", asked{method: "DELETE",
			path: "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"},
			http.StatusForbidden, "this is a system priority class and cannot be deleted"},
		{"a node", asked{
			method: "POST", path: "/api/v1/nodes",
			body: `{"metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"z","other":"o"}}}`,
		}, http.StatusCreated, ""},
		{"a pod on it", asked{method: "POST", path: pods, body: `{"metadata":{"name":"a"},"spec":{"nodeName":"n",` +
			container + `}}`},
			http.StatusCreated, `"labels":{"topology.kubernetes.io/zone":"z"}`},
		{"a pod", asked{method: "POST", path: pods, body: `{"metadata":{"name":"b"},"spec":{` + container + `}}`},
			http.StatusCreated, ""},
		{"its binding", asked{
			method: "POST", path: pods + "/b/binding", body: `{"metadata":{"name":"b"},"target":{"kind":"Node","name":"n"}}`,
		}, http.StatusCreated, ""},
		{"it is bound", asked{method: "GET", path: pods + "/b"}, http.StatusOK,
			`"labels":{"topology.kubernetes.io/zone":"z"}`},
	} {
		status, answer, _ := p.do(t, step.asked)
		if status != step.status || !bytes.Contains(answer, []byte(step.answer)) {
			t.Errorf("%s: %d %s, want %d and %s", step.name, status, answer, step.status, step.answer)
		}
	}
}
