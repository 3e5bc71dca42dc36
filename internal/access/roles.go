package access

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

const (
	rolesGroup = "rbac.authorization.k8s.io"
	rolesPath  = "k8s.io/api/rbac/v1"
)

const reasonGrant = "the API server accepts only roles whose permissions the writer has"

// WritesRoles reports whether a request writes roles or bindings. The API server then requires that the program has the
// permissions in them, or the verb escalate or bind.
func (a Access) WritesRoles() bool {
	return a.Resource.Group == rolesGroup && slices.Contains([]string{Create, Update, Patch}, a.Verb)
}

// literal is a struct literal: the values that the program stores in the fields of a struct.
type literal struct {
	fields map[string][]ssa.Value
	pos    token.Position // of the first store
	in     *reached
}

// literalsOf finds the literals of a struct type of package rbac/v1, in order.
func (f *flow) literalsOf(name string) (all []*literal) {
	known := map[ssa.Value]*literal{} // by the pointer to the struct
	for in, instr := range f.instructions() {
		store, ok := instr.(*ssa.Store)
		if !ok {
			continue
		}
		addr, ok := store.Addr.(*ssa.FieldAddr)
		if !ok || !isOf(addr.X.Type(), name) {
			continue
		}
		of := known[addr.X]
		if of == nil {
			of = &literal{fields: map[string][]ssa.Value{}, pos: f.p.at(store.Pos()), in: in}
			known[addr.X], all = of, append(all, of)
		}
		field := fieldAt(addr).name
		of.fields[field] = append(of.fields[field], store.Val)
	}
	return all
}

// isOf reports whether a type is, or points to, one of the named types of package rbac/v1.
func isOf(t types.Type, names ...string) bool {
	pkg, name := typeName(t)
	return pkg == rolesPath && slices.Contains(names, name)
}

// roles records the permissions in the roles that the program writes. It returns why some of them are not known, or "".
func (a *analysis) roles() (unknown string) {
	written, read := map[string][]string{}, map[string]bool{}
	for _, access := range a.found {
		if access.Resource.Group == rolesGroup && slices.Contains([]string{Get, List}, access.Verb) {
			read[access.Resource.Name] = true
		}
	}
	for _, access := range a.found {
		if access.Unproven != "" || access.Site.Ignored != "" || !access.WritesRoles() {
			continue
		}
		at := access.Site.Pos.String()
		written[access.Resource.Name] = append(written[access.Resource.Name], access.Names...)
		changes := access.Verb != Create && access.Reason == reasonWrite && !strings.Contains(access.Site.Call, "CreateOr")
		switch {
		case access.untyped:
			return "the code writes a role without its Go type at " + at
		case changes && (access.Verb == Patch || read[access.Resource.Name]):
			return "the code changes a role at " + at
		}
	}
	if len(written) == 0 {
		return ""
	}
	rules := a.literalsOf("PolicyRule")
	_, ofRoles := written["roles"]
	_, ofClusterRoles := written["clusterroles"]
	if len(rules) == 0 && (ofRoles || ofClusterRoles) {
		return "the rules of the code's roles are not literals"
	}
	for _, rule := range rules {
		if why := a.grants(rule); why != "" {
			return why
		}
	}
	if why := a.unknownRules(); why != "" {
		return why
	}
	return a.unknownBindings(written)
}

// unknownRules returns why a role of the program can have rules that are not struct literals with constants, or "".
func (a *analysis) unknownRules() string {
	rule := a.p.types[rolesPath].Scope().Lookup("PolicyRule").Type() // the program imports the package
	for _, kind := range []string{"Role", "ClusterRole"} {
		for _, role := range a.literalsOf(kind) {
			if role.fields["AggregationRule"] != nil {
				return "the role at " + role.pos.String() + " combines others"
			}
			for _, value := range role.fields["Rules"] {
				for _, name := range []string{"Verbs", "APIGroups", "Resources"} {
					path, _ := pathTo(rule, name)
					if _, complete := a.constants(place{value, element + path + element}, true); !complete {
						return "the rules of the role at " + role.pos.String() + " are not constants"
					}
				}
			}
		}
	}
	for _, instr := range a.instructions() {
		call, ok := instr.(ssa.CallInstruction)
		switch {
		case !ok:
		case a.decodesRole(call.Common()):
			return "the code decodes a role at " + a.p.at(instr.Pos()).String()
		case appliesRole(call.Common()):
			return "the code applies a role at " + a.p.at(instr.Pos()).String()
		}
	}
	return ""
}

