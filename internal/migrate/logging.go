package migrate

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// loggingRules are about logr, which becomes log/slog.
var loggingRules = []Rule{
	{
		Name: "a logger that logs nothing",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return key == "logr.New" && len(call.Args) == 1 && f.isLiteral(call.Args[0], "log.NullLogSink")
		},
		Rewrite: func(*file, ast.Node) string { return fill("{slog}.New({slog}.DiscardHandler)") },
		Reason:  "loggers are of log/slog",
	},
	{
		Name: "a logger over a sink of one's own",
		Matches: func(f *file, n ast.Node) bool {
			_, key := f.called(n)
			return key == "logr.New" && !f.wrapped[n]
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return ofLogr(f.text(n))
		},
		Reason: "a sink of logr is a handler of slog",
	},
	{
		Name: "a logger over a handler of slog",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return key == "logr.FromSlogHandler" && len(call.Args) == 1
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return fill("{slog}.New(") + f.text(call.Args[0]) + ")"
		},
		Reason: "loggers are of log/slog",
	},
	{
		Name: "the handler of slog that a logger is",
		Matches: func(f *file, n ast.Node) bool {
			call, key := f.called(n)
			return key == "logr.ToSlogHandler" && len(call.Args) == 1
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return f.text(call.Args[0]) + ".Handler()"
		},
		Reason: "loggers are of log/slog",
	},
	{
		Name:    "the sink of a logger",
		Matches: matchMethod("logr#GetSink"),
		Rewrite: func(f *file, n ast.Node) string {
			_, selector, _ := f.method(n)
			if f.isForeignLogger(selector.X) {
				return f.raw(selector.X) + ".GetSink()"
			}
			return fill("{logr}.FromSlogHandler(") + f.text(selector.X) + ".Handler()).GetSink()"
		},
		Reason: "a handler of slog is a sink of logr",
	},
	{
		Name:    "a logger with another sink",
		Matches: matchMethod("logr#WithSink"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _, _ := f.method(n)
			return ofLogr(fill("{logr}.New(") + f.text(call.Args[0]) + ")")
		},
		Reason: "a sink of logr is a handler of slog",
	},
	{
		Name: "options of zap for another library",
		Matches: func(f *file, n ast.Node) bool {
			if !f.isLiteral(n, "log/zap.Options") {
				return false
			}
			wanted, foreign := f.place(n.(ast.Expr))
			return foreign && typeKey(wanted) == "log/zap.Options"
		},
		Rewrite: func(f *file, n ast.Node) string { return f.raw(n) },
		Reason:  "other libraries have controller-runtime's zap",
	},
	{
		Name: "a line that a logger of another library logs",
		Matches: func(f *file, n ast.Node) bool {
			_, selector, key := f.method(n)
			return (key == "logr#Info" || key == "logr#Error" || key == "logr#Enabled") && f.isForeignLogger(origin(f, selector.X))
		},
		Rewrite: keepLine,
		Reason:  "other libraries have a logr.Logger, which logs by itself",
	},
	{
		Name: "a logger of another library, among other results",
		Matches: func(f *file, n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			return ok && !f.wrapped[n] && f.isCallOfLibrary(call) && f.givesLoggers(call)
		},
		Rewrite: func(f *file, n ast.Node) string { return f.loggersOf(n.(*ast.CallExpr)) },
		Reason:  "other libraries have a logr.Logger",
	},
	{
		Name:    "a logger of another library",
		Matches: matchForeignLogger,
		Rewrite: func(f *file, n ast.Node) string { return ofLogr(f.inside(n)) },
		Reason:  "other libraries have a logr.Logger",
	},
	{
		Name:    "a pointer to a logger for another library",
		Matches: matchLoggerPointer,
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return fill("new({logr}.FromSlogHandler(") + f.text(n) + ".Handler()))"
		},
		Reason: "other libraries want a logr.Logger",
	},
	{
		Name:    "a logger for another library",
		Matches: matchLoggerArgument,
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			return fill("{logr}.FromSlogHandler(") + f.text(n) + ".Handler())"
		},
		Reason: "other libraries want a logr.Logger",
	},
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
			return fill("{log}.AsDebug(") + f.text(selector.X) + ")"
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
		Name: "what is done with an option of zap alone",
		Matches: func(f *file, n ast.Node) bool {
			statement, ok := n.(*ast.ExprStmt)
			return ok && f.namesZapOption(statement)
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.note(n, "left out: there is no zap: a slog.Handler can be wrapped")
			return removed
		},
		Reason: "the runtime logs with log/slog",
	},
	{
		Name:    "a logger of zap's own type",
		Matches: matchCall("log/zap.NewRaw"),
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return "func() *" + fill("{uberzap}.Logger") + " {\noptions := " + f.zapOptions(call) +
				"\nencoder := " + fill("{zapcore}.NewConsoleEncoder({uberzap}.NewDevelopmentEncoderConfig())") +
				"\nif options.Format == " + fill("{log}.JSON") + " {\nencoder = " + fill("{zapcore}.NewJSONEncoder({uberzap}.NewProductionEncoderConfig())") + "\n}" +
				"\nif options.Output == nil {\noptions.Output = " + fill("{os}.Stderr") + "\n}" +
				"\nreturn " + fill("{uberzap}.New({zapcore}.NewCore(encoder, {zapcore}.AddSync(options.Output), {zapcore}.Level(options.Level/4)))") + "\n}()"
		},
		Reason: "zap is asked for a logger itself",
	},
	{
		Name:    "a logger of zap",
		Matches: func(f *file, n ast.Node) bool { _, key := f.called(n); return key == "log/zap.New" },
		Rewrite: func(f *file, n ast.Node) string {
			call, _ := f.called(n)
			return fill("{log}.New(") + f.zapOptions(call) + ")"
		},
		Reason: "the runtime logs with log/slog",
	},
	{
		Name: "an option of zap that is kept",
		Matches: func(f *file, n ast.Node) bool {
			_, key := f.called(n)
			return f.isZapOption(key)
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, key := f.called(n)
			if key == "log/zap.UseFlagOptions" {
				return fill("func(o *{log}.Options) { *o = ") + f.deref(call.Args[0]) + " }"
			}
			field := f.zapField(call, key)
			if field == "" {
				return fill("func(*{log}.Options) {}")
			}
			return fill("func(o *{log}.Options) { o.") + strings.Replace(field, ": ", " = ", 1) + " }"
		},
		Reason: "an option changes the fields of log.Options",
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

func matchMethod(keys ...string) func(*file, ast.Node) bool {
	return func(f *file, n ast.Node) bool {
		_, _, key := f.method(n)
		for _, k := range keys {
			if key == k {
				return true
			}
		}
		return false
	}
}

func matchCall(keys ...string) func(*file, ast.Node) bool {
	return func(f *file, n ast.Node) bool {
		_, key := f.called(n)
		for _, k := range keys {
			if key == k {
				return true
			}
		}
		return false
	}
}

// texts returns expressions, rewritten.
func (f *file) texts(list []ast.Expr) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = f.text(e)
	}
	return texts
}

