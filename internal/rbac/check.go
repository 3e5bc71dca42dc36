package rbac

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"io/fs"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/access"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
)

// Options configure [Check].
type Options struct {
	// Dir is the absolute path of the project, and FS contains its files.
	Dir string
	FS  fs.FS
	// Patterns are package patterns relative to Dir. Empty means "./...".
	Patterns []string
	// Namespaced reports whether the deployment restricts the manager to the namespaces of its roles.
	Namespaced bool
	// RoleName is the name of the role that is generated from the markers. Empty means "manager-role".
	RoleName string
	// Cache caches the results of the code analysis. A store without a directory disables the cache.
	Cache incremental.Store
	// Analyzed is the result of [access.Analyze] for Dir and Patterns. Nil analyzes the code.
	Analyzed *access.Result
}

// Class is the class of a finding.
type Class string

// The classes of findings.
const (
	Missing  Class = "missing"  // a reached call needs a permission that nothing grants
	Excess   Class = "excess"   // a marker grants a permission that no reached call needs
	Unproven Class = "unproven" // kctrl cannot decide whether a permission is needed or granted
	Note     Class = "note"     // a marker can grant less, because all requests use constant names
)

// Finding is one result of a comparison.
type Finding struct {
	Class    Class
	Pos      token.Position // of the call or of the marker
	Message  string
	Hint     string
	Resource access.Resource
	Verbs    []string
	// More are further permissions, if the finding is about several resources.
	More []Permission
	// Role is the kind of role that must grant the permission: "ClusterRole", or "Role in " and the namespace.
	Role string
	// Sites are the calls that need the permission, with their call chains.
	Sites []access.Site

	why     string // reason for an unproven permission
	marker  *marker
	keep    map[access.Resource][]string // permissions of the marker that are not in excess
	adds    *rule                        // permissions that are missing
	names   []string                     // constant object names in the requests
	unnamed bool                         // at least one request can be for any object
}

// Permission is a resource with verbs.
type Permission struct {
	Resource access.Resource
	Verbs    []string
}

// Report is the result of [Check].
type Report struct {
	Findings []Finding
	// Needs are all permissions that the program certainly needs, by resource.
	Needs []Need
	// Problems are the parts of the code that were not analyzed.
	Problems []*diagnostic.Error
	// Modules are the directories of other modules below Dir, which were not analyzed.
	Modules []string
	// Roots are the import paths of the analyzed programs, and Rules is the number of markers.
	Roots []string
	Rules int

	markers []rule
}

// Need is a resource with the verbs that the program sends.
type Need struct {
	Resource access.Resource
	Verbs    []string
	Names    []string // object names, if all requests use constant names
	Role     string
}

// Count returns the number of findings of a class.
func (r *Report) Count(class Class) (n int) {
	for _, f := range r.Findings {
		if f.Class == class {
			n++
		}
	}
	return n
}

// comparison has the requests of the code and the permissions that the project grants.
type comparison struct {
	Options
	accesses []access.Access
	rules    []rule
	// unknown are the requests whose resource is not known.
	unknown []access.Access
	needed  map[permission][]access.Access
	// incomplete is the position of code that was not analyzed, or "".
	incomplete string
	// unread is a file with a syntax error, because of which the markers of its package are not known, or "".
	unread string
	// unknownRoles is the reason why a role that the code writes can have unknown permissions, or "".
	unknownRoles string
}

// permission is a verb on a resource.
type permission struct {
	resource access.Resource
	verb     string
}

// Check analyzes the packages and compares their requests with markers and roles.
func Check(ctx context.Context, o Options) (*Report, error) {
	c, report, err := compared(ctx, o)
	if err != nil {
		return nil, err
	}
	report.Findings = slices.Concat(c.missing(), c.excess(), c.unproven(), c.narrower())
	slices.SortStableFunc(report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order(a.Class), order(b.Class)), cmp.Compare(a.Pos.Filename, b.Pos.Filename),
			cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	report.Needs = c.needs()
	return report, nil
}

