package apiserver_test

import (
	"fmt"
	"math/rand/v2"
)

// addressRequests returns requests about addresses and ranges of Services, and about bindings with their own path.
func addressRequests(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 14)), namespace: fmt.Sprintf("d%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	ranges := sampleKind{"/apis/networking.k8s.io/v1/servicecidrs", "networking.k8s.io/v1", "ServiceCIDR",
		[]string{"status"},
		[]string{`{"spec":{"cidrs":["10.96.0.0/24"]},"status":{"conditions":[{"type":"Ready","status":"True","reason":"r","message":"","lastTransitionTime":"2024-01-01T00:00:00Z"}]}}`, `{"spec":{"cidrs":["10.97.0.0/24","2001:db8::/64"]}}`, `{"spec":{"cidrs":["10.97.0.0/24","10.98.0.0/24"]}}`, `{"spec":{"cidrs":["10.97.0.1/24"]}}`, `{"spec":{"cidrs":["x","y"]}}`, `{"spec":{"cidrs":[]}}`, `{"spec":{"cidrs":["10.0.0.0/8","2001:db8::/64","10.99.0.0/24"]}}`},
		[]string{labelPatch, `{"spec":{"cidrs":["10.96.0.0/24","2001:db8::/64"]}}`, `{"spec":{"cidrs":["10.95.0.0/24"]}}`,
			`{"spec":{"cidrs":["10.97.0.0/24"]}}`,
			`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"s","message":"m","lastTransitionTime":"2024-01-01T00:00:00Z"}]}}`, `{"metadata":{"finalizers":["x.y/z"]}}`, `{"metadata":{"finalizers":null}}`}}
	address := fmt.Sprintf("10.%d.%d.%d", seed%250, s.IntN(250), s.IntN(250))
	for range 30 {
		switch s.IntN(4) {
		case 0, 1:
			s.kindStep(ranges)
		case 2:
			s.addressStep(address)
		case 3:
			s.bindingStep()
		}
	}
	for _, path := range []string{"/apis/networking.k8s.io/v1/ipaddresses/" + address,
		"/apis/networking.k8s.io/v1/servicecidrs/" + s.namespace + "-a", "/apis/networking.k8s.io/v1/servicecidrs/" +
			s.namespace + "-b"} {
		s.add(asked{method: "PATCH", path: path, contentType: "application/merge-patch+json",
			body: `{"metadata":{"finalizers":null}}`})
		s.add(asked{method: "DELETE", path: path})
	}
	return s.requests
}

func (s *sequence) addressStep(address string) {
	const path, version = "/apis/networking.k8s.io/v1/ipaddresses", "networking.k8s.io/v1"
	name := pick(s, address, address, address, address, "::ffff:"+address, "010.0.0.1", "2001:DB8::1", "name")
	parent := map[string]any{"resource": pick(s, "services", "services", "services", "", "a/b"),
		"name": pick(s, "a", "a", "b", "", ".."), "namespace": pick(s, "default", "default", "", "%")}
	if s.IntN(4) == 0 {
		parent["group"] = pick(s, "", "example.com", "Not Valid")
	}
	content := map[string]any{"spec": map[string]any{"parentRef": parent}, "metadata": s.metadata()}
	if s.IntN(8) == 0 {
		content["spec"] = pick(s, map[string]any{}, nil)
	}
	switch s.IntN(8) {
	case 0, 1, 2:
		s.add(asked{method: "POST", path: path + s.options(), body: object(version, "IPAddress", name, "", content)})
	case 3:
		s.add(asked{method: "PUT", path: path + "/" + address + s.options(), body: object(version, "IPAddress", address,
			pick(s, "", "{{version "+address+"}}"), content)})
	case 4:
		s.add(asked{method: "PATCH", path: path + "/" + address + "?force=true&fieldManager=one",
			contentType: "application/apply-patch+yaml", body: object(version, "IPAddress", address, "", content)})
	case 5:
		s.add(asked{method: "PATCH", path: path + "/" + address, contentType: pick(s, "application/merge-patch+json",
			"application/strategic-merge-patch+json"), body: pick(s, labelPatch, `{"spec":{"parentRef":{"name":"b"}}}`,
			`{"spec":{"parentRef":null}}`)})
	case 6:
		s.add(asked{method: pick(s, "GET", "GET", "DELETE"), path: path + "/" + address,
			accept: pick(s, "", asTable, asPartial)})
	case 7:
		s.add(asked{method: "POST", path: path + "?dryRun=All",
			body: marshal(map[string]any{"apiVersion": version, "kind": "IPAddress",
				"metadata": map[string]any{"generateName": pick(s, address, "10.", "x")},
				"spec":     map[string]any{"parentRef": parent}})})
	}
}

func (s *sequence) bindingStep() {
	in := "/api/v1/namespaces/" + s.namespace + "/"
	name := pick(s, "a", "a", "b")
	switch s.IntN(5) {
	case 0:
		s.add(asked{method: "POST", path: in + "pods", body: object("v1", "Pod", name, "",
			map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "a"}}}})})
	case 1:
		s.add(asked{method: pick(s, "GET", "DELETE"), path: in + "pods/" + name})
	case 2:
		s.add(asked{method: pick(s, "GET", "PUT", "DELETE", "PATCH"), path: in + "bindings" + pick(s, "", "/"+name),
			contentType: pick(s, "", "application/merge-patch+json")})
	default:
		target := pick(s, map[string]any{"name": "node"}, map[string]any{"kind": "Node", "name": "node"},
			map[string]any{"kind": "Pod", "name": "node"}, map[string]any{})
		content := map[string]any{"target": target}
		if s.IntN(3) == 0 {
			content["metadata"] = map[string]any{"annotations": map[string]any{"a": "b"}}
		}
		s.add(asked{method: "POST", path: in + "bindings" + pick(s, "", "", "?dryRun=All", "?fieldValidation=Strict",
			"?fieldManager=one"), body: object("v1", "Binding", pick(s, name, name, name, ""), "", content)})
	}
}
