package migrate

import (
	"go/ast"
	"go/types"
	"strconv"
	"strings"
)

// logrRules are about loggers that stay those of logr: of other libraries, or for them, and over sinks.
var logrRules = []Rule{
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
}

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
	return fill("{slog}.New({compat/verbosity}.DebugAtV1({logr}.ToSlogHandler(") + logger + ")))"
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
