package apiserver_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// problemsOfLimits matches the problems of one LimitRange with an object. The real server finds them in map order.
var problemsOfLimits = regexp.MustCompile(`(is forbidden: \[)(.*)\]`)

func maskedLimits(text string) string {
	if strings.Contains(text, `pods \"mark\" is forbidden`) {
		return "" // the plugin may apply the change between its defaulting and its validation
	}
	text = problemsOfLimits.ReplaceAllStringFunc(text, func(found string) string {
		parts := problemsOfLimits.FindStringSubmatch(found)
		problems := strings.Split(strings.NewReplacer(", minimum ", "\nminimum ", ", maximum ", "\nmaximum ", ", cpu max",
			"\ncpu max", ", memory max", "\nmemory max").Replace(parts[2]), "\n")
		slices.Sort(problems)
		return parts[1] + strings.Join(problems, ", ") + "]"
	})
	return maskedKinds(text)
}

// limitRequests returns requests about pods and claims, and about a LimitRange that changes. The real server's plugin
// applies a change a moment after the write.
func limitRequests(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 7)), namespace: fmt.Sprintf("l%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	in := "/api/v1/namespaces/" + s.namespace + "/"
	for mark := 1; mark <= 6; mark++ {
		at, method := in+"limitranges", "POST"
		if mark > 1 {
			at, method = at+"/limits", "PUT"
		}
		limits := s.limits(mark)
		body := func() string {
			return object("v1", "LimitRange", "limits", "", map[string]any{"spec": map[string]any{"limits": limits}})
		}
		s.add(asked{method: method, path: at + "?dryRun=All", body: body()})
		if s.IntN(2) == 0 || !possible(limits) {
			for _, one := range limits {
				delete(one.(map[string]any), "maxLimitRequestRatio")
			}
		}
		s.add(asked{method: method, path: at, body: body()})
		asks := map[string]any{marked: "100"}
		s.add(asked{method: "POST", path: in + "pods?dryRun=All", until: fmt.Sprintf("%s usage per Container is %d,", marked,
			mark), body: object("v1", "Pod", "mark", "", map[string]any{
			"spec": map[string]any{"containers": []any{map[string]any{"name": "mark", "image": "mark",
				"resources": map[string]any{"requests": asks, "limits": asks}}}}})})
		for i := range 3 {
			name := fmt.Sprintf("%d-%d", mark, i)
			pod := object("v1", "Pod", name, "", map[string]any{"spec": s.limitedPod()})
			s.add(asked{method: "POST", path: in + "pods" + pick(s, "", "", "?dryRun=All"), body: pod})
			s.add(asked{method: "PATCH", path: in + "pods/" + name + pick(s, "/resize", "/resize", ""),
				contentType: "application/strategic-merge-patch+json",
				body: marshal(map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a",
					"resources": s.asks()}}}})})
			claim := map[string]any{"spec": map[string]any{"accessModes": []any{"ReadWriteOnce"},
				"resources": map[string]any{"requests": map[string]any{"storage": pick(s, quantities...)}}}}
			s.add(asked{method: "POST", path: in + "persistentvolumeclaims", body: object("v1", "PersistentVolumeClaim", name,
				"", claim)})
			s.add(asked{method: "PATCH", path: in + "persistentvolumeclaims/" + pick(s, name, "1-0"),
				contentType: "application/merge-patch+json",
				body: marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{"to": name}},
					"spec": map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": pick(s,
						quantities...)}}}})})
		}
	}
	s.add(asked{method: "DELETE", path: "/api/v1/namespaces/" + s.namespace})
	return s.requests
}

// marked is a resource whose limit shows how often the LimitRange has changed.
const marked = "example.com/mark"

// quantities contains quantities in ascending order.
var quantities = []string{"0", "1m", "100m", "0.5", "1", "1500m", "2", "3.7", "64Mi", "1Gi", "1.5Gi", "9e12", "8Ei"}

// ordered returns n random quantities in ascending order.
func (s *sequence) ordered(n int) (some []any) {
	var at []int
	for range n {
		at = append(at, s.IntN(len(quantities)-1))
	}
	slices.Sort(at)
	for _, i := range at {
		some = append(some, quantities[i])
	}
	return some
}

func (s *sequence) limits(mark int) []any {
	item := func(of string, fields ...string) map[string]any {
		all := map[string]any{"type": of}
		for _, resource := range []string{"cpu", "memory", "ephemeral-storage"} {
			for i, quantity := range s.ordered(len(fields)) {
				if s.IntN(2) == 0 {
					list, _ := all[fields[i]].(map[string]any)
					if list == nil {
						list = map[string]any{}
						all[fields[i]] = list
					}
					list[resource] = quantity
				}
			}
		}
		if s.IntN(3) == 0 {
			all["maxLimitRequestRatio"] = map[string]any{pick(s, "cpu", "memory"): pick[any](s, "1", "2", "1500m", "4", "1024")}
		}
		return all
	}
	container := item("Container", pick(s, []string{"min", "defaultRequest", "default", "max"}, []string{"min", "max"},
		[]string{"defaultRequest", "default"})...)
	most, _ := container["max"].(map[string]any)
	if most == nil {
		most = map[string]any{}
		container["max"] = most
	}
	most[marked] = fmt.Sprint(mark)
	all := []any{container}
	if s.IntN(2) == 0 {
		all = append(all, item("Pod", "min", "max"))
	}
	if s.IntN(2) == 0 {
		sizes := s.ordered(2)
		all = append(all, pick[any](s, map[string]any{"type": "PersistentVolumeClaim",
			"min": map[string]any{"storage": sizes[0]}, "max": map[string]any{"storage": sizes[1]}},
			map[string]any{"type": "PersistentVolumeClaim", "max": map[string]any{"storage": sizes[1]}},
			map[string]any{"type": "PersistentVolumeClaim", "min": map[string]any{"storage": sizes[0]}}))
	}
	s.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// possible reports whether no resource has both a minimum and a ratio. With both, the server may reject the LimitRange,
// depending on the factor by which the maximum exceeds the minimum.
func possible(limits []any) bool {
	return !slices.ContainsFunc(limits, func(one any) bool {
		least, _ := one.(map[string]any)["min"].(map[string]any)
		ratio, _ := one.(map[string]any)["maxLimitRequestRatio"].(map[string]any)
		return slices.ContainsFunc(sortedKeys(ratio), func(name string) bool { return least[name] != nil })
	})
}

// asks returns random requests and limits of resources.
func (s *sequence) asks() map[string]any {
	requests, limits := map[string]any{}, map[string]any{}
	for _, resource := range []string{"cpu", "memory", "ephemeral-storage"} {
		sizes := s.ordered(2)
		if s.IntN(3) == 0 {
			requests[resource] = sizes[0]
		}
		if s.IntN(3) == 0 {
			limits[resource] = sizes[1]
		}
	}
	return map[string]any{"requests": requests, "limits": limits}
}

func (s *sequence) limitedPod() map[string]any {
	container := func(name string) map[string]any {
		return map[string]any{"name": name, "image": "image", "resources": s.asks()}
	}
	spec := map[string]any{"containers": []any{container("a"), container("b")}[:1+s.IntN(2)]}
	var first []any
	for i := range s.IntN(3) {
		one := container(fmt.Sprintf("init-%d", i))
		if s.IntN(2) == 0 {
			one["restartPolicy"] = "Always"
		}
		first = append(first, one)
	}
	if len(first) > 0 {
		spec["initContainers"] = first
	}
	if s.IntN(4) == 0 {
		spec["resources"] = s.asks()
	}
	return spec
}
