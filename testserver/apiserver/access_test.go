package apiserver_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// hooks serves webhooks for both servers. The path of a request determines the answer.
type hooks struct {
	url    string
	bundle string
}

func newHooks(t testing.TB) *hooks {
	over := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The handler blocks until the end of the test, because the order of the answers is random if the client gives up
		// first.
		if r.URL.Path == "/hang" {
			<-over
			return
		}
		answerReview(w, r)
	}))
	server.Config.ErrorLog = nil
	t.Cleanup(func() {
		close(over)
		server.CloseClientConnections()
		server.Close()
	})
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &hooks{url: server.URL, bundle: base64.StdEncoding.EncodeToString(bundle)}
}

func answerReview(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var review map[string]any
	if err := json.Unmarshal(body, &review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := review["request"].(map[string]any)
	response := map[string]any{"uid": request["uid"], "allowed": true}
	answer := map[string]any{"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
	patch := func(text string) {
		response["patchType"], response["patch"] = "JSONPatch", base64.StdEncoding.EncodeToString([]byte(text))
	}
	deny := func(status map[string]any) {
		response["allowed"] = false
		if status != nil {
			response["status"] = status
		}
	}
	switch r.URL.Path {
	case "/deny":
		deny(map[string]any{"message": "not today"})
	case "/deny-reason":
		deny(map[string]any{"reason": "TooLate"})
	case "/deny-code":
		deny(map[string]any{"code": 409, "message": "taken", "reason": "Conflict",
			"details": map[string]any{"causes": []any{map[string]any{"message": "x", "field": "y"}}}})
	case "/deny-success":
		deny(map[string]any{"code": 200, "status": "Success"})
	case "/deny-nothing":
		deny(nil)
	case "/echo":
		delete(request, "userInfo")
		data, _ := json.Marshal(request)
		deny(map[string]any{"message": string(data)})
	case "/warn":
		response["warnings"] = []any{"careful", "careful", "really \"careful\""}
		response["auditAnnotations"] = map[string]any{"a": "b"}
	case "/label":
		if request["object"] != nil {
			labels, _ := request["object"].(map[string]any)["metadata"].(map[string]any)["labels"].(map[string]any)
			if labels == nil {
				patch(`[{"op":"add","path":"/metadata/labels","value":{"hooked":"1"}}]`)
			} else {
				count, _ := labels["hooked"].(string)
				patch(fmt.Sprintf(`[{"op":"add","path":"/metadata/labels/hooked","value":"%s1"}]`, count))
			}
		}
	case "/spec":
		patch(`[{"op":"add","path":"/spec","value":{"color":"green","size":7}}]`)
	case "/bad-spec":
		patch(`[{"op":"add","path":"/spec","value":{"color":"pink","size":"x"}}]`)
	case "/rename":
		patch(`[{"op":"replace","path":"/metadata/name","value":"renamed"}]`)
	case "/same":
		patch(`[]`)
	case "/test-fails":
		patch(`[{"op":"test","path":"/kind","value":"Nothing"}]`)
	case "/missing-path":
		patch(`[{"op":"remove","path":"/spec/nothing/here"}]`)
	case "/undecodable":
		patch(`{`)
	case "/no-type":
		patch(`[{"op":"remove","path":"/spec"}]`)
		delete(response, "patchType")
	case "/no-patch":
		response["patchType"] = "JSONPatch"
	case "/other-type":
		patch(`[{"op":"remove","path":"/spec"}]`)
		response["patchType"] = "MergePatch"
	case "/no-object":
		patch(`null`)
	case "/wrong-uid":
		response["uid"] = "00000000-0000-4000-8000-000000000009"
	case "/no-response":
		delete(answer, "response")
	case "/wrong-kind":
		answer["kind"] = "Other"
	case "/wrong-version":
		answer["apiVersion"] = "admission.k8s.io/v2"
	case "/empty":
		return
	case "/text":
		fmt.Fprint(w, "hello")
		return
	case "/500":
		http.Error(w, "it hurts", http.StatusInternalServerError)
		return
	case "/404":
		http.NotFound(w, r)
		return
	case "/status":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"go away","reason":"Forbidden","code":403}`)
		return
	case "/panic":
		panic(http.ErrAbortHandler)
	case "/large":
		deny(map[string]any{"message": strings.Repeat("x", 5<<20)})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// hookPaths are the behaviors of webhooks in random sequences, most of them valid.
var hookPaths = []string{
	"/allow", "/allow", "/deny", "/deny-reason", "/deny-code", "/deny-success", "/deny-nothing", "/echo", "/echo", "/echo",
	"/warn", "/warn", "/label", "/label", "/label", "/label", "/label", "/spec", "/spec",
	"/bad-spec", "/rename", "/same", "/test-fails", "/missing-path", "/undecodable", "/no-type", "/no-patch",
	"/other-type", "/no-object", "/wrong-uid", "/no-response", "/wrong-kind",
	"/wrong-version", "/empty", "/text", "/500", "/404", "/status", "/panic",
}

// admissionOf returns the requests of a seed that write webhooks and policies, and objects to which these apply.
func (h *hooks) admissionOf(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 2)), namespace: fmt.Sprintf("a%d%s", seed, salt), hooks: h}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "",
		map[string]any{"metadata": map[string]any{"labels": pick(s, map[string]any{"tier": "1"},
			map[string]any{"tier": "2"})}})})
	for range 1 + s.IntN(3) {
		s.decide()
		for range 4 + s.IntN(12) {
			pick(s, s.create, s.create, s.create, s.update, s.updateStatus, s.patch, s.apply, s.apply, s.remove, s.removeAll,
				s.scale, s.core, s.core, s.core)()
		}
	}
	s.forget()
	return s.requests
}

const admissionPath = "/apis/admissionregistration.k8s.io/v1/"

// decide writes configurations and waits until the server applies them.
func (s *sequence) decide() {
	s.synced++
	mark := fmt.Sprint(s.synced)
	for _, kind := range []string{"Mutating", "Validating"} {
		if s.IntN(3) > 0 {
			s.configure(kind, mark)
		}
	}
	if s.IntN(2) == 0 {
		s.govern(mark)
	}
	if s.IntN(2) == 0 {
		s.mutatePolicies(mark)
	}
}

// sync repeats a request until the server applies a new configuration.
func (s *sequence) sync(kind, mark, until string) {
	body := object("v1", "ConfigMap", "sync", "",
		map[string]any{"metadata": map[string]any{"labels": map[string]any{"sync": kind + mark}}})
	s.add(asked{method: "POST", path: s.path("configmaps", "") + "?dryRun=All", body: body, until: until})
}

func (s *sequence) configure(kind, mark string) {
	name, path := s.namespace+"-"+strings.ToLower(kind), admissionPath+strings.ToLower(kind)+"webhookconfigurations"
	wrong := s.IntN(4) == 0
	configuration := func(wrong bool) map[string]any {
		var webhooks []any
		count := 1 + s.IntN(3)
		if kind == "Validating" {
			count = 1 // webhooks are called concurrently, and the real server reports the first answer
		}
		for i := range count {
			webhooks = append(webhooks, s.webhook(kind, fmt.Sprintf("h%d.fidelity.kctrl.dev", i), wrong))
		}
		sync := s.webhook(kind, "sync.fidelity.kctrl.dev", false)
		sync["clientConfig"] = map[string]any{"url": s.hooks.url + "/deny", "caBundle": s.hooks.bundle}
		sync["objectSelector"] = map[string]any{"matchLabels": map[string]any{"sync": kind + mark}}
		sync["rules"] = []any{map[string]any{"operations": []any{"*"}, "apiGroups": []any{"*"}, "apiVersions": []any{"*"},
			"resources": []any{"*"}, "scope": "Namespaced"}}
		for _, field := range []string{"matchConditions", "sideEffects"} {
			delete(sync, field)
		}
		sync["sideEffects"] = "None"
		sync["namespaceSelector"] = s.own()
		sync["failurePolicy"] = "Fail"
		return map[string]any{"webhooks": append([]any{sync}, webhooks...)}
	}
	if wrong {
		s.add(asked{method: "POST", path: path + s.options(), body: object("admissionregistration.k8s.io/v1",
			kind+"WebhookConfiguration", name, "", configuration(true)), dry: true})
	}
	switch {
	case s.made[name] && s.IntN(2) == 0:
		s.add(asked{method: "PUT", path: path + "/" + name, body: object("admissionregistration.k8s.io/v1",
			kind+"WebhookConfiguration", name, "{{version "+name+"}}", configuration(false))})
	case s.made[name]:
		s.add(asked{method: "DELETE", path: path + "/" + name})
		s.add(asked{method: "POST", path: path, body: object("admissionregistration.k8s.io/v1", kind+"WebhookConfiguration",
			name, "", configuration(false))})
	case s.IntN(3) == 0:
		s.add(asked{method: "PATCH", path: path + "/" + name + "?fieldManager=one&force=true",
			contentType: "application/apply-patch+yaml", body: object("admissionregistration.k8s.io/v1",
				kind+"WebhookConfiguration", name, "", configuration(false))})
	default:
		s.add(asked{method: "POST", path: path, body: object("admissionregistration.k8s.io/v1", kind+"WebhookConfiguration",
			name, "", configuration(false))})
	}
	s.note(name, path)
	if s.IntN(3) == 0 {
		s.add(asked{method: "GET", path: path + "/" + name, accept: pick(s, "", asTable, asPartial, "application/yaml")})
	}
	if s.IntN(4) == 0 {
		s.add(asked{method: "PATCH", path: path + "/" + name, contentType: pick(s, "application/strategic-merge-patch+json",
			"application/merge-patch+json"), body: pick(s,
			`{"metadata":{"labels":{"a":"b"}}}`, `{"webhooks":[{"name":"sync.fidelity.kctrl.dev","timeoutSeconds":7}]}`,
			`{"webhooks":[{"name":"bad"}]}`) + "", dry: true})
	}
	s.sync(kind, mark, `denied the request: not today`)
}

// own returns a selector of the sequence's namespace.
func (s *sequence) own() map[string]any {
	return map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": s.namespace}}
}

func (s *sequence) note(name, path string) {
	if s.made == nil {
		s.made = map[string]bool{}
	}
	if !s.made[name] {
		s.made[name] = true
		s.paths = append(s.paths, path+"/"+name)
	}
}

// forget deletes the sequence's objects that would affect other sequences.
func (s *sequence) forget() {
	for _, path := range s.paths {
		s.add(asked{method: "DELETE", path: path})
	}
}

func (s *sequence) webhook(kind, name string, wrong bool) map[string]any {
	client := map[string]any{"url": s.hooks.url + pick(s, hookPaths...), "caBundle": s.hooks.bundle}
	if s.IntN(20) == 0 {
		client = map[string]any{"url": "https://127.0.0.1:1/closed"}
	}
	if s.IntN(25) == 0 {
		client["url"] = s.hooks.url + "/hang"
	}
	hook := map[string]any{"name": name, "clientConfig": client, "admissionReviewVersions": []any{"v1"},
		"sideEffects": "None", "namespaceSelector": s.own(), "timeoutSeconds": 1 + 9*min(1, s.IntN(10))}
	if strings.HasSuffix(client["url"].(string), "/hang") {
		hook["timeoutSeconds"] = 1
	}
	optional := func(odds int, name string, values ...any) {
		if s.IntN(odds) == 0 {
			hook[name] = pick(s, values...)
		}
	}
	rule := map[string]any{
		"operations": pick(s, []any{"*"}, []any{"CREATE"}, []any{"CREATE", "UPDATE"}, []any{"DELETE"},
			[]any{"CREATE", "UPDATE", "DELETE"}),
		"apiGroups":   pick(s, []any{"*"}, []any{"", "fidelity.kctrl.dev"}, []any{"fidelity.kctrl.dev"}, []any{""}),
		"apiVersions": pick(s, []any{"*"}, []any{"v1"}, []any{"v1beta1"}), "resources": pick(s, []any{"*"}, []any{"*/*"},
			[]any{"widgets"}, []any{"widgets", "widgets/status"}, []any{"configmaps", "secrets", "widgets"},
			[]any{"widgets/scale", "widgets/*"}),
	}
	rule["scope"] = "Namespaced" // a namespace selector does not exclude cluster-scoped objects
	hook["rules"] = []any{rule}
	optional(4, "failurePolicy", "Ignore", "Fail")
	optional(4, "matchPolicy", "Exact", "Equivalent")
	others := map[string]any{"key": "sync", "operator": "DoesNotExist"}
	hook["objectSelector"] = map[string]any{"matchExpressions": []any{others}}
	optional(5, "objectSelector", map[string]any{"matchLabels": map[string]any{"app": "x"}},
		map[string]any{"matchExpressions": []any{others, map[string]any{"key": "app", "operator": "DoesNotExist"}}})
	optional(8, "sideEffects", "NoneOnDryRun")
	optional(8, "admissionReviewVersions", []any{"v1beta1"}, []any{"v2", "v1"}, []any{"v1beta1", "v1"})
	optional(5, "matchConditions", []any{map[string]any{"name": "a", "expression": "request.name != 'a'"}},
		[]any{map[string]any{"name": "a", "expression": "object.spec.color == 'red'"}},
		[]any{map[string]any{"name": "a", "expression": "true"},
			map[string]any{"name": "b", "expression": "!has(object.metadata.labels)"}},
		[]any{map[string]any{"name": "a", "expression": "authorizer.group('').resource('pods').check('get').allowed()"}})
	if kind == "Mutating" {
		optional(3, "reinvocationPolicy", "IfNeeded", "Never")
	}
	if wrong {
		s.spoil(hook, rule, client)
	}
	return hook
}

// spoil makes a part of a webhook invalid.
func (s *sequence) spoil(hook, rule, client map[string]any) {
	set := func(m map[string]any, name string, values ...any) func() {
		return func() { m[name] = pick(s, values...) }
	}
	for range 1 + s.IntN(3) {
		pick(s,
			set(hook, "name", "short", "", "Not.A.Name", "sync.fidelity.kctrl.dev"), set(hook, "sideEffects", "Some", "Unknown",
				"Other", nil), set(hook, "timeoutSeconds", 0, 31, -1, "x"),
			set(hook, "failurePolicy", "Maybe"), set(hook, "matchPolicy", "Wrong"), set(hook, "reinvocationPolicy", "Always"),
			set(hook, "admissionReviewVersions", []any{}, []any{"v3"}, []any{"V1"}, []any{"v1", "v1"}, nil),
			set(hook, "namespaceSelector", map[string]any{"matchLabels": map[string]any{"a": "not valid"}},
				map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "In"}}}),
			set(hook, "objectSelector", map[string]any{"matchLabels": map[string]any{"not valid": "a"}}),
			set(hook, "matchConditions", []any{map[string]any{"name": "", "expression": "true"}},
				[]any{map[string]any{"name": "a", "expression": ""}}, []any{map[string]any{"name": "a", "expression": "1"}},
				[]any{map[string]any{"name": "a b", "expression": "nothing.here"}},
				[]any{map[string]any{"name": "a", "expression": "true"}, map[string]any{"name": "a", "expression": "true &&"}},
				[]any{map[string]any{"name": "a", "expression": "params.x == 1"}}),
			set(rule, "operations", []any{}, []any{"*", "CREATE"}, []any{"PATCH"}),
			set(rule, "apiGroups", []any{}, []any{"*", ""}), set(rule, "apiVersions", []any{}, []any{"*", "v1"}, []any{""}),
			set(rule, "resources", []any{}, []any{""}, []any{"*", "pods"}, []any{"*/*", "pods"}, []any{"pods/*", "pods/status"},
				[]any{"*/status", "pods/status"}, []any{"tokenreviews"}), set(rule, "scope", "Everywhere"),
			set(client, "url", "http://x", "https://x?y=z", "https://u:p@x", "https://x#f", "nothing", ""),
			set(client, "service", map[string]any{"name": "x", "namespace": "y"}),
			func() {
				delete(client, "url")
				client["service"] = pick(s, map[string]any{"name": "", "namespace": "", "path": "x", "port": 0},
					map[string]any{"name": "x", "namespace": "y", "path": "//a", "port": 70000}, map[string]any{"name": "x"})
			},
			func() {
				rule["apiGroups"], rule["resources"] = []any{"authentication.k8s.io"}, []any{"tokenreviews", "tokenreviews"}
			},
		)()
	}
}

// govern writes a policy and its binding.
func (s *sequence) govern(mark string) {
	name, path, bindings := s.namespace+"-policy", admissionPath+"validatingadmissionpolicies",
		admissionPath+"validatingadmissionpolicybindings"
	if s.IntN(3) == 0 {
		spec := s.policy(mark)
		s.spoilPolicy(spec)
		s.add(asked{method: "POST", path: path + s.options(), body: object("admissionregistration.k8s.io/v1",
			"ValidatingAdmissionPolicy", name+"-wrong", "", map[string]any{"spec": spec}), dry: true})
	}
	spec := s.policy(mark)
	binding := s.policyBinding(name)
	if s.made[name] {
		s.add(asked{method: "PUT", path: path + "/" + name, body: object("admissionregistration.k8s.io/v1",
			"ValidatingAdmissionPolicy", name, "{{version "+name+"}}", map[string]any{"spec": spec})})
		s.add(asked{method: "PUT", path: bindings + "/" + name + "-b", body: object("admissionregistration.k8s.io/v1",
			"ValidatingAdmissionPolicyBinding", name+"-b", "{{version "+name+"-b}}", map[string]any{"spec": binding})})
	} else {
		s.add(asked{method: "POST", path: path, body: object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy",
			name, "", map[string]any{"spec": spec})})
		s.add(asked{method: "PATCH", path: bindings + "/" + name + "-b?fieldManager=one",
			contentType: "application/apply-patch+yaml", body: object("admissionregistration.k8s.io/v1",
				"ValidatingAdmissionPolicyBinding", name+"-b", "", map[string]any{"spec": binding})})
		syncing := map[string]any{"policyName": name, "validationActions": []any{"Deny"},
			"matchResources": map[string]any{"namespaceSelector": s.own(),
				"objectSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "sync", "operator": "In",
					"values": []any{"Policy1", "Policy2", "Policy3"}}}}}}
		s.add(asked{method: "POST", path: bindings, body: object("admissionregistration.k8s.io/v1",
			"ValidatingAdmissionPolicyBinding", name+"-a", "", map[string]any{"spec": syncing})})
	}
	s.note(name, path)
	s.note(name+"-a", bindings)
	s.note(name+"-b", bindings)
	if s.IntN(3) == 0 {
		s.add(asked{method: "GET", path: pick(s, path+"/"+name, bindings+"/"+name+"-b"),
			accept: pick(s, "", asTable, asPartial)})
	}
	s.add(asked{method: "POST", path: bindings, body: object("admissionregistration.k8s.io/v1",
		"ValidatingAdmissionPolicyBinding", name+"-wrong", "", map[string]any{"spec": s.wrongBinding(name)}), dry: true})
	// One object tests the policy and the other tests the binding, because the two take effect in any order.
	s.sync("Policy", mark, "sync "+mark+"\"")
}

func (s *sequence) policy(mark string) map[string]any {
	spec := map[string]any{
		"matchConstraints": map[string]any{"namespaceSelector": s.own(), "resourceRules": []any{map[string]any{
			"operations": pick(s, []any{"CREATE", "UPDATE"}, []any{"*"}), "apiGroups": []any{"*"}, "apiVersions": []any{"*"},
			"resources": pick(s, []any{"*"}, []any{"*/*"}, []any{"configmaps", "widgets"}), "scope": "Namespaced",
		}}},
	}
	first := map[string]any{"expression": "request.operation == 'DELETE' || !has(object.metadata.labels) || !('sync' in " +
		"object.metadata.labels) || object.metadata.labels.sync != 'Policy" + mark + "'", "message": "sync " + mark}
	validations := []any{first}
	for range s.IntN(3) {
		v := map[string]any{"expression": pick(s, "object.metadata.name != 'a'",
			"!has(object.spec) || !has(object.spec.size) || object.spec.size < 6", "variables.name == 'b'",
			"request.operation != 'UPDATE' || object.metadata.name == oldObject.metadata.name",
			"object.spec.color == 'red'", "has(namespaceObject.metadata.labels) && namespaceObject.metadata.labels.tier == '1'",
			"authorizer.group('').resource('pods').namespace('x').check('list').allowed()",
			"object.data.k == 'v'", "false", "request.name == 'a' || request.dryRun",
			"params == null || params.data.allow == 'yes'",
			"[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, "+
				"[1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0))))))")}
		if s.IntN(3) == 0 {
			v["message"] = pick(s, "wrong it is", " padded ")
		}
		if s.IntN(3) == 0 {
			v["messageExpression"] = pick(s, "'name is ' + object.metadata.name", "'two\\nlines'", "''",
				"string(object.spec.color)", "'  '")
		}
		if s.IntN(3) == 0 {
			v["reason"] = pick(s, "Forbidden", "Invalid", "RequestEntityTooLarge")
		}
		validations = append(validations, v)
	}
	spec["validations"] = validations
	spec["variables"] = []any{map[string]any{"name": "name", "expression": "object.metadata.name"},
		map[string]any{"name": "again", "expression": "variables.name + 'x'"}}
	if s.IntN(4) == 0 {
		spec["failurePolicy"] = pick(s, "Ignore", "Fail")
	}
	if s.IntN(4) == 0 {
		spec["matchConditions"] = []any{map[string]any{"name": "c", "expression": pick(s, "request.name != 'c'",
			"has(object.metadata)", "object.metadata.name != 'd'")}}
	}
	spec["paramKind"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}
	if s.IntN(4) == 0 {
		spec["auditAnnotations"] = []any{map[string]any{"key": "k", "valueExpression": pick(s, "'x'", "null",
			"string(object.nothing)")}}
	}
	return spec
}

func (s *sequence) policyBinding(policy string) map[string]any {
	spec := map[string]any{"policyName": policy, "validationActions": pick(s, []any{"Deny"}, []any{"Deny"}, []any{"Warn"},
		[]any{"Audit"}, []any{"Deny", "Audit"}, []any{"Warn", "Audit"}),
		"matchResources": map[string]any{"namespaceSelector": s.own(),
			"objectSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "sync",
				"operator": "DoesNotExist"}}}}}
	if s.IntN(3) == 0 {
		spec["paramRef"] = pick(s, map[string]any{"name": "params", "parameterNotFoundAction": "Deny"},
			map[string]any{"name": "params", "parameterNotFoundAction": "Allow"},
			map[string]any{"name": "a", "namespace": s.namespace, "parameterNotFoundAction": "Allow"},
			map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "x"}},
				"parameterNotFoundAction": "Deny"})
	}
	if s.IntN(3) == 0 {
		spec["matchResources"].(map[string]any)["excludeResourceRules"] = []any{map[string]any{"operations": []any{"*"},
			"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "resources": []any{"configmaps"}, "resourceNames": []any{"a"}}}
	}
	return spec
}

func (s *sequence) wrongBinding(policy string) map[string]any {
	spec := s.policyBinding(policy)
	for range 1 + s.IntN(2) {
		switch s.IntN(4) {
		case 0:
			spec["policyName"] = pick(s, "", "Not Valid")
		case 1:
			spec["validationActions"] = pick(s, []any{}, []any{"Deny", "Warn"}, []any{"Other"}, []any{"Deny", "Deny"}, nil)
		case 2:
			spec["paramRef"] = pick(s, map[string]any{"name": "x"}, map[string]any{"parameterNotFoundAction": "Deny"},
				map[string]any{"name": "x", "selector": map[string]any{}, "parameterNotFoundAction": "Maybe"},
				map[string]any{"name": "a/b", "parameterNotFoundAction": "Allow"})
		case 3:
			spec["matchResources"] = map[string]any{"matchPolicy": "Other",
				"objectSelector": map[string]any{"matchLabels": map[string]any{"x": "not valid"}},
				"resourceRules":  []any{map[string]any{"resourceNames": []any{"a", "a", "x/y"}}}}
		}
	}
	return spec
}

func (s *sequence) spoilPolicy(spec map[string]any) {
	set := func(name string, values ...any) func() { return func() { spec[name] = pick(s, values...) } }
	for range 1 + s.IntN(3) {
		pick(s,
			set("failurePolicy", "Maybe"), set("paramKind", map[string]any{}, map[string]any{"apiVersion": "a/b/c", "kind": "X"},
				map[string]any{"apiVersion": "UP/v1", "kind": "not valid"}, map[string]any{"apiVersion": "v_1", "kind": "X"}),
			set("matchConstraints", nil, map[string]any{}, map[string]any{"resourceRules": []any{map[string]any{}}}),
			set("validations", nil, []any{map[string]any{}}, []any{map[string]any{"expression": "1"}},
				[]any{map[string]any{"expression": "object.", "message": " "}},
				[]any{map[string]any{"expression": "true", "message": "a\nb", "messageExpression": " "}},
				[]any{map[string]any{"expression": "true", "messageExpression": "1", "reason": "NotFound"}},
				[]any{map[string]any{"expression": "variables.nothing"}},
				[]any{map[string]any{"expression": "true", "messageExpression": "authorizer.group('')"}}),
			set("variables", []any{map[string]any{"name": "", "expression": ""}},
				[]any{map[string]any{"name": "if", "expression": "true"}},
				[]any{map[string]any{"name": "a-b", "expression": "1 +"}},
				[]any{map[string]any{"name": "x", "expression": "variables.y"}}),
			set("auditAnnotations", []any{map[string]any{"key": "", "valueExpression": ""}},
				[]any{map[string]any{"key": "a b", "valueExpression": "1"}},
				[]any{map[string]any{"key": "a", "valueExpression": "'x'"}, map[string]any{"key": "a", "valueExpression": "'x'"}}),
			set("matchConditions", []any{map[string]any{"name": "", "expression": ""}},
				[]any{map[string]any{"name": "x y", "expression": "2"}}),
		)()
	}
}

// mutatePolicies writes a mutating policy and its bindings.
func (s *sequence) mutatePolicies(mark string) {
	const policyKind, bindingKind, version = "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
		"admissionregistration.k8s.io/v1"
	name, path, bindings := s.namespace+"-amending", admissionPath+"mutatingadmissionpolicies",
		admissionPath+"mutatingadmissionpolicybindings"
	if s.IntN(2) == 0 {
		spec := s.mutatingPolicy(mark)
		s.spoilMutatingPolicy(spec)
		s.add(asked{method: "POST", path: path + s.options(), body: object(version, policyKind, name+"-wrong", "",
			map[string]any{"spec": spec}), dry: true})
	}
	spec, binding := map[string]any{"spec": s.mutatingPolicy(mark)}, map[string]any{"spec": s.mutatingBinding(name)}
	switch {
	case s.made[name] && s.IntN(4) == 0: // an update with an invalid part
		s.spoilMutatingPolicy(spec["spec"].(map[string]any))
		s.add(asked{method: "PUT", path: path + "/" + name, body: object(version, policyKind, name, "{{version "+name+"}}",
			spec), dry: true})
		return
	case s.made[name]:
		s.add(asked{method: "PUT", path: bindings + "/" + name + "-b", body: object(version, bindingKind, name+"-b",
			"{{version "+name+"-b}}", binding)})
		s.add(asked{method: "PUT", path: path + "/" + name, body: object(version, policyKind, name, "{{version "+name+"}}",
			spec)})
	default:
		s.add(asked{method: "POST", path: bindings, body: object(version, bindingKind, name+"-b", "", binding)})
		syncing := map[string]any{"policyName": name, "matchResources": map[string]any{"namespaceSelector": s.own(),
			"objectSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "sync", "operator": "In",
				"values": []any{"Mutate1", "Mutate2", "Mutate3"}}}}}}
		s.add(asked{method: "PATCH", path: bindings + "/" + name + "-a?fieldManager=one",
			contentType: "application/apply-patch+yaml", body: object(version, bindingKind, name+"-a", "",
				map[string]any{"spec": syncing})})
		s.add(asked{method: "POST", path: path, body: object(version, policyKind, name, "", spec)})
	}
	s.note(name, path)
	s.note(name+"-a", bindings)
	s.note(name+"-b", bindings)
	if s.IntN(3) == 0 {
		s.add(asked{method: "GET", path: pick(s, path+"/"+name, bindings+"/"+name+"-b"),
			accept: pick(s, "", asTable, asPartial)})
	}
	wrong := s.wrongBinding(name)
	delete(wrong, "validationActions")
	s.add(asked{method: "POST", path: bindings, body: object(version, bindingKind, name+"-wrong", "",
		map[string]any{"spec": wrong}), dry: true})
	until := `"synced":"` + mark + `"`
	if spec["spec"].(map[string]any)["paramKind"] != nil && strings.Contains(fmt.Sprint(spec), "none.kctrl.dev") {
		until = "none.kctrl.dev"
	}
	// The object is a custom resource, because policies of the real server learn its schema last.
	body := object("fidelity.kctrl.dev/v1", "Widget", "sync", "",
		map[string]any{"metadata": map[string]any{"labels": map[string]any{"sync": "Mutate" + mark}},
			"spec": map[string]any{"color": "red"}})
	s.add(asked{method: "POST", path: s.path("widgets", "") + "?dryRun=All", body: body, until: until})
}

func (s *sequence) mutatingPolicy(mark string) map[string]any {
	isSync := "has(object.metadata.labels) && 'sync' in object.metadata.labels"
	first := map[string]any{"patchType": "ApplyConfiguration",
		"applyConfiguration": map[string]any{"expression": isSync + " && object.metadata.labels.sync == 'Mutate" + mark +
			"' ? Object{metadata: Object.metadata{labels: {'synced': '" + mark + "'}}} : Object{}"}}
	mutations := []any{first}
	for range 1 + s.IntN(3) {
		mutations = append(mutations, s.mutation(isSync))
	}
	spec := map[string]any{
		"mutations": mutations, "reinvocationPolicy": pick(s, "Never", "IfNeeded"),
		"variables": []any{map[string]any{"name": "name", "expression": "object.metadata.name"},
			map[string]any{"name": "again", "expression": "variables.name + 'x'"}},
		"matchConstraints": map[string]any{"namespaceSelector": s.own(), "resourceRules": []any{map[string]any{
			"operations": pick(s, []any{"CREATE", "UPDATE"}, []any{"*"}, []any{"CREATE"}), "apiGroups": []any{"*"},
			"apiVersions": pick(s, []any{"*"}, []any{"*"}, []any{"v1"}),
			"resources":   pick(s, []any{"*"}, []any{"*/*"}, []any{"configmaps", "widgets"}), "scope": "Namespaced",
		}}},
	}
	if s.IntN(3) == 0 {
		spec["failurePolicy"] = pick(s, "Ignore", "Fail")
	}
	if s.IntN(4) == 0 {
		spec["matchConditions"] = []any{map[string]any{"name": "c", "expression": pick(s, "request.name != 'c'",
			"has(object.metadata)", "object.metadata.name != 'd'", isSync+" || object.nothing == 1")}}
	}
	if s.IntN(2) == 0 {
		spec["paramKind"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}
	}
	if s.IntN(8) == 0 {
		spec["paramKind"], spec["failurePolicy"] = map[string]any{"apiVersion": "none.kctrl.dev/v1", "kind": "Missing"},
			"Fail"
		labels := map[string]any{"sync": "Mutate" + mark}
		spec["matchConstraints"].(map[string]any)["objectSelector"] = map[string]any{"matchLabels": labels}
	}
	return spec
}

// mutation returns a mutation that changes each request except the requests of sync.
func (s *sequence) mutation(isSync string) map[string]any {
	if s.IntN(2) == 0 {
		expression := pick(s,
			`Object{metadata: Object.metadata{labels: {"mutated": "yes"}}}`,
			`Object{metadata: Object.metadata{annotations: {"by": variables.again}}}`,
			`Object{metadata: Object.metadata{labels: {"count": string(has(object.metadata.labels) ? object.metadata.labels.size() : 0)}}}`,
			`Object{spec: Object.spec{color: "blue"}}`, `Object{spec: Object.spec{size: 3}}`,
			`Object{spec: Object.spec{nothing: 3}}`, `Object{data: {"k": "v"}}`, `Object{data: {"k": 1}}`,
			`Object{metadata: Object.metadata{finalizers: ["kctrl.dev/x"]}}`,
			`Object{spec: Object.wrong{size: 1}}`, `Object{metadata: Object.metadata{name: "other"}}`,
			`Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "u"}]}}`,
			`Object{metadata: Object.metadata{labels: {"oper": request.operation}}}`,
			`Object{spec: Object.spec{size: object.spec.size + 1}}`, `object.nothing.there == 1 ? Object{} : Object{}`,
			`Object{}`, `Object{metadata: Object.metadata{labels: {"tier": namespaceObject.metadata.labels.tier}}}`,
			`Object{immutable: true}`, `Object{kind: "Other"}`, `Object{status: Object.status{phase: "Ready"}}`,
			`Object{spec: Object.spec{parts: [Object.spec.parts{name: "a"}]}}`,
		)
		return map[string]any{"patchType": "ApplyConfiguration",
			"applyConfiguration": map[string]any{"expression": isSync + " ? Object{} : (" + expression + ")"}}
	}
	expression := pick(s,
		`[JSONPatch{op: "add", path: "/metadata/labels", value: {"patched": "y"}}]`,
		`[JSONPatch{op: "replace", path: "/data/k", value: "w"}]`,
		`[JSONPatch{op: "test", path: "/metadata/name", value: "a"}, JSONPatch{op: "add", path: "/metadata/annotations", value: {"t": "1"}}]`,
		`[JSONPatch{op: "remove", path: "/metadata/name"}]`, `[JSONPatch{op: "add", path: "/spec/color", value: "green"}]`,
		`[JSONPatch{op: "add", path: "/spec", value: Object.spec{color: "red", size: 2}}]`,
		`has(object.spec) ? [JSONPatch{op: "remove", path: "/spec/color"}] : []`,
		`[JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("a/b"), value: "c"}]`,
		`[JSONPatch{op: "copy", from: "/metadata/name", path: "/metadata/generateName"}]`,
		`[JSONPatch{op: "bogus", path: "/x"}]`, `[JSONPatch{op: "add", path: "/unknown", value: 1}]`,
		`[JSONPatch{op: "add", path: "/metadata/labels", value: 1}]`,
		`object.nothing ? [] : [JSONPatch{op: "add", path: "/metadata/labels", value: {"x": "y"}}]`,
		`[JSONPatch{op: "replace", path: "/kind", value: "Other"}]`,
		`[JSONPatch{op: "add", path: "/data", value: {"k": variables.name}}]`,
		`[JSONPatch{op: "move", from: "/metadata/labels", path: "/metadata/annotations"}]`,
		`[JSONPatch{op: "add", path: "/spec/tags/-", value: "t"}]`,
	)
	return map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": isSync + " ? [] : (" +
		expression + ")"}}
}

func (s *sequence) mutatingBinding(policy string) map[string]any {
	spec := s.policyBinding(policy)
	delete(spec, "validationActions")
	return spec
}

func (s *sequence) spoilMutatingPolicy(spec map[string]any) {
	set := func(name string, values ...any) func() { return func() { spec[name] = pick(s, values...) } }
	apply := func(expression any) map[string]any {
		return map[string]any{"patchType": "ApplyConfiguration",
			"applyConfiguration": map[string]any{"expression": expression}}
	}
	patch := func(expression any) map[string]any {
		return map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": expression}}
	}
	for range 1 + s.IntN(3) {
		pick(s,
			set("failurePolicy", "Maybe"), set("paramKind", map[string]any{},
				map[string]any{"apiVersion": "a/b/c", "kind": "X"}), set("reinvocationPolicy", nil, "", "Always"),
			set("matchConstraints", nil, map[string]any{}, map[string]any{"resourceRules": []any{map[string]any{}}},
				map[string]any{"resourceRules": []any{map[string]any{"operations": []any{"CREATE", "DELETE", "NONE"},
					"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "resources": []any{"*"}}}}),
			set("mutations", nil, []any{}, []any{map[string]any{}}, []any{map[string]any{"patchType": "Other"}},
				[]any{map[string]any{"patchType": "JSONPatch"}}, []any{map[string]any{"patchType": "ApplyConfiguration"}},
				[]any{apply("")}, []any{apply("1")}, []any{apply("Object{")},
				[]any{apply(`[JSONPatch{op: "add", path: "/x"}]`)}, []any{patch("Object{}")}, []any{patch(" ")},
				[]any{patch("[1]")}, []any{patch(`[JSONPatch{oper: "add"}]`)}, []any{apply("Object{metadata: variables.nothing}")},
				[]any{apply("variables.name")},
				[]any{map[string]any{"patchType": "JSONPatch", "applyConfiguration": map[string]any{"expression": "Object{}"},
					"jsonPatch": map[string]any{"expression": "[]"}}},
				[]any{map[string]any{"patchType": "ApplyConfiguration",
					"applyConfiguration": map[string]any{"expression": "Object{}"}, "jsonPatch": map[string]any{"expression": "[]"}}},
				[]any{apply("params.x == 1 ? Object{} : Object{}"), patch("params")}),
			set("variables", []any{map[string]any{"name": "", "expression": ""}},
				[]any{map[string]any{"name": "if", "expression": "true"}},
				[]any{map[string]any{"name": "x", "expression": "variables.y"}},
				[]any{map[string]any{"name": "x", "expression": "Object{}"}}),
			set("matchConditions", []any{map[string]any{"name": "", "expression": ""}},
				[]any{map[string]any{"name": "x y", "expression": "2"}},
				[]any{map[string]any{"name": "x", "expression": "Object{}"}}),
		)()
	}
}

// forget deletes the objects that interrupted sequences did not delete.
func (p *peer) forget(t testing.TB) {
	for _, kind := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies",
		"mutatingadmissionpolicybindings"} {
		p.do(t, asked{method: "DELETE", path: admissionPath + kind})
	}
}

// repeat sends a request until the answer contains a text.
func (p *peer) repeat(t testing.TB, a asked) (status int, body []byte, header http.Header) {
	for deadline := time.Now().Add(10 * time.Second); ; {
		status, body, header = p.do(t, a)
		if strings.Contains(string(body), a.until) {
			return status, body, header
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s: %.2000s: want %s", p.name, a, body, a.until)
		}
	}
}

// groupOf returns the group of a user in random sequences, if it has one.
func groupOf(user string) (string, bool) {
	namespace, ok := strings.CutSuffix(user, "-grouped")
	return namespace + "-group", ok
}

const rbacPath = "/apis/rbac.authorization.k8s.io/v1/"

// rightsOf returns the requests of a seed by users with some permissions, including requests for roles.
func rightsOf(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 3)), namespace: fmt.Sprintf("r%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	s.add(asked{method: "POST", path: s.path("serviceaccounts", ""), body: object("v1", "ServiceAccount", "a", "", nil)})
	for range 1 + s.IntN(3) {
		for range 2 + s.IntN(4) {
			pick(s, s.role, s.role, s.bind, s.bind, s.bind)("")
		}
		s.syncRights()
		for range 6 + s.IntN(14) {
			user := s.user()
			from := len(s.requests)
			pick(s, s.create, s.get, s.list, s.update, s.updateStatus, s.patch, s.apply, s.remove, s.removeAll, s.scale, s.core,
				s.gadgets, s.table, s.discover,
				s.ask, s.ask, s.ask, s.askToken, s.escalate, s.escalate, s.escalate)()
			for i := from; i < len(s.requests); i++ {
				if s.requests[i].user == "" {
					s.requests[i].user = user
				}
				if s.requests[i].accept == "application/yaml" { // lines of YAML are not masked
					s.requests[i].accept = ""
				}
			}
			if slices.ContainsFunc(s.requests[from:], func(a asked) bool { return strings.HasPrefix(a.path, rbacPath) }) {
				s.syncRights()
			}
		}
	}
	s.forget()
	return s.requests
}

func (s *sequence) user() string {
	return pick(s, s.namespace+"-one", s.namespace+"-one", s.namespace+"-two", s.namespace+"-grouped",
		"system:serviceaccount:"+s.namespace+":a", "")
}

// syncRights repeats a request until the server applies all earlier roles and bindings.
func (s *sequence) syncRights() {
	s.synced++
	name := fmt.Sprintf("%s-sync%d", s.namespace, s.synced)
	for _, scope := range []struct{ kind, path, names string }{
		{"", rbacPath + "namespaces/" + s.namespace + "/", "configmaps"}, {"Cluster", rbacPath, "secrets"},
	} {
		rule := map[string]any{"verbs": []any{"get"}, "apiGroups": []any{""}, "resources": []any{scope.names}}
		lower := strings.ToLower(scope.kind)
		s.add(asked{method: "POST", path: scope.path + lower + "roles", body: object("rbac.authorization.k8s.io/v1",
			scope.kind+"Role", name, "", map[string]any{"rules": []any{rule}})})
		s.add(asked{method: "POST", path: scope.path + lower + "rolebindings", body: object("rbac.authorization.k8s.io/v1",
			scope.kind+"RoleBinding", name, "", map[string]any{
				"roleRef":  map[string]any{"kind": scope.kind + "Role", "name": name},
				"subjects": []any{map[string]any{"kind": "User", "name": name}},
			})})
		if scope.kind != "" {
			s.note(name, rbacPath+"clusterroles")
			s.note(name+" ", rbacPath+"clusterrolebindings")
		}
		s.add(asked{method: "GET", path: "/api/v1/namespaces/" + s.namespace + "/" + scope.names + "/nothing", user: name,
			until: `"code":404`})
	}
}

// grant binds a user to a new role, and waits until one of its permissions is in effect.
func (s *sequence) grant(name string, rules []any, group, resource, verb string) {
	const roles, version = rbacPath + "clusterrole", "rbac.authorization.k8s.io/v1"
	s.add(asked{method: "POST", path: roles + "s", body: object(version, "ClusterRole", name, "",
		map[string]any{"rules": rules})})
	s.add(asked{method: "POST", path: roles + "bindings", body: object(version, "ClusterRoleBinding", name, "",
		map[string]any{
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
			"subjects": []any{map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name}}})})
	s.add(asked{method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", user: name,
		until: `"allowed":true`,
		body: object("authorization.k8s.io/v1", "SelfSubjectAccessReview", "", "",
			map[string]any{"spec": map[string]any{"resourceAttributes": map[string]any{"group": group, "resource": resource,
				"verb": verb}}})})
}

// rules returns the rules of a role, which may be invalid.
func (s *sequence) rules() []any {
	var rules []any
	for range 1 + s.IntN(3) {
		rule := map[string]any{
			"verbs": pick(s, []any{"get", "list"}, []any{"*"}, []any{"create", "update", "patch"},
				[]any{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}, []any{"delete"}),
			"apiGroups": pick(s, []any{"fidelity.kctrl.dev"}, []any{"fidelity.kctrl.dev", ""}, []any{"*"}, []any{""},
				[]any{"rbac.authorization.k8s.io"}),
			"resources": pick(s, []any{"widgets"}, []any{"widgets", "widgets/status"}, []any{"configmaps", "secrets"},
				[]any{"*"}, []any{"*/status", "widgets/scale"}, []any{"roles", "rolebindings", "clusterroles",
					"clusterrolebindings"}, []any{"gadgets"}),
		}
		switch s.IntN(12) {
		case 0:
			rule["resourceNames"] = []any{"a", "b"}
		case 1:
			rule = map[string]any{"verbs": []any{"get"}, "nonResourceURLs": pick(s, []any{"/metrics"}, []any{"/x/*"},
				[]any{"*"})}
		case 2:
			rule["verbs"] = []any{"bind", "escalate", "create", "update", "get"}
			rule["resources"] = []any{"roles", "rolebindings"}
			rule["apiGroups"] = []any{"rbac.authorization.k8s.io"}
		case 3:
			if s.IntN(3) == 0 {
				rule[pick(s, "verbs", "apiGroups", "resources")] = pick(s, []any{}, []any(nil))
			}
		case 4:
			if s.IntN(3) == 0 {
				rule["nonResourceURLs"] = []any{"/x"}
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

func (s *sequence) rbac(kind, name string) (path string) {
	cluster := strings.HasPrefix(kind, "Cluster")
	if cluster {
		return rbacPath + strings.ToLower(kind) + "s/" + name
	}
	return rbacPath + "namespaces/" + s.namespace + "/" + strings.ToLower(kind) + "s/" + name
}

// write creates, updates, reads or deletes a role or binding.
func (s *sequence) write(kind, name string, content map[string]any) {
	path := s.rbac(kind, name)
	if strings.HasPrefix(kind, "Cluster") {
		s.note(name+" "+kind, "")
		s.paths[len(s.paths)-1] = strings.TrimSuffix(path, "/")
	}
	collection := strings.TrimSuffix(path, "/"+name)
	body := object("rbac.authorization.k8s.io/v1", kind, name, "", content)
	switch s.IntN(10) {
	case 0, 1, 2, 3:
		s.add(asked{method: "POST", path: collection + s.options(), body: body})
	case 4, 5:
		s.add(asked{method: "PUT", path: path + s.options(), body: object("rbac.authorization.k8s.io/v1", kind, name,
			pick(s, "", "", "{{version "+name+"}}"), content)})
	case 6, 7:
		s.add(asked{method: "PATCH", path: path + "?fieldManager=" + pick(s, "one", "two") + pick(s, "", "&force=true"),
			contentType: "application/apply-patch+yaml", body: body})
	case 8:
		s.add(asked{method: "PATCH", path: path, contentType: pick(s, "application/strategic-merge-patch+json",
			"application/merge-patch+json"), body: pick(s, `{"metadata":{"labels":{"a":"b"}}}`,
			`{"metadata":{"finalizers":["x.y/z"]}}`, `{"metadata":{"finalizers":null}}`,
			`{"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["nodes"]}]}`)})
	case 9:
		s.add(asked{method: pick(s, "GET", "DELETE"), path: path, accept: pick(s, "", "", asTable)})
	}
}

