package migrate

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"strings"
)

// valued says what becomes of fields whose value changes too, by the package that declares them: what is written for a field with a
// value, in a literal. An assignment to the field is made of it.
var valued = map[string]func(f *file, value ast.Expr) string{
	"manager#LeaderElection":                elected,
	"manager#LeaderElectionID":              elected,
	"manager#LeaderElectionNamespace":       elected,
	"manager#LeaseDuration":                 elected,
	"manager#RenewDeadline":                 elected,
	"manager#RetryPeriod":                   elected,
	"manager#GracefulShutdownTimeout":       pointed("GracefulShutdownTimeout"),
	"manager#SyncPeriod":                    pointed("MinResyncPeriod"),
	"manager#Namespace":                     wrapped("Namespaces: []string{", "}"),
	"manager#LeaderElectionReleaseOnCancel": dropped(""), // the runtime always does
	"manager#LeaderElectionResourceLock":    dropped(""), // a Lease, always
	"manager#Port":                          oldWebhook("Port"),
	"manager#Host":                          oldWebhook("Host"),
	"manager#CertDir":                       oldWebhook("CertDir"),
	"manager#MetricsBindAddress":            oldMetrics,
	"metrics/server#BindAddress":            plainMetrics,
	"manager#NewClient":                     dropped("the manager makes its client itself; m.Client() can be wrapped"),
	"manager#NewCache":                      newCache,
	"manager#ClientDisableCacheFor":         uncachedBefore,
	"manager#Client":                        uncached,
	"manager#Controller":                    ofControllers,
	"manager#BaseContext":                   dropped("the context of Run is that of all runnables"),
	"manager#EventBroadcaster":              dropped("the manager has a broadcaster of its own"),
	"manager#LeaderElectionConfig":          dropped("the lease is where the manager runs"),
	"metrics/server#SecureServing":          secureMetrics,
	"metrics/server#FilterProvider":         dropped(""), // the runtime always asks the API server
	"webhook#Port":                          address,
	"webhook#Host":                          host,
	"webhook#ClientCAName":                  dropped("TLSOpts can set ClientCAs and ClientAuth"),
	"webhook#WebhookMux":                    dropped("webhook.Handle(m, path, handler) serves another path"),
	"webhook/admission#LogConstructor":      dropped("the logger of a webhook has the attributes path, kind, key and operation"),
	"webhook/admission#RecoverPanic":        dropped(""), // all do
	"webhook/admission#WithContextFunc":     dropped("the context of a request has the request, and a logger"),
	"config#SkipNameValidation":             dropped(""),
	"config#UsePriorityQueue":               dropped(""),
	"config#CacheSyncTimeout":               ofEach("CacheSyncTimeout"),
	"config#RecoverPanic":                   ofEach("PanicsCrash"),
	"config#NeedLeaderElection":             ofEach("Election"),
	"config#EnableWarmup":                   ofEach("WarmUp"),
	"config#ReconciliationTimeout":          ofEach("ReconcileTimeout"),
	"config#Logger":                         ofEach("Logger"),
	"controller#RecoverPanic":               negatedPointer("PanicsCrash"),
	"controller#NeedLeaderElection":         election,
	"controller#EnableWarmup":               pointed("WarmUp"),
	"controller#UsePriorityQueue":           dropped(""),
	"controller#SkipNameValidation":         dropped(""),
	"controller#LogConstructor":             dropped("the logger of a reconcile has the attributes controller, key and reconcileID: Options.Logger is what it is made from"),
	"controller#RateLimiter":                rateLimit,
	"client#PropagationPolicy":              propagation,
	"client#Preconditions":                  preconditions,
	"client#DryRun":                         dryRun,
	"client#Force":                          pointed("Force"),
	"client#UnsafeDisableDeepCopy":          pointed("UnsafeDisableDeepCopy"),
	"manager#MapperProvider":                dropped("the manager makes its mapper itself, from discovery"),
	"cache#DefaultWatchErrorHandler":        dropped("what fails is in the log, and in readiness"),
	"cache#DefaultEnableWatchBookmarks":     dropped(""),
	"envtest#DownloadBinaryAssetsVersion":   dropped(""),
	"envtest#DownloadBinaryAssetsIndexURL":  dropped(""),
	"client#FieldManager":                   wrapped("FieldOwner: ", ""),
	"client#Raw":                            dropped("there are no raw options: each has a field of its own"),
	"client#Cache":                          dropped("what is not to be cached is Cache.DisableFor of the manager's options"),
	"client#WarningHandler":                 dropped("rest.Config.WarningHandler does it"),
	"cache#SyncPeriod":                      pointed("Resync"),
	"cache#ByObject":                        byObject,
	"cache#SelectorsByObject":               byObject, // before v0.15
	"cache#DefaultSelector":                 selectorOf,
	"cache#Namespace":                       wrapped("Namespaces: []string{", "}"),
	"cache#Namespaces":                      namespacesOf,
	"cache#DefaultTransform":                transformed,
	"cache#ReaderFailOnMissingInformer":     dropped("a kind that nothing watches is read live"),
	"cache#DefaultUnsafeDisableDeepCopy":    dropped("client.UnsafeDisableDeepCopy is an option of each read"),
	"cache#Scheme":                          dropped(""), // that of the manager
	"cache#Mapper":                          dropped(""),
	"cache#HTTPClient":                      dropped(""),
	"log/zap#Development":                   development,
	"log/zap#DestWriter":                    wrapped("Output: ", ""),
	"log/zap#Level":                         levelOfZap,
	"log/zap#Encoder":                       dropped("Options.Format is text or json"),
	"log/zap#NewEncoder":                    dropped("Options.Format is text or json"),
	"log/zap#TimeEncoder":                   dropped(""), // RFC 3339 with milliseconds, as slog has it
	"log/zap#StacktraceLevel":               dropped(""),
	"log/zap#ZapOpts":                       dropped("there is no zap: a slog.Handler can be wrapped"),
	"log/zap#EncoderConfigOptions":          dropped("there is no zap: a slog.Handler can be wrapped"),
	"event#IsInInitialList":                 wrapped("Initial: ", ""),
	"event#DeleteStateUnknown":              wrapped("FinalStateUnknown: ", ""),
	"envtest#CRDInstallOptions":             installOf,
	"envtest#BinaryAssetsDirectory":         dropped(""),
	"envtest#DownloadBinaryAssets":          dropped(""),
	"envtest#AttachControlPlaneOutput":      dropped(""),
	"envtest#ControlPlaneStartTimeout":      dropped(""),
	"envtest#ControlPlaneStopTimeout":       dropped(""),
	"envtest#Scheme":                        dropped(""),
	"envtest#UseExistingCluster":            existing,
	"envtest#WebhookOptions":                dropped("conversions are called where WebhookInstallOptions of the environment say"),
	"envtest#CleanUpAfterUse":               dropped(""),
	"manager#ShutdownTimeout":               pointed("ShutdownTimeout"),
	"controller/priorityqueue#Priority":     pointed("Priority"),
	"envtest#ControlPlane":                  dropped("the flags of the API server: KCTRL_TEST_SERVER=real runs one of kctrl env, testenv.Start has options"),
}

