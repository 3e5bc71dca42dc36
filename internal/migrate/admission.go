package migrate

import (
	"go/ast"
	"go/token"
	"strings"
)

// admissionRules are about handlers of admission requests, and what they answer.
var admissionRules = []Rule{
	{
		Name: "a request that is not set",
		Matches: func(f *file, n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			return ok && spec.Type != nil && len(spec.Names) == 1 && len(spec.Values) == 0 && isAdmissionRequest(f.symbol(spec.Type))
		},
		Rewrite: func(f *file, n ast.Node) string {
			spec := n.(*ast.ValueSpec)
			return spec.Names[0].Name + fill(" = &{webhook/admission}.Request{}")
		},
		Reason: "a request is a pointer",
	},
	{
		Name: "a response",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && f.typeOf(literal) == "webhook/admission.Response" && embeddedResponse(literal) != nil
		},
		Rewrite: func(f *file, n ast.Node) string { return f.flatResponse(n.(*ast.CompositeLit)) },
		Reason:  "a response has the fields itself",
	},
	{
		Name: "a field of a response",
		Matches: func(f *file, n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok || f.member(selector.Sel) != "webhook/admission#AdmissionResponse" {
				return false
			}
			_, inPath := f.around(0).(*ast.SelectorExpr)
			return inPath
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.SelectorExpr).X) },
		Reason:  "a response has the fields itself",
	},
	{
		Name: "an operation of a patch",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && f.typeOf(literal) == "jsonpatch.Operation" && !f.isPointed() && keyed(literal)["Operation"] != nil && keyed(literal)["Path"] != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			fields := keyed(n.(*ast.CompositeLit))
			op, at := f.text(fields["Operation"]), f.text(fields["Path"])
			if value := fields["Value"]; value != nil {
				return fill("{webhook/admission}.NewOperation(") + op + ", " + at + ", " + f.text(value) + ")"
			}
			return fill("{webhook/admission}.Operation{Op: ") + op + ", Path: " + at + "}"
		},
		Reason: "the value of an operation is JSON",
	},
	{
		Name: "a webhook that is served",
		Matches: func(f *file, n ast.Node) bool {
			e, ok := n.(ast.Expr)
			return ok && !f.wrapped[n] && isValue(f, e) && isAdmissionWebhook(f.typeOf(e)) && !f.isPointed() && namedOf(f.wanted(e)) == "net/http.Handler" && f.registeredHere() == nil
		},
		Rewrite: func(f *file, n ast.Node) string { return f.reviewerOf(n.(ast.Expr)) },
		Reason:  "a handler is registered as it is, and served by a reviewer",
	},
	{
		Name: "how a webhook is served",
		Matches: func(f *file, n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			return ok && f.member(selector.Sel) == "webhook/admission#ServeHTTP" && isAdmissionWebhook(f.typeOf(selector.X))
		},
		Rewrite: func(f *file, n ast.Node) string { return f.reviewerOf(n.(*ast.SelectorExpr).X) + ".ServeHTTP" },
		Reason:  "a handler is registered as it is, and served by a reviewer",
	},
	{
		Name: "a webhook that is served by nobody's manager",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return key == "webhook/admission.StandaloneWebhook" && len(call.Args) == 2 && f.isPair() && f.standaloneLogger(call) != ""
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			f.wrapped[call.Args[0]] = true
			return fill("{http}.Handler({webhook/admission}.NewReviewer(") + f.text(call.Args[0]) + ", " + f.standaloneLogger(call) + ")), error(nil)"
		},
		Reason: "a reviewer serves a handler",
	},
	{
		Name: "the handler of a webhook",
		Matches: func(f *file, n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			return ok && f.member(selector.Sel) == "webhook/admission#Handler" && isAdmissionWebhook(f.typeOf(selector.X))
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.SelectorExpr).X) },
		Reason:  "a handler is registered as it is",
	},
	{
		Name:    "a webhook that recovers from a panic",
		Matches: matchMethod("webhook/admission#WithRecoverPanic"),
		Rewrite: func(f *file, n ast.Node) string { _, selector, _ := f.method(n); return f.text(selector.X) },
		Reason:  "all of them do",
	},
	{
		Name: "a pointer to a webhook",
		Matches: func(f *file, n ast.Node) bool {
			unary, ok := n.(*ast.UnaryExpr)
			return ok && unary.Op == token.AND && literalOf(n) == nil && isAdmissionWebhook(f.typeOf(unary.X))
		},
		Rewrite: func(f *file, n ast.Node) string { return f.text(n.(*ast.UnaryExpr).X) },
		Reason:  "a handler is registered as it is",
	},
	{
		Name: "a handler that is to be registered",
		Matches: func(f *file, n ast.Node) bool {
			literal := literalOf(n)
			return literal != nil && f.typeOf(literal) == "webhook/admission.Webhook" && keyed(literal)["Handler"] != nil
		},
		Rewrite: func(f *file, n ast.Node) string {
			literal := literalOf(n)
			for _, element := range literal.Elts {
				field, ok := element.(*ast.KeyValueExpr)
				if ok && !isIdent(field.Key, "Handler") && !isIdent(field.Key, "RecoverPanic") {
					f.note(field.Value, "left out: "+f.raw(field.Key)+" of webhooks")
				}
			}
			return f.injected(keyed(literal)["Handler"])
		},
		Reason: "a handler is registered as it is",
	},
	{
		Name: "the type of what is registered",
		Matches: func(f *file, n ast.Node) bool {
			star, ok := n.(*ast.StarExpr)
			return ok && isAdmissionWebhook(f.symbol(star.X))
		},
		Rewrite: func(*file, ast.Node) string { return fill("{webhook/admission}.Handler") },
		Reason:  "a handler is registered as it is",
	},
}