func (s *sequence) role(string) {
	if s.IntN(2) == 0 {
		s.write("Role", pick(s, "ra", "rb"), map[string]any{"rules": s.rules(), "metadata": s.metadata()})
		return
	}
	content := map[string]any{"rules": s.rules()}
	if s.IntN(8) == 0 {
		content["aggregationRule"] = pick(s,
			map[string]any{"clusterRoleSelectors": []any{map[string]any{"matchLabels": map[string]any{"none": "x"}}}},
			map[string]any{},
			map[string]any{"clusterRoleSelectors": []any{map[string]any{"matchLabels": map[string]any{"a": "not valid"}}}})
	}
	s.write("ClusterRole", s.namespace+pick(s, "-ca", "-cb"), content)
}

func (s *sequence) bind(string) {
	subject := func() any {
		return pick(s, map[string]any{"kind": "User", "name": s.namespace + "-one"},
			map[string]any{"kind": "User", "name": s.namespace + "-two"},
			map[string]any{"kind": "Group", "name": s.namespace + "-group"},
			map[string]any{"kind": "ServiceAccount", "name": "a", "namespace": s.namespace},
			map[string]any{"kind": "ServiceAccount", "name": "a", "namespace": s.namespace})
	}
	subjects := []any{subject(), subject()}
	if s.IntN(10) == 0 {
		subjects = []any{pick(s, map[string]any{"kind": "Other", "name": "x"}, map[string]any{"kind": "User"},
			map[string]any{"kind": "ServiceAccount", "name": "Not_Valid"}, map[string]any{"kind": "ServiceAccount", "name": "a",
				"apiGroup": "x"}, map[string]any{"kind": "User", "name": "x", "apiGroup": "y"})}
	}
	role := map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
		"name": s.namespace + pick(s, "-ca", "-cb", "-missing")}
	if s.IntN(10) == 0 {
		role[pick(s, "apiGroup", "kind", "name")] = pick(s, "", "x/y", "Other")
	}
	if s.IntN(3) == 0 {
		s.write("ClusterRoleBinding", s.namespace+pick(s, "-cba", "-cbb"),
			map[string]any{"roleRef": role, "subjects": subjects})
		return
	}
	if s.IntN(2) == 0 {
		role = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": pick(s, "ra", "rb", "missing")}
	}
	s.write("RoleBinding", pick(s, "ba", "bb"), map[string]any{"roleRef": role, "subjects": subjects,
		"metadata": s.metadata()})
}

