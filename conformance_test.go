package kctrl_test

import (
	"flag"
	"fmt"
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/conformance.md and docs/api.txt")

// rules are what the runtime promises, and what client-go and controller-runtime promise in its place. A test that
// protects one says its id in the first line of its comment: "// C01", "// D01, F01" or "// C08: why it is special". If
// kctrl does more than the rule, or the same in a better way, a paragraph of that comment begins with "Stronger:".
var rules = []struct{ id, text string }{
	{"C01", "The states told of one object are an ordered subsequence of those it had, and the last one is told. No order between objects."},
	{"C02", "An object deleted and created again under one name may look like one update; the UID tells."},
	{"C03", "Every query is answered from one state. The store has changed before a handler is told."},
	{"C04", "A handler is called for one event at a time, in order per object. One that is added late is told what exists, as initial."},
	{"C05", "A registration is synced when its handler has seen the initial state; never earlier."},
	{"C06", "A handler can be removed at any time, also twice, by itself, and before the start."},
	{"C07", "An informer runs once. What is added after its end is never called."},
	{"C08", "A panic in a handler ends the program."},
	{"C09", "A resync is local: it tells what the store has, at most once a second."},
	{"C10", "A transform sees each object once, before anybody else. An error concerns that object alone."},
	{"C11", "A handler can always tell the key and the last known state of a deleted object, and whether that state is final."},
	{"C12", "Waiting for a sync does not poll, and says what has not synced."},
	{"R01", "The first list takes any version, later ones nothing older than what is known, and after a refusal the latest."},
	{"R02", "A version that is too new for the server, or too old, is recognised in all its spellings."},
	{"R03", "Lists are paged where that does not bypass the server's cache."},
	{"R04", "Failures are followed by growing pauses up to half a minute, and by a short one again after two healthy minutes."},
	{"R05", "A watch that is refused, or meets no server, is tried again without a list."},
	{"R06", "A watch that ends in order goes on from its last version; expiry and unknown errors lead to a list."},
	{"R07", "Watches are asked to end after a random time between five and ten minutes."},
	{"R08", "A watch that ends at once is a failure. Events that make no sense are skipped and move no version."},
	{"R09", "Every event moves the version, bookmarks too, but not the objects that a watch from no version begins with."},
	{"R10", "A reflector ends with its context wherever it is, and leaves no stream open."},
	{"R11", "Resyncs come in a fixed period."},
	{"R12", "An object that was removed without an event is found by the next list."},
	{"R13", "An object in the store does not hold the list that it came in."},
	{"W01", "A streaming list is complete at its end bookmark only, is taken over in one step, and goes on as the watch; without server support an ordinary list takes its place."},
	{"W02", "A streaming list whose end does not come is told. Streaming lists can be turned off."},
	{"W03", "A streaming list has the objects of a list of the same version."},
	{"W04", "Streaming lists ask for bookmarks whatever the options say."},
	{"D01", "The deltas of an object wait together, in order."},
	{"D02", "Of two deletions the one that says more is kept."},
	{"D03", "A list tells of the objects that it does not have any more."},
	{"D04", "The deletion of an object that nobody has seen can be dropped."},
	{"D05", "A resync tells nothing older than what waits."},
	{"D06", "The queue is synced when its first list has been processed."},
	{"D07", "Closing the queue ends Pop."},
	{"D08", "The key of a deletion is known without its object."},
	{"F01", "Every delta is delivered, in the order of arrival."},
	{"F02", "A list makes deletions and new states."},
	{"F03", "A list, and a resync, is one delta."},
	{"F04", "At most a thousand deltas are handed out at once."},
	{"F05", "Synced is closed after processing, not before."},
	{"F06", "A long backlog does not grow without bound."},
	{"F07", "The deletion of an unknown object is told."},
	{"F08", "A bookmark carries its version to the store."},
	{"P01", "A list is applied in one step: first the deletions are told, then the new states in the order of the list."},
	{"P02", "A batch changes the store in one step, and only what changed it is told."},
	{"S01", "Indexes change with the objects and keep nothing of those that are gone."},
	{"S02", "An index can be added at any time, and then has what exists."},
	{"S03", "A store knows up to which version it has everything."},
	{"S05", "Own writes can be read before the watch has brought them."},
	{"S06", "In tests, whoever modifies an object of the store is found out."},
	{"S07", "Listers select by namespace and labels. Kinds have names of their own."},
	{"S08", "A factory has one informer for each kind, starts those that are added later, and ends after the last."},
	{"Q01", "An item that is added several times is got once."},
	{"Q02", "No two workers have one item. Added while it is processed, it comes again after that."},
	{"Q03", "An item that is added again while it waits keeps its place."},
	{"Q04", "After a shutdown nothing is added; draining waits for everything that was."},
	{"Q05", "Items that are done can be collected."},
	{"Q06", "Delayed items come when they are due, the earliest of several times counts."},
	{"Q07", "Failures of an item delay it more each time, within a limit, until it is forgotten. The process's own writes, with any context, neither end nor grow the backoff, if the server has checked the version that they change: creates, deletes, updates and patches with a resource version. Any other change, another controller's reconcile included, makes one attempt at once, at most one a second for each key, and the exponent stays."},
	{"Q08", "The seven standard metrics."},
	{"Q09", "Items of higher priority come first, and none waits for ever."},
	{"L01", "One candidate leads at a time, judged by what each observes; losing the lease always ends the term."},
	{"E01", "Core events: the same one counts up, the tenth similar one within ten minutes is combined with all further ones, one object causes 25 writes and then one in five minutes; a write is tried twelve times, what does not fit is dropped and nothing waits, and an event that is gone is created again."},
	{"E02", "Events of events.k8s.io: the first is written at once, the second makes it a series, its count is written every half hour and when it has been quiet for six minutes."},
	{"M01", "An unknown kind is looked up again, and one group that cannot be asked hides no other."},
}

// conforming is a test that protects rules.
type conforming struct {
	ids      []string
	pkg      string // such as "runtime/informer"
	name     string
	stronger string
}

var (
	looksLikeID = regexp.MustCompile(`^[A-Z]\d\d\b`)
	idLine      = regexp.MustCompile(`^([A-Z]\d\d(?:, [A-Z]\d\d)*)(?:[.]|:.*)?$`)
)

func TestEveryRuleHasATest(t *testing.T) {
	byID := map[string][]conforming{}
	for _, test := range conformingTests(t) {
		for _, id := range test.ids {
			byID[id] = append(byID[id], test)
		}
	}
	var page strings.Builder
	page.WriteString(conformanceIntro)
	for _, rule := range rules {
		if len(byID[rule.id]) == 0 {
			t.Errorf("%s has no test: %s", rule.id, rule.text)
		}
		writeRule(&page, rule.id, rule.text, byID[rule.id])
		delete(byID, rule.id)
	}
	for id := range byID {
		t.Errorf("%s is no rule", id)
	}
	const file = "docs/conformance.md"
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != page.String() {
		t.Errorf("%s is not what the tests say (%v); run go test . -run %s -update", file, err, t.Name())
	}
}

const conformanceIntro = `# Conformance

What the runtime promises, rule by rule, and the tests that fail when it no longer holds. The ids stand for the rules that client-go
and controller-runtime follow today. Where kctrl deliberately does something else, the row says what, and why that is stronger.

This page is generated from the comments of the tests: ` + "`go test . -run TestEveryRuleHasATest -update`" + `.

| id | rule | package | tests |
|---|---|---|---|
`

func writeRule(page *strings.Builder, id, text string, tests []conforming) {
	var packages, names []string
	for _, test := range tests {
		packages = append(packages, "`"+test.pkg+"`")
		names = append(names, "`"+test.name+"`")
		if test.stronger != "" {
			text += " **Stronger:** " + test.stronger
		}
	}
	slices.Sort(packages)
	fmt.Fprintf(page, "| %s | %s | %s | %s |\n", id, strings.ReplaceAll(text, "|", "\\|"),
		strings.Join(slices.Compact(packages), ", "), strings.Join(names, ", "))
}

// conformingTests returns the tests of the runtime that name a rule, in the order of package, file and line.
func conformingTests(t *testing.T) []conforming {
	t.Helper()
	var all []conforming
	for _, src := range sources(t) {
		if !src.test || !in(src, []string{"runtime"}) {
			continue
		}
		for _, fn := range functions(src.file) {
			first, rest, _ := strings.Cut(fn.Doc.Text(), "\n")
			if !strings.HasPrefix(fn.Name.Name, "Test") || !looksLikeID.MatchString(first) {
				continue
			}
			match := idLine.FindStringSubmatch(first)
			if match == nil {
				t.Errorf("%s: the comment of %s begins with %q, want ids such as \"C01, D02\", alone or before a colon", src.path, fn.Name.Name, first)
				continue
			}
			all = append(all, conforming{strings.Split(match[1], ", "), src.folder, fn.Name.Name, strongerIn(rest)})
		}
	}
	return all
}

// strongerIn returns the paragraph of comment that begins with "Stronger:", in one line and without that.
func strongerIn(comment string) string {
	for paragraph := range strings.SplitSeq(comment, "\n\n") {
		if note, ok := strings.CutPrefix(strings.TrimSpace(paragraph), "Stronger: "); ok {
			note = strings.Join(strings.Fields(note), " ")
			return strings.ToUpper(note[:1]) + note[1:]
		}
	}
	return ""
}

func functions(file *ast.File) []*ast.FuncDecl {
	var all []*ast.FuncDecl
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			all = append(all, fn)
		}
	}
	return all
}

