package code

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Summary describes the effects of a function, including the effects of the module's functions that it calls.
type Summary struct {
	// Mutates lists the parameters, receiver first, whose memory the function changes.
	Mutates []int
	// Shared has the depth of each result; it is nil if no result belongs to a cache.
	Shared []Depth
	// Sleeps is a call that blocks the caller and its position, such as "time.Sleep at wait.go:12", or "".
	Sleeps string
	// Requests is a call that sends a request to the API server and its position, or "".
	Requests string
	// Drops is a write whose returned error is discarded and its position, or "".
	Drops string
	// Deletes reports whether the function deletes an object.
	Deletes bool
	// Reads are the kinds that the function reads with a client that has a cache.
	Reads []string
}

// AFact implements [analysis.Fact]. A Summary is a fact about a function.
func (*Summary) AFact() {}

func (s *Summary) String() string { return "summary" }

func (s *Summary) empty() bool {
	return len(s.Mutates) == 0 && len(s.Shared) == 0 && s.Sleeps == "" && s.Requests == "" && s.Drops == "" &&
		!s.Deletes && len(s.Reads) == 0
}

// Local returns the function of this package that a call executes, or nil for other calls.
func (p *Package) Local(common *ssa.CallCommon) *ssa.Function {
	fn := common.StaticCallee()
	if fn == nil {
		return nil
	}
	return local(fn)
}

func local(fn *ssa.Function) *ssa.Function {
	if origin := fn.Origin(); origin != nil {
		fn = origin
	}
	if len(fn.Blocks) == 0 || fn.Synthetic != "" && fn.Parent() == nil && !strings.HasPrefix(fn.Synthetic, "instance") {
		return nil
	}
	return fn
}

// Summary returns the effects of a call, or nil if they are not known.
func (p *Package) Summary(common *ssa.CallCommon) *Summary {
	if fn := p.Local(common); fn != nil {
		return p.summaries[fn]
	}
	callee := Callee(common)
	if callee == nil || common.IsInvoke() || callee.Pkg() == p.Pkg {
		return nil
	}
	var fact Summary
	if p.ImportObjectFact(callee, &fact) {
		return &fact
	}
	return nil
}

// summarize computes the summaries of all functions, and repeats this a few times until they no longer change, because
// functions can call each other.
func (p *Package) summarize() {
	for range 4 {
		changed := false
		for _, fn := range p.Funcs {
			before, known := p.summaries[fn]
			after := p.summaryOf(fn)
			if !known && !after.empty() || known && !same(before, after) {
				changed = true
			}
			p.summaries[fn] = after
		}
		if !changed {
			break
		}
	}
	for _, fn := range p.Funcs {
		if object, ok := fn.Object().(*types.Func); ok && !p.summaries[fn].empty() {
			p.ExportObjectFact(object, p.summaries[fn])
		}
	}
}

func same(a, b *Summary) bool {
	return len(a.Mutates) == len(b.Mutates) && len(a.Shared) == len(b.Shared) && a.Sleeps == b.Sleeps &&
		a.Requests == b.Requests && a.Drops == b.Drops && a.Deletes == b.Deletes && len(a.Reads) == len(b.Reads)
}

func (p *Package) summaryOf(fn *ssa.Function) *Summary {
	s := &Summary{Mutates: p.mutates(fn), Shared: p.sharedResults(fn)}
	reads := map[string]bool{}
	for instr := range Instructions(fn) {
		call, ok := instr.(ssa.CallInstruction)
		if !ok {
			continue
		}
		if _, started := instr.(*ssa.Go); started {
			continue
		}
		if sleeps := p.Sleep(call.Common()); sleeps != "" && s.Sleeps == "" {
			s.Sleeps = sleeps + " at " + p.Short(call.Pos())
		}
		if op := p.OpOf(call); op != nil {
			if s.Requests == "" && (!op.Reads() || p.Reader(op.Receiver) == liveReader || op.Clientset) {
				s.Requests = op.Name + " at " + p.Short(call.Pos())
			}
			s.Deletes = s.Deletes || op.Verb == Delete || op.Verb == DeleteAllOf
			if plain, ok := instr.(*ssa.Call); ok && s.Drops == "" && p.Drops(plain, op) {
				s.Drops = op.Name + " at " + p.Short(call.Pos())
			}
			if p.ReadsCache(op) && !reads[op.Kind] {
				reads[op.Kind] = true
				s.Reads = append(s.Reads, op.Kind)
			}
		}
		callee := p.Summary(call.Common())
		if callee == nil {
			continue
		}
		if s.Sleeps == "" {
			s.Sleeps = callee.Sleeps
		}
		if s.Requests == "" {
			s.Requests = callee.Requests
		}
		if s.Drops == "" {
			s.Drops = callee.Drops
		}
		s.Deletes = s.Deletes || callee.Deletes
		for _, kind := range callee.Reads {
			if !reads[kind] {
				reads[kind] = true
				s.Reads = append(s.Reads, kind)
			}
		}
	}
	return s
}

// Drops reports whether a call is a write whose error is discarded: the call is a statement, without an assignment to
// the blank identifier.
func (p *Package) Drops(call *ssa.Call, op *Op) bool {
	if op.Reads() || len(*call.Referrers()) > 0 {
		return false
	}
	nodes := p.Enclosing(call.Pos())
	for i, node := range nodes {
		if expr, ok := node.(*ast.CallExpr); ok && expr.Lparen == call.Pos() {
			_, statement := nodes[i+1].(*ast.ExprStmt)
			return statement
		}
	}
	return false
}

// Sleep returns the name of the called function if it sleeps or polls, or "".
func (p *Package) Sleep(common *ssa.CallCommon) string {
	fn := Callee(common)
	switch {
	case IsIn(fn, "time", "Sleep"):
		return "time.Sleep"
	case fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "k8s.io/apimachinery/pkg/util/wait" &&
		(strings.HasPrefix(fn.Name(), "Poll") || strings.HasPrefix(fn.Name(), "ExponentialBackoff")):
		return "wait." + fn.Name()
	}
	return ""
}

// Short returns a position as the base name of the file and the line.
func (p *Package) Short(pos token.Pos) string {
	at := p.Fset.Position(pos)
	return filepath.Base(at.Filename) + ":" + strconv.Itoa(at.Line)
}

// mutates returns the indices of the parameters whose memory a function changes.
func (p *Package) mutates(fn *ssa.Function) []int {
	var changed []int
	for i, param := range fn.Params {
		switch param.Type().Underlying().(type) {
		case *types.Pointer, *types.Map, *types.Interface:
		default:
			continue
		}
		t := &Tracer{Source: func(v ssa.Value) Depth {
			if v == ssa.Value(param) {
				return Deep
			}
			return Private
		}}
		if len(p.Mutations(fn, t)) > 0 {
			changed = append(changed, i)
		}
	}
	return changed
}

// sharedResults returns the depth of each result of a function, or nil if no result always belongs to a cache.
func (p *Package) sharedResults(fn *ssa.Function) []Depth {
	results := fn.Signature.Results()
	t := p.Cached()
	shared := make([]Depth, results.Len())
	found := false
	for i := range results.Len() {
		var values []ssa.Value
		for _, block := range fn.Blocks {
			if ret, ok := block.Instrs[len(block.Instrs)-1].(*ssa.Return); ok && i < len(ret.Results) {
				values = append(values, ret.Results[i])
			}
		}
		if shared[i] = t.all(values); shared[i] > Private {
			found = true
		}
	}
	if !found {
		return nil
	}
	return shared
}
