package migrate

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// webhookRules are about webhooks and conversion.
var webhookRules = []Rule{
	{
		Name: "webhooks of a kind",
		Matches: func(f *file, n ast.Node) bool {
			c := f.chain(n)
			return c != nil && (c.key == "ctrl.NewWebhookManagedBy" || c.key == "builder.WebhookManagedBy") && f.webhookKind(c) != nil
		},
		Rewrite: func(f *file, n ast.Node) string { return f.buildWebhook(f.chain(n)) },
		Reason:  "webhooks are of a Go type: webhook.For[*T](m)",
	},
	{
		Name: "a defaulter or validator of any object",
		Matches: func(f *file, n ast.Node) bool {
			decl, ok := n.(*ast.FuncDecl)
			return ok && decl.Body != nil && f.untypedWebhook(decl) != nil
		},
		Rewrite: func(f *file, n ast.Node) string { return f.typedWebhook(n.(*ast.FuncDecl)) },
		Reason:  "defaulters and validators are of a Go type",
	},
	{
		Name: "a defaulter or validator of any object, as an interface",
		Matches: func(f *file, n ast.Node) bool {
			generic, ok := n.(*ast.IndexExpr)
			return ok && (f.symbol(generic.X) == "webhook/admission.Defaulter" || f.symbol(generic.X) == "webhook/admission.Validator") && isRuntimeObject(f.info.TypeOf(generic.Index))
		},
		Rewrite: func(f *file, n ast.Node) string {
			return fill("{compat/untyped}." + base(f.symbol(n.(*ast.IndexExpr).X)))
		},
		Reason: "defaulters and validators are of a Go type; those of any object have interfaces of their own",
	},
	{
		Name: "an assertion about webhooks",
		Matches: func(f *file, n ast.Node) bool {
			if decl, ok := n.(*ast.GenDecl); ok && len(decl.Specs) > 0 {
				return !slices.ContainsFunc(decl.Specs, func(spec ast.Spec) bool { return !f.assertsWebhook(spec) })
			}
			return f.assertsWebhook(n)
		},
		Rewrite: func(*file, ast.Node) string { return removed },
		Reason:  "the builder of webhooks says it",
	},
	{
		Name:    "a version that is converted to and from a hub",
		Matches: matchCall("webhook/conversion.NewSpokeConverter"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return fill("{webhook/conversion}.NewSpoke") + f.argumentsOf(call.Fun) + "(" + f.argumentsAfter(call, 1) + ")"
		},
		Reason: "its Go type is told by its functions",
	},
	{
		Name: "a webhook of a kind, before version 0.15",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return (key == "webhook/admission.WithCustomDefaulter" || key == "webhook/admission.WithCustomValidator") && len(call.Args) == 2 && f.manager() != ""
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return f.text(call.Fun) + "(" + f.manager() + ".Scheme(), " + f.arguments(call, f.texts(call.Args)) + ")"
		},
		Reason: "it is told the scheme",
	},
	{
		Name: "a webhook of a kind, with options",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			at := map[string]int{"webhook/admission.WithCustomDefaulter": 3, "webhook/admission.WithDefaulter": 2}[key]
			return at > 0 && len(call.Args) > at && isValue(f, call.Args[at-1])
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, key := f.called(n)
			at := map[string]int{"webhook/admission.WithCustomDefaulter": 3, "webhook/admission.WithDefaulter": 2}[key]
			f.note(n, "left out: what the Go type of a kind does not know stays in what a defaulter changes")
			return f.text(call.Fun) + "(" + strings.Join(f.texts(call.Args[:at]), ", ") + ")"
		},
		Reason: "a patch holds what a defaulter has changed, and nothing else",
	},
	{
		Name: "a decoder that is pointed to",
		Matches: func(f *file, n ast.Node) bool {
			star, ok := n.(*ast.StarExpr)
			return ok && f.symbol(star.X) == "webhook/admission.Decoder"
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.StarExpr).X) },
		Reason:  "a decoder is an interface",
	},
	{
		Name: "a request",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && f.typeOf(literal) == "webhook/admission.Request" && literal.Type != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			literal := n.(*ast.CompositeLit)
			_, body, _ := strings.Cut(f.inside(literal)[len(f.text(literal.Type)):], "{")
			return "&" + fill("{webhook/admission}.Request") + "{" + body
		},
		Reason: "a request is a pointer",
	},
}

