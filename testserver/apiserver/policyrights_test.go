package apiserver_test

import (
	"fmt"
	"math/rand/v2"
)

// readerRequests returns writes of policies with parameters and of their bindings, sent by a user who has some read
// permissions.
func readerRequests(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 13)), namespace: fmt.Sprintf("e%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	reader := s.namespace + "-reader"
	rules := []any{map[string]any{"apiGroups": []any{"admissionregistration.k8s.io"}, "resources": []any{"*"},
		"verbs": []any{"*"}}}
	for range s.IntN(3) {
		rule := map[string]any{"apiGroups": pick(s, []any{""}, []any{"fidelity.kctrl.dev", ""}, []any{"fidelity.kctrl.dev"},
			[]any{"*"}),
			"resources": pick(s, []any{"configmaps"}, []any{"widgets"}, []any{"gadgets"}, []any{"*"}),
			"verbs":     pick(s, []any{"get"}, []any{"list"}, []any{"get", "list"}, []any{"*"})}
		if s.IntN(4) == 0 {
			rule["resourceNames"] = pick(s, []any{"params"}, []any{"a", "*"})
		}
		rules = append(rules, rule)
	}
	s.grant(reader, rules, "admissionregistration.k8s.io", "validatingadmissionpolicies", "update")
	for range 16 {
		s.readerStep(pick(s, reader, reader, reader, ""))
	}
	s.forget()
	return s.requests
}

func (s *sequence) readerStep(who string) {
	const version = "admissionregistration.k8s.io/v1"
	mutating, name := s.IntN(2) == 0, s.namespace+pick(s, "-a", "-b")
	kind, resource, spec := "ValidatingAdmissionPolicy", "validatingadmissionpolic",
		map[string]any{"validations": []any{map[string]any{"expression": "true"}}}
	if mutating {
		kind, resource = "MutatingAdmissionPolicy", "mutatingadmissionpolic"
		spec = map[string]any{"reinvocationPolicy": "Never",
			"mutations": []any{map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": "[]"}}}}
	}
	path := admissionPath + resource + "ies"
	if s.IntN(2) == 0 {
		path, name, kind = admissionPath+resource+"ybindings", name+"-"+pick(s, "x", "y"), kind+"Binding"
		spec = map[string]any{"policyName": s.namespace + pick(s, "-a", "-a", "-b", "-c"),
			"matchResources": map[string]any{"namespaceSelector": s.own()}}
		if !mutating {
			spec["validationActions"] = pick(s, []any{"Deny"}, []any{"Warn"}, []any{"Deny"}, []any{"Other"})
		}
		if s.IntN(4) > 0 {
			spec["paramRef"] = s.paramRef()
		}
	} else {
		spec["matchConstraints"] = map[string]any{"namespaceSelector": s.own(),
			"resourceRules": []any{map[string]any{"operations": pick(s, []any{"CREATE"}, []any{"UPDATE"}),
				"apiGroups": []any{"batch"}, "apiVersions": []any{"*"}, "resources": []any{"jobs"}}}}
		if s.IntN(4) > 0 {
			spec["paramKind"] = pick(s, map[string]any{"apiVersion": "v1", "kind": "ConfigMap"},
				map[string]any{"apiVersion": "fidelity.kctrl.dev/v1", "kind": "Widget"},
				map[string]any{"apiVersion": "fidelity.kctrl.dev/v1", "kind": "Gadget"},
				map[string]any{"apiVersion": "none.kctrl.dev/v1", "kind": "Missing"},
				map[string]any{"apiVersion": "v1", "kind": "Missing"}, map[string]any{"apiVersion": "v7", "kind": "ConfigMap"},
				map[string]any{"apiVersion": "v1", "kind": ""})
		}
	}
	s.note(name, path)
	body := object(version, kind, name, "", map[string]any{"spec": spec})
	switch s.IntN(10) {
	case 0, 1, 2, 3:
		s.add(asked{method: "POST", path: path + pick(s, "", "", "", "?dryRun=All"), user: who, body: body})
	case 4, 5:
		s.add(asked{method: "PUT", path: path + "/" + name, user: who,
			body: object(version, kind, name, "{{version "+name+"}}", map[string]any{"spec": spec})})
	case 6, 7:
		s.add(asked{method: "PATCH", path: path + "/" + name + "?force=true&fieldManager=" + pick(s, "one", "two"), user: who,
			contentType: "application/apply-patch+yaml", body: body})
	case 8:
		s.add(asked{method: "PATCH", path: path + "/" + name, user: who, contentType: "application/merge-patch+json",
			body: pick(s, labelPatch, labelPatch, marshal(map[string]any{"spec": spec}))})
	case 9:
		s.add(asked{method: "PATCH", path: path + "/" + name, user: who,
			contentType: "application/strategic-merge-patch+json", body: labelPatch})
	}
}

func (s *sequence) paramRef() map[string]any {
	ref := pick(s, map[string]any{"name": "params"}, map[string]any{"name": "a"},
		map[string]any{"selector": map[string]any{}},
		map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "x"}}})
	if s.IntN(8) > 0 {
		ref["parameterNotFoundAction"] = pick(s, "Deny", "Allow")
	}
	if s.IntN(3) == 0 {
		ref["namespace"] = pick(s, s.namespace, "default")
	}
	return ref
}
