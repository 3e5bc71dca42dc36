package rbac

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/access"
)

// excess returns the markers that grant more than the program needs.
func (c *comparison) excess() (found []Finding) {
	for _, r := range c.rules {
		if r.marker == nil || r.marker.ignored != "" {
			continue
		}
		if len(r.urls) > 0 {
			found = append(found, Finding{
				Class: Unproven, Pos: r.marker.pos, Verbs: r.verbs, marker: r.marker,
				Message: "kctrl does not analyze requests for URLs: " + strings.Join(r.urls, ", "),
				Hint:    "if the program sends them, write " + access.IgnorePrefix + " REASON above the marker",
			})
			continue
		}
		found = append(found, c.excessOf(r)...)
	}
	return found
}

// excessOf returns the findings of one marker: permissions that are in excess, and permissions that may be.
func (c *comparison) excessOf(r rule) (found []Finding) {
	keep := map[access.Resource][]string{}
	var certain, open []Permission
	why := ""
	for _, group := range r.groups {
		for _, name := range r.resources {
			resource := access.Resource{Group: group, Name: name}
			surplus, unclear := Permission{Resource: resource}, Permission{Resource: resource}
			for _, verb := range r.verbs {
				switch reason := c.needsOf(r, resource, verb); {
				case reason == "":
					surplus.Verbs = append(surplus.Verbs, verb)
					continue
				case reason != needed:
					unclear.Verbs, why = append(unclear.Verbs, verb), reason
				}
				keep[resource] = append(keep[resource], verb)
			}
			if len(surplus.Verbs) > 0 {
				certain = append(certain, surplus)
			}
			if len(unclear.Verbs) > 0 {
				open = append(open, unclear)
			}
		}
	}
	if len(certain) > 0 {
		found = append(found, Finding{
			Class: Excess, Pos: r.marker.pos, Resource: certain[0].Resource, Verbs: certain[0].Verbs, More: certain[1:],
			marker: r.marker, keep: keep,
			Message: "no reached call needs " + c.surplusText(certain),
			Hint:    "remove it, or write " + access.IgnorePrefix + " REASON above the marker",
		})
	}
	if len(open) > 0 {
		found = append(found, Finding{
			Class: Unproven, Pos: r.marker.pos, Resource: open[0].Resource, Verbs: open[0].Verbs, More: open[1:],
			marker:  r.marker,
			Message: "no call is known to need " + c.surplusText(open) + ", but " + why,
			Hint:    "if it is needed, write " + access.IgnorePrefix + " REASON above the marker",
		})
	}
	return found
}

// surplusText lists permissions in excess. It groups resources with the same verbs.
func (c *comparison) surplusText(all []Permission) string {
	byVerbs := map[string][]string{}
	for _, s := range all {
		verbs := strings.Join(s.Verbs, ", ")
		if slices.Contains(s.Verbs, "*") {
			verbs = `"*"`
		}
		byVerbs[verbs] = append(byVerbs[verbs], s.Resource.String())
	}
	var parts []string
	for _, verbs := range slices.Sorted(maps.Keys(byVerbs)) {
		parts = append(parts, verbs+" on "+strings.Join(byVerbs[verbs], ", "))
	}
	return strings.Join(parts, "; ")
}

// needed is the result of needsOf for a permission that a call needs.
const needed = "needed"

// needsOf returns [needed] if a call needs a permission of a rule, "" if no call does, or the reason why that is not
// known.
func (c *comparison) needsOf(r rule, resource access.Resource, verb string) string {
	if !strings.Contains(resource.Group+resource.Name+verb, "*") {
		for _, a := range c.needed[permission{resource, verb}] {
			if v, _ := c.judgeRule(r, a); v != denied {
				return needed
			}
		}
		// list returns the same objects, so get grants nothing in addition.
		if verb == access.Get && slices.Contains(r.verbs, access.List) && c.needsOf(r, resource, access.List) == needed {
			return needed
		}
	}
	return c.mayNeed(resource, verb)
}

