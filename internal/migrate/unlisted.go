package migrate

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// unlistedPeer is a project on controller-runtime that has no PROJECT file: its kinds are those that the syntax of its API packages shows.
// missing is the error of reading that file.
func unlistedPeer(fsys fs.FS, missing error) (*peer, error) {
	p := &peer{unlisted: true}
	if _, err := fs.Stat(fsys, "go.mod"); err != nil {
		return nil, notAnOperator(missing)
	}
	if err := p.complete(fsys); err != nil {
		return nil, err
	}
	if !p.required {
		return nil, notAnOperator(missing)
	}
	kinds, err := kindsIn(fsys, p.Repo)
	if err != nil {
		return nil, err
	}
	groups := map[string]bool{}
	for _, k := range kinds {
		groups[k.group] = true
	}
	if domain := commonDomain(slices.Sorted(maps.Keys(groups))); domain != "" {
		p.Domain = domain
	}
	p.MultiGroup = len(groups) > 1
	for _, k := range kinds {
		p.Resources = append(p.Resources, k.resource(p.Domain))
	}
	return p, nil
}

// notAnOperator refuses a folder without a PROJECT file that is no program on controller-runtime either.
func notAnOperator(cause error) error {
	return &diagnostic.Error{
		Message: "no PROJECT file in this folder, and no go.mod that requires " + peerModule,
		Hint:    "kctrl migrate is for operators on controller-runtime; name the folder of one with -C",
		Cause:   cause,
	}
}

// foundKind is a kind that the syntax of a package shows.
type foundKind struct {
	group, version, kind, plural, path string
	clusterWide                        bool
}

// resource is the kind as a PROJECT file tells of it.
func (k foundKind) resource(domain string) peerResource {
	group, own := k.groupBelow(domain)
	r := peerResource{Group: group, Domain: &own, Version: k.version, Kind: k.kind, Plural: k.plural, Path: k.path}
	r.API = &struct {
		Namespaced bool `yaml:"namespaced"`
	}{!k.clusterWide}
	return r
}

// groupBelow splits the group of the kind into the part before a domain and that domain; where it does not end in this, behind its first label.
func (k foundKind) groupBelow(domain string) (group, own string) {
	switch rest, below := strings.CutSuffix(k.group, "."+domain); {
	case below:
		return rest, domain
	case k.group == domain:
		return "", domain
	}
	group, own, _ = strings.Cut(k.group, ".")
	return group, own
}

// commonDomain is what the groups of a project end in. Of one group it is what follows the first label; where the groups have nothing in
// common it is that of most of them, as each kind says its own.
func commonDomain(groups []string) string {
	count := map[string]int{}
	for _, group := range groups {
		if _, domain, found := strings.Cut(group, "."); found {
			count[domain]++
		}
	}
	if len(groups) == 0 || len(count) == 0 {
		return ""
	}
	common := strings.Split(groups[0], ".")
	if len(groups) == 1 {
		common = common[1:]
	}
	for _, group := range groups {
		labels := strings.Split(group, ".")
		n := 0
		for n < min(len(labels), len(common)) && labels[len(labels)-1-n] == common[len(common)-1-n] {
			n++
		}
		common = common[len(common)-n:]
	}
	if len(common) > 1 || len(groups) == 1 {
		return strings.Join(common, ".")
	}
	return slices.MinFunc(slices.Collect(maps.Keys(count)), func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
}

// apiSyntax is what the files of one folder tell of the kinds in it.
type apiSyntax struct {
	files          []*ast.File
	group, version string
	texts          map[string]string // constants
	kinds          []foundKind
}

// apiVersion is the name of a version of an API.
var apiVersion = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// kindsIn returns the kinds that the Go files of a project declare, in order. They are in packages that say which group and version they
// are of: by a GroupVersion, or by the marker +groupName.
func kindsIn(fsys fs.FS, repo string) ([]foundKind, error) {
	folders := map[string]*apiSyntax{}
	set := token.NewFileSet()
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && isNoSource(fsys, name):
			return fs.SkipDir
		case !entry.Type().IsRegular() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(fsys, name)
		if err != nil {
			return diagnostic.AtFile(name, "cannot read", err)
		}
		file, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil // loading the packages tells of it
		}
		folder := path.Dir(name)
		if folders[folder] == nil {
			folders[folder] = &apiSyntax{texts: map[string]string{}}
		}
		api := folders[folder]
		api.files = append(api.files, file)
		api.readTexts(file)
		api.readKinds(file)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all []foundKind
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		api := folders[folder]
		for _, file := range api.files { // when all are read, as groups are named by constants, which another folder may have
			api.readGroup(file, repo, folders)
		}
		if api.version == "" && apiVersion.MatchString(path.Base(folder)) {
			api.version = path.Base(folder)
		}
		if !strings.Contains(api.group, ".") || !apiVersion.MatchString(api.version) {
			continue
		}
		for _, k := range api.kinds {
			k.group, k.version, k.path = api.group, api.version, path.Join(repo, folder)
			all = append(all, k)
		}
	}
	return all, nil
}

