package apiserver_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// varietyOf returns the requests of a seed about two kinds, custom or built-in. They contain all verbs, subresources,
// patch types and queries of these kinds, metadata, fields that no sample has, and watches. Other sequences send
// typical requests of operators; these send unusual ones.
func varietyOf(seed uint64, salt string) []asked { return varietyAbout(variedKinds, seed, salt) }

func varietyAbout(all []sampleKind, seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 3)), namespace: fmt.Sprintf("v%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	kinds := []sampleKind{pick(s, all...), pick(s, all...)}
	first := kinds[0].at(s.namespace)
	s.add(asked{method: "GET", path: first + s.ours(kinds[0], "?")})
	for range 30 {
		s.vary(pick(s, kinds...))
	}
	if strings.Contains(kinds[0].path, "%s") {
		s.add(asked{method: "POST", path: first, body: object(kinds[0].apiVersion, kinds[0].kind, "sentinel", "",
			s.sample(kinds[0]))})
		for range 3 {
			s.add(asked{method: "GET", path: first + "?watch=1&timeoutSeconds=1" + pick(s, "&resourceVersion={{start}}",
				"&resourceVersion=0", "", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
				"&resourceVersion={{start}}&labelSelector=app%21%3Dx",
				"&resourceVersion={{start}}&fieldSelector=metadata.name%3Dsentinel", "&resourceVersion=1",
				"&resourceVersionMatch=Exact", "&resourceVersion={{start}}&limit=1"),
				accept: pick(s, "", "", asTable, asPartial, "application/json;stream=watch", "application/yaml")})
		}
	}
	for i, a := range s.requests { // the in-memory server adds an annotation to metadata-only DaemonSets
		if strings.Contains(a.path, "/daemonsets") && (a.accept == asPartial ||
			strings.Contains(a.accept, "PartialObjectMetadataList")) {
			s.requests[i].accept = ""
		}
	}
	return s.requests
}

// variedKinds contains the sample kinds and the kinds of other sequences.
var variedKinds = append(slices.Clone(sampleKinds),
	sampleKind{"/api/v1/namespaces/%s/configmaps", "v1", "ConfigMap", nil,
		[]string{`{"data":{"k":"v","l":"w"},"binaryData":{"b":"eA=="}}`, `{}`}, []string{labelPatch, `{"data":{"k":null}}`,
			`{"immutable":true}`}},
	sampleKind{"/api/v1/namespaces/%s/secrets", "v1", "Secret", nil,
		[]string{`{"stringData":{"k":"v"}}`,
			`{"type":"kubernetes.io/basic-auth","data":{"username":"eA==","password":"eA=="}}`},
		[]string{labelPatch, `{"stringData":{"k":"w"}}`, `{"type":"Opaque"}`}},
	sampleKind{"/apis/fidelity.kctrl.dev/v1/namespaces/%s/widgets", "fidelity.kctrl.dev/v1", "Widget",
		[]string{"status", "scale"},
		[]string{`{"spec":{"color":"red","size":3,"replicas":2,"tags":["x","y"],"parts":[{"name":"p","count":1},{"name":"q"}],"atomic":{"a":"1"},"labels":{"a":"b"},"extra":{"x":[1,2]}},"status":{"ready":true,"conditions":[{"type":"A","status":"x"}]}}`, `{"spec":{"color":"blue"}}`},
		[]string{labelPatch, `{"spec":{"size":null}}`, `{"status":{"phase":"Running"}}`}},
	sampleKind{"/apis/fidelity.kctrl.dev/v1/gadgets", "fidelity.kctrl.dev/v1", "Gadget", nil,
		[]string{`{"spec":{"a":[1,"x",null,{"b":1.5}]}}`, `{"anything":1}`}, []string{labelPatch, `{"spec":{"a":null}}`}},
	sampleKind{"/apis/storage.k8s.io/v1/volumeattachments", "storage.k8s.io/v1", "VolumeAttachment", []string{"status"},
		[]string{`{"spec":{"attacher":"a.example.com","nodeName":"n","source":{"persistentVolumeName":"pv"}},"status":{"attached":true}}`}, []string{labelPatch, `{"spec":{"nodeName":"m"}}`, `{"status":{"attached":true,"attachmentMetadata":{"a":"b"}}}`}},
	sampleKind{"/apis/storage.k8s.io/v1/csidrivers", "storage.k8s.io/v1", "CSIDriver", nil,
		[]string{`{"spec":{"attachRequired":true,"podInfoOnMount":false,"volumeLifecycleModes":["Persistent"],"fsGroupPolicy":"File","tokenRequests":[{"audience":"a","expirationSeconds":600}]}}`, `{"spec":{}}`}, []string{labelPatch, `{"spec":{"storageCapacity":true}}`}},
	sampleKind{"/apis/storage.k8s.io/v1/csinodes", "storage.k8s.io/v1", "CSINode", nil,
		[]string{`{"spec":{"drivers":[{"name":"d.example.com","nodeID":"n","topologyKeys":["zone"],"allocatable":{"count":5}}]}}`, `{"spec":{"drivers":[]}}`}, []string{labelPatch, `{"spec":{"drivers":[{"name":"e.example.com","nodeID":"n"}]}}`}},
	sampleKind{"/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles", "rbac.authorization.k8s.io/v1", "Role", nil,
		[]string{`{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"],"resourceNames":["a"]}]}`},
		[]string{labelPatch, `{"rules":[]}`}},
	sampleKind{"/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings", "rbac.authorization.k8s.io/v1",
		"RoleBinding", nil,
		[]string{`{"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"ServiceAccount","name":"a","namespace":"b"},{"kind":"User","name":"u","apiGroup":"rbac.authorization.k8s.io"}]}`}, []string{labelPatch, `{"subjects":[]}`, `{"roleRef":{"name":"view"}}`}},
)