// appliesRole reports whether a call sets rules or a role in an apply configuration.
func appliesRole(call *ssa.CallCommon) bool {
	if name := calledName(call); call.IsInvoke() || len(call.Args) == 0 || name != "WithRules" && name != "WithRoleRef" {
		return false
	}
	pkg, _ := typeName(call.Args[0].Type())
	return strings.Contains(pkg, "/applyconfigurations/rbac/")
}

// decodesRole reports whether a call decodes a document into a role.
func (a *analysis) decodesRole(call *ssa.CallCommon) bool {
	name := calledName(call)
	if !slices.ContainsFunc([]string{"Unmarshal", "Decode", "FromUnstructured"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	}) {
		return false
	}
	return slices.ContainsFunc(call.Args, func(arg ssa.Value) bool {
		if !types.IsInterface(arg.Type()) {
			return false
		}
		found, _ := a.types(place{arg, ""})
		return slices.ContainsFunc(found, func(t types.Type) bool {
			return strings.Contains(types.TypeString(t, nil), rolesPath+".")
		})
	})
}

// grants records the permissions of a rule in a role. It returns why they are not known, or "".
func (a *analysis) grants(rule *literal) string {
	constant := func(name string) (all []string, complete bool) {
		values := rule.fields[name]
		if len(values) != 1 {
			return nil, len(values) == 0 && (name == "ResourceNames" || rule.fields["NonResourceURLs"] != nil)
		}
		return a.literalStrings(values[0])
	}
	groups, known := constant("APIGroups")
	resources, alsoKnown := constant("Resources")
	verbs, verbsKnown := constant("Verbs")
	if !known || !alsoKnown || !verbsKnown {
		return "a rule at " + rule.pos.String() + " is not constant"
	}
	if slices.Contains(slices.Concat(groups, resources, verbs), "*") {
		return "a rule at " + rule.pos.String() + ` grants "*"`
	}
	names, namesKnown := constant("ResourceNames")
	if !namesKnown {
		names = nil
	}
	site := a.siteIn(rule.in, rule.pos, "a role")
	for _, group := range groups {
		for _, resource := range resources {
			for _, verb := range verbs {
				a.keep(Access{
					Verb: verb, Resource: Resource{group, resource}, Names: names, Granted: true, Reason: reasonGrant, Site: site,
				})
			}
		}
	}
	return ""
}

// literalStrings returns the strings of a slice literal, or false if other code may change the slice, or if an element
// is not constant.
func (a *analysis) literalStrings(v ssa.Value) (all []string, known bool) {
	slice, ok := v.(*ssa.Slice)
	if !ok || len(*slice.Referrers()) != 1 {
		return nil, false
	}
	array, ok := slice.X.(*ssa.Alloc)
	if !ok {
		return nil, false
	}
	for _, user := range *array.Referrers() {
		at, ok := user.(*ssa.IndexAddr)
		if user == slice {
			continue
		}
		if !ok || len(*at.Referrers()) != 1 {
			return nil, false
		}
		store, ok := (*at.Referrers())[0].(*ssa.Store)
		if !ok {
			return nil, false
		}
		found, complete := a.constants(place{store.Val, ""}, true)
		if !complete || len(found) == 0 {
			return nil, false
		}
		all = append(all, found...)
	}
	return all, true
}

// unknownBindings returns why a binding can refer to a role whose permissions are not known, or "". A binding to a role
// without a constant name refers to one that the program writes, if it writes roles of this kind.
func (a *analysis) unknownBindings(written map[string][]string) string {
	writes := func(resource string) bool {
		_, ok := written[resource]
		return ok
	}
	if !writes("rolebindings") && !writes("clusterrolebindings") {
		return ""
	}
	refs := a.literalsOf("RoleRef")
	if len(refs) == 0 {
		return "the roles of the code's bindings are not literals"
	}
	for _, ref := range refs {
		kind, name := "", ""
		for _, value := range ref.fields["Kind"] {
			kind = a.constant(place{value, ""})
		}
		for _, value := range ref.fields["Name"] {
			name = a.constant(place{value, ""})
		}
		own := map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}[kind]
		switch {
		case writes(own) && (name == "" || slices.Contains(written[own], name)):
		case name != "":
			return fmt.Sprintf("the code binds the %s %s at %s", kind, name, ref.pos)
		default:
			return fmt.Sprintf("the code binds an unknown role at %s", ref.pos)
		}
	}
	return ""
}