// isNoSource reports whether the folder of a name has no packages of the project: the go command does not look into it, or it is another
// module's.
func isNoSource(fsys fs.FS, name string) bool {
	base := path.Base(name)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || slices.Contains([]string{"vendor", "testdata", "node_modules", "third_party", "bin"}, base) {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(name, "go.mod"))
	return err == nil
}

// readTexts records the constants of a file that are texts.
func (a *apiSyntax) readTexts(file *ast.File) {
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST && d.Tok != token.VAR {
			continue
		}
		for _, spec := range d.Specs {
			value := spec.(*ast.ValueSpec)
			for i, name := range value.Names {
				if i < len(value.Values) {
					if literal, ok := value.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
						a.texts[name.Name], _ = strconv.Unquote(literal.Value)
					}
				}
			}
		}
	}
}

// readKinds records the types of a file that are objects with metadata.
func (a *apiSyntax) readKinds(file *ast.File) {
	last := file.Name.End()
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.TYPE {
			for _, spec := range d.Specs {
				if spec := spec.(*ast.TypeSpec); isKindSyntax(spec) {
					a.kinds = append(a.kinds, kindOf(file, spec, last))
				}
				last = spec.End()
			}
		}
		last = decl.End()
	}
}

// isKindSyntax reports whether a type is a struct that embeds TypeMeta and ObjectMeta.
func isKindSyntax(spec *ast.TypeSpec) bool {
	body, ok := spec.Type.(*ast.StructType)
	if !ok || !spec.Name.IsExported() || spec.TypeParams != nil {
		return false
	}
	embedded := map[string]bool{}
	for _, field := range body.Fields.List {
		if selector, ok := field.Type.(*ast.SelectorExpr); ok && len(field.Names) == 0 {
			embedded[selector.Sel.Name] = true
		}
	}
	return embedded["TypeMeta"] && embedded["ObjectMeta"]
}

// kindOf is a kind with what the markers between a position and its type say of it.
func kindOf(file *ast.File, spec *ast.TypeSpec, after token.Pos) foundKind {
	k := foundKind{kind: spec.Name.Name}
	for _, group := range file.Comments {
		if group.Pos() <= after || group.End() > spec.Name.Pos() {
			continue
		}
		for _, comment := range group.List {
			marker := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
			if marker == "+genclient:nonNamespaced" {
				k.clusterWide = true
			}
			arguments, ok := strings.CutPrefix(marker, "+kubebuilder:resource:")
			if !ok {
				continue
			}
			for argument := range strings.SplitSeq(arguments, ",") {
				switch name, value, _ := strings.Cut(argument, "="); name {
				case "path":
					k.plural = strings.Trim(value, `"`)
				case "scope":
					k.clusterWide = strings.Trim(value, `"`) == "Cluster"
				}
			}
		}
	}
	return k
}

// readGroup finds the group and the version that a file says its folder is of.
func (a *apiSyntax) readGroup(file *ast.File, repo string, folders map[string]*apiSyntax) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if marked, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(comment.Text, "//")), "+groupName="); ok {
				a.group = cmp.Or(a.group, strings.Trim(marked, `"`))
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.CompositeLit); ok && isGroupVersion(literal.Type) {
			fields := keyed(literal)
			a.group = cmp.Or(a.group, textOf(fields["Group"], file, a, repo, folders))
			a.version = cmp.Or(a.version, textOf(fields["Version"], file, a, repo, folders))
		}
		return true
	})
}

// isGroupVersion reports whether a type is schema.GroupVersion, under whatever name a file has the package.
func isGroupVersion(t ast.Expr) bool {
	selector, ok := t.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "GroupVersion"
}

// textOf returns a text that a file writes as a literal, or as a constant of its package or of another one of the project.
func textOf(e ast.Expr, file *ast.File, own *apiSyntax, repo string, folders map[string]*apiSyntax) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.Ident:
		return own.texts[e.Name]
	case *ast.SelectorExpr:
		pkg, ok := e.X.(*ast.Ident)
		if !ok {
			return ""
		}
		for _, spec := range file.Imports {
			importPath := importPathOf(spec)
			folder, inside := strings.CutPrefix(importPath, repo+"/")
			if name := path.Base(importPath); inside && folders[folder] != nil && (spec.Name != nil && spec.Name.Name == pkg.Name || spec.Name == nil && name == pkg.Name) {
				return folders[folder].texts[e.Sel.Name]
			}
		}
	}
	return ""
}

// reportUnlisted tells what PROJECT was made from.
func (m *migration) reportUnlisted(proj *project.Project) {
	if !m.peer.unlisted {
		return
	}
	m.report.Left = append(m.report.Left, Left{
		File: project.File, Rewritten: true,
		Reason: "made from the code, with " + counted(len(proj.Resources), "kind") + " of the domain " + proj.Domain + ": correct domain and projectName there if new kinds should have others",
	})
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
