package apiserver_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
)

// sequence generates the requests of one seed, for objects in its own namespace.
type sequence struct {
	*rand.Rand
	namespace string
	generated bool // a request has generated a name; a second one would make the order random
	requests  []asked

	hooks  *hooks          // set in sequences about admission
	synced int             // number of configuration changes
	made   map[string]bool // created cluster-scoped objects, by name
	paths  []string        // paths of the objects in made
}

// requestsOf returns the requests of a seed.
func requestsOf(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 1)), namespace: fmt.Sprintf("s%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	s.add(asked{method: "GET", path: s.path("widgets", "")})
	for range 30 + s.IntN(30) {
		s.step()
	}
	if s.IntN(4) == 0 {
		s.add(asked{method: "DELETE", path: "/api/v1/namespaces/" + s.namespace})
		for range 5 {
			s.step()
		}
		return s.requests
	}
	s.add(asked{method: "POST", path: s.path("widgets", ""), body: object("fidelity.kctrl.dev/v1", "Widget", "sentinel",
		"", map[string]any{"spec": map[string]any{"color": "red"}})})
	s.watch()
	return s.requests
}

func (s *sequence) add(a asked) { s.requests = append(s.requests, a) }

func pick[T any](s *sequence, of ...T) T { return of[s.IntN(len(of))] }

func (s *sequence) name() string { return pick(s, "a", "b", "c", "d") }

// gadget returns the name of a cluster-scoped object of this sequence.
func (s *sequence) gadget() string { return s.namespace + "-" + pick(s, "a", "b") }

func (s *sequence) path(resource, name string) string {
	prefix := "/apis/fidelity.kctrl.dev/v1"
	switch resource {
	case "configmaps", "secrets", "serviceaccounts":
		prefix = "/api/v1"
	case "widgets":
		if s.IntN(6) == 0 && name != "" {
			prefix = "/apis/fidelity.kctrl.dev/v1beta1"
		}
	case "gadgets":
		return strings.TrimSuffix(prefix+"/gadgets/"+name, "/")
	}
	return strings.TrimSuffix(prefix+"/namespaces/"+s.namespace+"/"+resource+"/"+name, "/")
}

func object(apiVersion, kind, name, version string, content map[string]any) string {
	metadata := map[string]any{"name": name}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	all := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	for key, value := range content {
		if key == "metadata" {
			for key, value := range value.(map[string]any) {
				metadata[key] = value
			}
			continue
		}
		all[key] = value
	}
	return marshal(all)
}