// arguments returns what is between the parentheses of a call, with texts in place of its arguments: the comments and line breaks between
// them stay. An argument whose text is empty goes, with the comma before it.
func (f *file) arguments(call *ast.CallExpr, texts []string) string {
	edits := make([]edit, len(texts))
	for i, text := range texts {
		from := call.Args[i].Pos()
		if text == "" && i > 0 {
			from = call.Args[i-1].End()
		}
		edits[i] = edit{f.offset(from), f.offset(call.Args[i].End()), text}
	}
	return f.spliceRange(f.offset(call.Lparen)+1, f.offset(call.Rparen), edits)
}

func ellipsis(call *ast.CallExpr) string {
	if call.Ellipsis.IsValid() {
		return "..."
	}
	return ""
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

// namesZapOption reports whether a field of the options of zap that the runtime has not is in a statement.
func (f *file) namesZapOption(statement ast.Stmt) bool {
	found := false
	ast.Inspect(statement, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			switch f.member(selector.Sel) {
			case "log/zap#EncoderConfigOptions", "log/zap#Encoder", "log/zap#NewEncoder", "log/zap#TimeEncoder", "log/zap#StacktraceLevel", "log/zap#ZapOpts":
				found = true
			}
		}
		return !found
	})
	return found
}

// zapOptions returns log.Options for those of zap.New. Options that are somewhere else than in the call are functions there, see
// [file.zapOption], and called in their order.
func (f *file) zapOptions(call *ast.CallExpr) string {
	if len(call.Args) == 1 {
		if option, key := f.called(call.Args[0]); key == "log/zap.UseFlagOptions" {
			return f.deref(option.Args[0])
		}
	}
	var fields, functions []string
	for i, arg := range call.Args {
		option, key := f.called(arg)
		switch {
		case key == "log/zap.UseDevMode" && slices.ContainsFunc(call.Args, f.isZapLevel): // which stands over it
		case key == "log/zap.UseFlagOptions":
			functions = append(functions, "options = "+f.deref(option.Args[0]))
		case f.isZapOption(key):
			field := f.zapField(option, key)
			if field != "" && functions == nil {
				fields = append(fields, field)
			} else if field != "" {
				functions = append(functions, "options."+strings.Replace(field, ": ", " = ", 1))
			}
		case call.Ellipsis.IsValid() && i == len(call.Args)-1:
			functions = append(functions, "for _, option := range "+f.text(arg)+" {\noption(&options)\n}")
		default:
			functions = append(functions, f.operand(arg)+"(&options)")
		}
	}
	literal := fill("{log}.Options") + "{" + strings.Join(fields, ", ") + "}"
	if functions == nil {
		return literal
	}
	return "func() " + fill("{log}.Options") + " {\noptions := " + literal + "\n" + strings.Join(functions, "\n") + "\nreturn options\n}()"
}

