//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/types/typeutil"
)

// site is a mutant: a place in the code and a mistake.
type site struct {
	ID       string `json:"id"` // hash of file, function, operator and code, which identifies the mutant across versions
	Area     string `json:"area"`
	File     string `json:"file"` // relative to the repository
	Line     int    `json:"line"`
	Operator string `json:"operator"` // kind of mistake
	Code     string `json:"code"`     // first line of the changed code
	Result   string `json:"result"`   // caught, survived or unreached
	By       string `json:"by"`       // package and test that caught it

	number           int    // of a chosen site, from 1
	rank             string // orders the sites of an area, depending on the seed
	pkg, pkgName     string
	firstFn, lastFn  int // lines of the surrounding function
	firstAt, lastAt  int // lines of its code
	brackets         []bracket
	comma, commaSize int // position of an operator that becomes a comma; size 0 means none
}

func (s *site) String() string {
	text := fmt.Sprintf("%-9s %s:%d: %s: %s", s.Result, s.File, s.Line, s.Operator, s.Code)
	if s.By != "" {
		text += "  by " + s.By
	}
	return text
}

// bracket encloses a part of a file. An N in the text is the number of the site.
type bracket struct {
	from, to    int // offsets in the file
	open, close string
	innermost   bool // the text makes the operands arguments, so other brackets of the part must be outside
}

// helpers are the functions of kctrl_mutants.go that replace an operator, and the operator of the mutant.
var helpers = map[token.Token]struct{ function, operator string }{
	token.LSS: {"kctrlLess", "<="}, token.LEQ: {"kctrlLessEqual", "<"},
	token.GTR: {"kctrlGreater", ">="}, token.GEQ: {"kctrlGreaterEqual", ">"},
	token.ADD: {"kctrlAdd", "-"}, token.SUB: {"kctrlSubtract", "+"},
}

// finder collects the sites of a file.
type finder struct {
	pkg   *packages.Package
	area  string
	file  *token.File
	name  string // of the file, relative to the repository
	text  []byte
	fn    *ast.FuncDecl
	seen  map[string]int // number of uses of each key of IDs
	sites []*site
}

// findSites returns every possible mutant, in the order of areas, packages and places.
func findSites(ctx context.Context, root string, areas []area) (sites []*site, err error) {
	for _, a := range areas {
		loaded, err := packages.Load(&packages.Config{
			Context: ctx, Dir: root, Env: environment(),
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
				packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		}, a.patterns...)
		if err != nil {
			return nil, err
		}
		for _, pkg := range loaded {
			for _, e := range pkg.Errors {
				return nil, errors.New(e.Error())
			}
			for _, file := range pkg.Syntax {
				f, err := newFinder(root, a.name, pkg, file)
				if err != nil {
					return nil, err
				}
				if !ast.IsGenerated(file) {
					sites = append(sites, f.find(file)...)
				}
			}
		}
	}
	return sites, nil
}

func newFinder(root, area string, pkg *packages.Package, file *ast.File) (*finder, error) {
	f := &finder{pkg: pkg, area: area, file: pkg.Fset.File(file.FileStart), seen: map[string]int{}}
	var err error
	if f.text, err = os.ReadFile(f.file.Name()); err != nil {
		return nil, err
	}
	f.name, err = filepath.Rel(root, f.file.Name())
	return f, err
}

func (f *finder) find(file *ast.File) []*site {
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || slices.Contains([]string{"String", "GoString", "LogValue"}, fn.Name.Name) {
			continue
		}
		f.fn = fn
		ast.PreorderStack(fn, nil, func(n ast.Node, stack []ast.Node) bool {
			f.visit(n, stack)
			return true
		})
	}
	return f.sites
}

// visit adds the sites of a node. The last element of stack is its parent.
func (f *finder) visit(n ast.Node, stack []ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.negate("negate condition", n.Cond)
	case *ast.CaseClause:
		if choice, ok := stack[len(stack)-2].(*ast.SwitchStmt); ok && choice.Tag == nil {
			for _, condition := range n.List {
				f.negate("negate condition", condition)
			}
		}
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.ReturnStmt:
		f.returned(n, stack)
	case ast.Stmt:
		if inList(n, stack) {
			f.statement(n)
		}
	}
}

// inList reports whether a statement is in a list, where it can become a block.
func inList(n ast.Node, stack []ast.Node) bool {
	if len(stack) == 0 {
		return false
	}
	switch parent := stack[len(stack)-1].(type) {
	case *ast.BlockStmt, *ast.CaseClause:
		return true
	case *ast.CommClause:
		return n != parent.Comm
	}
	return false
}

func (f *finder) negate(operator string, condition ast.Expr) {
	if basic(f.typeOf(condition), types.IsBoolean) {
		f.add(operator, condition, f.around(condition, "(", ") != kctrlMutant(N)"))
	}
}

// binary adds the site of an operator. For && and ||, it adds a comparison with kctrlMutant(N) to both operands and to
// the result. By De Morgan, "a && b" then is "a || b", and b is still evaluated only if a does not decide.
func (f *finder) binary(n *ast.BinaryExpr) {
	if f.pkg.TypesInfo.Types[n].Value != nil {
		return
	}
	switch n.Op {
	case token.LAND, token.LOR:
		if basic(f.typeOf(n), types.IsBoolean) {
			f.add("swap && and ||", n, f.around(n, "(", ") != kctrlMutant(N)"),
				f.around(n.X, "(", ") != kctrlMutant(N)"), f.around(n.Y, "(", ") != kctrlMutant(N)"))
		}
		return
	}
	helper, ok := helpers[n.Op]
	want := types.BasicInfo(types.IsOrdered)
	if n.Op == token.ADD || n.Op == token.SUB {
		want = types.IsInteger
	}
	if !ok || !basic(f.typeOf(n.X), want) || !basic(f.typeOf(n.Y), want) {
		return
	}
	call := f.around(n, helper.function+"(N, ", ")")
	call.innermost = true
	s := f.add(n.Op.String()+" becomes "+helper.operator, n, call)
	s.comma, s.commaSize = f.file.Offset(n.OpPos), len(n.Op.String())
}