// compared returns a comparison, and a report without findings.
func compared(ctx context.Context, o Options) (*comparison, *Report, error) {
	o.RoleName = cmp.Or(o.RoleName, "manager-role")
	found := o.Analyzed
	if found == nil {
		var err error
		if found, err = access.Analyze(ctx, access.Config{Dir: o.Dir, Patterns: o.Patterns, Cache: o.Cache}); err != nil {
			return nil, nil, err
		}
	}
	patterns := o.Patterns
	if len(patterns) > 0 && !slices.Contains(patterns, "./...") && len(found.Packages) > 0 {
		patterns = found.Packages // the programs need the markers of the packages that they import
	}
	rules, unread, err := markersOf(ctx, o.Dir, o.FS, patterns)
	if err != nil {
		return nil, nil, err
	}
	config, err := readConfig(o.FS)
	if err != nil {
		return nil, nil, err
	}
	c := &comparison{
		Options: o, accesses: slices.Concat(found.Accesses, config.authority),
		rules: slices.Concat(rules, config.bound(o.RoleName)), needed: map[permission][]access.Access{}, unread: unread,
		unknownRoles: found.UnknownRoles,
	}
	for _, problem := range found.Problems {
		if c.incomplete == "" || c.incomplete == "-" {
			c.incomplete = problem.Pos.String()
		}
	}
	c.index()
	return c, &Report{
		Problems: found.Problems, Modules: found.Modules, Roots: found.Roots, Rules: len(rules), markers: rules,
	}, nil
}

func order(class Class) int { return slices.Index([]Class{Missing, Excess, Unproven, Note}, class) }

// index groups the accesses by permission.
func (c *comparison) index() {
	for _, a := range c.accesses {
		if a.Site.Ignored != "" {
			continue
		}
		if a.Unproven != "" {
			c.unknown = append(c.unknown, a)
			continue
		}
		p := permission{a.Resource, a.Verb}
		c.needed[p] = append(c.needed[p], a)
	}
}

// verdict is the decision whether the rules grant an access.
type verdict int

const (
	denied verdict = iota
	unclear
	granted
)

// judge returns whether the rules grant an access, and the reason if that is unclear.
func (c *comparison) judge(a access.Access) (best verdict, why string) {
	for _, r := range c.rules {
		if !r.grants(a.Resource, a.Verb) {
			continue
		}
		v, reason := c.judgeRule(r, a)
		if v > best {
			best, why = v, reason
		}
		if best == granted {
			return granted, ""
		}
	}
	return best, why
}

// judgeRule returns whether the names and the namespace of a rule include an access.
func (c *comparison) judgeRule(r rule, a access.Access) (verdict, string) {
	if r.namespace != "" && a.Scope == access.ScopeCluster {
		return denied, ""
	}
	if len(r.names) > 0 {
		if v, why := judgeNames(r.names, a); v != granted {
			return v, why
		}
	}
	inNamespace := a.Namespace == access.PodNamespace || a.Namespace == r.namespace
	if r.namespace == "" || c.Namespaced || inNamespace {
		return granted, ""
	}
	if a.Namespace != "" && r.namespace != access.PodNamespace {
		return denied, ""
	}
	return unclear, "only in namespace " + r.namespace + ", and the namespace of the request is not a constant"
}

// judgeNames returns whether a rule with resourceNames includes an access.
func judgeNames(names []string, a access.Access) (verdict, string) {
	within := len(a.Names) > 0 && !slices.ContainsFunc(a.Names, func(n string) bool { return !slices.Contains(names, n) })
	switch {
	case within:
		return granted, ""
	case len(a.Names) > 0, a.Verb == access.Create, a.Verb == access.DeleteCollection:
		return denied, ""
	case a.Verb == access.List, a.Verb == access.Watch:
		return unclear, "only with a field selector for the names " + strings.Join(names, ", ")
	}
	return unclear, "only for the names " + strings.Join(names, ", ") + ", and the name in the request is not a constant"
}