func (f *file) isZapLevel(option ast.Expr) bool {
	_, key := f.called(option)
	return key == "log/zap.Level"
}

// isZapOption reports whether a function of zap returns an option.
func (f *file) isZapOption(key string) bool {
	switch strings.TrimPrefix(key, "log/zap.") {
	case "UseFlagOptions", "WriteTo", "UseDevMode", "JSONEncoder", "ConsoleEncoder", "Level", "Encoder", "RawZapOpts", "StacktraceLevel":
		return true
	}
	return false
}

// zapField returns the field of log.Options that an option of zap is, with its value; nothing for one that has none.
func (f *file) zapField(option *ast.CallExpr, key string) string {
	switch strings.TrimPrefix(key, "log/zap.") {
	case "WriteTo":
		return "Output: " + f.text(option.Args[0])
	case "UseDevMode":
		if text := development(f, option.Args[0]); text != removed {
			return text
		}
		return ""
	case "Level":
		return zapLevel(f, option.Args[0])
	case "JSONEncoder":
		return `Format: "json"`
	case "ConsoleEncoder":
		return `Format: "text"`
	case "StacktraceLevel":
		return "" // slog writes no stack traces
	}
	f.note(option, "left out: an option of zap; log.Options has Level, Format and Output")
	return ""
}

