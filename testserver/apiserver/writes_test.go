package apiserver_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// TestShortcutsChangeNothing sends random requests to two servers with the same seed, each in a bubble. One server has
// no shortcuts. The answers must be identical.
func TestShortcutsChangeNothing(t *testing.T) {
	run := func(t *testing.T, requests []asked, plain bool) (answers [][]byte) {
		synctest.Test(t, func(t *testing.T) {
			server := apiserver.New(apiserver.Options{Seed: 1})
			if plain {
				apiserver.WithoutShortcuts(server)
			}
			p := newPeer(t, "in memory", server)
			m := newMask()
			for _, a := range requests {
				a.path, a.body = m.fill(a.path), m.fill(a.body)
				status, body, header := p.do(t, a)
				answers = append(answers, fmt.Appendf(nil, "%d %v\n%s\n", status, header, body))
				m.masked(body)
				time.Sleep(time.Second)
			}
		})
		return answers
	}
	seeds.Each(t, 5, func(t *testing.T, seed uint64) {
		for _, requests := range [][]asked{requestsOf(2000+seed, ""), writesOf(seed),
			varietyAbout(customKinds(), 2000+seed, "")} {
			want, got := run(t, requests, true), run(t, requests, false)
			for i, a := range requests {
				if want, got := sortCauseBytes(want[i]), sortCauseBytes(got[i]); !bytes.Equal(want, got) {
					t.Errorf("request %d: %s\n-without +with shortcuts\n%s", i, a, cmp.Diff(strings.Split(string(want), ","),
						strings.Split(string(got), ",")))
					break
				}
			}
		}
	})
}

// customKinds returns the sample kinds that are defined by a CRD.
func customKinds() (kinds []sampleKind) {
	for _, k := range variedKinds {
		if strings.HasPrefix(k.apiVersion, "fidelity.kctrl.dev/") {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// writesOf returns the writes of a seed, most of which are valid.
func writesOf(seed uint64) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 9)), namespace: fmt.Sprintf("w%d", seed)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	collection := "/apis/fidelity.kctrl.dev/v1/namespaces/" + s.namespace + "/widgets"
	for range 60 {
		name := pick(s, "a", "b")
		if s.IntN(12) == 0 {
			name = pick(s, "Not_Valid", "-", strings.Repeat("x", 254))
		}
		one, part := collection+"/"+name, pick(s, "", "", "", "/status")
		manager := "fieldManager=" + pick(s, "one", "two", "three")
		switch s.IntN(8) {
		case 0:
			s.add(asked{method: "POST", path: collection + pick(s, "", "?"+manager, "?fieldValidation=Strict"),
				body: s.right(pick(s, name, name, "c", ""), "")})
		case 1, 2:
			s.add(asked{method: "PUT", path: one + part + pick(s, "", "?"+manager), body: s.right(name, "{{version "+name+"}}")})
		case 3, 4:
			s.add(asked{method: "PATCH", path: one + part + "?" + manager, contentType: "application/merge-patch+json",
				body: s.right("", "")})
		case 5, 6:
			s.add(asked{method: "PATCH", path: one + part + "?" + manager + pick(s, "", "&force=true"),
				contentType: "application/apply-patch+yaml", body: s.right(name, "")})
		case 7:
			s.add(asked{method: "GET", path: one})
			if s.IntN(4) == 0 {
				s.add(asked{method: "DELETE", path: one})
			}
		}
	}
	s.add(asked{method: "GET", path: collection})
	return s.requests
}

// right returns a valid widget in which some parts are missing. For a patch, the name is empty.
func (s *sequence) right(name, version string) string {
	spec, metadata, status := map[string]any{}, map[string]any{}, map[string]any{}
	optional := func(of map[string]any, odds int, name string, values ...any) {
		if s.IntN(odds) == 0 {
			of[name] = pick(s, values...)
		}
	}
	optional(spec, 2, "color", "red", "green", "blue")
	optional(spec, 3, "size", 1, 5, 10)
	optional(spec, 3, "replicas", 1, 2, 99)
	optional(spec, 4, "weight", 1, 1.5, -0.25)
	optional(spec, 5, "date", "2024-01-02T03:04:05Z")
	optional(spec, 5, "duration", "5s")
	optional(spec, 5, "port", 80, "http")
	optional(spec, 5, "email", "a@b")
	optional(spec, 4, "tags", []any{"x", "y"}, []any{"y", "x"}, []any{"z"}, []any{})
	optional(spec, 4, "free", []any{1, 2}, []any{2}, []any{})
	optional(spec, 2, "parts", []any{map[string]any{"name": "p"}},
		[]any{map[string]any{"name": "q", "count": 1, "kind": "fancy"}, map[string]any{"name": "p"}},
		[]any{map[string]any{"name": "p", "count": 2}, map[string]any{"name": "q"}}, []any{})
	optional(spec, 4, "atomic", map[string]any{"a": "1"}, map[string]any{"b": "2"}, map[string]any{})
	optional(spec, 4, "extra", map[string]any{"x": map[string]any{"y": []any{1, "2"}}},
		map[string]any{"x": map[string]any{"z": 1}}, map[string]any{})
	optional(spec, 4, "labels", map[string]any{"a": "b"}, map[string]any{"a": "c", "d": "<e> & \"é\""}, map[string]any{})
	optional(spec, 6, "one", map[string]any{"a": "x"}, map[string]any{"b": "y"})
	optional(metadata, 3, "labels", map[string]any{"app": "x"}, map[string]any{"app": "y", "a.b/tier": "1"})
	optional(metadata, 4, "annotations", map[string]any{"note": "hello"}, map[string]any{"note": "you", "a.b/c": "d"},
		map[string]any{pick(s, "long", "longer"): strings.Repeat("x", 200<<10)})
	optional(metadata, 12, "finalizers", []any{"fidelity.kctrl.dev/hold"})
	optional(metadata, 5, "ownerReferences", []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a",
		"uid": "1", "controller": true}}, []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "c",
		"uid": "3", "controller": true}}, []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "a",
		"uid": "1"}, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "b", "uid": "2",
		"blockOwnerDeletion": false}})
	optional(status, 2, "ready", true, false)
	optional(status, 3, "replicas", 1, 2)
	optional(status, 3, "conditions", []any{map[string]any{"type": "Ready", "status": "True"}},
		[]any{map[string]any{"type": "A", "status": "x"}, map[string]any{"type": "Ready", "status": "False"}},
		[]any{map[string]any{}})
	content := map[string]any{}
	for part, value := range map[string]map[string]any{"spec": spec, "metadata": metadata, "status": status} {
		if len(value) > 0 || part == "metadata" {
			content[part] = value
		}
	}
	if name == "" && version == "" && s.IntN(2) == 0 {
		return marshal(content)
	}
	if name == "" {
		metadata["generateName"] = "made-"
	}
	body := object("fidelity.kctrl.dev/v1", "Widget", name, version, content)
	return strings.Replace(body, `"name":"",`, "", 1)
}