func marshal(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (s *sequence) step() {
	steps := []func(){
		s.create, s.create, s.create, s.get, s.list, s.list, s.update, s.update, s.updateStatus, s.patch, s.patch, s.patch,
		s.apply, s.apply, s.apply,
		s.remove, s.remove, s.removeAll, s.scale, s.wrong, s.core, s.core, s.gadgets, s.table, s.page, s.discover,
	}
	steps[s.IntN(len(steps))]()
}

// options returns random query parameters of a write.
func (s *sequence) options() string {
	values := url.Values{}
	if s.IntN(8) == 0 {
		values.Set("dryRun", pick(s, "All", "All", "All", "Some"))
	}
	if s.IntN(4) == 0 {
		values.Set("fieldValidation", pick(s, "Strict", "Warn", "Ignore", "Wrong"))
	}
	if s.IntN(5) == 0 {
		values.Set("fieldManager", pick(s, "one", "two", strings.Repeat("x", 129)))
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// body returns a random widget, which may be invalid.
func (s *sequence) body(name, version string) string {
	content := map[string]any{"spec": s.spec(), "metadata": s.metadata()}
	if s.IntN(4) == 0 {
		content["status"] = s.status()
	}
	if s.IntN(12) == 0 {
		content["unknown"] = 1
	}
	return object("fidelity.kctrl.dev/v1", "Widget", name, version, content)
}

func (s *sequence) metadata() map[string]any {
	metadata := map[string]any{}
	optional := func(odds int, name string, values ...any) {
		if s.IntN(odds) == 0 {
			metadata[name] = pick(s, values...)
		}
	}
	optional(3, "labels", map[string]any{"app": "x"}, map[string]any{"app": "y", "tier": "1"},
		map[string]any{"app": "not valid"})
	optional(6, "annotations", map[string]any{"note": "hello"}, map[string]any{"-": "x"}, nil)
	optional(7, "finalizers", []any{"fidelity.kctrl.dev/hold"}, []any{"hold"}, []any{"with.dots"},
		[]any{"fidelity.kctrl.dev/hold", "fidelity.kctrl.dev/more"}, []any{})
	optional(14, "ownerReferences", []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a",
		"uid": "{{uid a}}"}}, []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": ""}})
	optional(20, "generation", 7, "x")
	optional(20, "creationTimestamp", "2020-01-01T00:00:00Z", "yesterday")
	optional(25, "unknownMeta", "x")
	optional(25, "namespace", "other")
	optional(25, "selfLink", "/x")
	optional(25, "deletionTimestamp", "2020-01-01T00:00:00Z")
	return metadata
}

func (s *sequence) spec() map[string]any {
	spec := map[string]any{}
	optional := func(odds int, name string, values ...any) {
		if s.IntN(odds) == 0 {
			spec[name] = pick(s, values...)
		}
	}
	optional(2, "color", "red", "green", "blue", "red", "green", "pink", 5, nil)
	optional(4, "fixed", "a", "b", "much too long")
	optional(3, "size", 1, 5, 0, 11, 2.5, 3.0, "3", nil)
	optional(3, "replicas", 1, 2, 500, -1, 3000000000)
	optional(5, "weight", 1, 1.5, 1e30, 2.0)
	optional(8, "email", "a@b", "nobody")
	optional(10, "date", "2024-01-02T03:04:05Z", "today")
	optional(10, "duration", "5s", "later")
	optional(8, "port", 80, "http", true, 1.5)
	optional(8, "nothing", nil, "x")
	optional(5, "tags", []any{"x", "y"}, []any{"x", "x"}, []any{}, []any{"z"}, nil, []any{1})
	optional(6, "free", []any{1, 2}, []any{1, 2, 3, 4}, []any{"x"})
	optional(3, "parts", []any{map[string]any{"name": "p"}},
		[]any{map[string]any{"name": "p"}, map[string]any{"name": "p"}}, []any{map[string]any{"name": "q", "count": -1}},
		[]any{map[string]any{"name": "q", "count": 1, "kind": "fancy"}, map[string]any{"name": "p"}},
		[]any{map[string]any{"count": 3}}, []any{nil})
	optional(6, "atomic", map[string]any{"a": "1"}, map[string]any{"b": "2"}, map[string]any{"a": "1", "b": "2", "c": "3"})
	optional(6, "extra", map[string]any{"x": map[string]any{"y": []any{1, "2", nil}}}, map[string]any{})
	optional(6, "labels", map[string]any{"a": "b"}, map[string]any{"a": 1})
	optional(8, "template", map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "x", "labels": map[string]any{"a": "b"}}, "spec": map[string]any{"x": 1}},
		map[string]any{"kind": "Pod"}, map[string]any{"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"labels": 5}})
	optional(8, "one", map[string]any{"a": "x"}, map[string]any{"a": "x", "b": "y"}, map[string]any{})
	optional(10, "bogus", "x", map[string]any{"y": 1})
	return spec
}

func (s *sequence) status() map[string]any {
	status := map[string]any{}
	optional := func(odds int, name string, values ...any) {
		if s.IntN(odds) == 0 {
			status[name] = pick(s, values...)
		}
	}
	optional(2, "ready", true, false, "yes")
	optional(3, "replicas", 1, 2, -3)
	optional(4, "selector", "a=b", 7)
	optional(3, "phase", "Pending", "Running", "Wrong")
	optional(3, "conditions", []any{map[string]any{"type": "Ready", "status": "True"}},
		[]any{map[string]any{"type": "Ready"}},
		[]any{map[string]any{"type": "A", "status": "x"}, map[string]any{"type": "B", "status": "y"}},
		[]any{map[string]any{"type": "A", "status": "x"}, map[string]any{"type": "A", "status": "y"}})
	optional(8, "bogus", 1)
	return status
}

func (s *sequence) create() {
	name := s.name()
	a := asked{method: "POST", path: s.path("widgets", "") + s.options(), body: s.body(name, "")}
	switch s.IntN(12) {
	case 0:
		if !s.generated {
			a.body = strings.Replace(a.body, `"name":"`+name+`"`, `"generateName":"gen-"`, 1)
		}
		s.generated = true
	case 1:
		a.body = s.body(pick(s, "", "Not_A_Name", "x/y", strings.Repeat("n", 254)), pick(s, "", "5"))
	case 2:
		a.body = strings.Replace(a.body, "fidelity.kctrl.dev/v1",
			pick(s, "fidelity.kctrl.dev/v1beta1", "fidelity.kctrl.dev/v2", "other.dev/v1", ""), 1)
	case 3:
		a.contentType = "application/yaml"
	}
	s.add(a)
}

func (s *sequence) get() {
	query := ""
	if s.IntN(4) == 0 {
		query = "?resourceVersion=" + pick(s, "0", "{{version a}}", "x", "1")
	}
	s.add(asked{method: "GET", path: s.path("widgets", s.name()) + pick(s, "", "", "/status", "/scale", "/other") + query,
		accept: s.accept()})
}

const (
	asTable   = "application/json;as=Table;v=v1;g=meta.k8s.io"
	asPartial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
)

func (s *sequence) accept() string {
	return pick(s, "", "", "", "", "application/yaml", asPartial, "application/xml",
		"application/vnd.kubernetes.protobuf,application/json")
}

func (s *sequence) list() {
	values := url.Values{}
	optional := func(odds int, name string, of ...string) {
		if s.IntN(odds) == 0 {
			values.Set(name, pick(s, of...))
		}
	}
	optional(2, "labelSelector", "app=x", "app in (x,y),tier", "!app", "app=(")
	optional(3, "fieldSelector", "metadata.name=a", "spec.color=red", "metadata.namespace=other", "spec.size=3",
		"metadata.name!=b", "spec.color!=red,metadata.name=a", "=")
	optional(4, "resourceVersion", "0", "{{start}}", "x")
	optional(8, "resourceVersionMatch", "Exact", "NotOlderThan", "Wrong")
	optional(6, "limit", "1", "2", "-1", "x")
	optional(15, "timeoutSeconds", "5", "x")
	s.add(asked{method: "GET", path: s.path("widgets", "") + unescaped(values),
		accept: pick(s, "", "", "", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")})
}

// unescaped returns a query in which {{references}} are not escaped.
func unescaped(values url.Values) string {
	if len(values) == 0 {
		return ""
	}
	return "?" + strings.NewReplacer("%7B", "{", "%7D", "}").Replace(values.Encode())
}

func (s *sequence) page() {
	limit := pick(s, "1", "2")
	selector := pick(s, "", "", "&labelSelector=app%3Dx")
	s.add(asked{method: "GET", path: s.path("widgets", "") + "?limit=" + limit + selector})
	if s.IntN(2) == 0 {
		s.create()
	}
	s.add(asked{method: "GET", path: s.path("widgets", "") + "?limit=" + limit + selector + pick(s,
		"&continue={{continue}}", "&continue={{continue}}", "&continue={{continue}}&resourceVersion={{start}}", "&continue=x",
		"&continue=e30")})
}

func (s *sequence) table() {
	path := pick(s, s.path("widgets", ""), s.path("widgets", "a"), s.path("gadgets", s.gadget()),
		s.path("gadgets", "")+"?fieldSelector=metadata.name%3D"+s.gadget())
	s.add(asked{method: "GET", path: path, accept: asTable + pick(s, "", ",application/json")})
}

func (s *sequence) update() {
	name := s.name()
	version := pick(s, "{{version "+name+"}}", "{{version "+name+"}}", "{{version "+name+"}}", "", "1", "x")
	a := asked{method: "PUT", path: s.path("widgets", name) + s.options(), body: s.body(name, version)}
	switch s.IntN(12) {
	case 0:
		a.body = s.body("another", version)
	case 1:
		a.body = strings.Replace(a.body, `"metadata":{`, `"metadata":{"uid":"`+pick(s, "{{uid "+name+"}}",
			"00000000-0000-4000-8000-000000000001")+`",`, 1)
	}
	s.add(a)
}

func (s *sequence) updateStatus() {
	name := s.name()
	body := object("fidelity.kctrl.dev/v1", "Widget", name, "{{version "+name+"}}",
		map[string]any{"spec": s.spec(), "status": s.status(), "metadata": s.metadata()})
	s.add(asked{method: "PUT", path: "/apis/fidelity.kctrl.dev/v1/namespaces/" + s.namespace + "/widgets/" + name +
		"/status" + s.options(), body: body})
}

func (s *sequence) scale() {
	name := s.name()
	path := "/apis/fidelity.kctrl.dev/v1/namespaces/" + s.namespace + "/widgets/" + name + "/scale"
	switch s.IntN(3) {
	case 0:
		s.add(asked{method: "GET", path: path, accept: pick(s, "", "", asTable)})
	case 1:
		body := object("autoscaling/v1", "Scale", name, pick(s, "", "{{version "+name+"}}", "1"),
			map[string]any{"spec": map[string]any{"replicas": pick(s, 1, 4, 500, -1)},
				"metadata": map[string]any{"namespace": s.namespace}})
		s.add(asked{method: "PUT", path: path + s.options(), body: body})
	case 2:
		s.add(asked{method: "PATCH", path: path + s.options(), contentType: "application/merge-patch+json",
			body: pick(s, `{"spec":{"replicas":5}}`, `{"spec":{"replicas":"x"}}`, `{"spec":null}`)})
	}
}

func (s *sequence) patch() {
	name := s.name()
	path := s.path("widgets", name) + pick(s, "", "", "", "/status") + s.options()
	switch s.IntN(8) {
	case 0, 1, 2:
		content := map[string]any{"spec": s.spec()}
		if s.IntN(3) == 0 {
			content["metadata"] = s.metadata()
		}
		if s.IntN(3) == 0 {
			content["status"] = s.status()
		}
		s.add(asked{method: "PATCH", path: path, contentType: "application/merge-patch+json", body: marshal(content)})
	case 3, 4:
		operations := pick(s,
			`[{"op":"add","path":"/spec/tags","value":["n"]}]`, `[{"op":"remove","path":"/spec/tags"}]`,
			`[{"op":"replace","path":"/spec/color","value":"blue"}]`,
			`[{"op":"test","path":"/spec/color","value":"red"},{"op":"add","path":"/metadata/labels","value":{"app":"y"}}]`,
			`[{"op":"add","path":"/spec/parts/-","value":{"name":"z"}}]`,
			`[{"op":"bad"}]`, `{}`, `[{"op":"remove","path":"/metadata/finalizers"}]`,
			`[{"op":"replace","path":"/metadata/name","value":"q"}]`, `[`)
		s.add(asked{method: "PATCH", path: path, contentType: "application/json-patch+json", body: operations})
	case 5:
		s.add(asked{method: "PATCH", path: path, contentType: "application/merge-patch+json",
			body: pick(s, `{"metadata":{"finalizers":null}}`, `{"metadata":{"resourceVersion":"1"}}`, `{"metadata":{"uid":"x"}}`,
				`null`, `[]`, `{"spec":5}`, `{`, `{"metadata":{"managedFields":[]}}`, `{"metadata":{"managedFields":[{}]}}`)})
	case 6:
		s.add(asked{method: "PATCH", path: path, contentType: pick(s, "application/strategic-merge-patch+json",
			"application/json", "text/plain"), body: `{"spec":{"color":"blue"}}`})
	case 7:
		s.add(asked{method: "PATCH", path: path, contentType: "application/merge-patch+json",
			body: `{"metadata":{"labels":{"app":"` + pick(s, "x", "y") + `"}}}`})
	}
}

func (s *sequence) apply() {
	name := s.name()
	content := map[string]any{"spec": s.spec(), "metadata": s.metadata()}
	if s.IntN(4) == 0 {
		content["status"] = s.status()
	}
	manager := pick(s, "one", "two", "two", "three", "")
	query := "?fieldManager=" + manager + pick(s, "", "&force=true", "&force=true", "&force=false", "&dryRun=All",
		"&fieldValidation=Strict")
	body := object("fidelity.kctrl.dev/v1", "Widget", name, "", content)
	s.add(asked{method: "PATCH", path: "/apis/fidelity.kctrl.dev/v1/namespaces/" + s.namespace + "/widgets/" + name +
		pick(s, "", "", "", "", "/status") + query, contentType: "application/apply-patch+yaml", body: body})
}

func (s *sequence) remove() {
	name := s.name()
	options := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions"}
	switch s.IntN(8) {
	case 0:
		options["preconditions"] = map[string]any{"uid": pick(s, "{{uid "+name+"}}", "00000000-0000-4000-8000-000000000001")}
	case 1:
		options["preconditions"] = map[string]any{"resourceVersion": pick(s, "{{version "+name+"}}", "1")}
	case 2:
		options["propagationPolicy"] = pick(s, "Orphan", "Foreground", "Background", "Wrong")
	case 3:
		options["orphanDependents"] = pick(s, true, false)
	case 4:
		options["dryRun"] = []string{"All"}
	case 5:
		options["gracePeriodSeconds"] = pick(s, 0, 10, -1)
	}
	body := marshal(options)
	if s.IntN(3) == 0 {
		body = ""
	}
	s.add(asked{method: "DELETE", path: s.path("widgets", name) + pick(s, "", "", "", "", "?propagationPolicy=Foreground",
		"?dryRun=All", "?x=y"), body: body})
	if s.IntN(2) == 0 {
		s.add(asked{method: "PATCH", path: s.path("widgets", name), contentType: "application/merge-patch+json",
			body: `{"metadata":{"finalizers":null}}`})
	}
}

func (s *sequence) removeAll() {
	if s.IntN(2) == 0 {
		s.add(asked{method: "DELETE", path: s.path("widgets", "") + pick(s, "", "?labelSelector=app%3Dx",
			"?fieldSelector=metadata.name%3Da", "?dryRun=All")})
	}
}

func (s *sequence) wrong() {
	s.add(pick(s,
		asked{method: "POST", path: s.path("widgets", ""), body: "{"},
		asked{method: "POST", path: s.path("widgets", ""), body: `{"apiVersion":"fidelity.kctrl.dev/v1"}`},
		asked{method: "POST", path: s.path("widgets", ""), body: `{"kind":"Widget"}`},
		asked{method: "POST", path: s.path("widgets", ""), body: `[]`},
		asked{method: "POST", path: s.path("widgets", ""),
			body: `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Gadget","metadata":{"name":"x"}}`},
		asked{method: "POST", path: s.path("widgets", ""),
			body: `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Widget","metadata":5}`},
		asked{method: "POST", path: s.path("widgets", ""),
			body: `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Widget","metadata":{"name":5}}`},
		asked{method: "POST", path: s.path("widgets", "") + "?fieldValidation=Strict",
			body: `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Widget","metadata":{"name":"twice","name":"twice"},"spec":{"color":"red","color":"red","x":1}}`},
		asked{method: "POST", path: s.path("widgets", ""), contentType: "text/plain", body: "x"},
		asked{method: "POST", path: s.path("widgets", "a"), body: s.body("a", "")},
		asked{method: "PUT", path: s.path("widgets", ""), body: s.body("a", "")},
		asked{method: "PUT", path: s.path("widgets", "a"), body: ""},
		asked{method: "GET", path: "/apis/fidelity.kctrl.dev/v2/namespaces/" + s.namespace + "/widgets"},
		asked{method: "GET", path: "/apis/fidelity.kctrl.dev/v1/namespaces/" + s.namespace + "/others"},
		asked{method: "GET", path: "/apis/fidelity.kctrl.dev/v1/namespaces/" + s.namespace + "/gadgets"},
		asked{method: "POST", path: "/apis/fidelity.kctrl.dev/v1/widgets", body: s.body("a", "")},
		asked{method: "POST", path: "/apis/fidelity.kctrl.dev/v1/namespaces/nowhere/widgets", body: s.body("a", "")},
		asked{method: "OPTIONS", path: s.path("widgets", "")},
		asked{method: "POST", path: s.path("widgets", ""), contentType: "application/yaml",
			body: "apiVersion: fidelity.kctrl.dev/v1\nkind: Widget\nmetadata: {name: yaml}\nspec: {color: green, size: 4}\n"},
		asked{method: "POST", path: s.path("widgets", ""), contentType: "application/yaml", body: "a: b: c"},
		asked{method: "POST", path: s.path("widgets", ""),
			body: `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Widget","metadata":{"name":"large"},"spec":{"color":"` +
				strings.Repeat("x", 3<<20) + `"}}`},
		asked{method: "POST", path: s.path("widgets", ""),
			body: `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Widget","metadata":{"name":"deep"},"spec":{"extra":` +
				strings.Repeat(`{"a":`, 10100) + "1" + strings.Repeat("}", 10100) + `}}`},
		asked{method: "POST", path: s.path("gadgets", ""), body: object("fidelity.kctrl.dev/v1", "Gadget", s.gadget(), "",
			map[string]any{"deep": json.RawMessage(strings.Repeat("[", 2000) + strings.Repeat("]", 2000))})},
	))
}

func (s *sequence) core() {
	name := s.name()
	resource, kind := "configmaps", "ConfigMap"
	content := map[string]any{"data": map[string]any{"k": pick(s, "v", "w")}, "metadata": s.metadata()}
	if s.IntN(3) == 0 {
		resource, kind = "secrets", "Secret"
		content = map[string]any{"stringData": map[string]any{"k": "v"}, "metadata": s.metadata()}
		if s.IntN(3) == 0 {
			content["type"] = pick(s, "Opaque", "kubernetes.io/basic-auth", "kubernetes.io/tls",
				"kubernetes.io/dockerconfigjson", "own/type")
		}
	}
	if s.IntN(8) == 0 {
		content["immutable"] = pick[any](s, true, false, "x")
	}
	if s.IntN(10) == 0 {
		content["data"] = pick[any](s, map[string]any{"bad key": "v"}, map[string]any{"k": 5}, nil)
	}
	if s.IntN(10) == 0 {
		content["bogus"] = 1
	}
	switch s.IntN(8) {
	case 0, 1, 2:
		s.add(asked{method: "POST", path: s.path(resource, "") + s.options(), body: object("v1", kind, name, "", content)})
	case 3:
		s.add(asked{method: "PUT", path: s.path(resource, name) + s.options(),
			body: object("v1", kind, name, pick(s, "", "{{version "+name+"}}"), content)})
	case 4:
		s.add(asked{method: "PATCH", path: s.path(resource, name) + s.options(),
			contentType: pick(s, "application/strategic-merge-patch+json", "application/merge-patch+json"),
			body: pick(s, `{"data":{"k":null,"l":"eA=="}}`, `{"data":{"m":"eQ=="}}`,
				`{"metadata":{"labels":{"app":"x"}}}`, `{"data":5}`)})
	case 5:
		s.add(asked{method: "PATCH", path: s.path(resource, name) + "?fieldManager=one" + pick(s, "", "&force=true"),
			contentType: "application/apply-patch+yaml", body: object("v1", kind, name, "", content)})
	case 6:
		s.add(asked{method: "DELETE", path: s.path(resource, name)})
	case 7:
		s.add(asked{method: "GET", path: s.path(resource, pick(s, "", name)) + pick(s, "", "?labelSelector=app%3Dx",
			"?fieldSelector=type%3DOpaque"), accept: pick(s, "", asTable, "application/yaml")})
	}
}

func (s *sequence) gadgets() {
	name := s.gadget()
	content := map[string]any{"anything": pick[any](s, 1, 2.5, "x", map[string]any{"y": nil}), "metadata": s.metadata()}
	switch s.IntN(5) {
	case 0, 1:
		s.add(asked{method: "POST", path: s.path("gadgets", "") + s.options(), body: object("fidelity.kctrl.dev/v1", "Gadget",
			name, "", content)})
	case 2:
		s.add(asked{method: "PUT", path: s.path("gadgets", name) + s.options(),
			body: object("fidelity.kctrl.dev/v1", "Gadget", name, "{{version "+name+"}}", content)})
	case 3:
		s.add(asked{method: "PATCH", path: s.path("gadgets", name) + "?fieldManager=one&force=true",
			contentType: "application/apply-patch+yaml", body: object("fidelity.kctrl.dev/v1", "Gadget", name, "", content)})
	case 4:
		s.add(asked{method: pick(s, "GET", "DELETE"), path: s.path("gadgets", name)})
	}
}

func (s *sequence) discover() {
	s.add(pick(s,
		asked{method: "GET", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.fidelity.kctrl.dev",
			accept: pick(s, "", "application/yaml")},
		asked{method: "GET", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.fidelity.kctrl.dev"},
		asked{method: "PUT", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.fidelity.kctrl.dev",
			body: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.fidelity.kctrl.dev"},"spec":{}}`},
		asked{method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
			body: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"wrong"},"spec":{"group":"x","names":{"kind":"X","plural":"x"},"scope":"Wrong","versions":[{"name":"V","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{}}}}}]}}`},
		asked{method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All",
			body: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"xs.fidelity.kctrl.dev"},"spec":{"group":"fidelity.kctrl.dev","names":{"kind":"X","plural":"xs"},"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string","format":"odd","x-kubernetes-validations":[{"rule":"self == 'x'"}]}}}}}]}}`},
		asked{method: "GET", path: "/apis/fidelity.kctrl.dev/v1"},
		asked{method: "GET", path: "/apis/fidelity.kctrl.dev/v1beta1"},
		asked{method: "GET", path: "/apis/fidelity.kctrl.dev"}, asked{method: "GET", path: "/apis/nothing.dev"},
		asked{method: "GET", path: "/api/v1/namespaces/" + s.namespace, accept: pick(s, "", asTable)},
		asked{method: "PATCH", path: "/api/v1/namespaces/" + s.namespace, contentType: "application/merge-patch+json",
			body: `{"metadata":{"labels":{"app":"x"}},"status":{"phase":"Terminating"}}`},
		asked{method: "DELETE", path: "/api/v1/namespaces/" + pick(s, "default", "nowhere")},
	))
}

// watch adds requests that watch the changes of the sequence in several ways.
func (s *sequence) watch() {
	path := "/apis/fidelity.kctrl.dev/v1/namespaces/" + s.namespace + "/widgets?watch=1&timeoutSeconds=10&resourceVersion="
	for _, query := range []string{
		"{{start}}", "0", "", "1", "x", "{{start}}&labelSelector=app%3Dx,!nothing",
		"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
		"&sendInitialEvents=true", "{{start}}&fieldSelector=metadata.name%3Dsentinel",
	} {
		if strings.Contains(query, "labelSelector") {
			query = "{{start}}&labelSelector=app%21%3Dx" // also selects the sentinel
		}
		s.add(asked{method: "GET", path: path + query})
	}
}