func pointed(name string) func(*file, ast.Expr) string {
	return func(f *file, value ast.Expr) string { return name + ": " + f.deref(value) }
}

func wrapped(before, after string) func(*file, ast.Expr) string {
	return func(f *file, value ast.Expr) string { return fill(before) + f.text(value) + after }
}

// dryRun is a field of the options of a call. Of a client it says that all calls are dry, which another client does in the runtime.
func dryRun(f *file, value ast.Expr) string {
	if t := f.info.TypeOf(value); t != nil {
		if _, ofClient := t.Underlying().(*types.Pointer); ofClient {
			return f.leave(value, "another client has dry calls alone", memberSnippets["client.Options#DryRun"]) + "DryRun: " + f.text(value)
		}
	}
	return wrapped("DryRun: len(", ") > 0")(f, value)
}

// dropped takes a field away. A reason is reported, and how it is done instead.
func dropped(reason string) func(*file, ast.Expr) string {
	return func(f *file, value ast.Expr) string {
		if reason != "" {
			f.note(f.around(0), "left out: "+reason)
		}
		return removed
	}
}

// secureMetrics serves metrics over TLS, where the runtime asks the API server who may read them.
func secureMetrics(f *file, value ast.Expr) string {
	if v, known := f.boolean(value); (!known || v) && !f.filtersMetrics {
		f.note(f.around(0), "metrics over TLS now require a bearer token with permission to get /metrics; before, they required none")
	}
	return negated("Insecure")(f, value)
}

