package apiserver_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// breadthOf returns the requests of a seed about two kinds, in forms that Go clients rarely use:
//
//	other methods
//	unusual spellings of paths and queries
//	bodies in protobuf, YAML and unusual JSON
//	lists of all namespaces
//	subresources with the bodies of objects
//
// Requests of [sequence.vary] in between create the objects.
func breadthOf(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 4)), namespace: fmt.Sprintf("b%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	kinds := []sampleKind{pick(s, broadKinds...), pick(s, broadKinds...)}
	s.add(asked{method: "GET", path: kinds[0].at(s.namespace) + s.ours(kinds[0], "?")})
	for range 15 {
		k := pick(s, kinds...)
		if s.IntN(3) == 0 {
			s.vary(k)
			continue
		}
		s.broaden(k)
	}
	for i, a := range s.requests {
		s.requests[i].decoded = true
		// The in-memory server adds an annotation to metadata-only DaemonSets.
		if strings.Contains(a.path, "/daemonsets") && strings.Contains(a.accept, "PartialObjectMetadata") {
			s.requests[i].accept = ""
		}
	}
	return s.requests
}

// broadKinds contains the varied kinds and further kinds for these sequences.
var broadKinds = append(slices.Clone(variedKinds),
	sampleKind{"/api/v1/namespaces/%s/pods", "v1", "Pod", []string{"status", "resize", "ephemeralcontainers", "binding",
		"eviction"}, []string{
		`{"spec":{"resources":{"limits":{"cpu":"2","memory":"1Gi"}},"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"},"requests":{"memory":"64Mi"}}}]}}`,
		`{"spec":{"resources":{"requests":{"cpu":"1"}},"initContainers":[{"name":"i","image":"i","restartPolicy":"Always","resources":{"requests":{"cpu":"500m"}}}],"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"100m","hugepages-2Mi":"4Mi"}}}]}}`,
		`{"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1","memory":"64Mi"}},"resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}]}]}}`,
		`{"spec":{"schedulingGates":[{"name":"g"}],"nodeSelector":{"a":"b"},"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"Exists"}]}]}}},"containers":[{"name":"c","image":"i"}]}}`,
	}, []string{labelPatch, `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"150m"}}}]}}`,
		`{"spec":{"resources":{"requests":{"cpu":"1500m"}}}}`, `{"spec":{"resources":null}}`,
		`{"spec":{"containers":[{"name":"c","resources":null}]}}`,
		`{"spec":{"nodeSelector":{"a":"b","c":"d"}}}`, `{"spec":{"schedulingGates":null}}`,
		`{"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"}}}`}},
	sampleKind{"/api/v1/namespaces", "v1", "Namespace", []string{"status", "finalize"},
		[]string{`{}`, `{"spec":{"finalizers":["a.b/c"]}}`, `{"status":{"phase":"Terminating"}}`},
		[]string{labelPatch, `{"spec":{"finalizers":null}}`, `{"status":{"phase":"Active"}}`}},
	sampleKind{"/apis/rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1", "ClusterRole", nil,
		[]string{`{"rules":[{"nonResourceURLs":["/healthz"],"verbs":["get"]}]}`,
			`{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]},"rules":[]}`},
		[]string{labelPatch, `{"rules":null}`}},
	sampleKind{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "rbac.authorization.k8s.io/v1",
		"ClusterRoleBinding", nil,
		[]string{`{"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"Group","name":"g"}]}`}, []string{labelPatch, `{"subjects":null}`}},
	sampleKind{"/api/v1/namespaces/%s/serviceaccounts", "v1", "ServiceAccount", []string{"token"},
		[]string{`{"imagePullSecrets":[{"name":"p"}]}`}, []string{labelPatch, `{"imagePullSecrets":[{"name":"q"}]}`}},
)

const asProtobuf = "application/vnd.kubernetes.protobuf"