// assertsWebhook reports whether a node is a variable that only says that a type is a defaulter or validator of any object.
func (f *file) assertsWebhook(n ast.Node) bool {
	spec, ok := n.(*ast.ValueSpec)
	if !ok || !isAssertion(spec) || !slices.Contains(untypedInterfaces, f.symbol(spec.Type)) {
		return false
	}
	return !isUntypedInterface(f.info.TypeOf(spec.Type)) || f.becomesTyped(namedOf(f.info.TypeOf(spec.Values[0])))
}

// isUntypedInterface reports whether a type is the interface of defaulters or of validators of any object.
func isUntypedInterface(t types.Type) bool {
	switch typeKey(t) {
	case "webhook.CustomDefaulter", "webhook.CustomValidator", "webhook/admission.CustomDefaulter", "webhook/admission.CustomValidator":
		return true
	case "webhook/admission.Defaulter", "webhook/admission.Validator":
		named, ok := types.Unalias(t).(*types.Named)
		return ok && named.TypeArgs().Len() == 1 && isRuntimeObject(named.TypeArgs().At(0))
	}
	return false
}

// untypedInterfaces are those whose place typed ones have taken.
var untypedInterfaces = []string{
	"webhook.Defaulter", "webhook.Validator", "webhook.CustomDefaulter", "webhook.CustomValidator",
	"webhook/admission.Defaulter", "webhook/admission.Validator", "webhook/admission.CustomDefaulter", "webhook/admission.CustomValidator",
}

// webhookKind returns the prototype of a builder of webhooks.
func (f *file) webhookKind(c *chain) ast.Expr {
	if len(c.root.Args) > 1 {
		return c.root.Args[1]
	}
	if link := c.find("For"); link != nil && len(link.Args) == 1 {
		return link.Args[0]
	}
	return nil
}

var webhookLinks = map[string]string{
	"WithCustomPath": "WithMutatePath", "WithDefaulterCustomPath": "WithMutatePath", "WithValidatorCustomPath": "WithValidatePath",
}

func (f *file) buildWebhook(c *chain) string {
	prototype := f.webhookKind(c)
	kind, head := f.webhooksFor(c, prototype)
	var out strings.Builder
	out.WriteString(head)
	gap := "."
	if len(c.links) > 0 {
		gap = f.gap(c.links[len(c.links)-1])
	}
	handled, converted := false, false
	for _, link := range c.links {
		name := linkName(link)
		if name == "WithCustomDefaulter" || name == "WithCustomValidator" {
			name = strings.Replace(name, "Custom", "", 1)
		}
		switch {
		case name == "For", name == "RecoverPanic":
			continue
		case name == "WithLogConstructor", name == "WithContextFunc":
			f.note(link, "left out: "+name+" of webhooks")
			continue
		case name == "WithConverter":
			converted = true
			out.WriteString(f.withSpokes(link, prototype))
			continue
		case name == "Complete":
			if !handled {
				out.WriteString(f.selfWebhooks(gap, prototype, kind))
			}
			if !converted {
				out.WriteString(f.spokes(gap, f.managerOf(c), prototype))
			}
		case name == "WithDefaulter" || name == "WithValidator":
			handled = true
			out.WriteString(f.gap(link) + name + "(" + f.webhookOf(name, kind, link.Args[0]) + ")")
			continue
		case webhookLinks[name] != "":
			name = webhookLinks[name]
		}
		out.WriteString(f.gap(link) + name + "(" + f.arguments(link, f.texts(link.Args)) + ")")
	}
	return out.String()
}

