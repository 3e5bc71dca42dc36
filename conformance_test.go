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

// rules are the runtime's guarantees, which correspond to the guarantees of client-go and controller-runtime. A test
// that protects a rule has the rule's id in the first line of its comment: "// C01", "// D01, F01" or "// C08: reason".
// A rule is stronger if kctrl guarantees more; then a paragraph of the test's comment begins with "Stronger:".
var rules = []rule{
	{
		"C01", "A handler receives an ordered subset of the states of an object, and always the last state. The order of " +
			"events about different objects is undefined.",
		"",
	},
	{
		"C02", "A deletion and a recreation under the same name may look like one update; the UID differs.",
		"A handler receives Deleted and then Added, so it need not compare UIDs.",
	},
	{
		"C03", "A query returns one consistent state of the store. The store changes before handlers receive the event.",
		"A relist reports no object that has not changed.",
	},
	{
		"C04", "A handler receives one event at a time. A handler that is added late first receives the existing " +
			"objects, marked as initial.",
		"AddHandler passes the whole store in one step and does not wait for the handler.",
	},
	{"C05", "A registration is synced once its handler has received the initial state.", ""},
	{
		"C06", "A handler can be removed at any time: by itself, before the informer starts, and more than once.",
		"After Remove returns, the handler receives no further event. Remove never waits; Done reports the end of the " +
			"last call.",
	},
	{
		"C07", "An informer runs once. A handler that is added after the informer has ended receives nothing.",
		"All settings are options, so no setting can come too late. A second Run returns an error.",
	},
	{
		"C08", "A panic in a handler ends the program.",
		"No option changes this, so a panic cannot lead to a skipped event.",
	},
	{
		"C09", "A resync is local: it delivers the content of the store, at most once per second.",
		"An informer has one resync period, which is not rounded. A resync cannot fail, and only a resync delivers " +
			"unchanged objects.",
	},
	{
		"C10", "A transform runs once per object, before any other code sees it. An error affects only that object.",
		"The store keeps the last good state of an object that the transform rejects, and a relist does not " +
			"delete it.",
	},
	{
		"C11", "A deletion event has the key and the last known state of the object, and reports whether that state is " +
			"the final one.",
		"There is no tombstone type. The event's Object always has the key, name and UID that are known.",
	},
	{
		"C12", "A wait for a sync does not poll, and reports the kinds that have not synced.",
		"The error has the cause for each informer, such as a missing permission. The wait ends with Run or the context, " +
			"and when the handler or the namespace is removed.",
	},
	{
		"R01", "The first list accepts any version. Later lists accept nothing older than the known version, and after a " +
			"rejection they request the latest version.",
		"",
	},
	{"R02", "The reflector recognizes all forms of the errors for a version that is too new or too old.", ""},
	{"R03", "Lists use pages unless paging bypasses the server's cache.", ""},
	{
		"R04", "Pauses after failures grow to half a minute. After two healthy minutes, they start short again.",
		"A pause is at least as long as the server requests.",
	},
	{
		"R05", "If a watch is rejected or does not reach the server, the reflector repeats the watch without a list.",
		"",
	},
	{
		"R06", "After a watch ends normally, the next watch continues at its last version. Expiry and unknown errors " +
			"lead to a list.",
		"",
	},
	{"R07", "Watches request a random timeout between five and ten minutes.", ""},
	{
		"R08", "A watch that ends at once is a failure. The reflector skips unknown events, and they do not change the " +
			"version.",
		"Err reports the failure and pauses grow, so a proxy that cuts watches is visible and gets few requests.",
	},
	{
		"R09", "Every event changes the version, bookmarks included, except the initial objects of a watch without a " +
			"version.",
		"",
	},
	{
		"R10", "A reflector stops when its context ends, whatever its state, and closes its streams.",
		"Run returns after its last goroutine has ended.",
	},
	{"R11", "Resyncs have a fixed period.", "See C09."},
	{"R12", "If an object is deleted without an event, the next list detects the deletion.", ""},
	{"R13", "An object in the store does not keep the list that contained it in memory.", ""},
	{
		"W01", "A streaming list is complete at its end bookmark. It then replaces the store in one step, and its stream " +
			"continues as the watch. If the server does not support streaming lists, the reflector uses an ordinary list.",
		"The reflector and the client both request bookmarks, so options cannot suppress the end bookmark.",
	},
	{
		"W02", "The reflector reports a streaming list that does not end. An option disables streaming lists.",
		"After half a minute without data, the reflector uses an ordinary list.",
	},
	{"W03", "A streaming list contains the same objects as an ordinary list of the same version.", ""},
	{"W04", "Streaming lists request bookmarks regardless of options.", "See W01."},
	{
		"D01", "The queue keeps the waiting deltas of an object together, in order.",
		"The queue compacts deltas only when hundreds of them wait.",
	},
	{"D02", "Of two deletions, the queue keeps the one with more information.", "See D01."},
	{
		"D03", "A list implies the deletion of each object that it does not contain.",
		"A list is always one delta, so the store changes from one complete state to the next.",
	},
	{"D04", "The queue may drop the deletion of an object that no consumer has seen.", "It does so only under load."},
	{
		"D05", "A resync delivers nothing older than the waiting deltas.",
		"A resync waits as one entry in the queue, and reads the store when the queue reaches that entry.",
	},
	{"D06", "The queue is synced once its first list is processed.", ""},
	{"D07", "Closing the queue ends Pop.", ""},
	{
		"D08", "A deletion without an object still has its key.",
		"The delta has the key, so no tombstone type is needed.",
	},
	{"F01", "The queue delivers every delta in the order of arrival.", ""},
	{"F02", "A list results in deletions and new states.", "See D03."},
	{"F03", "A list is one delta, and a resync is one delta.", "See D03 and D05."},
	{
		"F04", "A batch has at most a thousand deltas.",
		"An object may occur more than once, so a busy object does not shorten batches.",
	},
	{"F05", "Synced is closed after the first list has been processed.", ""},
	{
		"F06", "The size of a backlog is bounded.",
		"A slow consumer does not block the watch; the queue compacts waiting deltas per object.",
	},
	{"F07", "The queue delivers the deletion of an unknown object.", "See D04."},
	{"F08", "A bookmark updates the version of the store.", ""},
	{
		"P01", "The store applies a list in one step. Handlers receive the deletions first, then the new states in " +
			"the order of the list.",
		"See C03.",
	},
	{
		"P02", "A batch changes the store in one step, and handlers receive only the effective changes.",
		"Events start from the content of the store, so no event repeats.",
	},
	{"S01", "Indexes follow all changes of objects, and keep no deleted objects.", ""},
	{
		"S02", "An index can be added at any time, and then contains the existing objects.",
		"An index is a typed value, so the names of indexes cannot conflict.",
	},
	{"S03", "A store reports the resource version up to which it is complete.", ""},
	{
		"S05", "A process can read its own writes before the watch delivers them.",
		"Each read waits for earlier writes; callers need not name the written objects.",
	},
	{
		"S06", "Tests detect code that modifies objects of the store.",
		"The tests also detect changes of objects that have left the store. A report contains the object and the " +
			"difference, and the program continues.",
	},
	{"S07", "Listers select by namespace and labels. Informers of different kinds have different names.", ""},
	{
		"S08", "A factory has one informer per kind, starts informers that are added later, and ends after its last " +
			"informer.",
		"Run starts and stops everything. Namespaces can change at run time.",
	},
	{"Q01", "An item that is added several times is returned once.", ""},
	{
		"Q02", "Two workers never have the same item. An item that is added while a worker processes it runs again " +
			"afterwards.",
		"",
	},
	{"Q03", "Adding a waiting item again keeps its position.", ""},
	{"Q04", "After shutdown, no item is added, and draining waits for all earlier items.", ""},
	{"Q05", "Finished items can be garbage collected.", ""},
	{
		"Q06", "Delayed items become ready when their delay has passed. If an item has several delays, the earliest time " +
			"counts.",
		"",
	},
	{
		"Q07", "Each failure increases the delay of an item up to a limit, until Forget resets it. Writes of this " +
			"process with a checked version (creates, deletes, updates and patches with a resource version) neither end nor " +
			"extend the backoff. Any other change, such as one by another controller, causes one attempt, at most once per " +
			"second and key, and keeps the exponent.",
		"",
	},
	{"Q08", "The queue has the seven standard metrics.", ""},
	{"Q09", "Items of higher priority are returned first, and no item waits forever.", ""},
	{
		"L01", "One candidate leads at a time. Each candidate judges the expiry of the lease by its own observation. The " +
			"term of a leader that loses the lease always ends.",
		"",
	},
	{
		"E01", "Core events: equal events are counted. From the tenth similar event within ten minutes, all similar " +
			"events are combined. An object causes 25 writes, and then one per five minutes. A write has twelve attempts, " +
			"events beyond the buffer are dropped without blocking, and a deleted event is created again.",
		"Only distinct events are dropped, because repetitions of waiting events need no room. A failing write does not " +
			"block other writes; a hanging write blocks them for at most half a minute. Pauses grow from one to fifteen " +
			"seconds.",
	},
	{
		"E02", "Events of events.k8s.io: the first is written at once, and the second starts a series. The count of a " +
			"series is written every half hour and after six quiet minutes.",
		"The last count is written six minutes after the last event. Events that differ only in the version of the " +
			"object belong to one series. A thousand reasons about one object cause 25 writes, and later series have their " +
			"full count.",
	},
	{
		"M01", "An unknown kind is looked up again, and a failing API group does not hide the kinds of other groups.",
		"",
	},
}