// zapLevel is a level of zap, which counts by one where slog counts by four.
func zapLevel(f *file, value ast.Expr) string {
	if inner := pointee(f, value); inner != nil {
		value = inner
	}
	if v := f.info.Types[value].Value; v != nil {
		if level, exact := constant.Int64Val(constant.ToInt(v)); exact {
			if name := slogLevels[level]; name != "" {
				return "Level: " + fill("{slog}.") + name
			}
			return "Level: " + fill("{slog}.Level(") + strconv.FormatInt(4*level, 10) + ")"
		}
	}
	if call, ok := value.(*ast.CallExpr); ok && len(call.Args) == 1 {
		if callee := f.callee(call); callee != nil && callee.FullName() == "go.uber.org/zap.NewAtomicLevelAt" {
			return zapLevel(f, call.Args[0])
		}
	}
	switch namedOf(f.info.TypeOf(value)) {
	case "go.uber.org/zap/zapcore.Level":
		if _, isPointer := f.info.TypeOf(value).(*types.Pointer); isPointer {
			return "Level: " + fill("{slog}.Level(4 * int(*") + f.text(value) + "))"
		}
		return "Level: " + fill("{slog}.Level(4 * int(") + f.text(value) + "))"
	case "go.uber.org/zap.AtomicLevel":
		f.note(value, "the level is that of now: one that changes while the program runs is a slog.LevelVar of a handler of one's own")
		return "Level: " + fill("{slog}.Level(4 * int(") + f.text(value) + ".Level()))"
	}
	f.note(value, "left out: Options.Level is a slog.Level")
	return ""
}

// slogLevels are the names that slog has for levels of zap.
var slogLevels = map[int64]string{-1: "LevelDebug", 0: "LevelInfo", 1: "LevelWarn", 2: "LevelError"}

// matchForeignLogger is for what other libraries return or have in fields and is a logr.Logger.
func matchForeignLogger(f *file, n ast.Node) bool {
	e, ok := n.(ast.Expr)
	if !ok || !isValue(f, e) || typeKey(f.info.TypeOf(e)) != "logr.Logger" || !f.isForeignLogger(e) || f.isAssigned(e) {
		return false
	}
	wanted, foreign := f.place(e)
	return !foreign || typeKey(wanted) != "logr.Logger" // from one library to another
}

// isForeignLogger reports whether an expression is a call of a function that a library declares, or a field of one.
func (f *file) isForeignLogger(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		return f.isCallOfLibrary(e)
	case *ast.SelectorExpr:
		_, foreign := f.foreignVariable(f.info.Uses[e.Sel])
		return foreign
	case *ast.Ident: // of a package that is imported with a dot
		if selector, ok := f.around(0).(*ast.SelectorExpr); ok && selector.Sel == e {
			return false
		}
		_, foreign := f.foreignVariable(f.info.Uses[e])
		return foreign
	}
	return false
}

// origin returns what a logger is made of by names, values and levels: where it comes from.
func origin(f *file, e ast.Expr) ast.Expr {
	for {
		switch _, selector, key := f.method(e); key {
		case "logr#V", "logr#WithValues", "logr#WithName", "logr#WithCallDepth":
			e = selector.X
		default:
			return e
		}
	}
}

// keepLine returns a call of a method of logr as it is, with its arguments rewritten, and so the calls that its logger is made by.
func keepLine(f *file, n ast.Node) string {
	call, selector, _ := f.method(n)
	logger := f.inside(selector.X)
	if inner, _, key := f.method(selector.X); strings.HasPrefix(key, "logr#") {
		logger = keepLine(f, inner)
	}
	return logger + string(f.source[f.offset(selector.X.End()):f.offset(call.Lparen)+1]) + f.arguments(call, f.texts(call.Args)) + ")"
}

// givesLoggers reports whether a call has several results, of which one is a logger.
func (f *file) givesLoggers(call *ast.CallExpr) bool {
	results, ok := f.info.TypeOf(call).(*types.Tuple)
	if !ok {
		return false
	}
	for result := range results.Variables() {
		if isLogger(result.Type()) {
			return true
		}
	}
	return false
}

// ofLogr returns the logger of slog that writes to one of logr, whose debug lines are its V(1).
func ofLogr(logger string) string {
	return fill("{slog}.New({log}.DebugAtV1({logr}.ToSlogHandler(") + logger + ")))"
}

// isLogger reports whether a type is that of loggers of logr, and no pointer to one.
func isLogger(t types.Type) bool {
	_, isPointer := types.Unalias(t).(*types.Pointer)
	return !isPointer && typeKey(t) == "logr.Logger"
}