// webhooksFor returns the Go type of the kind of a builder of webhooks, and how the builder begins.
func (f *file) webhooksFor(c *chain, prototype ast.Expr) (kind, head string) {
	m, t := f.managerOf(c), f.info.TypeOf(prototype)
	if t != nil && types.IsInterface(t) {
		of := f.text(prototype)
		if isRuntimeObject(t) {
			of += fill(".({object}.Object)")
		}
		return fill("{object}.Object"), fill("{webhook}.ForPrototype[{object}.Object](") + m + ", " + of + ")"
	}
	kind = f.typeText(prototype)
	switch namedOf(t) {
	case "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured.Unstructured", "k8s.io/apimachinery/pkg/apis/meta/v1.PartialObjectMetadata":
		return kind, fill("{webhook}.ForPrototype(") + m + ", " + f.text(prototype) + ")"
	}
	return kind, fill("{webhook}.For[") + kind + "](" + m + ")"
}

// webhookOf returns what a link of a builder is given, a defaulter or a validator, as one of a kind.
func (f *file) webhookOf(link, kind string, e ast.Expr) string {
	of := map[string][2]string{"WithDefaulter": {"Default", "{compat/untyped}.DefaulterOf"}, "WithValidator": {"ValidateCreate", "{compat/untyped}.ValidatorOf"}}[link]
	if !f.staysUntyped(f.info.TypeOf(e), of[0]) {
		return f.text(e)
	}
	return fill(of[1]) + "[" + kind + "](" + f.text(e) + ")"
}

// withSpokes returns WithSpokes for WithConverter of a builder whose kind is the hub. One that is made otherwise stays.
func (f *file) withSpokes(link *ast.CallExpr, prototype ast.Expr) string {
	call, key := f.called(link.Args[0])
	if key != "webhook/conversion.NewHubSpokeConverter" || len(call.Args) == 0 || namedOf(f.info.TypeOf(call.Args[0])) != namedOf(f.info.TypeOf(prototype)) {
		gap := f.gap(link)
		return gap[:strings.LastIndex(gap, ".")+1] + f.leave(link.Args[0], "versions are converted by the spokes of the kind that is the hub", "webhook.For[*Hub](m).WithSpokes(conversion.NewSpoke(fromHub, toHub))") +
			"WithConverter(" + f.raw(link.Args[0]) + ")"
	}
	return f.gap(link) + "WithSpokes(" + f.argumentsAfter(call, 1) + ")"
}

// selfWebhooks returns the defaulter and the validator that a kind is itself, in the oldest form.
func (f *file) selfWebhooks(gap string, prototype ast.Expr, kind string) string {
	t := f.info.TypeOf(prototype)
	var text string
	if _, ok := methodOf(t, "Default"); ok {
		text += gap + fill("WithDefaulter({webhook/admission}.DefaulterFunc[") + kind + fill("](func(_ {context}.Context, o ") + kind + ") error {\no.Default()\nreturn nil\n}))"
	}
	if create, ok := methodOf(t, "ValidateCreate"); ok && create.Params().Len() == 0 {
		call := func(field, params, call string) string {
			body := "return o." + call
			if create.Results().Len() == 1 {
				body = "return nil, o." + call
			}
			return field + fill(": func(_ {context}.Context, ") + params + " " + kind + fill(") ({webhook/admission}.Warnings, error) {\n") + body + "\n},\n"
		}
		text += gap + fill("WithValidator({webhook/admission}.ValidatorFuncs[") + kind + "]{\n" +
			call("Create", "o", "ValidateCreate()") + call("Update", "old, o", "ValidateUpdate(old)") + call("Delete", "o", "ValidateDelete()") + "})"
	}
	return text
}

func methodOf(t types.Type, name string) (*types.Signature, bool) {
	object, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	method, ok := object.(*types.Func)
	if !ok {
		return nil, false
	}
	return method.Signature(), true
}