// ours returns a selector of this sequence's objects if other sequences also have objects of the kind.
func (s *sequence) ours(k sampleKind, separator string) string {
	if strings.Contains(k.path, "%s") {
		return ""
	}
	return separator + "fieldSelector=metadata.name%3D" + s.kindName(k)
}

func (s *sequence) sample(k sampleKind) (content map[string]any) {
	if err := json.Unmarshal([]byte(pick(s, k.bodies...)), &content); err != nil {
		panic(k.kind + ": " + err.Error())
	}
	return content
}

// varied returns a body of a kind: a sample, a sample with an additional field, or an invalid one.
func (s *sequence) varied(k sampleKind) map[string]any {
	content := s.sample(k)
	switch s.IntN(6) {
	case 0, 1, 2:
		s.graft(k, content)
	case 3:
		s.mutate(content)
	}
	metadata := s.variedMetadata()
	if len(metadata) > 0 {
		content["metadata"] = metadata
	}
	return content
}

func (s *sequence) variedMetadata() map[string]any {
	metadata := map[string]any{}
	optional := func(odds int, name string, values ...any) {
		if s.IntN(odds) == 0 {
			metadata[name] = pick(s, values...)
		}
	}
	optional(3, "labels", map[string]any{"app": "x"}, map[string]any{"app": "y", "a.b/tier": "1"},
		map[string]any{"app": nil}, map[string]any{})
	optional(6, "annotations", map[string]any{"note": "hello"}, map[string]any{"Not Valid": "x"},
		map[string]any{"a/b/c": ""}, nil)
	optional(8, "finalizers", []any{"fidelity.kctrl.dev/hold"}, []any{"foregroundDeletion"}, []any{"orphan"},
		[]any{"a.b/c", "a.b/c"}, []any{""}, []any{"hold"})
	optional(10, "ownerReferences", []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a",
		"uid": "1"}}, []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"},
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"}},
		[]any{map[string]any{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1", "controller": true},
			map[string]any{"apiVersion": "v1", "kind": "B", "name": "b", "uid": "2", "controller": true}},
		[]any{map[string]any{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "1"}},
		[]any{map[string]any{"apiVersion": "a/b/c", "kind": "", "name": "", "uid": ""}}, []any{map[string]any{}})
	optional(20, "generation", 5, -1)
	optional(20, "deletionGracePeriodSeconds", 5)
	optional(25, "managedFields", []any{}, []any{map[string]any{}},
		[]any{map[string]any{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{}}}, []any{map[string]any{"manager": "m", "operation": "Other"}})
	optional(25, "namespace", s.namespace, "other")
	optional(25, "selfLink", "/x")
	return metadata
}

