package apiserver_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// systemRequests returns requests for pods and templates with features of Linux, of Windows, or of neither.
func systemRequests(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 9)), namespace: fmt.Sprintf("y%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	for range 25 {
		annotations, spec := s.profiles(), s.systemPod()
		if s.IntN(3) == 0 {
			s.placed(spec)
		}
		if s.IntN(4) > 0 {
			s.add(asked{method: "POST", path: "/api/v1/namespaces/" + s.namespace + "/pods?dryRun=All",
				body: object("v1", "Pod", "a", "", map[string]any{"metadata": map[string]any{"annotations": annotations,
					"labels": map[string]any{"a": "x", "b": "y"}}, "spec": spec})})
			continue
		}
		labels := map[string]any{"a": "b"}
		s.add(asked{method: "POST", path: "/apis/apps/v1/namespaces/" + s.namespace + "/deployments?dryRun=All",
			body: object("apps/v1", "Deployment", "a", "", map[string]any{"spec": map[string]any{
				"selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations},
					"spec": spec}}})})
	}
	return s.requests
}

// placed adds random affinities and topology spread constraints, which can refer to the pod's labels by key.
func (s *sequence) placed(spec map[string]any) {
	selector := func() any {
		return pick[any](s, nil, map[string]any{}, map[string]any{"matchLabels": map[string]any{pick(s, "a", "c"): "x"}},
			map[string]any{"matchExpressions": []any{map[string]any{"key": pick(s, "a", "b"), "operator": "Exists"}}})
	}
	keys := func() any {
		return pick[any](s, nil, nil, []any{"a"}, []any{"a", "b"}, []any{"b", "b"}, []any{"c"}, []any{"not valid"})
	}
	term := func() map[string]any {
		return map[string]any{"topologyKey": "z", "labelSelector": selector(), "matchLabelKeys": keys(),
			"mismatchLabelKeys": keys()}
	}
	some := func() map[string]any {
		return map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": []any{term(), term()},
			"preferredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{"weight": 1, "podAffinityTerm": term()}}}
	}
	spec["affinity"] = map[string]any{pick(s, "podAffinity", "podAntiAffinity"): some()}
	spec["topologySpreadConstraints"] = []any{map[string]any{"maxSkew": 1, "topologyKey": "z",
		"whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector(), "matchLabelKeys": keys()}}
}

func (s *sequence) profiles() map[string]any {
	annotations := map[string]any{}
	for _, key := range []string{"seccomp.security.alpha.kubernetes.io/pod",
		"container.seccomp.security.alpha.kubernetes.io/a", "container.seccomp.security.alpha.kubernetes.io/x",
		"container.apparmor.security.beta.kubernetes.io/a", "container.apparmor.security.beta.kubernetes.io/b",
		"container.apparmor.security.beta.kubernetes.io/x"} {
		if s.IntN(6) == 0 {
			annotations[key] = pick(s, "runtime/default", "docker/default", "unconfined", "localhost/x", "localhost/../x",
				"localhost//x", "localhost/", "", "x", "localhost/ x", "localhost/"+strings.Repeat("x", 4096))
		}
	}
	return annotations
}

func (s *sequence) systemPod() map[string]any {
	optional := func(into map[string]any, odds int, name string, values ...any) {
		if s.IntN(odds) == 0 {
			into[name] = pick(s, values...)
		}
	}
	armor := []any{map[string]any{"type": "Unconfined"}, map[string]any{"type": "RuntimeDefault"},
		map[string]any{"type": "Localhost", "localhostProfile": pick(s, "x", "../x", " x", "", strings.Repeat("x", 4096))},
		map[string]any{"type": "Localhost"},
		map[string]any{"type": "x"}, map[string]any{"type": "Unconfined", "localhostProfile": "x"}}
	windows := func() map[string]any {
		options := map[string]any{}
		optional(options, 2, "hostProcess", true, true, false)
		optional(options, 4, "gmsaCredentialSpecName", "a", "A b")
		optional(options, 4, "gmsaCredentialSpec", "a", "", strings.Repeat("x", 64<<10+1))
		optional(options, 3, "runAsUserName", "a", "", `a\b`, `a\b\c`, `\b`, `a\`, "a\x01", ". .", "a:b",
			strings.Repeat("d", 256)+`\b`, `b\`+strings.Repeat("u", 105), `.a\b`, `a b\c`, `a|b\c`, "a@b", `-\x`)
		return options
	}
	both := func(context map[string]any) {
		optional(context, 8, "appArmorProfile", armor...)
		optional(context, 8, "seccompProfile", map[string]any{"type": "Unconfined"}, map[string]any{"type": "RuntimeDefault"},
			map[string]any{"type": "Localhost", "localhostProfile": "x"})
		optional(context, 8, "seLinuxOptions", map[string]any{"level": "s0"})
		optional(context, 8, "runAsUser", 1)
		optional(context, 8, "runAsGroup", 1)
		if s.IntN(4) == 0 {
			context["windowsOptions"] = windows()
		}
	}
	container := func(name string) map[string]any {
		context := map[string]any{}
		both(context)
		optional(context, 8, "capabilities", map[string]any{"add": []any{"A"}})
		optional(context, 8, "readOnlyRootFilesystem", true)
		optional(context, 8, "privileged", true)
		optional(context, 8, "allowPrivilegeEscalation", true)
		optional(context, 8, "procMount", "Default")
		one := map[string]any{"name": name, "image": "b"}
		if len(context) > 0 {
			one["securityContext"] = context
		}
		return one
	}
	spec, context := map[string]any{"containers": []any{container("a")}}, map[string]any{}
	if s.IntN(2) == 0 {
		spec["initContainers"] = []any{container("b")}
	}
	optional(spec, 2, "os", map[string]any{"name": "linux"}, map[string]any{"name": "windows"},
		map[string]any{"name": "windows"}, map[string]any{"name": "x"}, map[string]any{"name": ""})
	optional(spec, 4, "hostNetwork", true)
	optional(spec, 8, "hostPID", true)
	optional(spec, 8, "hostIPC", true)
	optional(spec, 8, "hostUsers", true)
	optional(spec, 8, "shareProcessNamespace", false)
	both(context)
	optional(context, 8, "fsGroup", 1)
	optional(context, 8, "fsGroupChangePolicy", "Always")
	optional(context, 8, "sysctls", []any{map[string]any{"name": "a", "value": "b"}})
	optional(context, 8, "supplementalGroups", []any{1}, []any{})
	optional(context, 8, "supplementalGroupsPolicy", "Merge")
	optional(context, 8, "seLinuxChangePolicy", "MountOption", "Recursive")
	if len(context) > 0 {
		spec["securityContext"] = context
	}
	return spec
}
