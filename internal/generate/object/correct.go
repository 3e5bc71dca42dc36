package object

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// correcting corrects the files of packages with substitutes.
type correcting struct {
	genall.OutputRule
	substitutes map[*loader.Package]*substitutes
}

// Open begins a file.
func (c *correcting) Open(pkg *loader.Package, name string) (io.WriteCloser, error) {
	out, err := c.OutputRule.Open(pkg, name)
	if err != nil || c.substitutes[pkg] == nil {
		return out, err
	}
	return &draft{out: out, substitutes: c.substitutes[pkg]}, nil
}

// draft is a file that is corrected when it is complete.
type draft struct {
	bytes.Buffer
	out         io.WriteCloser
	substitutes *substitutes
}

// Close writes the file.
func (d *draft) Close() error {
	code, err := d.substitutes.correct(d.Bytes())
	if err != nil {
		d.substitutes.pkg.AddError(err)
		code = d.Bytes()
	}
	_, err = d.out.Write(code)
	return cmp.Or(err, d.out.Close())
}

// correction is the new text of a part of a file.
type correction struct {
	pos, end int
	text     string
}

// corrector corrects one file.
type corrector struct {
	*substitutes
	file        *ast.File
	corrections []correction
	imports     map[string]string // local names by path
	added       []string          // paths that the file does not import yet
	reflects    bool              // whether values of type arguments are copied
}

// correct writes instantiations in the place of the types that stand for them, and the methods of generic types.
func (s *substitutes) correct(code []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", code, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	c := &corrector{substitutes: s, file: file, imports: map[string]string{}}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		c.imports[path] = s.localName(path, spec.Name)
	}
	for _, decl := range file.Decls {
		if function, ok := decl.(*ast.FuncDecl); ok {
			c.function(function)
		}
	}
	code = c.apply(code)
	if c.reflects {
		code = append(code, reflected(c.imports["reflect"])...)
	}
	return format.Source(code)
}

// localName returns what a file calls a package that it imports.
func (s *substitutes) localName(path string, name *ast.Ident) string {
	if name != nil {
		return name.Name
	}
	if pkg := s.pkg.Imports()[path]; pkg != nil {
		return pkg.Name
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// function corrects a method.
func (c *corrector) function(function *ast.FuncDecl) {
	receiver := ""
	if function.Recv != nil {
		of := function.Recv.List[0].Type
		if pointer, ok := of.(*ast.StarExpr); ok {
			of = pointer.X
		}
		receiver = of.(*ast.Ident).Name
	}
	generic := c.generic[receiver]
	var visit func(ast.Node) bool
	visit = func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(node.X, visit)
			return false
		case *ast.BlockStmt:
			if generic == nil || node != function.Body || function.Name.Name != "DeepCopyInto" {
				return true
			}
			c.replace(node, "{\n"+c.body(generic)+"}")
			return false
		case *ast.Ident:
			c.ident(node, generic)
		}
		return true
	}
	ast.Inspect(function, visit)
}

func (c *corrector) ident(ident *ast.Ident, generic *types.Named) {
	if instance := c.instances[ident.Name]; instance != nil {
		c.replace(ident, types.TypeString(instance, c.qualifier))
	} else if generic != nil && ident.Name == generic.Obj().Name() {
		c.replace(ident, ident.Name+"["+strings.Join(parameters(generic), ", ")+"]")
	}
}

func (c *corrector) replace(node ast.Node, text string) {
	base := int(c.file.FileStart)
	c.corrections = append(c.corrections, correction{int(node.Pos()) - base, int(node.End()) - base, text})
}

// parameters returns the names that the methods of a generic type have for its parameters.
func parameters(generic *types.Named) []string {
	var names []string
	for parameter := range generic.TypeParams().TypeParams() {
		name := parameter.Obj().Name()
		if name == "_" {
			name = fmt.Sprintf("P%d", parameter.Index())
		}
		names = append(names, name)
	}
	return names
}

// qualifier returns what the file calls a package, which it imports.
func (c *corrector) qualifier(pkg *types.Package) string {
	if pkg == c.pkg.Types {
		return ""
	}
	return c.need(loader.NonVendorPath(pkg.Path()), pkg.Name())
}

// need returns the local name of a package, and imports it if the file does not.
func (c *corrector) need(path, name string) string {
	if known := c.imports[path]; known != "" {
		return known
	}
	local := name
	for i := 2; slices.Contains(slices.Collect(maps.Values(c.imports)), local) || local == c.pkg.Name; i++ {
		local = fmt.Sprintf("%s%d", name, i)
	}
	c.imports[path] = local
	c.added = append(c.added, path)
	return local
}

// apply makes the corrections, and adds the imports that they need.
func (c *corrector) apply(code []byte) []byte {
	slices.SortFunc(c.corrections, func(a, b correction) int { return cmp.Compare(a.pos, b.pos) })
	var out bytes.Buffer
	at := 0
	for _, decl := range c.file.Decls {
		if general, ok := decl.(*ast.GenDecl); ok && general.Tok == token.IMPORT && general.Lparen.IsValid() {
			at = int(general.Lparen) - int(c.file.FileStart) + 1
			out.Write(code[:at])
			for _, path := range c.added {
				fmt.Fprintf(&out, "\n%s %q", c.imports[path], path)
			}
			if len(c.added) > 0 {
				out.WriteByte('\n')
			}
			break
		}
	}
	for _, correction := range c.corrections {
		out.Write(code[at:correction.pos])
		out.WriteString(correction.text)
		at = correction.end
	}
	out.Write(code[at:])
	return out.Bytes()
}
