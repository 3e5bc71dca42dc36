package apiserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// negotiationRequests returns requests with supported and unsupported media types.
func negotiationRequests() []asked {
	const gadget = `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Gadget","metadata":{"name":"negotiated"}}`
	const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"negotiated"}}`
	var requests []asked
	bodies := map[string]string{"/apis/fidelity.kctrl.dev/v1/gadgets": gadget,
		"/api/v1/namespaces/default/configmaps": configMap}
	for _, collection := range slices.Sorted(maps.Keys(bodies)) {
		body, one := bodies[collection], collection+"/negotiated"
		requests = append(requests, asked{method: "POST", path: collection, body: body})
		for _, accept := range []string{
			"application/cbor", "application/cbor-seq", "text/plain", "image/*", "*/*", "application/*;q=0.1",
			"application/json;q=0", "APPLICATION/JSON", "text/plain , */*",
			"application/json;as=Nothing;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v2;g=meta.k8s.io",
			"application/json;stream=watch", "application/json,text/plain;q=0.5",
			"application/json;pretty=1", "application/yaml", "application/cbor,application/json",
		} {
			for _, a := range []asked{
				{method: "GET", path: one}, {method: "GET", path: collection +
					"?fieldSelector=metadata.name%3Dnegotiated&resourceVersion=0"},
				{method: "POST", path: collection, body: body}, {method: "PATCH", path: one, body: "{}",
					contentType: "application/merge-patch+json"},
				{method: "DELETE", path: one + "none"}, {method: "GET", path: one + "/nothing"},
			} {
				a.accept = accept
				requests = append(requests, a)
			}
		}
		for _, contentType := range []string{
			"application/cbor", "text/plain", "application/json; charset=utf-8", "application/apply-patch+cbor", "garbage;;",
			"application/json", "application/merge-patch+json",
			"application/merge-patch+json;x=y", "application/strategic-merge-patch+json",
		} {
			for _, a := range []asked{{method: "PATCH", path: one, body: `{"metadata":{"labels":{"a":"b"}}}`},
				{method: "POST", path: collection, body: body}, {method: "DELETE", path: one + "none", body: "{}"}} {
				a.contentType = contentType
				requests = append(requests, a)
			}
		}
		requests = append(requests, []asked{
			{method: "PUT", path: collection, body: body}, {method: "PATCH", path: collection, body: "{}",
				contentType: "application/merge-patch+json"}, {method: "POST", path: one, body: body},
			{method: "POST", path: one + "/status", body: body}, {method: "DELETE", path: one + "/status"},
			{method: "GET", path: one + "/status"}, {method: "GET", path: one + "/a/b"},
			{method: "GET", path: collection + "none"}, {method: "POST", path: collection + "none", body: body},
			{method: "GET", path: collection + "none/x"}, {method: "OPTIONS", path: one}, {method: "DELETE", path: one},
		}...)
	}
	for _, path := range []string{"/api/v2", "/api/v2/x", "/apis/nobody", "/apis/nobody/v1", "/apis/nobody/v1/x",
		"/apis/fidelity.kctrl.dev/v7", "/apis/fidelity.kctrl.dev/v7/x", "/api/v1/namespaces/default/finalize"} {
		requests = append(requests, asked{method: "GET", path: path})
	}
	return requests
}

// boundRequests returns requests that exceed limits of size, depth or number.
func boundRequests() []asked {
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
		{method: "PATCH", path: gadgets + "/big", contentType: "application/merge-patch+json",
			body: "{" + long(2_000_000) + "}"},
		{method: "PATCH", path: gadgets + "/big?fieldManager=a", contentType: "application/apply-patch+yaml",
			body: gadget("big", long(2_000_000))},
		{method: "PUT", path: gadgets + "/big", body: gadget("big", long(2_000_000))},
		{method: "DELETE", path: gadgets + "/big"},
		{method: "POST", path: configMaps, body: `{"metadata":{"name":"big"},"data":{"a":"` + strings.Repeat("x", 1_500_000) +
			`"}}`},
		{method: "POST", path: configMaps, body: `{"metadata":{"name":"big","annotations":{"a":"` + strings.Repeat("x",
			300_000) + `"}}}`},
		{method: "POST", path: configMaps, body: `{"metadata":{"name":"big"},"data":{"a":"` + strings.Repeat("x", 3_200_000) +
			`"}}`},
		{method: "POST", path: gadgets, body: gadget("deep", deep(10_001))},
		{method: "POST", path: gadgets, body: gadget("deep", deep(20_000))},
		{method: "POST", path: gadgets, contentType: "application/yaml", body: gadget("deep", deep(20_000))},
		{method: "POST", path: configMaps, body: `{"metadata":{"name":"deep"},` + deep(20_000) + `}`},
		{method: "POST", path: configMaps, contentType: "application/yaml", body: "metadata: {name: deep}\ndata: " +
			strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)},
		{method: "POST", path: gadgets, contentType: "application/yaml",
			body: "apiVersion: fidelity.kctrl.dev/v1\nkind: Gadget\nmetadata: {name: laughs}\na: &a [x,x,x,x,x,x,x,x,x]\nb: " +
				"&b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e " +
				"[*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"},
		{method: "PATCH", path: gadgets + "/deep?fieldManager=a", contentType: "application/apply-patch+yaml",
			body: gadget("deep", deep(10_001))},
		{method: "PATCH", path: gadgets + "/deep", contentType: "application/json-patch+json",
			body: `[{"op":"add","path":"/x","value":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}]`},
		{method: "PATCH", path: gadgets + "/deep", contentType: "application/json-patch+json",
			body: "[" + strings.TrimSuffix(strings.Repeat(`{"op":"test","path":"/kind","value":"Gadget"},`, 10_001), ",") + "]"},
		{method: "PATCH", path: configMaps + "/deep", contentType: "application/strategic-merge-patch+json",
			body: "{" + deep(10_001) + "}"},
		{method: "POST", path: configMaps, contentType: "application/vnd.kubernetes.protobuf",
			body: "k8s\x00" + strings.Repeat("\x0a\x7f", 5000)},
		{method: "POST", path: configMaps, contentType: "application/vnd.kubernetes.protobuf", body: "not at all"},
		{method: "POST", path: configMaps, contentType: "application/cbor", body: strings.Repeat("\x81", 20_000)},
		{method: "GET", path: configMaps + "?labelSelector=" + strings.TrimSuffix(strings.Repeat("a%3Db,", 2000), ",")},
		{method: "GET", path: configMaps + "?labelSelector=a+in+(" + strings.TrimSuffix(strings.Repeat("b,", 20_000), ",") +
			")"},
		{method: "GET", path: configMaps + "?fieldSelector=" + strings.TrimSuffix(strings.Repeat("metadata.name%3Db,", 2000),
			",")},
		{method: "GET", path: gadgets + "?labelSelector=" + strings.Repeat("!", 20_000)},
		{method: "GET", path: gadgets + "?limit=1&continue=" + strings.Repeat("A", 100_000)},
		{method: "GET", path: configMaps + "?limit=1&continue=" + strings.Repeat("A", 100_000)},
		{method: "GET", path: configMaps + "?timeoutSeconds=99999999999&resourceVersion=" + strings.Repeat("9", 19)},
		{method: "GET", path: gadgets + "?resourceVersion=" + strings.Repeat("9", 100)},
		{method: "GET", path: configMaps + "?labelSelector=" + strings.Repeat("a", 100_000)},
		{method: "GET", path: gadgets + "?labelSelector=a+notin+(" + strings.Repeat("b", 100_000) + ")"},
		{method: "GET", path: configMaps + "?fieldSelector=" + strings.Repeat("a", 100_000)},
		{method: "GET", path: configMaps + "?watch=1&timeoutSeconds=1&resourceVersion=" + strings.Repeat("9", 15)},
		{method: "GET", path: gadgets + "?watch=1&timeoutSeconds=1&resourceVersion=" + strings.Repeat("9", 15)},
		{method: "POST", path: gadgets + "?fieldManager=" + strings.Repeat("m", 129), body: gadget("managed", long(1))},
		{method: "POST", path: configMaps + "?fieldManager=" + strings.Repeat("m", 100_000),
			body: `{"metadata":{"name":"managed"}}`},
		{method: "POST", path: configMaps + "?fieldManager=a%09b", body: `{"metadata":{"name":"managed"}}`},
		{method: "POST", path: gadgets, body: gadget("zipped", long(1)), header: [2]string{"Content-Encoding", "gzip"}},
		{method: "DELETE", path: gadgets + "/zipped"},
		{method: "TRACE", path: gadgets}, {method: "TRACE", path: configMaps}, {method: "HEAD", path: gadgets + "/none"},
		{method: "HEAD", path: configMaps}, {method: "OPTIONS", path: configMaps + "/none"},
		{method: "BREW", path: gadgets + "/none"},
		{method: "GET", path: gadgets, header: [2]string{"Accept-Encoding", "identity;q=0, br"}},
		{method: "GET", path: gadgets + "/none", header: [2]string{"Range", "bytes=0-5"}},
		{method: "GET", path: gadgets + "/none", header: [2]string{"If-None-Match", "*"}},
		{method: "GET", path: configMaps + "/none", header: [2]string{"Accept",
			strings.TrimSuffix(strings.Repeat("text/plain,", 5000), ",")}},
		{method: "POST", path: configMaps, body: `{"metadata":{"name":"override"}}`,
			header: [2]string{"X-HTTP-Method-Override", "DELETE"}}, {method: "DELETE", path: configMaps + "/override"},
		{method: "DELETE", path: configMaps + "/none", body: `{"preconditions":` + strings.Repeat(`{"a":`, 10_001) + "1" +
			strings.Repeat("}", 10_001) + `}`},
	}
	// The server merges the oldest of many update managers into one, and keeps all apply managers.
	for _, collection := range []string{gadgets, configMaps} {
		requests = append(requests, asked{method: "POST", path: collection,
			body: map[string]string{gadgets: gadget("managers", long(1)),
				configMaps: `{"metadata":{"name":"managers"}}`}[collection]})
		for i := range 15 {
			requests = append(requests, asked{method: "PATCH", path: fmt.Sprintf("%s/managers?fieldManager=m%d", collection, i),
				contentType: "application/merge-patch+json", body: fmt.Sprintf(`{"metadata":{"labels":{"l%d":"x"}}}`, i)})
		}
		for i := range 15 {
			body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"managers","annotations":{"a%d":"x"}}}`, i)
			if collection == gadgets {
				body = strings.NewReplacer(`"v1"`, `"fidelity.kctrl.dev/v1"`, "ConfigMap", "Gadget").Replace(body)
			}
			requests = append(requests, asked{method: "PATCH", path: fmt.Sprintf("%s/managers?fieldManager=m%d", collection, i),
				contentType: "application/apply-patch+yaml", body: body})
		}
		requests = append(requests, asked{method: "GET", path: collection + "/managers"},
			asked{method: "DELETE", path: collection + "/managers"})
	}
	return requests
}

// rejectedRequests returns creations of CRDs with one invalid or unusual part each, and updates that are not allowed.
func rejectedRequests() []asked {
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	definition := func(change func(crd, spec, version, root map[string]any)) string {
		root := map[string]any{"type": "object"}
		version := map[string]any{"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": root}}
		spec := map[string]any{"group": "rejected.kctrl.dev", "scope": "Namespaced", "names": map[string]any{"kind": "Wrong",
			"plural": "wrongs"}, "versions": []any{version}}
		crd := map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": "wrongs.rejected.kctrl.dev"}, "spec": spec}
		change(crd, spec, version, root)
		return marshal(crd)
	}
	property := func(schema map[string]any) func(crd, spec, version, root map[string]any) {
		return func(_, _, _, root map[string]any) { root["properties"] = map[string]any{"a": schema} }
	}
	ruled := func(schema map[string]any, rules ...string) func(crd, spec, version, root map[string]any) {
		var list []any
		for _, rule := range rules {
			list = append(list, map[string]any{"rule": rule})
		}
		schema["x-kubernetes-validations"] = list
		return property(schema)
	}
	of := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	text, number := of("type", "string"), of("type", "integer")
	deep := of("type", "string")
	for range 200 {
		deep = of("type", "object", "properties", of("a", deep))
	}
	var many []any
	for i := range 200 {
		many = append(many, of("name", fmt.Sprintf("c%d", i), "type", "string", "jsonPath", ".spec.a"))
	}
	var requests []asked
	for _, change := range []func(crd, spec, version, root map[string]any){
		func(crd, _, _, _ map[string]any) { crd["metadata"] = of("name", "wrongs") },
		func(crd, _, _, _ map[string]any) { crd["metadata"] = of("name", "others.rejected.kctrl.dev") },
		func(crd, _, _, _ map[string]any) { delete(crd, "spec") },
		func(_, spec, _, _ map[string]any) { spec["group"] = "nodots" },
		func(_, spec, _, _ map[string]any) { spec["group"] = "Upper.Case" },
		func(crd, spec, _, _ map[string]any) {
			spec["group"] = "rejected.k8s.io"
			crd["metadata"] = of("name", "wrongs.rejected.k8s.io")
		},
		func(crd, spec, _, _ map[string]any) {
			spec["group"] = "rejected.k8s.io"
			crd["metadata"] = of("name", "wrongs.rejected.k8s.io", "annotations", of("api-approved.kubernetes.io", "nothing"))
		},
		func(_, spec, _, _ map[string]any) { spec["scope"] = "Everywhere" },
		func(_, spec, _, _ map[string]any) { delete(spec, "scope") },
		func(_, spec, _, _ map[string]any) { spec["names"] = of() },
		func(_, spec, _, _ map[string]any) { spec["names"] = of("kind", "Wrong", "plural", "Wrongs") },
		func(_, spec, _, _ map[string]any) {
			spec["names"] = of("kind", "Wrong_", "plural", "wrongs", "listKind", "Wrong_", "shortNames", []any{"W", "w w"},
				"categories", []any{"All", ""})
		},
		func(_, spec, _, _ map[string]any) { spec["versions"] = []any{} },
		func(_, _, version, _ map[string]any) { version["storage"] = false },
		func(_, _, version, _ map[string]any) { version["name"] = "V1_" },
		func(_, spec, version, _ map[string]any) { spec["versions"] = []any{version, version} },
		func(_, spec, version, _ map[string]any) {
			spec["versions"] = []any{version, of("name", "v2", "served", true, "storage", true, "schema", version["schema"])}
		},
		func(_, _, version, _ map[string]any) { delete(version, "schema") },
		func(_, _, version, _ map[string]any) { version["schema"] = of() },
		func(_, spec, _, _ map[string]any) { spec["preserveUnknownFields"] = true },
		func(_, _, version, _ map[string]any) { version["deprecationWarning"] = "old" },
		func(_, _, version, _ map[string]any) {
			version["deprecated"], version["deprecationWarning"] = true, strings.Repeat("x", 300)
		},
		func(_, _, version, _ map[string]any) {
			version["subresources"] = of("scale", of("specReplicasPath", "spec.replicas", "statusReplicasPath", ".metadata.x"))
		},
		func(_, _, version, _ map[string]any) {
			version["subresources"] = of("scale", of("specReplicasPath", ".spec.replicas[0]", "statusReplicasPath",
				".status.replicas", "labelSelectorPath", ".spec.selector"))
		},
		func(_, _, version, _ map[string]any) {
			version["additionalPrinterColumns"] = []any{of("name", "", "type", "text", "format", "odd", "jsonPath", "spec[")}
		},
		func(_, _, version, _ map[string]any) { version["additionalPrinterColumns"] = many },
		func(_, _, version, _ map[string]any) {
			version["selectableFields"] = []any{of("jsonPath", ".spec.a"), of("jsonPath", "spec"),
				of("jsonPath", ".metadata.name"), of("jsonPath", ".spec.a")}
		},
		func(_, spec, _, _ map[string]any) { spec["conversion"] = of("strategy", "Webhook") },
		func(_, spec, _, _ map[string]any) {
			spec["conversion"] = of("strategy", "Webhook", "webhook", of("conversionReviewVersions", []any{"v7", "V"},
				"clientConfig", of("url", "http://u@x/y?z", "service", of("name", "", "namespace", "", "port", 0))))
		},
		func(_, spec, _, _ map[string]any) { spec["conversion"] = of("strategy", "Magic") },
		func(_, spec, _, _ map[string]any) {
			spec["conversion"] = of("strategy", "None", "webhook", of("conversionReviewVersions", []any{"v1"}))
		},
		func(_, _, _, root map[string]any) { root["type"] = "string" },
		func(_, _, _, root map[string]any) { delete(root, "type") },
		func(_, _, _, root map[string]any) { root["properties"] = of("metadata", of("type", "string")) },
		func(_, _, _, root map[string]any) {
			root["properties"] = of("metadata", of("type", "object", "properties", of("labels", of("type", "object"))))
		},
		func(_, _, _, root map[string]any) { root["x-kubernetes-preserve-unknown-fields"] = false },
		property(of()), property(of("type", "thing")), property(of("type", "array")),
		property(of("type", "array", "items", []any{text})), property(of("type", "array", "items", of())),
		property(of("type", "object", "properties", of("b", text), "additionalProperties", text)),
		property(of("type", "object", "additionalProperties", false)), property(of("$ref", "#/definitions/x")),
		property(of("type", "string", "pattern", "(")), property(of("type", "integer", "minimum", 5, "maximum", 1)),
		property(of("type", "string", "format", "odd")), property(of("type", "string", "uniqueItems", true)),
		property(of("type", "integer", "default", "x")), property(of("type", "object", "default", of("unknown", 1))),
		property(of("type", "string", "enum", []any{"a", 1, "a"})),
		property(of("type", "string", "nullable", true, "default", nil)),
		property(of("x-kubernetes-int-or-string", true, "type", "string")),
		property(of("x-kubernetes-embedded-resource", true)),
		property(of("type", "object", "x-kubernetes-embedded-resource", true)),
		property(of("type", "string", "x-kubernetes-list-type", "set")),
		property(of("type", "array", "items", text, "x-kubernetes-list-type", "bag")),
		property(of("type", "array", "items", text, "x-kubernetes-list-type", "map")),
		property(of("type", "array", "items", of("type", "object", "properties", of("k", text)), "x-kubernetes-list-type",
			"map", "x-kubernetes-list-map-keys", []any{"k"})),
		property(of("type", "array", "items", of("type", "object", "properties", of("k", text), "required", []any{"k"}),
			"x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", []any{"k", "k", "z"})),
		property(of("type", "array", "items", of("type", "object"), "x-kubernetes-list-type", "set")),
		property(of("type", "string", "x-kubernetes-map-type", "atomic")),
		property(of("type", "object", "x-kubernetes-map-type", "odd")),
		property(of("type", "object", "oneOf", []any{of("type", "object", "properties", of("z", text))})),
		property(of("type", "object", "not", of("default", 1, "nullable", true))),
		property(of("type", "string", "minLength", -1, "maxLength", -5)),
		property(of("type", "object", "required", []any{"x", "x"}, "properties", of("", text))),
		property(of("type", "object", "patternProperties", of("a", text))),
		property(of("type", "string", "id", "x", "$schema", "y", "definitions", of("z", text))),
		property(deep),
		ruled(of("type", "string"), "self =="), ruled(of("type", "string"), "self + 1"),
		ruled(of("type", "string"), "true", "nothing.here", "oldSelf == self"), ruled(of("type", "array", "items", text),
			"self.all(x, self.all(y, self.all(z, x + y + z == '')))"),
		ruled(of("type", "object", "additionalProperties", text), "self.all(k, self[k].matches('^a+$'))"),
		ruled(of("type", "integer"), ""), ruled(of("type", "object", "x-kubernetes-preserve-unknown-fields", true),
			"self.a == 1"),
		property(of("type", "string", "x-kubernetes-validations",
			[]any{of("rule", "true", "message", "", "messageExpression", "1 + 1", "reason", "Odd", "fieldPath", ".x[0"),
				of("rule", "true", "message", "a\nb"), of("message", "x"), of("rule", "self == oldSelf", "optionalOldSelf",
					true)})),
		property(of("type", "array", "items", of("type", "object", "properties", of("b", number), "x-kubernetes-validations",
			[]any{of("rule", "self.b == oldSelf.b")}))),
	} {
		requests = append(requests, asked{method: "POST", path: path + "?dryRun=All", body: definition(change)})
	}
	requests = append(requests, asked{method: "POST", path: path, body: definition(property(of("type", "string")))},
		asked{method: "GET", path: path + "/wrongs.rejected.kctrl.dev",
			until: `"reason":"InitialNamesAccepted"`}) // the real server writes it later
	for _, change := range []func(crd, spec, version, root map[string]any){
		func(_, spec, _, _ map[string]any) { spec["scope"] = "Cluster" },
		func(_, spec, _, _ map[string]any) { spec["group"] = "other.kctrl.dev" },
		func(_, spec, _, _ map[string]any) { spec["names"] = of("kind", "Right", "plural", "wrongs") },
		func(_, spec, _, _ map[string]any) { spec["names"] = of("kind", "Wrong", "plural", "rights") },
		func(_, _, version, _ map[string]any) { version["name"] = "v2" }, property(of("type", "thing")),
		func(_, _, version, _ map[string]any) { version["served"] = false },
	} {
		requests = append(requests, asked{method: "PUT", path: path + "/wrongs.rejected.kctrl.dev",
			body: strings.Replace(definition(change), `"metadata":{`,
				`"metadata":{"resourceVersion":"{{version wrongs.rejected.kctrl.dev}}",`, 1)})
	}
	requests = append(requests, asked{method: "PATCH", path: path + "/wrongs.rejected.kctrl.dev/status",
		contentType: "application/merge-patch+json", body: `{"status":{"storedVersions":[]}}`},
		asked{method: "PATCH", path: path + "/wrongs.rejected.kctrl.dev/status", contentType: "application/merge-patch+json",
			body: `{"status":{"storedVersions":["v7"],"conditions":[{"type":"Established","status":"Maybe"}]}}`})
	return requests
}

// TestManyWatches checks that 10,000 watches receive one change.
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
	if status, body, _ := p.do(t, asked{method: "POST", path: "/apis/fidelity.kctrl.dev/v1/gadgets",
		body: `{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Gadget","metadata":{"name":"a"}}`}); status != http.StatusCreated {
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

// TestSlowWatchEnds checks that a watch ends if its client reads nothing while the history overflows.
func TestSlowWatchEnds(t *testing.T) {
	p := newPeer(t, "in memory", apiserver.New(apiserver.Options{History: 10}))
	const gadgets = "/apis/fidelity.kctrl.dev/v1/gadgets"
	response, err := p.client.Get(p.host + gadgets + "?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	long := strings.Repeat("x", 200_000)
	for i := range 60 { // more than the client's buffer holds
		p.do(t, asked{method: "POST", path: gadgets, body: fmt.Sprintf(
			`{"apiVersion":"fidelity.kctrl.dev/v1","kind":"Gadget","metadata":{"name":"g%d"},"x":%q}`, i, long)})
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
