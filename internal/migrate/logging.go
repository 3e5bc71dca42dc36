package migrate

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strconv"
	"strings"
)

// loggingRules are about what is logged, and loggers with names, values and levels, which are those of log/slog.
var loggingRules = []Rule{
	{
		Name:    "an error is logged",
		Matches: matchMethod("logr#Error"),
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			if len(call.Args) < 2 {
				return f.leave(n, "an error is an attribute", `logger.Error("message", "err", err)`) + f.inside(n)
			}
			message, err := f.text(call.Args[1]), f.text(call.Args[0])
			if call.Ellipsis.IsValid() && len(call.Args) == 3 {
				return f.logger(selector.X) + ".Error(" + message + `, append([]any{"err", ` + err + "}, " + f.text(call.Args[2]) + "...)...)"
			}
			args := append([]string{message, `"err", ` + err}, f.attributes(call.Args[2:])...)
			return f.logger(selector.X) + ".Error(" + f.arguments(call, args) + ")"
		},
		Reason: "slog has the message first, and the error among the attributes",
	},
	{
		Name: "a line whose attributes are no pairs",
		Matches: func(f *file, n ast.Node) bool {
			call, selector, key := f.method(n)
			return key == "logr#Info" && !isLevel(f, selector.X) && !call.Ellipsis.IsValid() && len(call.Args) > 1 && f.isIrregular(call.Args[1:])
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			args := append(f.texts(call.Args[:1]), f.attributes(call.Args[1:])...)
			return f.text(selector.X) + ".Info(" + f.arguments(call, args) + ")"
		},
		Reason: "names of attributes are strings, and each has a value",
	},
	{
		Name: "a logger whose attributes are no pairs",
		Matches: func(f *file, n ast.Node) bool {
			call, _, key := f.method(n)
			return key == "logr#WithValues" && !call.Ellipsis.IsValid() && f.isIrregular(call.Args)
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			return f.text(selector.X) + ".With(" + f.arguments(call, f.attributes(call.Args)) + ")"
		},
		Reason: "names of attributes are strings, and each has a value",
	},
	{
		Name: "a line of a level",
		Matches: func(f *file, n ast.Node) bool {
			_, selector, key := f.method(n)
			return key == "logr#Info" && isLevel(f, selector.X)
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			name := ".Debug("
			if level, known := f.level(selector.X); known && level == 0 {
				name = ".Info("
			}
			if call.Ellipsis.IsValid() || len(call.Args) == 0 {
				return f.logger(selector.X) + name + f.arguments(call, f.texts(call.Args)) + ")"
			}
			args := append(f.texts(call.Args[:1]), f.attributes(call.Args[1:])...)
			return f.logger(selector.X) + name + f.arguments(call, args) + ")"
		},
		Reason: "V(1) and above are slog's debug",
	},
	{
		Name:    "whether a level is logged",
		Matches: matchMethod("logr#Enabled"),
		Rewrite: func(f *file, n ast.Node) string {
			_, selector, _ := f.method(n)
			level := "{slog}.LevelInfo"
			if v, known := f.level(selector.X); isLevel(f, selector.X) && (!known || v > 0) {
				level = "{slog}.LevelDebug"
			}
			return f.logger(selector.X) + fill(".Enabled({context}.Background(), "+level+")")
		},
		Reason: "slog is asked with a context and a level",
	},
	{
		Name:    "a logger of a level",
		Matches: matchMethod("logr#V"),
		Rewrite: func(f *file, n ast.Node) string {
			_, selector, _ := f.method(n)
			if level, known := f.level(n.(*ast.CallExpr)); f.wrapped[n] || known && level <= 0 {
				return f.text(selector.X)
			}
			return fill("{compat/verbosity}.AsDebug(") + f.text(selector.X) + ")"
		},
		Reason: "slog has levels of lines; AsDebug makes a logger whose lines are debug",
	},
	{
		Name:    "a named logger",
		Matches: matchMethod("logr#WithName"),
		Rewrite: func(f *file, n ast.Node) string {
			logger, names := f.loggerNames(n)
			return f.text(logger) + `.With("logger", ` + f.joined(names) + ")"
		},
		Reason: "a name is an attribute, in which logr has dots between the names",
	},
	{
		Name:    "a logger that may be none",
		Matches: matchMethod("logr#IsZero"),
		Rewrite: func(f *file, n ast.Node) string {
			_, selector, _ := f.method(n)
			return "(" + f.text(selector.X) + " == nil)"
		},
		Reason: "a slog.Logger is a pointer",
	},
	{
		Name:    "the depth of a call",
		Matches: matchMethod("logr#WithCallDepth"),
		Rewrite: func(f *file, n ast.Node) string { _, selector, _ := f.method(n); return f.text(selector.X) },
		Reason:  "slog has no depth of calls",
	},
	{
		Name:    "a logger that discards",
		Matches: func(f *file, n ast.Node) bool { _, key := f.called(n); return key == "logr.Discard" },
		Rewrite: func(*file, ast.Node) string { return fill("{slog}.New({slog}.DiscardHandler)") },
		Reason:  "the runtime logs with log/slog",
	},
	{
		Name: "no logger",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && f.typeOf(literal) == "logr.Logger"
		},
		Rewrite: func(*file, ast.Node) string { return fill("{slog}.New({slog}.DiscardHandler)") },
		Reason:  "the runtime logs with log/slog",
	},
	{
		Name: "a logger that a context may have",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return key == "logr.FromContext" && len(call.Args) == 1 && f.isPair()
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return fill("{log}.FromContext(") + f.text(call.Args[0]) + "), error(nil)"
		},
		Reason: "without one in the context it is the default",
	},
	{
		Name: "a logger in a context",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return (key == "log.FromContext" || key == "ctrl.LoggerFrom") && len(call.Args) > 1
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return fill("{log}.FromContext(") + f.text(call.Args[0]) + ").With(" + strings.Join(f.texts(call.Args[1:]), ", ") + ellipsis(call) + ")"
		},
		Reason: "attributes are added by With",
	},
}