// rule is a guarantee of the runtime. Its stronger text is empty if client-go gives the same guarantee.
type rule struct{ id, text, stronger string }

// conforming is a test that protects rules.
type conforming struct {
	ids      []string
	pkg      string // such as "runtime/informer"
	name     string
	stronger bool // the comment has a paragraph that begins with "Stronger:"
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
		stronger := slices.ContainsFunc(byID[rule.id], func(c conforming) bool { return c.stronger })
		if stronger != (rule.stronger != "") {
			t.Errorf("%s: a test has a paragraph \"Stronger:\" is %t, and the rule must agree", rule.id, stronger)
		}
		writeRule(&page, rule, byID[rule.id])
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
		t.Errorf("%s does not match the tests (%v); run go test . -run %s -update", file, err, t.Name())
	}
}

const conformanceIntro = `# Conformance

This page lists the guarantees of the runtime and the tests that protect them.
The ids identify rules that client-go and controller-runtime follow.
"Stronger" marks what kctrl guarantees in addition to a rule.

| id | rule | tests in runtime/ |
|---|---|---|
`

func writeRule(page *strings.Builder, r rule, tests []conforming) {
	var names []string
	for _, test := range tests {
		names = append(names, test.name)
	}
	text := r.text
	if r.stronger != "" {
		text += " **Stronger:** " + r.stronger
	}
	slices.Sort(names)
	fmt.Fprintf(page, "| %s | %s | `%s` |\n", r.id, strings.ReplaceAll(text, "|", "\\|"),
		strings.Join(slices.Compact(names), "` `"))
}