// ofEach takes a field of the options of all controllers away, which is one of the options of each.
func ofEach(name string) func(*file, ast.Expr) string {
	return dropped("it is not of all controllers: WithOptions of each has " + name)
}

// existing is whether a suite runs on a cluster that is there, which is said by the environment.
func existing(f *file, value ast.Expr) string {
	if v, known := f.boolean(pointee(f, value)); !known || v {
		f.note(f.around(0), "left out: KCTRL_TEST_SERVER=real and KCTRL_TEST_KUBECONFIG have the suite use a cluster that is there")
	}
	return removed
}

// unset is the text of a field whose value is the one that the runtime's field has by itself: a literal goes without it, and an assignment
// sets it, as it may have another one from before.
func (f *file) unset(text string) string {
	if _, assigned := f.around(0).(*ast.AssignStmt); assigned {
		return text
	}
	return removed
}

func negated(name string) func(*file, ast.Expr) string {
	return func(f *file, value ast.Expr) string {
		if v, known := f.boolean(value); known {
			if v {
				return f.unset(name + ": false")
			}
			return name + ": true"
		}
		return name + ": !" + f.operand(value)
	}
}

func negatedPointer(name string) func(*file, ast.Expr) string {
	return func(f *file, value ast.Expr) string {
		if v, known := f.boolean(pointee(f, value)); known {
			if v {
				return f.unset(name + ": false")
			}
			return name + ": true"
		}
		return name + ": !" + f.deref(value)
	}
}

func election(f *file, value ast.Expr) string {
	text := "!" + f.deref(value)
	if v, known := f.boolean(pointee(f, value)); known {
		if v {
			return f.unset("Election: " + fill("{controller}.Election{}"))
		}
		text = "true"
	}
	return "Election: " + fill("{controller}.Election") + "{Off: " + text + "}"
}

// host is said by address, if there is a port.
func host(f *file, value ast.Expr) string {
	if f.sibling("Port") != nil {
		return removed
	}
	return "BindAddress: " + f.text(value) + ` + ":9443"`
}

// sibling returns the value of another field of the literal that the field is of which is looked at.
func (f *file) sibling(name string) ast.Expr {
	for i := range 3 {
		literal, ok := f.around(i).(*ast.CompositeLit)
		if !ok {
			continue
		}
		for _, element := range literal.Elts {
			if field, ok := element.(*ast.KeyValueExpr); ok && isIdent(field.Key, name) {
				return field.Value
			}
		}
		return nil
	}
	return nil
}

// elections are fields of the options of a manager that those of its leader election have, in their order.
var elections = []struct {
	name string
	text func(*file, ast.Expr) string
}{
	{"LeaderElection", wrapped("Enabled: ", "")},
	{"LeaderElectionID", wrapped("ID: ", "")},
	{"LeaderElectionNamespace", wrapped("Namespace: ", "")},
	{"LeaseDuration", pointed("LeaseDuration")},
	{"RenewDeadline", pointed("RenewDeadline")},
	{"RetryPeriod", pointed("RetryPeriod")},
}