// attributes returns the names and values of a line as slog has them, and go vet, which go test calls, asks for: a name is a string, and
// what has none is named value.
func (f *file) attributes(args []ast.Expr) []string {
	texts := f.texts(args)
	for i := 0; i+1 < len(args); i += 2 {
		if f.mayBeName(args[i]) {
			continue
		}
		if basic, ok := f.info.TypeOf(args[i]).Underlying().(*types.Basic); ok && basic.Kind() == types.String {
			texts[i] = "string(" + texts[i] + ")"
		} else {
			texts[i] = fill("{fmt}.Sprint(") + texts[i] + ")"
		}
	}
	if last := len(texts) - 1; len(texts)%2 == 1 {
		texts[last] = `"value", ` + texts[last]
	}
	return texts
}

// isIrregular reports whether attributes are not as slog wants them.
func (f *file) isIrregular(args []ast.Expr) bool {
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) || !f.mayBeName(args[i]) {
			return true
		}
	}
	return false
}

// mayBeName reports whether an expression can be the name of an attribute: a string, or a value of which nobody knows.
func (f *file) mayBeName(e ast.Expr) bool {
	t := f.info.TypeOf(e)
	if basic, ok := types.Unalias(t).(*types.Basic); ok {
		return basic.Info()&types.IsString != 0
	}
	empty, ok := t.Underlying().(*types.Interface)
	return ok && empty.Empty()
}

// isLevel reports whether an expression is a logger of a level: x.V(n), and what is made of that.
func isLevel(f *file, e ast.Expr) bool { return f.levelCall(e) != nil }

// levelCall returns the call x.V(n) that an expression is, or from which it is made by names and values; or nil.
func (f *file) levelCall(e ast.Expr) *ast.CallExpr {
	for {
		call, selector, key := f.method(ast.Unparen(e))
		switch key {
		case "logr#V":
			return call
		case "logr#WithValues", "logr#WithName", "logr#WithCallDepth":
			e = selector.X
		default:
			return nil
		}
	}
}

// level returns the n of x.V(n).
func (f *file) level(e ast.Expr) (n int64, known bool) {
	call := f.levelCall(e)
	if call == nil || len(call.Args) != 1 {
		return 0, false
	}
	v := f.info.Types[call.Args[0]].Value
	if v == nil {
		return 0, false
	}
	return constant.Int64Val(constant.ToInt(v))
}

// logger returns a logger without its level.
func (f *file) logger(e ast.Expr) string {
	if call := f.levelCall(e); call != nil {
		f.wrapped[call] = true
	}
	return f.text(e)
}

// loggerNames returns the logger that an expression names, once or several times, and the names.
func (f *file) loggerNames(n ast.Node) (logger ast.Expr, names []ast.Expr) {
	call, selector, key := f.method(n)
	if key != "logr#WithName" {
		return n.(ast.Expr), nil
	}
	logger, names = f.loggerNames(ast.Unparen(selector.X))
	return logger, append(names, call.Args[0])
}

// joined returns an expression for names with dots between them.
func (f *file) joined(names []ast.Expr) string {
	if len(names) == 1 {
		return f.text(names[0])
	}
	var values, texts []string
	for _, name := range names {
		texts = append(texts, f.text(name))
		if literal, ok := name.(*ast.BasicLit); ok {
			if value, err := strconv.Unquote(literal.Value); err == nil {
				values = append(values, value)
			}
		}
	}
	if len(values) == len(names) {
		return strconv.Quote(strings.Join(values, "."))
	}
	return strings.Join(texts, ` + "." + `)
}