// missing returns the permissions that nothing grants, with one finding for each resource and reason.
func (c *comparison) missing() []Finding {
	var found []Finding
	at := map[string]int{}
	done := map[permission]bool{}
	certain := func(a access.Access) bool { return !a.Granted && a.Doubt == "" }
	doubtful := func(a access.Access) bool { return !certain(a) }
	all := slices.Concat(slices.DeleteFunc(slices.Clone(c.accesses), doubtful),
		slices.DeleteFunc(slices.Clone(c.accesses), certain))
	for _, a := range all {
		if a.Unproven != "" || a.Site.Ignored != "" || a.Optional || a.Granted && c.mayEscalate() {
			continue
		}
		verdict, why := c.judge(a)
		if verdict == granted {
			continue
		}
		class := Missing
		switch {
		case verdict == unclear:
			class, why = Unproven, "granted "+why
		case c.unread != "":
			class, why = Unproven, "not granted by known markers, but the package of "+c.unread+" has a syntax error"
		case a.Guessed:
			class, why = Unproven, "not granted, but the plural is a guess from the kind"
		case a.Granted:
			class, why = Unproven, "not granted, but "+a.Reason
		case a.Doubt != "":
			class, why = Unproven, "not granted, but "+a.Doubt
		}
		key := fmt.Sprint(class, a.Resource, a.Reason, why)
		p := permission{a.Resource, a.Verb}
		i, known := at[key]
		if done[p] && (!known || doubtful(a)) {
			continue // reported with another reason
		}
		if !known {
			i = len(found)
			at[key] = i
			found = append(found, Finding{Class: class, Pos: a.Site.Pos, Resource: a.Resource, Role: c.roleFor(a)})
			found[i].why = why
		}
		done[p] = true
		f := &found[i]
		if !slices.Contains(f.Verbs, a.Verb) {
			f.Verbs = append(f.Verbs, a.Verb)
		}
		if !slices.ContainsFunc(f.Sites, func(s access.Site) bool { return s.Pos == a.Site.Pos }) {
			f.Sites = append(f.Sites, a.Site)
		}
		f.describe(a)
	}
	return found
}

// describe sets the message and the hint of a missing permission.
func (f *Finding) describe(a access.Access) {
	slices.SortFunc(f.Verbs, compareVerbs)
	what := fmt.Sprintf("%s on %s: %s", strings.Join(f.Verbs, ", "), f.Resource, f.Sites[0].Call)
	if more := len(f.Sites) - 1; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	if f.Class == Unproven {
		f.Message = what + ": " + f.why
		f.Hint = "if the markers grant what the call needs, write " + access.IgnorePrefix + " REASON above it"
		return
	}
	f.Message = what + ": " + a.Reason
	if a.Note != "" {
		f.Message += " " + a.Note
	}
	f.adds = &rule{groups: []string{f.Resource.Group}, resources: []string{f.Resource.Name}, verbs: f.Verbs}
	f.names = append(f.names, a.Names...)
	f.unnamed = f.unnamed || len(a.Names) == 0 || a.Verb == access.Create
	if !f.unnamed {
		f.adds.names = slices.Compact(slices.Sorted(slices.Values(f.names)))
	}
	if strings.HasPrefix(f.Role, "Role in ") && !strings.Contains(f.Role, access.PodNamespace) {
		f.adds.namespace = strings.TrimPrefix(f.Role, "Role in ")
	}
	f.Hint = fmt.Sprintf("add // %s (%s)", f.adds.text(), f.Role)
	if !strings.HasSuffix(f.Pos.Filename, ".go") {
		f.adds = nil
		f.Hint = fmt.Sprintf("grant it in a %s that config/ binds to the service account", f.Role)
	}
}