// TestSeedsPageNamesWhatExists checks docs/seeds.md: every `package.Name` is declared, and every test is there.
func TestSeedsPageNamesWhatExists(t *testing.T) {
	page, err := os.ReadFile("docs/seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	declared, rows := declarations(t), 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "concept" {
			continue
		}
		rows++
		pkg := strings.Trim(cells[3], " `")
		for _, name := range quoted(cells[2]) {
			if !declared[pkg][strings.TrimPrefix(name, path.Base(pkg)+".")] {
				t.Errorf("%s: %s does not declare %s", strings.TrimSpace(cells[1]), pkg, name)
			}
		}
		tests := quoted(cells[4])
		if len(tests) == 0 {
			t.Errorf("%s: no test", strings.TrimSpace(cells[1]))
		}
		for _, name := range tests {
			if !declared[pkg][name] {
				t.Errorf("%s: %s has no test %s", strings.TrimSpace(cells[1]), pkg, name)
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows were understood", rows)
	}
}

func quoted(cell string) []string {
	var all []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			all = append(all, part)
		}
	}
	return all
}

// declarations returns the names that each package of kctrl and of its examples declares, tests included: functions, types, constants
// and variables, and "Type.Name" for methods.
func declarations(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, src := range append(sources(t), sourcesBelow(t, "examples")...) {
		if all[src.folder] == nil {
			all[src.folder] = map[string]bool{}
		}
		for _, decl := range src.file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				name := decl.Name.Name
				if decl.Recv != nil {
					name = typeName(decl.Recv.List[0].Type) + "." + name
				}
				all[src.folder][name] = true
			case *ast.GenDecl:
				for _, name := range declaredBy(decl) {
					all[src.folder][name] = true
				}
			}
		}
	}
	return all
}

func declaredBy(decl *ast.GenDecl) (names []string) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				names = append(names, name.Name)
			}
		case *ast.TypeSpec:
			names = append(names, spec.Name.Name)
		}
	}
	return names
}

// typeName returns the name of a receiver's type, without pointer and type parameters.
func typeName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return typeName(expr.X)
	case *ast.IndexExpr:
		return typeName(expr.X)
	case *ast.IndexListExpr:
		return typeName(expr.X)
	case *ast.Ident:
		return expr.Name
	}
	return ""
}