// variedQuery returns a random query of a write.
func (s *sequence) variedQuery(more ...string) string {
	values := url.Values{}
	optional := func(odds int, name string, of ...string) {
		if s.IntN(odds) == 0 {
			values.Set(name, pick(s, of...))
		}
	}
	optional(10, "dryRun", "All", "All", "all", "")
	optional(6, "fieldValidation", "Strict", "Strict", "Warn", "Ignore", "strict")
	optional(6, "fieldManager", "one", "two", "a b", "\u00e9", strings.Repeat("x", 128))
	optional(15, "pretty", "true", "false", "x")
	optional(25, "unknown", "x")
	for i := 0; i+1 < len(more); i += 2 {
		values.Set(more[i], more[i+1])
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

func (s *sequence) variedAccept() string {
	return pick(s, "", "", "", "", "application/yaml", asTable, asPartial,
		"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "*/*", asTable+",application/json")
}

// vary sends one request for a kind.
func (s *sequence) vary(k sampleKind) {
	name, path := s.kindName(k), k.at(s.namespace)
	one := path + "/" + name
	version := pick(s, "{{version "+name+"}}", "{{version "+name+"}}", "{{version "+name+"}}", "", "1")
	whole := func(name, version string) string {
		return s.oddly(object(k.apiVersion, k.kind, name, version, s.varied(k)))
	}
	part := func() string {
		if len(k.parts) == 0 || s.IntN(4) > 0 {
			return ""
		}
		return "/" + pick(s, k.parts...)
	}
	switch s.IntN(20) {
	case 0, 1, 2, 3:
		s.add(asked{method: "POST", path: path + s.variedQuery(), body: whole(name, "")})
	case 4, 5, 6:
		s.add(asked{method: "PUT", path: one + s.variedQuery(), body: whole(name, version)})
	case 7:
		s.add(asked{method: "PATCH", path: one + part() + s.variedQuery(), contentType: "application/json-patch+json",
			body: s.operations(s.varied(k))})
	case 8:
		s.add(asked{method: "PATCH", path: one + part() + s.variedQuery(), contentType: "application/merge-patch+json",
			body: marshal(s.some(s.varied(k)))})
	case 9:
		s.add(asked{method: "PATCH", path: one + part() + s.variedQuery(),
			contentType: "application/strategic-merge-patch+json",
			body:        marshal(s.direct(s.some(s.varied(k))).(map[string]any))})
	case 10, 11, 12:
		query := s.variedQuery("fieldManager", pick(s, "one", "two"), "force", pick(s, "true", "false", "true"))
		body := s.varied(k)
		if s.IntN(2) == 0 {
			body = s.some(body)
		}
		s.add(asked{method: "PATCH", path: one + pick(s, "", "", part()) + query, contentType: "application/apply-patch+yaml",
			body: object(k.apiVersion, k.kind, name, "", body)})
	case 13:
		switch p := part(); p {
		case "":
			s.add(asked{method: "GET", path: one + pick(s, "", "", "?resourceVersion={{version "+name+"}}", "?pretty=true",
				"?resourceVersion=x"), accept: s.variedAccept()})
		case "/scale":
			s.add(asked{method: pick(s, "PUT", "PUT", "GET"), path: one + p + s.variedQuery(),
				body: object("autoscaling/v1", "Scale", name, pick(s, "", version),
					map[string]any{"metadata": map[string]any{"namespace": s.namespace},
						"spec": map[string]any{"replicas": pick[any](s, 0, 3, -1, nil)}})})
		default:
			s.add(asked{method: pick(s, "PUT", "PUT", "GET"), path: one + p + s.variedQuery(), body: whole(name, version)})
		}
	case 14, 15:
		s.lists(k, path)
	case 16:
		s.add(asked{method: "DELETE", path: one + pick(s, "", "", "?gracePeriodSeconds=0", "?gracePeriodSeconds=-1",
			"?propagationPolicy=Orphan", "?propagationPolicy=x", "?orphanDependents=true", "?dryRun=All", "?dryRun=x",
			"?orphanDependents=false&propagationPolicy=Background"), body: s.deletion(name)})
	case 17:
		if strings.Contains(k.path, "%s") && s.IntN(2) == 0 {
			s.add(asked{method: "DELETE", path: path + pick(s, "?labelSelector=app%3Dx", "?fieldSelector=metadata.name%3Da",
				"?limit=1", "?labelSelector=%28", "?dryRun=All", "?resourceVersion=0"), body: s.deletion(name)})
			return
		}
		s.add(asked{method: "PATCH", path: one, contentType: "application/merge-patch+json",
			body: `{"metadata":{"finalizers":null}}`})
	case 18:
		s.add(pick(s,
			asked{method: "POST", path: path, body: object(pick(s, "v1", "v2", "apps/v1", ""),
				pick(s, k.kind, "Other", "List", ""), name, "", s.varied(k))},
			asked{method: "PUT", path: one, body: object(k.apiVersion, k.kind, pick(s, "other", ""), version, s.varied(k))},
			asked{method: "POST", path: path, body: pick(s, "", "{", "null", "[]", `"x"`, `{"metadata":null}`,
				`{"metadata":{"name":"a"}}`, `{"kind":5}`)},
			asked{method: "PUT", path: one, body: pick(s, "", "{", "null", "[]", `{}`)},
			asked{method: "PATCH", path: one, contentType: pick(s, "application/json-patch+json", "application/merge-patch+json",
				"application/strategic-merge-patch+json", "application/apply-patch+yaml"),
				body: pick(s, "", "{", "null", "[]", `{}`, `5`, `[{"op":"add"}]`, `[{"op":"test","path":"/kind","value":"x"}]`)},
			asked{method: "PATCH", path: one + "?fieldManager=one", contentType: "application/apply-patch+yaml",
				body: pick(s, "a: b: c", "kind: X", "{}", object(k.apiVersion, "Other", name, "", nil),
					object("v9", k.kind, name, "", nil), object(k.apiVersion, k.kind, "other", "", nil),
					object(k.apiVersion, k.kind, name, "1", nil))},
			asked{method: "POST", path: path, contentType: "application/yaml",
				body: fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  labels: &l {app: x}\n  annotations: "+
					"*l\nspec: {}\n", k.apiVersion, k.kind, name)},
			asked{method: "POST", path: path, body: strings.Replace(object(k.apiVersion, k.kind, name, "", s.sample(k)),
				`"name":"`+name+`"`, `"generateName":"`+pick(s, "Not_Valid-", strings.Repeat("g", 300))+`"`, 1)},
			asked{method: pick(s, "GET", "POST", "PUT", "PATCH", "DELETE"), path: one + "/" + pick(s, "nothing", "status",
				"scale"), contentType: "application/json", body: "{}"},
			asked{method: pick(s, "GET", "DELETE", "PUT"), path: path + "/" + pick(s, "Not_Valid", "a%2Fb", "..", "%25",
				strings.Repeat("n", 254))},
		))
	case 19:
		query := "?fieldManager=" + pick(s, "one", "two", "three")
		s.add(asked{method: "PATCH", path: one + query, contentType: "application/merge-patch+json",
			body: pick(s, k.patches...)})
	}
}

// oddly sometimes changes the text of a body: it repeats a field, adds an unknown field, or changes the case of names.
func (s *sequence) oddly(body string) string {
	switch s.IntN(25) {
	case 0:
		return strings.Replace(body, `"metadata":{`, `"metadata":{"labels":{"twice":"1"},`, 1)
	case 1:
		return strings.Replace(body, `{`, `{"nobody":{"knows":1},`, 1)
	case 2:
		return strings.Replace(body, `"spec":`, `"Spec":`, 1)
	case 3:
		return strings.Replace(body, `"spec":{`, `"spec":{"Nobody":1,"nobody":2,`, 1)
	}
	return body
}

func (s *sequence) lists(k sampleKind, path string) {
	values := url.Values{}
	optional := func(odds int, name string, of ...string) {
		if s.IntN(odds) == 0 {
			values.Set(name, pick(s, of...))
		}
	}
	optional(2, "labelSelector", "app=x", "app notin (x)", "app in (x,y),!tier", "a.b/tier", "app==y", "app=x,app=y", "=",
		"app>1", "app in ()", "app=not valid", strings.Repeat("x", 64))
	if strings.Contains(k.path, "%s") {
		optional(4, "fieldSelector", "metadata.name=a", "metadata.name!=a", "metadata.namespace="+s.namespace,
			"status.phase=Running", "spec.nodeName=", "bogus=x", "metadata.name=a,metadata.name=b", "type=Opaque",
			"metadata.name")
	} else {
		values.Set("fieldSelector", "metadata.name="+s.kindName(k))
	}
	optional(5, "limit", "1", "2", "0", "-1", "x", "99999999999999999999")
	optional(6, "resourceVersion", "{{start}}", "{{start}}", "x", "-1") // 0 would allow any cached version
	optional(8, "resourceVersionMatch", "Exact", "NotOlderThan", "x")
	optional(25, "continue", "x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "{{continue}}")
	optional(25, "sendInitialEvents", "true")
	optional(25, "watch", "0", "false")
	optional(15, "pretty", "true")
	s.add(asked{method: "GET", path: path + unescaped(values), accept: s.variedAccept()})
	if values.Get("limit") != "" && s.IntN(2) == 0 {
		values.Set("continue", "{{continue}}")
		for _, name := range []string{"resourceVersion", "resourceVersionMatch"} {
			values.Del(name)
		}
		s.add(asked{method: "GET", path: path + unescaped(values)})
	}
}

// deletion returns the body of a delete request, which may be empty.
func (s *sequence) deletion(name string) string {
	options := map[string]any{}
	optional := func(odds int, name string, values ...any) {
		if s.IntN(odds) == 0 {
			options[name] = pick(s, values...)
		}
	}
	optional(3, "propagationPolicy", "Orphan", "Foreground", "Background", "")
	optional(5, "preconditions", map[string]any{"uid": "{{uid " + name + "}}"},
		map[string]any{"resourceVersion": "{{version " + name + "}}"}, map[string]any{"uid": "1", "resourceVersion": "1"},
		map[string]any{})
	optional(6, "gracePeriodSeconds", 0, 1, -5, 30)
	optional(8, "orphanDependents", true, false)
	optional(10, "dryRun", []any{"All"}, []any{"x"}, []any{})
	optional(15, "apiVersion", "v1", "v2", "meta.k8s.io/v1")
	optional(15, "kind", "DeleteOptions", "Other")
	optional(20, "unknown", 1)
	if len(options) == 0 {
		return ""
	}
	return marshal(options)
}

// some returns a body without some of its values, as for a patch.
func (s *sequence) some(content map[string]any) map[string]any {
	part := map[string]any{}
	for _, key := range sortedKeys(content) {
		switch value := content[key].(type) {
		case map[string]any:
			if s.IntN(3) > 0 {
				part[key] = s.some(value)
			}
		default:
			switch s.IntN(6) {
			case 0:
				part[key] = nil
			case 1, 2, 3:
				part[key] = value
			}
		}
	}
	return part
}

// direct adds directives of strategic merge patches to a value.
func (s *sequence) direct(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(value) {
			if list, ok := value[key].([]any); ok && len(list) > 0 && s.IntN(5) == 0 {
				directive := pick(s, "$setElementOrder/", "$deleteFromPrimitiveList/")
				order := slices.Clone(list)
				if directive == "$setElementOrder/" {
					slices.Reverse(order)
				}
				value[directive+key] = order
			}
			value[key] = s.direct(value[key])
		}
		switch s.IntN(20) {
		case 0:
			value["$patch"] = pick(s, "replace", "delete", "merge", "x")
		case 1:
			value["$retainKeys"] = []any{pick(s, append(sortedKeys(value), "x")...)}
		}
	case []any:
		for i := range value {
			value[i] = s.direct(value[i])
		}
		if len(value) > 0 && s.IntN(12) == 0 {
			return append(value, map[string]any{"$patch": "replace"})
		}
	}
	return value
}

// operations returns a JSON patch whose operations refer to places that exist in a body.
func (s *sequence) operations(content map[string]any) string {
	var paths []string
	values := map[string]any{}
	var visit func(at string, value any)
	visit = func(at string, value any) {
		if at != "" {
			paths, values[at] = append(paths, at), value
		}
		switch value := value.(type) {
		case map[string]any:
			for _, key := range sortedKeys(value) {
				visit(at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), value[key])
			}
		case []any:
			for i := range value {
				visit(fmt.Sprint(at, "/", i), value[i])
			}
		}
	}
	visit("", content)
	paths = append(paths, "/metadata/labels", "/metadata/labels/app", "/metadata/finalizers/-", "/spec/nobody",
		"/nothing/at/all", "/metadata/resourceVersion", "/metadata/name")
	var operations []any
	for range 1 + s.IntN(3) {
		at := pick(s, paths...)
		operation := map[string]any{"op": pick(s, "add", "add", "replace", "remove", "test", "copy", "move"), "path": at}
		switch operation["op"] {
		case "copy", "move":
			operation["from"] = pick(s, paths[:len(paths)-2]...) // versions differ between the servers
		case "add", "replace", "test":
			operation["value"] = pick(s, values[at], values[at], values[pick(s, paths...)], "x", 1, nil)
		}
		operations = append(operations, operation)
	}
	return marshal(operations)
}

var goTypes = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme,
		networkingv1.AddToScheme, policyv1.AddToScheme, storagev1.AddToScheme,
		schedulingv1.AddToScheme, coordinationv1.AddToScheme, discoveryv1.AddToScheme, eventsv1.AddToScheme,
		rbacv1.AddToScheme, nodev1.AddToScheme, admissionv1.AddToScheme, metav1.AddMetaToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
})

// graft adds a random field of the kind's Go type to a body.
func (s *sequence) graft(k sampleKind, content map[string]any) {
	model, err := goTypes().New(schema.FromAPIVersionAndKind(k.apiVersion, k.kind))
	if err != nil {
		s.mutate(content) // a custom resource has no Go type
		return
	}
	type place struct {
		in   map[string]any
		name string
		of   reflect.Type
	}
	var places []place
	var visit func(value any, t reflect.Type)
	visit = func(value any, t reflect.Type) {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch value := value.(type) {
		case map[string]any:
			if t.Kind() == reflect.Map {
				for _, key := range sortedKeys(value) {
					visit(value[key], t.Elem())
				}
			}
			if t.Kind() != reflect.Struct {
				return
			}
			eachField(t, func(name string, of reflect.Type) {
				member, ok := value[name]
				switch {
				case name == "metadata" && t.Name() == k.kind, slices.Contains(ungrafted, name):
				case ok:
					visit(member, of)
				default:
					places = append(places, place{value, name, of})
				}
			})
		case []any:
			for i := range value {
				if t.Kind() == reflect.Slice {
					visit(value[i], t.Elem())
				}
			}
		}
	}
	visit(content, reflect.TypeOf(model))
	if len(places) == 0 {
		return
	}
	p := places[s.IntN(len(places))]
	p.in[p.name] = s.value(p.of, p.name, 3)
}

// ungrafted lists fields that are not varied here: types of volumes without a driver, fields that systemRequests
// covers, and fields that would make sequences affect each other.
var ungrafted = []string{
	"gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "iscsi", "glusterfs", "rbd", "flexVolume", "cinder", "cephfs",
	"flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk",
	"photonPersistentDisk", "portworxVolume", "scaleIO", "storageos", "windowsOptions", "resourceClaims", "externalID",
	"globalDefault", "matchLabelKeys", "mismatchLabelKeys",
}

// eachField calls f for each field of a struct with its JSON name.
func eachField(t reflect.Type, f func(name string, of reflect.Type)) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous && field.Type == reflect.TypeFor[metav1.TypeMeta]():
		case name == "" && field.Anonymous:
			eachField(field.Type, f)
		case name != "" && name != "-":
			f(name, field.Type)
		}
	}
}

// value returns a random value of a type, which may be invalid.
func (s *sequence) value(t reflect.Type, name string, depth int) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return pick[any](s, "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000000Z", "x", nil)
	case reflect.TypeFor[resource.Quantity]():
		return pick[any](s, "1", "100m", "1Gi", "-1", "0", "1.5", "x", 5)
	case reflect.TypeFor[intstr.IntOrString]():
		return pick[any](s, 80, "http", "50%", -1, "150%", 0, "")
	case reflect.TypeFor[runtime.RawExtension]():
		return map[string]any{"a": 1}
	case reflect.TypeFor[metav1.LabelSelector]():
		return pick[any](s, map[string]any{"matchLabels": map[string]any{"app": "x"}}, map[string]any{},
			map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "In", "values": []any{"x"}}}},
			map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "Exists", "values": []any{"x"}}}})
	}
	switch t.Kind() {
	case reflect.String:
		return pick(s, append(enumerated[t.Name()], "a", "b", "x.example.com", "x.example.com/y", "/p", "", "Not Valid!",
			"1.2.3.4")...)
	case reflect.Bool:
		return pick[any](s, true, true, false)
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64, reflect.Uint8:
		return pick[any](s, 0, 1, 5, 80, -1, 70000, 3000000000)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return pick(s, "eA==", "x")
		}
		list := []any{}
		for range s.IntN(3) {
			list = append(list, s.value(t.Elem(), name, depth-1))
		}
		return list
	case reflect.Map:
		return map[string]any{pick(s, "a", "cpu", "x.example.com/y", "Not Valid!"): s.value(t.Elem(), name, depth-1)}
	case reflect.Struct:
		content := map[string]any{}
		if depth == 0 {
			return content
		}
		var names []string
		types := map[string]reflect.Type{}
		eachField(t, func(name string, of reflect.Type) { names, types[name] = append(names, name), of })
		for _, name := range names {
			if slices.Contains(ungrafted, name) {
				continue
			}
			if name == "name" || s.IntN(max(2, len(names)/2)) == 0 {
				content[name] = s.value(types[name], name, depth-1)
			}
		}
		return content
	}
	return nil
}

// enumerated lists the values of string types that have only a few values.
var enumerated = map[string][]string{
	"Protocol": {"TCP", "UDP", "SCTP"}, "URIScheme": {"HTTP", "HTTPS"}, "PullPolicy": {"Always", "Never", "IfNotPresent"},
	"DNSPolicy": {"ClusterFirst", "Default", "None"}, "RestartPolicy": {"Always", "OnFailure", "Never"},
	"ContainerRestartPolicy": {"Always", "Never"}, "TerminationMessagePolicy": {"File", "FallbackToLogsOnError"},
	"MountPropagationMode": {"None", "HostToContainer", "Bidirectional"}, "RecursiveReadOnlyMode": {"Disabled", "Enabled",
		"IfPossible"},
	"TolerationOperator": {"Exists", "Equal"}, "TaintEffect": {"NoSchedule", "NoExecute"},
	"UnsatisfiableConstraintAction": {"DoNotSchedule", "ScheduleAnyway"}, "NodeInclusionPolicy": {"Honor", "Ignore"},
	"PreemptionPolicy":   {"Never", "PreemptLowerPriority"},
	"SeccompProfileType": {"RuntimeDefault", "Localhost"}, "AppArmorProfileType": {"RuntimeDefault", "Localhost"},
	"ProcMountType": {"Default", "Unmasked"}, "HostPathType": {"Directory", "File"},
	"StorageMedium":              {"Memory", "HugePages"},
	"PersistentVolumeAccessMode": {"ReadWriteOnce", "ReadWriteOncePod"}, "PersistentVolumeMode": {"Block", "Filesystem"},
	"ServiceType": {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}, "IPFamily": {"IPv4", "IPv6"},
	"IPFamilyPolicy": {"SingleStack", "PreferDualStack", "RequireDualStack"}, "ServiceExternalTrafficPolicy": {"Local",
		"Cluster"}, "ServiceInternalTrafficPolicy": {"Local", "Cluster"}, "ConditionStatus": {"True", "False"},
	"PodFSGroupChangePolicy":   {"Always", "OnRootMismatch"},
	"SupplementalGroupsPolicy": {"Merge", "Strict"}, "PodManagementPolicyType": {"Parallel"},
	"PersistentVolumeClaimRetentionPolicyType": {"Retain", "Delete"}, "CompletionMode": {"Indexed", "NonIndexed"},
	"PodReplacementPolicy":   {"Failed", "TerminatingOrFailed"},
	"PodFailurePolicyAction": {"FailJob", "Ignore", "Count"}, "MetricSourceType": {"Resource", "Pods"},
	"MetricTargetType": {"Utilization", "Value", "AverageValue"}, "PathType": {"Exact", "Prefix"},
	"PolicyType":                     {"Ingress", "Egress"},
	"UnhealthyPodEvictionPolicyType": {"AlwaysAllow", "IfHealthyBudget"}, "VolumeBindingMode": {"Immediate"},
	"FSGroupPolicy": {"File", "None"}, "ResourceName": {"cpu", "memory", "storage", "x.example.com/y"},
	"NodeSelectorOperator":  {"In", "Exists", "Gt"},
	"LabelSelectorOperator": {"In", "Exists"}, "Capability": {"ALL", "NET_ADMIN"},
	"ResourceResizeRestartPolicy": {"NotRequired", "RestartContainer"}, "LimitType": {"Container", "Pod"},
	"ResourceQuotaScope": {"BestEffort", "Terminating"},
	"OSName":             {"linux", "windows"}, "TypedLocalObjectReference": {}, "Signal": {"SIGTERM"},
	"AddressType": {"IPv4", "FQDN"}, "PodPhase": {"Running", "Failed"}, "Operator": {"In"},
}