// escalate writes a role or binding as a user who may lack the permission to do so.
func (s *sequence) escalate() { pick(s, s.role, s.bind)("") }

// ask sends access reviews.
func (s *sequence) ask() {
	attributes := map[string]any{"resourceAttributes": map[string]any{
		"namespace": pick(s, s.namespace, s.namespace, ""), "verb": pick(s, "get", "list", "create", "delete", "*"),
		"group":    pick(s, "", "fidelity.kctrl.dev", "*"),
		"resource": pick(s, "widgets", "configmaps", "*", "pods"), "subresource": pick(s, "", "", "status"),
		"name": pick(s, "", "a"),
	}}
	switch s.IntN(8) {
	case 0:
		attributes = map[string]any{"nonResourceAttributes": map[string]any{"path": pick(s, "/metrics", "/healthz", "/x/y"),
			"verb": "get"}}
	case 1:
		attributes = pick(s, map[string]any{}, map[string]any{"nonResourceAttributes": map[string]any{"path": "/x",
			"verb": "get"}, "resourceAttributes": map[string]any{"verb": "get"}})
	}
	local := attributes
	subject := map[string]any{}
	for key, value := range attributes {
		subject[key] = value
	}
	subject["user"] = pick(s, s.namespace+"-one", s.namespace+"-two", "system:serviceaccount:"+s.namespace+":a", "")
	if s.IntN(3) == 0 {
		subject["groups"] = []any{s.namespace + "-group"}
	}
	const path, version = "/apis/authorization.k8s.io/v1/", "authorization.k8s.io/v1"
	review := func(kind string, spec any) string {
		return marshal(map[string]any{"apiVersion": version, "kind": kind, "spec": spec})
	}
	switch s.IntN(6) {
	case 0, 1:
		s.add(asked{method: "POST", path: path + "selfsubjectaccessreviews", body: review("SelfSubjectAccessReview", local)})
	case 2:
		s.add(asked{method: "POST", path: path + "subjectaccessreviews", body: review("SubjectAccessReview", subject)})
	case 3:
		body := marshal(map[string]any{"apiVersion": version, "kind": "LocalSubjectAccessReview", "spec": subject,
			"metadata": pick(s, map[string]any{"namespace": s.namespace}, map[string]any{}, map[string]any{"name": "x"})})
		s.add(asked{method: "POST", path: path + "namespaces/" + s.namespace + "/localsubjectaccessreviews", body: body})
	case 4:
		s.add(asked{method: "POST", path: path + "selfsubjectrulesreviews",
			body: review("SelfSubjectRulesReview", map[string]any{"namespace": pick(s, s.namespace, "")})})
	case 5:
		s.add(asked{method: pick(s, "POST", "POST", "GET"), path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
			body: `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`,
			user: pick(s, s.namespace+"-one", s.namespace+"-grouped", "system:serviceaccount:"+s.namespace+":a")})
	}
}

func (s *sequence) askToken() {
	request := map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": pick(s, map[string]any{}, map[string]any{"expirationSeconds": 600}, map[string]any{"expirationSeconds": 5},
			map[string]any{"audiences": []any{"x"}})}
	review := map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
		"spec": map[string]any{"token": pick(s, "{{token}}", "{{token}}", "")}}
	if s.IntN(4) == 0 {
		request["metadata"] = pick(s, map[string]any{"name": "b"},
			map[string]any{"uid": "00000000-0000-4000-8000-000000000001"}, map[string]any{"namespace": "other"})
	}
	if s.IntN(2) == 0 {
		s.add(asked{method: "POST", path: "/api/v1/namespaces/" + s.namespace + "/serviceaccounts/" + pick(s, "a", "a", "a",
			"b") + "/token", body: marshal(request)})
	} else {
		s.add(asked{method: "POST", path: "/apis/authentication.k8s.io/v1/tokenreviews", body: marshal(review)})
	}
}