// elected writes the options of leader election: those of a literal in place of the first one.
func elected(f *file, value ast.Expr) string {
	var fields []string
	place := value
	for _, e := range elections {
		v := f.sibling(e.name)
		if assign, alone := f.around(0).(*ast.AssignStmt); alone {
			if assign.Lhs[0].(*ast.SelectorExpr).Sel.Name == e.name {
				return "LeaderElection." + e.text(f, value)
			}
			continue
		}
		if v == nil {
			continue
		}
		fields = append(fields, e.text(f, v))
		if v.Pos() < place.Pos() {
			place = v
		}
	}
	if place != value {
		return removed
	}
	begin, separator, end := "", ", ", ""
	if len(fields) > 2 {
		begin, separator, end = "\n", ",\n", ",\n"
	}
	return "LeaderElection: " + fill("{manager}.LeaderElectionOptions{") + begin + strings.Join(fields, separator) + end + "}"
}

// fieldsOf splits the fields of a literal. A comment behind a field goes to the line above it.
func fieldsOf(text string) (fields []string) {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	s.Init(file, []byte(text), func(token.Position, string) {}, scanner.ScanComments) // placeholders of imports are no tokens
	from, depth := 0, 0
	for {
		pos, t, _ := s.Scan()
		at := file.Offset(pos)
		switch t {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth--
		}
		if t == token.EOF {
			if rest := strings.TrimSpace(text[min(from, len(text)):]); rest != "" {
				fields = append(fields, rest)
			}
			return fields
		}
		if t != token.COMMA || depth > 0 || at < from {
			continue
		}
		field := strings.TrimSpace(text[from:at])
		from = at + 1
		behind, _, _ := strings.Cut(text[from:], "\n")
		if comment := strings.TrimSpace(behind); strings.HasPrefix(comment, "//") {
			above, rest := splitComments(field)
			field, from = above+comment+"\n"+rest, from+len(behind)
		}
		fields = append(fields, field)
	}
}

// installed are the fields of an environment that those of the options of an installation of definitions are.
var installed = map[string]string{"Paths": "CRDDirectoryPaths", "CRDs": "CRDs", "ErrorIfPathMissing": "ErrorIfCRDPathMissing"}

// installOf spreads the options of an installation of definitions into those of the environment.
func installOf(f *file, value ast.Expr) string {
	literal, ok := value.(*ast.CompositeLit)
	if !ok {
		var fields []string
		for _, name := range []string{"Paths", "CRDs", "ErrorIfPathMissing"} {
			if f.sibling(installed[name]) == nil {
				fields = append(fields, installed[name]+": "+f.text(value)+"."+name)
			}
		}
		return strings.Join(fields, ",\n")
	}
	var fields []string
	for _, element := range literal.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key, _ := field.Key.(*ast.Ident); {
		case key == nil:
		case key.Name == "Paths" && f.sibling("CRDDirectoryPaths") == nil:
			fields = append(fields, "CRDDirectoryPaths: "+f.text(field.Value))
		case key.Name == "ErrorIfPathMissing" && f.sibling("ErrorIfCRDPathMissing") == nil:
			fields = append(fields, "ErrorIfCRDPathMissing: "+f.text(field.Value))
		case key.Name == "CRDs" && f.sibling("CRDs") == nil:
			fields = append(fields, "CRDs: "+f.text(field.Value))
		case key.Name == "Paths", key.Name == "CRDs":
			fields = append(fields, f.leave(field, "definitions are installed from CRDDirectoryPaths alone", "CRDDirectoryPaths: []string{folder}")+f.raw(field))
		}
	}
	if len(fields) == 0 {
		return removed
	}
	return strings.Join(fields, ",\n")
}

func propagation(f *file, value ast.Expr) string { return "PropagationPolicy: " + f.deref(value) }