// conformingTests returns the tests of the runtime whose comments contain the id of a rule, ordered by package, file
// and line.
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
				t.Errorf("%s: the comment of %s begins with %q, want ids such as \"C01, D02\", alone or before a colon",
					src.path, fn.Name.Name, first)
				continue
			}
			all = append(all, conforming{strings.Split(match[1], ", "), src.dir, fn.Name.Name, strongerIn(rest)})
		}
	}
	return all
}

// strongerIn reports whether a paragraph of comment begins with "Stronger:".
func strongerIn(comment string) bool {
	for paragraph := range strings.SplitSeq(comment, "\n\n") {
		if strings.HasPrefix(strings.TrimSpace(paragraph), "Stronger: ") {
			return true
		}
	}
	return false
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

// TestSeedsPageNamesWhatExists checks that every `package.Name` and every test in docs/seeds.md exists.
func TestSeedsPageNamesWhatExists(t *testing.T) {
	page, err := os.ReadFile("docs/seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	declared, rows := declarations(t), 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "concept" {
			continue
		}
		rows++
		tests := quoted(cells[3])
		if len(tests) == 0 {
			t.Errorf("%s: no test", strings.TrimSpace(cells[1]))
			continue
		}
		pkg := ""
		for _, test := range tests {
			name := ""
			pkg, name, _ = strings.Cut(test, ".")
			if !declared[pkg][name] {
				t.Errorf("%s: %s has no test %s", strings.TrimSpace(cells[1]), pkg, name)
			}
		}
		for _, name := range quoted(cells[2]) {
			if !declared[pkg][strings.TrimPrefix(name, path.Base(pkg)+".")] {
				t.Errorf("%s: %s does not declare %s", strings.TrimSpace(cells[1]), pkg, name)
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

// declarations returns the names that each package of kctrl and of its examples declares, tests included: functions,
// types, constants and variables, and "Type.Name" for methods.
func declarations(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, src := range append(sources(t), sourcesBelow(t, "examples")...) {
		if all[src.dir] == nil {
			all[src.dir] = map[string]bool{}
		}
		for _, decl := range src.file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				name := decl.Name.Name
				if decl.Recv != nil {
					name = typeName(decl.Recv.List[0].Type) + "." + name
				}
				all[src.dir][name] = true
			case *ast.GenDecl:
				for _, name := range declaredBy(decl) {
					all[src.dir][name] = true
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