// spokes returns WithSpokes for the versions that convert to and from a hub.
func (f *file) spokes(gap, m string, prototype ast.Expr) string {
	hub := f.info.TypeOf(prototype)
	if _, ok := methodOf(hub, "Hub"); !ok {
		return ""
	}
	name := namedOf(hub)
	var list []string
	for _, spoke := range f.convertibles {
		if base(namedOf(spoke)) == base(name) && namedOf(spoke) != name && importsPackage(packageOf(spoke), f.pkg.PkgPath, map[*types.Package]bool{}) {
			return gap + fill("WithSpokes({webhook/conversion}.Convertibles[") + f.typeName(hub) + "](" + m + ".Scheme())...)"
		}
		if base(namedOf(spoke)) == base(name) && namedOf(spoke) != name {
			list = append(list, fill("{webhook/conversion}.ByMethods[")+f.typeName(hub)+", "+f.typeName(spoke)+"]()")
		}
	}
	if len(list) == 0 {
		return ""
	}
	return gap + "WithSpokes(" + strings.Join(list, ", ") + ")"
}

// packageOf returns the package of a type, through pointers.
func packageOf(t types.Type) *types.Package {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	return types.Unalias(t).(*types.Named).Obj().Pkg()
}

// importsPackage reports whether a package is the one of a path, or imports it by way of others, so that it cannot be imported there.
func importsPackage(p *types.Package, importPath string, seen map[*types.Package]bool) bool {
	if seen[p] {
		return false
	}
	seen[p] = true
	return slices.ContainsFunc(p.Imports(), func(other *types.Package) bool {
		return other.Path() == importPath || importsPackage(other, importPath, seen)
	})
}

func base(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// untypedWebhook returns the kind of a defaulter's or validator's method that is given any object, or nil.
func (f *file) untypedWebhook(decl *ast.FuncDecl) types.Type {
	method, ok := f.info.Defs[decl.Name].(*types.Func)
	if !ok || !slices.Contains([]string{"Default", "ValidateCreate", "ValidateUpdate", "ValidateDelete"}, decl.Name.Name) {
		return nil
	}
	if !f.becomesTyped(receiver(method)) || !takesAnyObject(method) {
		return nil
	}
	return f.untyped[receiver(method)]
}

// takesAnyObject reports whether a method has a parameter that is any object.
func takesAnyObject(method *types.Func) bool {
	for v := range method.Signature().Params().Variables() {
		if isRuntimeObject(v.Type()) {
			return true
		}
	}
	return false
}

func isRuntimeObject(t types.Type) bool {
	return namedOf(t) == "k8s.io/apimachinery/pkg/runtime.Object"
}

// typedWebhook gives a method parameters of its kind. What it does with any object it does with the same names.
func (f *file) typedWebhook(decl *ast.FuncDecl) string {
	kind := f.typeName(f.untypedWebhook(decl))
	var edits []edit
	var first string
	for _, field := range decl.Type.Params.List {
		if !isRuntimeObject(f.info.TypeOf(field.Type)) {
			edits = append(edits, f.edits(field)...)
			continue
		}
		var names []string
		for _, name := range field.Names {
			if name.Name == "_" || !f.isUsed(decl.Body, name) {
				names = append(names, name.Name)
				continue
			}
			typed := "typed" + strings.ToUpper(name.Name[:1]) + name.Name[1:]
			names = append(names, typed)
			first += "\nvar " + name.Name + fill(" {runtimepkg}.Object = ") + typed
		}
		text := kind
		if len(names) > 0 {
			text = strings.Join(names, ", ") + " " + kind
		}
		edits = append(edits, edit{f.offset(field.Pos()), f.offset(field.End()), text})
	}
	if decl.Type.Results != nil {
		edits = append(edits, f.edits(decl.Type.Results)...)
	}
	at := f.offset(decl.Body.Lbrace) + 1
	edits = append(edits, edit{at, at, first})
	f.stack = append(f.stack, decl.Body)
	for _, statement := range decl.Body.List {
		edits = append(edits, f.edits(statement)...)
	}
	f.stack = f.stack[:len(f.stack)-1]
	return f.splice(decl, edits)
}

func (f *file) isUsed(body ast.Node, name *ast.Ident) bool {
	used := false
	ast.Inspect(body, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok && f.info.Uses[ident] != nil && f.info.Uses[ident] == f.info.Defs[name] {
			used = true
		}
		return !used
	})
	return used
}
