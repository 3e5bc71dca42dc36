package migrate

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// zapRules are about controller-runtime's zap and its options, which become those of the runtime's log.
var zapRules = []Rule{
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
		Name: "flags of zap",
		Matches: func(f *file, n ast.Node) bool {
			_, _, key := f.method(n)
			return key == "log/zap#BindFlags"
		},
		Rewrite: func(f *file, n ast.Node) string {
			call, selector, _ := f.method(n)
			return fill("{compat/zapflags}.Bind(") + f.receiverPointer(selector) + ", " + f.text(call.Args[0]) + ")"
		},
		Reason: "only what was migrated has these flags",
	},
	{
		Name: "a function that declares the flags of zap",
		Matches: func(f *file, n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			return ok && f.member(selector.Sel) == "log/zap#BindFlags" && f.info.Types[selector.X].IsValue()
		},
		Rewrite: func(f *file, n ast.Node) string {
			return fill("func(set *{flag}.FlagSet) ") + "{ " + fill("{compat/zapflags}.Bind(") + f.receiverPointer(n.(*ast.SelectorExpr)) + ", set) }"
		},
		Reason: "only what was migrated has these flags",
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
}

// receiverPointer returns the pointer that a method with a pointer receiver is called on, through the fields that promote the method.
func (f *file) receiverPointer(selector *ast.SelectorExpr) string {
	text, t := f.operand(selector.X), types.Unalias(f.info.TypeOf(selector.X))
	if selection := f.info.Selections[selector]; selection != nil {
		path := selection.Index()
		for _, i := range path[:len(path)-1] {
			if pointer, ok := t.(*types.Pointer); ok {
				t = pointer.Elem()
			}
			field := t.Underlying().(*types.Struct).Field(i)
			text, t = text+"."+field.Name(), types.Unalias(field.Type())
		}
	}
	if _, ok := t.(*types.Pointer); ok {
		return text
	}
	return "&" + text
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

// development is debug if it is, and the level as it was if not.
func development(f *file, value ast.Expr) string {
	v, known := f.boolean(value)
	switch {
	case f.sibling("Level") != nil: // which stands over it
		return removed
	case !known:
		return "Level: " + fill("map[bool]{slog}.Level{true: ") + imported("log/slog") + ".LevelDebug}[" + f.text(value) + "]"
	case v:
		return "Level: " + fill("{slog}.LevelDebug")
	}
	if f.usesLevelOfZap() {
		return removed // which stands over it, whatever comes first
	}
	return f.unset("Level: " + fill("{slog}.LevelInfo"))
}

// usesLevelOfZap reports whether the package has to do with the level in the options of zap.
func (f *file) usesLevelOfZap() bool {
	for _, object := range f.info.Uses {
		if field, ok := object.(*types.Var); ok && field.IsField() && field.Name() == "Level" && short(field.Pkg().Path()) == "log/zap" {
			return true
		}
	}
	return false
}

// levelOfZap is the field of the level in the options of zap.
func levelOfZap(f *file, value ast.Expr) string { return cmp.Or(zapLevel(f, value), removed) }