// reviewerOf returns what serves a webhook.
func (f *file) reviewerOf(webhook ast.Expr) string {
	f.wrapped[webhook] = true
	return fill("{webhook/admission}.NewReviewer(") + f.text(webhook) + fill(", {slog}.Default())")
}

// registeredHere returns the call by which the manager's server of webhooks is told what is looked at, or nil.
func (f *file) registeredHere() *ast.CallExpr {
	call, ok := f.around(0).(*ast.CallExpr)
	if !ok {
		return nil
	}
	return f.registered(call)
}

// standaloneLogger returns the logger that the options of a webhook have which is served by itself; "" for options that are made elsewhere.
func (f *file) standaloneLogger(call *ast.CallExpr) string {
	options, ok := call.Args[1].(*ast.CompositeLit)
	if !ok {
		return ""
	}
	if logger := keyed(options)["Logger"]; logger != nil {
		return f.text(logger)
	}
	return fill("{slog}.Default()")
}

// injections are the methods by which a server of webhooks gave its handlers what they need, before version 0.15, and what they are given.
var injections = []struct{ method, value string }{
	{"InjectDecoder", "{compat/untyped}.NewDecoder(MANAGER.Scheme())"},
	{"InjectClient", "MANAGER.Client()"},
	{"InjectScheme", "MANAGER.Scheme()"},
}

// injected returns a handler that has been given what it wants.
func (f *file) injected(handler ast.Expr) string {
	t := f.info.TypeOf(handler)
	text, m := f.text(handler), f.manager()
	var calls string
	for _, injection := range injections {
		if method, ok := methodOf(t, injection.method); !ok || !f.isOwnType(t) || method.Params().Len() != 1 || method.Results().Len() != 1 {
			continue
		}
		if m == "" {
			return f.leave(handler, "nobody calls "+injection.method+": give the handler what it wants where it is made", "handler := &Handler{Client: m.Client()} // a field in place of "+injection.method) + text
		}
		calls += "if err := handler." + injection.method + "(" + strings.ReplaceAll(fill(injection.value), "MANAGER", m) + "); err != nil {\npanic(err)\n}\n"
	}
	if calls == "" {
		return text
	}
	return "func() " + f.typeName(t) + " {\nhandler := " + text + "\n" + calls + "return handler\n}()"
}

func isAdmissionRequest(symbol string) bool {
	return symbol == "webhook/admission.Request" || symbol == "webhook.AdmissionRequest"
}

func isAdmissionWebhook(symbol string) bool {
	return symbol == "webhook/admission.Webhook" || symbol == "webhook.Admission"
}

// keyed returns the values of the fields that a literal names.
func keyed(literal *ast.CompositeLit) map[string]ast.Expr {
	fields := map[string]ast.Expr{}
	for _, element := range literal.Elts {
		if field, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := field.Key.(*ast.Ident); ok {
				fields[key.Name] = field.Value
			}
		}
	}
	return fields
}

// embeddedResponse returns the literal of the response of the API that the one of a handler is made of, or nil.
func embeddedResponse(literal *ast.CompositeLit) *ast.CompositeLit {
	inner, _ := keyed(literal)["AdmissionResponse"].(*ast.CompositeLit)
	return inner
}

// flatResponse writes the fields of the response of the API among those of the one of a handler.
func (f *file) flatResponse(literal *ast.CompositeLit) string {
	inner := embeddedResponse(literal)
	var edits []edit
	if literal.Type != nil {
		edits = f.edits(literal.Type)
	}
	for _, element := range literal.Elts {
		if field := element.(*ast.KeyValueExpr); field.Value != inner {
			edits = append(edits, f.edits(field)...)
			continue
		}
		flat := f.removal(element)
		if flat.text = f.fieldsOfResponse(inner); flat.text != "" {
			flat.from = f.offset(element.Pos())
		}
		edits = append(edits, flat)
	}
	return f.splice(literal, edits)
}

// fieldsOfResponse returns what is between the braces of a response of the API, without what the server of webhooks fills in, and with a
// comma or a new line at its end.
func (f *file) fieldsOfResponse(literal *ast.CompositeLit) string {
	var edits []edit
	for _, element := range literal.Elts {
		if field, ok := element.(*ast.KeyValueExpr); ok && (isIdent(field.Key, "PatchType") || isIdent(field.Key, "UID")) {
			edits = append(edits, f.removal(field))
			continue
		}
		edits = append(edits, f.edits(element)...)
	}
	text := strings.TrimLeft(f.spliceRange(f.offset(literal.Lbrace)+1, f.offset(literal.Rbrace), edits), " \t\n")
	if text != "" && !strings.Contains(text, "\n") {
		text = strings.TrimRight(text, ", ") + ","
	}
	return text
}