// mayNeed returns why a permission that no known call needs may still be needed, or "".
func (c *comparison) mayNeed(resource access.Resource, verb string) string {
	_, sub, _ := strings.Cut(resource.Name, "/")
	for _, a := range c.unknown {
		of := strings.TrimPrefix(a.Resource.Name, "/")
		if (a.Verb == verb || verb == "*") && (of == sub || resource.Name == "*") {
			return fmt.Sprintf("%s at %s may: its resource is not known", a.Verb, a.Site.Pos)
		}
	}
	for _, a := range c.accesses {
		if a.Guessed && a.Resource.Group == resource.Group && (a.Verb == verb || verb == "*") && a.Resource != resource {
			return fmt.Sprintf("%s at %s may: the plural of its kind is a guess", a.Verb, a.Site.Pos)
		}
	}
	if c.incomplete != "" {
		return "the code at " + c.incomplete + " is not analyzed"
	}
	if strings.HasSuffix(resource.Name, "/proxy") {
		return "kctrl does not analyze requests for URLs, which a proxy receives"
	}
	if site := c.mayWriteRoles(); site != "" {
		return "the code may write roles at " + site + ", and can only grant what it has"
	}
	if c.unknownRoles != "" {
		return c.unknownRoles + ", and can only grant what it has"
	}
	if (verb == "escalate" || verb == "bind") && slices.ContainsFunc(c.accesses, access.Access.WritesRoles) {
		return "the code writes roles"
	}
	return ""
}

// mayWriteRoles returns the position of a write of an unknown object that the rules allow to be a role, or "".
func (c *comparison) mayWriteRoles() string {
	for _, a := range c.unknown {
		if a.Resource.Name != "" || !slices.Contains([]string{access.Create, access.Update, access.Patch}, a.Verb) {
			continue
		}
		for _, name := range []string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"} {
			of := access.Resource{Group: "rbac.authorization.k8s.io", Name: name}
			if slices.ContainsFunc(c.rules, func(r rule) bool { return r.grants(of, a.Verb) }) {
				return a.Site.Pos.String()
			}
		}
	}
	return ""
}

// mayEscalate reports whether the code may write roles with permissions that it does not have.
func (c *comparison) mayEscalate() bool {
	return slices.ContainsFunc(c.rules, func(r rule) bool {
		for _, name := range []string{"roles", "clusterroles"} {
			if r.grants(access.Resource{Group: "rbac.authorization.k8s.io", Name: name}, "escalate") {
				return true
			}
		}
		return false
	})
}

// narrower returns notes about markers that could list the object names of all requests that need them.
func (c *comparison) narrower() (found []Finding) {
	for _, r := range c.rules {
		if r.marker == nil || r.marker.ignored != "" || len(r.names) > 0 || len(r.urls) > 0 {
			continue
		}
		for _, group := range r.groups {
			for _, name := range r.resources {
				if f, ok := c.named(r, access.Resource{Group: group, Name: name}); ok {
					found = append(found, f)
				}
			}
		}
	}
	return found
}

// named returns a note if all requests for a resource with the verbs of a rule use constant object names.
func (c *comparison) named(r rule, resource access.Resource) (Finding, bool) {
	var names, verbs []string
	var sites []access.Site
	for _, verb := range r.verbs {
		if verb == access.Create {
			continue // only a create by apply has a name
		}
		all := c.needed[permission{resource, verb}]
		if len(all) == 0 {
			continue
		}
		verbs = append(verbs, verb)
		for _, a := range all {
			if len(a.Names) == 0 {
				return Finding{}, false
			}
			names, sites = append(names, a.Names...), append(sites, a.Site)
		}
	}
	for _, a := range c.unknown {
		if slices.Contains(verbs, a.Verb) {
			return Finding{}, false
		}
	}
	if len(verbs) == 0 {
		return Finding{}, false
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return Finding{
		Class: Note, Pos: r.marker.pos, Resource: resource, Verbs: verbs, Sites: sites, marker: r.marker,
		Message: fmt.Sprintf("all requests for %s by %s name %s", resource, strings.Join(verbs, ", "),
			strings.Join(names, ", ")),
		Hint: "restrict them with resourceNames=" + strings.Join(names, ";"),
	}, true
}