var verbOrder = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

func compareVerbs(a, b string) int {
	return cmp.Or(cmp.Compare(slices.Index(verbOrder, a), slices.Index(verbOrder, b)), cmp.Compare(a, b))
}

// roleFor returns the kind of role that an access needs.
func (c *comparison) roleFor(a access.Access) string {
	switch {
	case a.Scope == access.ScopeCluster:
		return "ClusterRole"
	case a.Namespace != "":
		return "Role in " + a.Namespace
	case c.Namespaced:
		for _, r := range c.rules {
			if r.marker != nil && r.namespace != "" {
				return "Role in " + r.namespace
			}
		}
		return "Role in " + access.PodNamespace
	}
	return "ClusterRole"
}

// text returns a rule as a marker.
func (r *rule) text() string {
	groups := strings.Join(r.groups, ";")
	if groups == "" {
		groups = `""`
	}
	text := "+kubebuilder:rbac:groups=" + groups
	if r.namespace != "" {
		text += ",namespace=" + r.namespace
	}
	text += ",resources=" + strings.Join(r.resources, ";")
	if len(r.names) > 0 {
		text += ",resourceNames=" + strings.Join(r.names, ";")
	}
	return text + ",verbs=" + strings.Join(r.verbs, ";")
}

// unproven returns findings about the accesses whose resource is not known.
func (c *comparison) unproven() []Finding {
	var found []Finding
	at := map[string]int{}
	for _, a := range c.unknown {
		key := fmt.Sprint(a.Site.Pos, a.Unproven, a.Resource)
		i, known := at[key]
		if !known {
			i = len(found)
			at[key] = i
			found = append(found, Finding{Class: Unproven, Pos: a.Site.Pos, Resource: a.Resource, Sites: []access.Site{a.Site}})
		}
		f := &found[i]
		f.Verbs = append(f.Verbs, a.Verb)
		slices.SortFunc(f.Verbs, compareVerbs)
		f.Verbs = slices.Compact(f.Verbs)
		subject := "an unknown resource"
		if sub := strings.TrimPrefix(a.Resource.Name, "/"); sub != "" {
			subject = sub + " of an unknown resource"
		}
		f.Message = fmt.Sprintf("%s on %s: %s: %s", strings.Join(f.Verbs, ", "), subject, a.Site.Call, a.Unproven)
		f.Hint = "if the markers grant what the call needs, write " + access.IgnorePrefix + " REASON above it"
	}
	return found
}

// needs returns the permissions that the program needs, by resource.
func (c *comparison) needs() []Need {
	byResource := map[access.Resource]*Need{}
	named := map[access.Resource]bool{}
	for p, all := range c.needed {
		if !slices.ContainsFunc(all, func(a access.Access) bool { return !a.Optional }) {
			continue
		}
		n := byResource[p.resource]
		if n == nil {
			n = &Need{Resource: p.resource}
			byResource[p.resource] = n
			named[p.resource] = true
		}
		n.Verbs = append(n.Verbs, p.verb)
		for _, a := range all {
			if role := c.roleFor(a); n.Role == "" || role == "ClusterRole" {
				n.Role = role
			}
			named[p.resource] = named[p.resource] && (len(a.Names) > 0 || a.Verb == access.Create)
			n.Names = append(n.Names, a.Names...)
		}
	}
	var needs []Need
	for resource, n := range byResource {
		slices.SortFunc(n.Verbs, compareVerbs)
		slices.Sort(n.Names)
		n.Names = slices.Compact(n.Names)
		if !named[resource] {
			n.Names = nil
		}
		needs = append(needs, *n)
	}
	slices.SortFunc(needs, func(a, b Need) int {
		return cmp.Or(cmp.Compare(a.Resource.Group, b.Resource.Group), cmp.Compare(a.Resource.Name, b.Resource.Name))
	})
	return needs
}