func isLoggerPointer(t types.Type) bool {
	pointer, ok := types.Unalias(t).(*types.Pointer)
	return ok && isLogger(pointer.Elem())
}

// loggersOf returns a call with the loggers among its results as those of slog.
func (f *file) loggersOf(call *ast.CallExpr) string {
	f.wrapped[call] = true
	var given, names, values []string
	results := f.info.TypeOf(call).(*types.Tuple)
	for i := range results.Len() {
		name := "v" + strconv.Itoa(i)
		names = append(names, name)
		if isLogger(results.At(i).Type()) {
			given, values = append(given, fill("*{slog}.Logger")), append(values, ofLogr(name))
			continue
		}
		given, values = append(given, f.typeName(results.At(i).Type())), append(values, name)
	}
	return "func() (" + strings.Join(given, ", ") + ") {\n" + strings.Join(names, ", ") + " := " + f.text(call) + "\nreturn " + strings.Join(values, ", ") + "\n}()"
}

// isCallOfLibrary reports whether a call is of a function that a library declares.
func (f *file) isCallOfLibrary(call *ast.CallExpr) bool {
	callee := f.callee(call)
	return callee != nil && f.isForeign(callee.Pkg())
}

// matchLoggerArgument is for arguments of other libraries' functions that are a logr.Logger.
func matchLoggerArgument(f *file, n ast.Node) bool {
	e, ok := n.(ast.Expr)
	if !ok || len(f.stack) == 0 || f.wrapped[n] || !isValue(f, e) || !isLogger(f.info.TypeOf(e)) || f.isForeignLogger(e) {
		return false
	}
	if call, ok := f.around(0).(*ast.CallExpr); ok {
		return call.Fun != e && f.isCallOfLibrary(call) && takesLogger(f.callee(call))
	}
	wanted, foreign := f.place(e)
	return foreign && isLogger(wanted)
}

// matchLoggerPointer is for what is given to other libraries as a pointer to a logr.Logger.
func matchLoggerPointer(f *file, n ast.Node) bool {
	e, ok := n.(ast.Expr)
	if !ok || len(f.stack) == 0 || f.wrapped[n] || !isValue(f, e) || f.info.Types[e].IsNil() {
		return false
	}
	address, ok := e.(*ast.UnaryExpr)
	return f.wantsLoggerPointer(e) && isLoggerPointer(f.info.TypeOf(e)) && !(ok && f.isForeignLogger(address.X))
}

// wantsLoggerPointer reports whether an expression is where other libraries want a pointer to a logr.Logger.
func (f *file) wantsLoggerPointer(e ast.Expr) bool {
	wanted, foreign := f.place(e)
	return foreign && isLoggerPointer(wanted)
}

// isAmongLibraries reports whether an address is that of a logger of a library, and given to one.
func (f *file) isAmongLibraries(address *ast.UnaryExpr) bool {
	return len(f.stack) > 0 && f.isForeignLogger(address.X) && f.wantsLoggerPointer(address)
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

// takesLogger reports whether a function has a parameter that is a logr.Logger, and not any value.
func takesLogger(callee *types.Func) bool {
	params := callee.Signature().Params()
	for i := range params.Len() {
		if typeKey(params.At(i).Type()) == "logr.Logger" {
			return true
		}
	}
	return false
}

func isValue(f *file, e ast.Expr) bool { return f.info.Types[e].IsValue() }

// callee returns the function or method that is called, or nil.
func (f *file) callee(call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch generic := fun.(type) {
	case *ast.IndexExpr:
		fun = generic.X
	case *ast.IndexListExpr:
		fun = generic.X
	}
	switch e := fun.(type) {
	case *ast.Ident:
		callee, _ := f.info.Uses[e].(*types.Func)
		return callee
	case *ast.SelectorExpr:
		callee, _ := f.info.Uses[e.Sel].(*types.Func)
		return callee
	}
	return nil
}
