package apiserver_test

import (
	"fmt"
	"math/rand/v2"
)

// classRequests returns requests that create, change and delete a RuntimeClass, and requests about pods that use it.
func classRequests(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 11)), namespace: fmt.Sprintf("c%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	const path = "/apis/node.k8s.io/v1/runtimeclasses/"
	in := "/api/v1/namespaces/" + s.namespace + "/pods"
	for class := range 4 {
		name := fmt.Sprintf("%s-%d", s.namespace, class) // the real server's plugin applies changes of a class later
		if s.IntN(4) > 0 {
			s.add(asked{method: "PUT", path: path + name, body: object("node.k8s.io/v1", "RuntimeClass", name, "",
				s.runtimeClass())})
		}
		for i := range 6 {
			pod := object("v1", "Pod", fmt.Sprintf("%d-%d", class, i), "", map[string]any{"spec": s.classedPod(name)})
			s.add(asked{method: "POST", path: in + pick(s, "", "?dryRun=All"), body: pod})
		}
		s.add(asked{method: "PATCH", path: in + fmt.Sprintf("/%d-0", class), contentType: "application/merge-patch+json",
			body: pick(s,
				`{"spec":{"tolerations":[{"key":"z","operator":"Exists"}]}}`, `{"spec":{"overhead":{"cpu":"1"}}}`,
				`{"spec":{"runtimeClassName":"other"}}`, `{"metadata":{"labels":{"a":"b"}}}`)})
		s.add(asked{method: "DELETE", path: path + name})
	}
	return s.requests
}

func (s *sequence) runtimeClass() map[string]any {
	class := map[string]any{"handler": pick(s, "runsc", "runsc", "runsc", "", "Not.Valid")}
	if s.IntN(2) == 0 {
		class["overhead"] = map[string]any{"podFixed": s.overhead()}
	}
	if s.IntN(3) > 0 {
		class["scheduling"] = map[string]any{"nodeSelector": s.nodeSelector(), "tolerations": s.tolerations()}
	}
	return class
}

func (s *sequence) classedPod(class string) map[string]any {
	spec := map[string]any{"containers": []any{map[string]any{"name": "a", "image": "a"}}}
	if s.IntN(5) > 0 {
		spec["runtimeClassName"] = pick(s, class, class, class, "missing", "Not Valid", "", "a/b", "..", "a%b")
	}
	if s.IntN(3) == 0 {
		spec["overhead"] = s.overhead()
	}
	if s.IntN(2) == 0 {
		spec["nodeSelector"] = s.nodeSelector()
	}
	if s.IntN(2) == 0 {
		spec["tolerations"] = s.tolerations()
	}
	return spec
}

func (s *sequence) overhead() any {
	return pick[any](s, nil, map[string]any{}, map[string]any{"cpu": "10m"}, map[string]any{"cpu": "0.01"},
		map[string]any{"cpu": "10m", "memory": "1Mi"}, map[string]any{"cpu": "1", "memory": "1.5"},
		map[string]any{"hugepages-2Mi": "1"}, map[string]any{"example.com/x": "1"})
}

func (s *sequence) nodeSelector() any {
	return pick[any](s, nil, map[string]any{}, map[string]any{"zone": "a"}, map[string]any{"zone": "b"},
		map[string]any{"zone": "a", "beta.kubernetes.io/arch": "x"}, map[string]any{"not valid": "a"})
}

func (s *sequence) tolerations() []any {
	tolerations := []any{}
	for range s.IntN(4) {
		toleration := map[string]any{}
		for _, field := range []struct {
			name   string
			odds   int
			values []any
		}{{"key", 8, []any{"k", "k", "l"}}, {"operator", 8, []any{"Exists", "Exists", "Equal", ""}},
			{"effect", 5, []any{"NoExecute", "NoExecute", "NoSchedule"}}, {"value", 2, []any{"v", "w"}},
			{"tolerationSeconds", 3, []any{5, 300}}} {
			if s.IntN(10) < field.odds {
				toleration[field.name] = pick(s, field.values...)
			}
		}
		tolerations = append(tolerations, toleration)
	}
	return tolerations
}
