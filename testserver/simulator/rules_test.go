package simulator

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/sim"
)

// noteMeansCopy is a rule that is violated by each object that has a note but no copy.
func noteMeansCopy(o sim.Objects) error {
	for _, c := range sim.List[*corev1.ConfigMap](o) {
		key := object.KeyOf(c)
		if key.Name += "-copy"; c.Annotations["copy"] == "" {
			continue
		}
		if _, ok := sim.Find[*corev1.ConfigMap](o, key); !ok {
			return fmt.Errorf("%s has a note and no copy", c.Name)
		}
	}
	return nil
}

// TestRulesOfProjects checks that a project's rules are evaluated after each write and at the end.
func TestRulesOfProjects(t *testing.T) {
	always := sim.Always("a note means a copy", noteMeansCopy)
	eventually := sim.Eventually("a note means a copy at the end", noteMeansCopy)
	for _, test := range []struct {
		variant string
		rule    sim.Rule
		faults  []Fault
		want    string // message and call
	}{
		{"", always, nil, ""},
		{"", eventually, nil, ""},
		{"notes before it copies", always, nil, "a has a note and no copy after update configmaps default/a"},
		{"notes before it copies", eventually, nil, ""},
		{
			"notes before it copies", eventually,
			[]Fault{{Kind: CrashAfter, At: "update configmaps default/a", Number: 1}}, "a has a note and no copy",
		},
	} {
		operator := copies(test.variant)
		operator.Rules = []sim.Rule{test.rule}
		result, err := runIn(t, operator, Plan{Seed: 1, Faults: test.faults}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, reference := "", &Reference{First: result, Again: result}
		for _, v := range Check(operator, reference, result, others("rules")) {
			got += v.Message
			if v.Call != nil {
				got += " after " + v.Call.Target
			}
			if v.Invariant != test.rule.Name {
				t.Errorf("the violation has the name %q", v.Invariant)
			}
		}
		if got != test.want {
			t.Errorf("%q, %q: got %q, want %q", test.variant, test.rule.Name, got, test.want)
		}
		if v := Check(operator, reference, result, append(others("rules"), test.rule.Name)); len(v) > 0 {
			t.Errorf("a disabled rule is violated: %v", v)
		}
	}
}

// others returns the names of all invariants except one.
func others(name string) []string {
	var all []string
	for _, i := range Invariants {
		if i.Name != name {
			all = append(all, i.Name)
		}
	}
	return all
}

// TestRulesReadBuiltInKinds checks a rule about a kind that is not in the operator's scheme.
func TestRulesReadBuiltInKinds(t *testing.T) {
	operator := copies("")
	operator.Rules = []sim.Rule{sim.Eventually("a Deployment exists", func(o sim.Objects) error {
		if len(sim.List[*appsv1.Deployment](o)) == 0 {
			return errors.New("none")
		}
		return nil
	})}
	result, err := runIn(t, operator, Plan{Seed: 1}, nil)
	if err != nil || len(result.broken) != 1 || result.broken[0].Message != "none" {
		t.Errorf("got %v, %v, want one violation", result, err)
	}
}

// TestRuleThatPanics checks that a panic in a rule ends the simulation.
func TestRuleThatPanics(t *testing.T) {
	operator := copies("")
	operator.Rules = []sim.Rule{sim.Always("bad", func(sim.Objects) error { panic("oops") })}
	_, err := Explore(t, operator, Options{Seed: 1})
	if _, ok := errors.AsType[*ruleError](err); !ok || !strings.Contains(err.Error(), `"bad" panics: oops`) {
		t.Errorf("got %v", err)
	}
}