// returned adds the sites of the results of a return statement.
func (f *finder) returned(n *ast.ReturnStmt, stack []ast.Node) {
	signature, _ := f.pkg.TypesInfo.Defs[f.fn.Name].Type().(*types.Signature)
	for _, outer := range stack {
		if literal, ok := outer.(*ast.FuncLit); ok {
			signature, _ = f.typeOf(literal).(*types.Signature)
		}
	}
	if signature == nil || signature.Results().Len() != len(n.Results) {
		return // the statement returns the results of a call
	}
	for i, expr := range n.Results {
		result := signature.Results().At(i).Type()
		switch {
		case f.pkg.TypesInfo.Types[expr].IsNil():
		case types.Identical(result, types.Universe.Lookup("error").Type()):
			f.add("return a nil error", expr, f.around(expr, "kctrlError(N, ", ")"))
		case basic(result, types.IsBoolean):
			f.negate("negate result", expr)
		}
	}
}

// statement adds the sites of a statement that can be omitted.
func (f *finder) statement(n ast.Stmt) {
	operator := ""
	switch n := n.(type) {
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !f.logs(call) {
			operator = "drop call"
		}
	case *ast.DeferStmt, *ast.GoStmt:
		operator = "drop call"
	case *ast.SendStmt:
		operator = "drop send"
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			operator = "drop assignment"
		}
	case *ast.BranchStmt:
		if n.Tok == token.BREAK || n.Tok == token.CONTINUE {
			operator = "drop " + n.Tok.String()
		}
	case *ast.IncDecStmt:
		other := map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok]
		open := "if kctrlMutant(N) { " + f.source(n.X) + other + " } else { "
		f.add(n.Tok.String()+" becomes "+other, n, f.around(n, open, " }"))
	}
	if operator != "" {
		f.add(operator, n, f.around(n, "if !kctrlMutant(N) { ", " }"))
	}
}

// logs reports whether a call only logs. It also returns true for panic: without it, a function may lack a return.
func (f *finder) logs(call *ast.CallExpr) bool {
	callee := typeutil.Callee(f.pkg.TypesInfo, call)
	if callee == nil {
		return false
	}
	return callee.Pkg() == nil && callee.Name() == "panic" || callee.Pkg() != nil && callee.Pkg().Path() == "log/slog"
}

func (f *finder) typeOf(e ast.Expr) types.Type { return f.pkg.TypesInfo.TypeOf(e) }

// basic reports whether t is basic and has a property. Of the boolean types it accepts only bool, because other boolean
// types would need conversions.
func basic(t types.Type, property types.BasicInfo) bool {
	if t == nil {
		return false
	}
	if property != types.IsBoolean {
		t = t.Underlying()
	}
	b, ok := types.Unalias(t).(*types.Basic)
	return ok && b.Info()&property != 0
}

func (f *finder) around(n ast.Node, open, close string) bracket {
	return bracket{from: f.file.Offset(n.Pos()), to: f.file.Offset(n.End()), open: open, close: close}
}

func (f *finder) source(n ast.Node) string {
	return string(f.text[f.file.Offset(n.Pos()):f.file.Offset(n.End())])
}

func (f *finder) add(operator string, n ast.Node, brackets ...bracket) *site {
	source := f.source(n)
	key := strings.Join([]string{f.name, receiver(f.fn) + f.fn.Name.Name, operator, source}, "\x00")
	f.seen[key]++
	code, _, _ := strings.Cut(source, "\n")
	line := f.file.Line(n.Pos())
	s := &site{
		ID: hash(fmt.Sprint(key, "\x00", f.seen[key])), Area: f.area, File: f.name, Line: line, Operator: operator,
		Code: code, pkg: f.pkg.PkgPath, pkgName: f.pkg.Name, firstFn: f.file.Line(f.fn.Pos()),
		lastFn: f.file.Line(f.fn.End()), firstAt: line, lastAt: f.file.Line(n.End()), brackets: brackets,
	}
	f.sites = append(f.sites, s)
	return s
}

// receiver returns the type of a method's receiver as source text.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	return types.ExprString(fn.Recv.List[0].Type) + "."
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// choose returns the sites with the lowest ranks in source order, with an equal share of count for each area. A count
// of 0 returns all sites.
func choose(sites []*site, seed uint64, count int, areas []area) (chosen []*site) {
	ordered := slices.Clone(sites)
	for _, s := range ordered {
		s.rank = hash(fmt.Sprint(seed, s.ID))
	}
	slices.SortFunc(ordered, func(a, b *site) int { return strings.Compare(a.rank, b.rank) })
	shares := map[string]int{}
	for i, a := range areas {
		shares[a.name] = count / len(areas)
		if i < count%len(areas) {
			shares[a.name]++
		}
	}
	for _, s := range ordered {
		if count == 0 || shares[s.Area] > 0 {
			shares[s.Area]--
			chosen = append(chosen, s)
		}
	}
	return slices.SortedFunc(slices.Values(chosen), byPlace)
}
