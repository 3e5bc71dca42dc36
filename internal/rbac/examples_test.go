package rbac

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/access"
)

// TestExamplesAreExact checks that the markers of the examples grant exactly the permissions that their code needs. If
// one permission is removed, kctrl rbac must report it as missing.
func TestExamplesAreExact(t *testing.T) {
	for _, name := range []string{"examples", "examples/cronjob"} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.Abs(filepath.Join("..", "..", filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			c, report, err := compared(t.Context(), Options{Dir: dir, FS: os.DirFS(dir)})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Roots) != 1 || report.Rules == 0 {
				t.Errorf("programs %v with %d markers", report.Roots, report.Rules)
			}
			for _, problem := range report.Problems {
				t.Error(problem)
			}
			for _, f := range slices.Concat(c.missing(), c.excess(), c.narrower()) {
				if f.Class != Unproven {
					t.Errorf("%s: %s: %s", f.Pos, f.Class, f.Message)
				}
			}
			checkEachRemoval(t, c)
		})
	}
}

// checkEachRemoval removes one permission at a time, and expects kctrl rbac to report it as missing. It accepts no
// report for the verb get of a rule that also grants list, and for permissions that only calls with an unproven
// resource need.
func checkEachRemoval(t *testing.T, c *comparison) {
	t.Helper()
	all := c.rules
	removed := map[permission]bool{}
	for _, r := range all {
		for p := range permissionsOf(r) {
			if removed[p] {
				continue
			}
			removed[p] = true
			c.rules = nil
			for _, kept := range all {
				c.rules = append(c.rules, without(kept, p)...)
			}
			noticed := slices.ContainsFunc(c.missing(), func(f Finding) bool {
				return f.Class == Missing && f.Resource == p.resource && slices.Contains(f.Verbs, p.verb)
			})
			listed := p.verb == access.Get && slices.Contains(r.verbs, access.List)
			if !noticed && !listed && c.mayNeed(p.resource, p.verb) == "" {
				t.Errorf("kctrl rbac does not miss %s on %s", p.verb, p.resource)
			}
		}
	}
	c.rules = all
	if len(removed) < 20 {
		t.Errorf("removed only %d permissions", len(removed))
	}
}

// permissionsOf yields the permissions of a rule.
func permissionsOf(r rule) func(yield func(permission) bool) {
	return func(yield func(permission) bool) {
		for _, group := range r.groups {
			for _, name := range r.resources {
				for _, verb := range r.verbs {
					if !yield(permission{access.Resource{Group: group, Name: name}, verb}) {
						return
					}
				}
			}
		}
	}
}

// without returns rules that grant all permissions of a rule except one.
func without(r rule, removed permission) (rules []rule) {
	for p := range permissionsOf(r) {
		if p != removed {
			single := r
			single.groups, single.resources = []string{p.resource.Group}, []string{p.resource.Name}
			single.verbs = []string{p.verb}
			rules = append(rules, single)
		}
	}
	return rules
}