// oddQueries are repeated, unknown or invalid parameters.
var oddQueries = []string{
	"dryRun=All&dryRun=All", "dryRun=All&dryRun=x", "fieldManager=a&fieldManager=b",
	"fieldValidation=Strict&fieldValidation=Warn", "limit=1&limit=2", "Limit=1", "limit=1.5", "limit=%201", "limit=01",
	"limit=", "limit=1e3",
	"labelSelector=app%3Dx&labelSelector=app%3Dy", "labelSelector=", "labelSelector", "fieldSelector=", "fieldSelector=,",
	"resourceVersion=&resourceVersion=x", "resourceVersion=01", "resourceVersion=%2B1", "resourceVersionMatch=",
	"resourceVersionMatch=Exact",
	"timeoutSeconds=-1", "timeoutSeconds=x", "timeout=1s", "timeout=x", "timeout=0", "timeout=-5s",
	"watch=maybe&timeoutSeconds=1", "allowWatchBookmarks=x", "sendInitialEvents=maybe", "sendInitialEvents=true&limit=1",
	"continue=&limit=1", "pretty", "pretty=0", "pretty=TRUE",
	"force=maybe", "force=true", "gracePeriodSeconds=x", "gracePeriodSeconds=5.5", "gracePeriodSeconds=",
	"orphanDependents=maybe", "propagationPolicy=", "orphanDependents=true&propagationPolicy=Background",
	"fieldManager=", "fieldManager=%00", "fieldValidation=", "dryRun=", "a=b;c=d", "%zz=1", "&&&", "=",
}

