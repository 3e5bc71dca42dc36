package migrate

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// TestEveryNameIsRewrittenOrHasASnippet migrates a program that uses each name, method and field that controller-runtime declares for others: what
// is left of it, or does not compile, is listed with what to write.
func TestEveryNameIsRewrittenOrHasASnippet(t *testing.T) {
	dir := newModule(t, peerStub)
	editGoMod(t, filepath.Join(dir, "go.mod"), func(file *modfile.File) error {
		if err := file.DropReplace(peerModule, ""); err != nil {
			return err
		}
		if err := file.DropReplace(zapModule, ""); err != nil {
			return err
		}
		return errors.Join(file.AddRequire(peerModule, peerRelease), file.AddRequire(zapModule, "v1.27.1"))
	})
	uses := 0
	for folder, text := range programsOfNames(t, dir) {
		uses += strings.Count(text, "\n\t")
		write(t, filepath.Join(dir, "uses", folder, "uses.go"), []byte(text))
	}
	if uses < 2000 {
		t.Fatalf("only %d names are used", uses)
	}
	p, err := loadCases(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.problems() {
		t.Errorf("before: %s: %s", strings.TrimPrefix(e.Pos, dir), e.Msg)
	}
	files := p.files()
	p.survey(files)
	left := 0
	for _, f := range files {
		after, err := f.rewrite()
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		write(t, filepath.Join(dir, f.name), after)
		for _, l := range f.left {
			if l.Rewritten {
				continue
			}
			left++
			t.Logf("%s: %s\n%s", l.Code, l.Reason, l.Snippet)
			if err := isSnippet(l.Snippet); err != nil {
				t.Errorf("%s:%d: %s: %s: %v", l.File, l.Line, l.Code, l.Reason, err)
			}
		}
	}
	m := &migration{dir: dir, plan: plan.New(fs.FS(os.DirFS(dir))), modules: []goModule{ofCases}, peer: &peer{}, report: &Report{}}
	if err := m.writeAdapters(p); err != nil {
		t.Fatal(err)
	}
	for c := range m.plan.Changes() {
		write(t, filepath.Join(dir, c.Path), c.After)
	}
	if p, err = loadCases(t, dir); err != nil {
		t.Fatal(err)
	}
	files = p.files()
	broken := 0
	for _, e := range p.problems() {
		name, line := positionOf(e.Pos, p.dir)
		snippet := snippetFor(fileNamed(files, name), e)
		broken++
		t.Logf("%s\n%s\n%s", lineOf(dir, name, line), e.Msg, snippet)
		if strings.Contains(snippet, "what is it here?") {
			t.Errorf("%s: %s: memberSnippets has no row", lineOf(dir, name, line), e.Msg)
		}
		if err := isSnippet(snippet); err != nil {
			t.Errorf("%s:%d: %s: %s: %v\n%s", name, line, lineOf(dir, name, line), e.Msg, err, snippet)
		}
	}
	t.Logf("of %d uses %d have no rule, and %d do not compile", uses, left, broken)
}

// programsOfNames returns a Go file for each package of controller-runtime, by its folder, that uses each name of it.
func programsOfNames(t *testing.T, dir string) map[string]string {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Context: t.Context(), Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax, Dir: dir,
		Env: append(os.Environ(), casesEnv...), Fset: dependencies.fset,
		ParseFile: func(_ *token.FileSet, name string, source []byte) (*ast.File, error) {
			return dependencies.parse(name, source)
		},
	}, peerModule, peerModule+"/pkg/...")
	if err != nil {
		t.Fatal(err)
	}
	var request types.Type
	for _, pkg := range loaded {
		if pkg.PkgPath == peerModule+"/pkg/reconcile" {
			request = pkg.Types.Scope().Lookup("Request").Type()
		}
	}
	programs := map[string]string{}
	for _, pkg := range loaded {
		if pkg.Types == nil || strings.Contains(pkg.PkgPath, "/internal") || strings.Contains(pkg.PkgPath, "testdata") {
			continue
		}
		u := &nameUser{pkg: pkg.Types, request: request, imports: map[string]string{pkg.PkgPath: "peer"}}
		for _, name := range pkg.Types.Scope().Names() {
			if object := pkg.Types.Scope().Lookup(name); object.Exported() {
				u.use(object)
			}
		}
		programs[strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(pkg.PkgPath, peerModule), "/pkg/")+"", "/", "_")+"_"] = u.text()
	}
	return programs
}

// nameUser writes a program that uses names of a package.
type nameUser struct {
	pkg     *types.Package
	request types.Type // of package reconcile
	imports map[string]string
	lines   []string
}

func (u *nameUser) text() string {
	var text strings.Builder
	text.WriteString("package uses\n\nimport (\n")
	for _, importPath := range slices.Sorted(maps.Keys(u.imports)) {
		fmt.Fprintf(&text, "\t%s %q\n", u.imports[importPath], importPath)
	}
	text.WriteString(")\n\n" + strings.Join(u.lines, "\n\n") + "\n")
	return text.String()
}