func preconditions(f *file, value ast.Expr) string {
	if literal, ok := pointee(f, value).(*ast.CompositeLit); ok {
		text := f.inside(literal)
		if _, after, found := strings.Cut(text, "{"); found {
			return "Preconditions: " + fill("{client}.Preconditions") + "{" + after
		}
	}
	return "Preconditions: " + fill("{client}.Preconditions") + "(" + f.deref(value) + ")"
}

// rateLimit is a rate limiter that the builder has not taken: see optionsOf.
func rateLimit(f *file, value ast.Expr) string {
	if call, key := f.called(value); len(call0(call)) == 2 && strings.HasSuffix(key, "ItemExponentialFailureRateLimiter") {
		separator := ", "
		if _, alone := f.around(0).(*ast.AssignStmt); alone {
			separator = ",\n"
		}
		return "BaseDelay: " + f.text(call.Args[0]) + separator + "MaxDelay: " + f.text(call.Args[1])
	}
	if call, key := f.called(value); call != nil && strings.Contains(key, "DefaultControllerRateLimiter") || strings.Contains(key, "DefaultTypedControllerRateLimiter") {
		return removed
	}
	if f.limiterTaken(value) {
		return removed
	}
	if named, ok := types.Unalias(f.info.TypeOf(value)).(*types.Named); ok && named.TypeArgs().Len() == 1 && isRequest(named.TypeArgs().At(0)) {
		return "RateLimiter: " + f.text(value)
	}
	return f.leave(value, "a rate limiter is given to the builder", "WithRateLimiter("+f.raw(value)+")")
}

// ofControllers takes the options of all controllers away that have none of those of a manager.
func ofControllers(f *file, value ast.Expr) string {
	text := f.text(value)
	if text == fill("{manager}.ControllerOptions{}") {
		return removed
	}
	return "Controller: " + text
}

// splitComments returns the comments that a text begins with, and the rest.
func splitComments(text string) (comments, rest string) {
	for strings.HasPrefix(text, "//") {
		line, after, _ := strings.Cut(text, "\n")
		comments, text = comments+line+"\n", after
	}
	return comments, text
}

// valuedFields is the rule for the rows of valued: in a literal, and in an assignment.
var valuedFields = Rule{
	Name: "a field whose value changes too",
	Matches: func(f *file, n ast.Node) bool {
		key, _, _ := f.fieldSet(n)
		return valued[key] != nil
	},
	Rewrite: func(f *file, n ast.Node) string {
		key, value, target := f.fieldSet(n)
		text := valued[key](f, value)
		if target == nil || text == removed {
			return text
		}
		// x.Old = v becomes x.New = w for each field of the text.
		if kinds, ok := strings.CutPrefix(text, uncachedPrefix()); ok {
			text = "Cache.DisableFor: " + strings.TrimSuffix(kinds, "}") // beside what the cache has already
		}
		parts := []string{text}
		if key == "metrics/server#BindAddress" || key == "manager#MetricsBindAddress" ||
			key == "controller#RateLimiter" || key == "envtest#CRDInstallOptions" {
			parts = fieldsOf(text)
		}
		var out []string
		for _, part := range parts {
			comments, part := splitComments(part)
			if name, rest, found := strings.Cut(part, ": "); found {
				out = append(out, comments+f.text(target)+"."+name+" = "+rest)
			} else {
				out = append(out, comments+part)
			}
		}
		return strings.Join(out, "\n")
	},
	Reason: "the runtime has another type for it",
}

// fieldSet returns which field a node sets, to what, and of what, which is nil in a literal.
func (f *file) fieldSet(n ast.Node) (key string, value, target ast.Expr) {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if ident, ok := n.Key.(*ast.Ident); ok {
			return f.member(ident), n.Value, nil
		}
	case *ast.AssignStmt:
		if len(n.Lhs) != 1 || len(n.Rhs) != 1 || n.Tok != token.ASSIGN {
			return "", nil, nil
		}
		if selector, ok := n.Lhs[0].(*ast.SelectorExpr); ok {
			return f.member(selector.Sel), n.Rhs[0], selector.X
		}
	}
	return "", nil, nil
}