// broaden sends one unusual request for a kind.
func (s *sequence) broaden(k sampleKind) {
	name, path := s.kindName(k), k.at(s.namespace)
	one, version := path+"/"+name, "{{version "+name+"}}"
	namespaced := strings.Contains(k.path, "%s")
	whole := func(version string) string { return object(k.apiVersion, k.kind, name, version, s.varied(k)) }
	query := func(of ...string) string { return "?" + pick(s, of...) }
	switch s.IntN(16) {
	case 0, 1:
		if body, ok := inProtobuf(whole("")); ok {
			s.add(asked{method: "POST", path: path + s.variedQuery(), contentType: asProtobuf, body: body,
				accept: pick(s, "", asProtobuf, asProtobuf+",application/json")})
		}
	case 2:
		if body, ok := inProtobuf(whole("")); ok {
			s.add(asked{method: "PUT", path: one + s.variedQuery(), contentType: asProtobuf, body: body,
				accept: pick(s, "", asProtobuf)})
		}
	case 3:
		s.add(asked{method: "GET", path: pick(s, one, path+s.ours(k, "?")),
			accept: pick(s, asProtobuf, asProtobuf+",application/json", asProtobuf+";as=Table;v=v1;g=meta.k8s.io",
				asProtobuf+";as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
				asProtobuf+";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")})
	case 4:
		if !namespaced {
			s.add(asked{method: pick(s, "HEAD", "OPTIONS", "PURGE"), path: pick(s, one, path+s.ours(k, "?"))})
			return
		}
		everywhere := strings.Replace(path, "/namespaces/"+s.namespace, "", 1)
		in := "?fieldSelector=metadata.namespace%3D" + s.namespace
		s.add(pick(s,
			asked{method: "GET", path: everywhere + in + pick(s, "", "&limit=1", "&labelSelector=app%3Dx", "&resourceVersion=x"),
				accept: s.variedAccept()},
			asked{method: "GET", path: everywhere + in + pick(s, ",metadata.name%3Da", ",metadata.name%3Da,metadata.name%3Db")},
			asked{method: "POST", path: everywhere, body: strings.Replace(whole(""), `"metadata":{`,
				`"metadata":{"namespace":"`+s.namespace+`",`, 1)},
			asked{method: "DELETE", path: everywhere + in}, asked{method: "GET", path: everywhere + "/" + name},
			asked{method: "PUT", path: everywhere + "/" + name, body: whole("")},
		))
	case 5:
		watched := strings.Replace(strings.Replace(path, "/api/v1", "/api/v1/watch", 1), k.apiVersion+"/",
			k.apiVersion+"/watch/", 1)
		if namespaced && k.apiVersion != "v1" || k.apiVersion == "v1" && namespaced {
			s.add(asked{method: "GET", path: watched + "/" + name + "?watch=1&timeoutSeconds=1&resourceVersion={{start}}"})
		}
	case 6, 7:
		s.add(pick(s,
			asked{method: "POST", path: path + query(oddQueries...), body: whole("")},
			asked{method: "PUT", path: one + query(oddQueries...), body: whole(version)},
			asked{method: "PATCH", path: one + query(oddQueries...), contentType: pick(s, "application/merge-patch+json",
				"application/apply-patch+yaml"), body: whole("")},
			asked{method: "GET", path: one + query(oddQueries...)},
			asked{method: "DELETE", path: one + query(oddQueries...)},
		))
	case 8:
		if namespaced && s.IntN(2) == 0 {
			odd := pick(s, oddQueries...)
			s.add(asked{method: "GET", path: path + "?" + odd})
			return
		}
		s.add(asked{method: pick(s, "HEAD", "OPTIONS", "PURGE"), path: pick(s, one, path+s.ours(k, "?"))})
	case 9:
		s.add(asked{method: pick(s, "GET", "GET", "PUT", "DELETE"), body: "{}", path: pick(s,
			strings.Replace(one, "/"+name, "//"+name, 1), one+"/", path+"/"+s.ours(k, "?"),
			strings.Replace(one, "/v1/", "//v1/", 1), strings.Replace(one, "/v1/", "/V1/", 1), path+"/%61", path+"/a%2Fb",
			path+"/./a", path+"/x/../a", path+"/a;b", path+"/a%00b", path+"/%C3%A9", one+"/status/", one+"/status/x")})
	case 10:
		body := whole("")
		s.add(asked{method: pick(s, "POST", "POST", "PUT"), path: path, contentType: pick(s, "application/json",
			"application/json; charset=utf-8", "application/yaml", "APPLICATION/JSON", "application/json,text/plain",
			"application/json;"), body: pick(s,
			"\ufeff"+body, body+"x", body+body, " \n"+body+"\n\n", "---\n"+body, body+"\n---\n"+body, "# comment\n"+body,
			strings.Replace(body, "{", "{,", 1), strings.Replace(body, `"metadata"`, `"\u006detadata"`, 1),
			strings.Replace(body, `"name":"`, `"name":"\ud800`, 1),
			strings.Replace(body, `"metadata":{`, `"metadata":{"generation":1.0,`, 1),
			strings.Replace(body, `"metadata":{`, `"metadata":{"generation":1e3,`, 1),
			strings.Replace(body, `"metadata":{`, `"metadata":{"generation":9223372036854775808,`, 1),
			strings.Replace(body, `"metadata":{`, `"metadata":{"annotations":{"emoji":"😀\u0000é"},`, 1),
			strings.Replace(body, `"metadata":{`, "\"metadata\":{\"annotations\":{\"bad\":\"\xff\xfe\"},", 1),
			strings.Replace(body, `"metadata":{`, `"metadata":{"annotations":{"a":null,"b":""},`, 1),
			strings.ReplaceAll(body, `"`, `'`), strings.Replace(body, `"kind":`, `"KIND":`, 1),
			strings.Replace(body, `"apiVersion":`, `"apiversion":`, 1),
		)})
	case 11, 12:
		if len(k.parts) == 0 {
			s.add(asked{method: "PATCH", path: one + "?fieldManager=one", contentType: "application/apply-patch+yaml",
				body: strings.Replace(whole(""), `"metadata":{`, pick(s, `"metadata":{"managedFields":[],`,
					`"metadata":{"uid":"{{uid `+name+`}}",`, `"metadata":{"uid":"x",`, `"metadata":{"generateName":"x",`,
					`"metadata":{"namespace":"other",`, `"metadata":{"creationTimestamp":null,`), 1)})
			return
		}
		part := one + "/" + pick(s, k.parts...)
		s.add(pick(s,
			asked{method: "PATCH", path: part + "?fieldManager=one" + pick(s, "", "&force=true", "&dryRun=All"),
				contentType: "application/apply-patch+yaml", body: whole("")},
			asked{method: "PATCH", path: part + s.variedQuery(), contentType: pick(s, "application/strategic-merge-patch+json",
				"application/merge-patch+json"), body: pick(s, k.patches...)},
			asked{method: "PATCH", path: part, contentType: "application/json-patch+json", body: s.operations(s.varied(k))},
			asked{method: "PUT", path: part + s.variedQuery(), body: whole(version)},
			asked{method: "POST", path: part + s.variedQuery(), body: whole("")},
			asked{method: "GET", path: part, accept: s.variedAccept()}, asked{method: "DELETE", path: part},
			asked{method: "POST", path: part, body: object("policy/v1", "Eviction", name, "",
				map[string]any{"deleteOptions": pick[any](s, nil, map[string]any{"dryRun": []any{"All"}},
					map[string]any{"preconditions": map[string]any{"uid": "x"}})})},
			asked{method: "POST", path: part, body: object("authentication.k8s.io/v1", "TokenRequest", "", "",
				map[string]any{"spec": map[string]any{"audiences": []any{"a"}, "expirationSeconds": pick(s, 600, 5, 1<<33)}})},
		))
	case 13:
		body := s.deletion(name)
		if body == "" {
			body = "{}"
		}
		s.add(asked{method: "DELETE", path: one + pick(s, "", "?gracePeriodSeconds=0", "?dryRun=All"),
			contentType: pick(s, "application/yaml", "application/json; charset=utf-8", "text/plain", asProtobuf), body: body,
			accept: s.variedAccept()})
	case 14:
		s.add(pick(s,
			asked{method: "PATCH", path: one, contentType: "application/merge-patch+json",
				body: pick(s, `{"metadata":{"name":"q"}}`, `{"metadata":{"namespace":"other"}}`, `{"metadata":{"resourceVersion":"`+
					version+`","labels":{"z":"1"}}}`, `{"metadata":{"uid":null}}`, `{"kind":"Other"}`, `{"apiVersion":"v7"}`,
					`{"metadata":null}`, `{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z"}}`,
					`{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}`, `{"metadata":{"generateName":"g"}}`,
					`{"spec":null,"status":null}`)},
			asked{method: "PATCH", path: one, contentType: "application/json-patch+json",
				body: pick(s, `[]`, `[{"op":"test","path":"/metadata/name","value":"`+name+`"}]`,
					`[{"op":"replace","path":"","value":{}}]`, `[{"op":"remove","path":""}]`,
					`[{"op":"add","path":"/metadata/labels/a~1b","value":"c"}]`, `[{"op":"add","path":"metadata","value":1}]`,
					`[{"op":"add","path":"/metadata/finalizers/-1","value":"a/b"}]`,
					`[{"op":"test","path":"/metadata/labels/~2","value":"x"}]`)},
		))
	case 15:
		if k.kind == "Service" { // the server allocates a Service's address before it checks the name
			return
		}
		s.add(asked{method: "POST", path: path, body: strings.Replace(whole(""), `"name":"`+name+`"`,
			pick(s, `"name":"`+strings.Repeat("n", 254)+`"`, `"generateName":"gen-"`, `"name":""`, `"name":"a b"`, `"name":".."`,
				`"name":"a","generateName":"b"`, `"name":"`+name+`","namespace":"other"`, `"name":"`+name+`","uid":"x"`,
				`"name":"`+name+`","resourceVersion":"5"`), 1)})
	}
}

var bodiesInProtobuf = protobuf.NewSerializer(goTypes(), goTypes())

// inProtobuf encodes a body in protobuf, if its kind supports that and all its values have valid types.
func inProtobuf(body string) (string, bool) {
	decoded, kind, err := json.NewSerializerWithOptions(json.DefaultMetaFactory, goTypes(), goTypes(),
		json.SerializerOptions{}).Decode([]byte(body), nil, nil)
	if err != nil {
		return "", false
	}
	decoded.GetObjectKind().SetGroupVersionKind(*kind)
	data, err := runtime.Encode(bodiesInProtobuf, decoded)
	return string(data), err == nil
}

// fromProtobuf returns an answer in protobuf as JSON.
func fromProtobuf(body []byte) []byte {
	decoded, kind, err := bodiesInProtobuf.Decode(body, nil, nil)
	if err != nil {
		return fmt.Appendf(nil, "%q: %v", body, err)
	}
	decoded.GetObjectKind().SetGroupVersionKind(*kind)
	return []byte(marshal(decoded))
}
