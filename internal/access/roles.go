package access

import (
	"fmt"
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

// literals are the struct literals of one type: the values that the program stores in the fields of each struct.
type literals struct {
	structs []ssa.Value // pointers to them, in order
	fields  map[ssa.Value]map[string][]ssa.Value
	stores  map[ssa.Value]*ssa.Store // the first store
	in      map[ssa.Value]*reached
}

// literalsOf finds the literals of a struct type of package rbac/v1.
func (f *flow) literalsOf(name string) literals {
	all := literals{
		fields: map[ssa.Value]map[string][]ssa.Value{}, stores: map[ssa.Value]*ssa.Store{}, in: map[ssa.Value]*reached{},
	}
	for _, in := range f.order {
		for _, block := range in.fn.Blocks {
			for _, instr := range block.Instrs {
				store, ok := instr.(*ssa.Store)
				if !ok {
					continue
				}
				addr, ok := store.Addr.(*ssa.FieldAddr)
				if !ok || !isOf(addr.X.Type(), name) {
					continue
				}
				structure, _ := structOf(addr.X.Type())
				if all.fields[addr.X] == nil {
					all.structs = append(all.structs, addr.X)
					all.fields[addr.X], all.stores[addr.X], all.in[addr.X] = map[string][]ssa.Value{}, store, in
				}
				field := structure.Field(addr.Field).Name()
				all.fields[addr.X][field] = append(all.fields[addr.X][field], store.Val)
			}
		}
	}
	return all
}

// isOf reports whether a type is, or points to, one of the named types of package rbac/v1.
func isOf(t types.Type, names ...string) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	named := namedOf(t)
	return named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == rolesPath &&
		slices.Contains(names, named.Obj().Name())
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
	if len(rules.structs) == 0 && (ofRoles || ofClusterRoles) {
		return "the rules of the code's roles are not literals"
	}
	for _, rule := range rules.structs {
		if why := a.grants(rules, rule); why != "" {
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
	rule := a.p.structure("PolicyRule")
	for _, kind := range []string{"Role", "ClusterRole"} {
		roles := a.literalsOf(kind)
		for _, role := range roles.structs {
			if roles.fields[role]["AggregationRule"] != nil {
				return "the role at " + a.p.at(roles.stores[role].Pos()).String() + " combines others"
			}
			for _, value := range roles.fields[role]["Rules"] {
				for _, name := range []string{"Verbs", "APIGroups", "Resources"} {
					in := element + field(fieldIndex(rule, name)) + element
					if _, complete := a.constants(place{value, in}, true); !complete {
						return "the rules of the role at " + a.p.at(roles.stores[role].Pos()).String() + " are not constants"
					}
				}
			}
		}
	}
	for _, in := range a.order {
		for _, block := range in.fn.Blocks {
			for _, instr := range block.Instrs {
				call, ok := instr.(ssa.CallInstruction)
				switch {
				case !ok:
				case a.decodesRole(call.Common()):
					return "the code decodes a role at " + a.p.at(instr.Pos()).String()
				case appliesRole(call.Common()):
					return "the code applies a role at " + a.p.at(instr.Pos()).String()
				}
			}
		}
	}
	return ""
}

// appliesRole reports whether a call sets rules or a role in an apply configuration.
func appliesRole(call *ssa.CallCommon) bool {
	if name := calledName(call); call.IsInvoke() || len(call.Args) == 0 || name != "WithRules" && name != "WithRoleRef" {
		return false
	}
	named := namedOf(call.Args[0].Type())
	return named != nil && named.Obj().Pkg() != nil &&
		strings.Contains(named.Obj().Pkg().Path(), "/applyconfigurations/rbac/")
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
func (a *analysis) grants(rules literals, rule ssa.Value) string {
	constant := func(name string) (all []string, complete bool) {
		values := rules.fields[rule][name]
		if len(values) != 1 {
			return nil, len(values) == 0 && (name == "ResourceNames" || rules.fields[rule]["NonResourceURLs"] != nil)
		}
		return a.literalStrings(values[0])
	}
	store := rules.stores[rule]
	pos := a.p.at(store.Pos())
	groups, known := constant("APIGroups")
	resources, alsoKnown := constant("Resources")
	verbs, verbsKnown := constant("Verbs")
	if !known || !alsoKnown || !verbsKnown {
		return "a rule at " + pos.String() + " is not constant"
	}
	if slices.Contains(slices.Concat(groups, resources, verbs), "*") {
		return "a rule at " + pos.String() + ` grants "*"`
	}
	names, namesKnown := constant("ResourceNames")
	if !namesKnown {
		names = nil
	}
	in := rules.in[rule]
	chain := a.chain(in)
	if len(chain) > 0 {
		chain[len(chain)-1].Pos = pos
	}
	site := Site{Pos: a.project(pos, chain), Call: "a role", Chain: chain, Ignored: a.ignoredAt(chain)}
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
	if len(refs.structs) == 0 {
		return "the roles of the code's bindings are not literals"
	}
	for _, ref := range refs.structs {
		at := a.p.at(refs.stores[ref].Pos())
		kind, name := "", ""
		for _, value := range refs.fields[ref]["Kind"] {
			kind = a.constant(place{value, ""})
		}
		for _, value := range refs.fields[ref]["Name"] {
			name = a.constant(place{value, ""})
		}
		own := map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}[kind]
		switch {
		case writes(own) && (name == "" || slices.Contains(written[own], name)):
		case name != "":
			return fmt.Sprintf("the code binds the %s %s at %s", kind, name, at)
		default:
			return fmt.Sprintf("the code binds an unknown role at %s", at)
		}
	}
	return ""
}

// structure returns a struct type of package rbac/v1, which the program imports.
func (p *program) structure(name string) *types.Struct {
	s, _ := structOf(p.types[rolesPath].Scope().Lookup(name).Type())
	return s
}