func (u *nameUser) nameOf(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if u.imports[p.Path()] == "" {
			u.imports[p.Path()] = strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(p.Path())
		}
		return u.imports[p.Path()]
	})
}

func (u *nameUser) add(format string, args ...any) {
	u.lines = append(u.lines, fmt.Sprintf("func _%d() {\n\t", len(u.lines))+fmt.Sprintf(format, args...)+"\n}")
}

func (u *nameUser) use(object types.Object) {
	switch object := object.(type) {
	case *types.Func:
		if object.Signature().TypeParams() == nil {
			u.add("_ = peer.%s", object.Name())
		} else if arguments := u.arguments(object.Signature().TypeParams()); arguments != "" {
			u.add("_ = peer.%s%s", object.Name(), arguments)
		}
	case *types.TypeName:
		u.useType(object)
	default:
		u.add("_ = peer.%s", object.Name())
	}
}

func (u *nameUser) useType(object *types.TypeName) {
	t := object.Type()
	if named, ok := types.Unalias(t).(*types.Named); ok && named.TypeParams() != nil && named.TypeArgs() == nil {
		if t = u.instantiated(named); t == nil {
			return
		}
	}
	name := u.nameOf(t)
	if types.Unalias(t) != t {
		name = "peer." + object.Name()
	}
	if _, ok := t.Underlying().(*types.Interface); ok && !types.IsInterface(t) {
		return
	}
	u.add("var x %s\n\t_ = x", name)
	if types.Unalias(t) != t && object.Pkg() != u.pkg {
		return
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for field := range s.Fields() {
			if field.Exported() && !field.Embedded() && !strings.Contains(field.Type().String(), "/internal/") {
				u.add("var x %s\n\t_ = x.%s", name, field.Name())
				u.add("var x %s\n\tvar v %s\n\tx.%s = v\n\t_ = %s{%s: v}", name, u.nameOf(field.Type()), field.Name(), name, field.Name())
			}
		}
	}
	receiver := t
	if !types.IsInterface(t) {
		receiver = types.NewPointer(t)
	}
	for method := range types.NewMethodSet(receiver).Methods() {
		if f := method.Obj().(*types.Func); f.Exported() && isPeer(f.Pkg().Path()) {
			u.add("var x %s\n\t_ = x.%s", name, f.Name())
		}
	}
}

// instantiated is a generic type for all objects and for requests, nil where it is for others.
func (u *nameUser) instantiated(generic *types.Named) types.Type {
	var arguments []types.Type
	for parameter := range generic.TypeParams().TypeParams() {
		switch constraint := parameter.Constraint(); {
		case base(namedOf(constraint)) == "Object":
			arguments = append(arguments, constraint)
		case base(namedOf(constraint)) == "comparable", constraint.Underlying().(*types.Interface).Empty():
			arguments = append(arguments, u.request)
		default:
			return nil
		}
	}
	t, err := types.Instantiate(nil, generic, arguments, true)
	if err != nil {
		return nil
	}
	return t
}

// arguments are type arguments for parameters, empty where none is known.
func (u *nameUser) arguments(params *types.TypeParamList) string {
	var texts []string
	for parameter := range params.TypeParams() {
		switch constraint := parameter.Constraint(); {
		case base(namedOf(constraint)) == "Object":
			texts = append(texts, u.nameOf(constraint))
		case base(namedOf(constraint)) == "comparable", constraint.Underlying().(*types.Interface).IsComparable(), constraint.Underlying().(*types.Interface).Empty():
			u.imports[peerModule+"/pkg/reconcile"] = cmpName(u.imports[peerModule+"/pkg/reconcile"], "pkgreconcile")
			texts = append(texts, u.imports[peerModule+"/pkg/reconcile"]+".Request")
		default:
			return ""
		}
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func cmpName(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// TestSnippetsNameWhatThereIs reads the tables of what to write: each is Go, and names of the runtime in it are declared there.
func TestSnippetsNameWhatThereIs(t *testing.T) {
	folders := map[string][]string{}
	for _, folder := range runtimePackages() {
		folders[path.Base(folder)] = append(folders[path.Base(folder)], folder)
	}
	check := func(of, snippet string) {
		if err := isSnippet(snippet); err != nil {
			t.Errorf("%s: %v", of, err)
		}
		for _, found := range regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)`).FindAllStringSubmatch(snippet, -1) {
			in, known := folders[found[1]]
			if known && !slices.ContainsFunc(in, func(folder string) bool { return exported(folder)[found[2]] }) {
				t.Errorf("%s: the runtime has no %s", of, found[0])
			}
		}
	}
	for name, snippet := range snippets {
		check(name, snippet)
	}
	for name, snippet := range memberSnippets {
		check(name, snippet)
		typeName, _, _ := strings.Cut(name, "#")
		if strings.Contains(typeName, ".") {
			check(name, "var _ "+typeName)
		}
	}
	for name, snippet := range made {
		check(name, snippet)
	}
}
