package kctrl_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// wording is an expression that pages, comments and messages avoid, and its replacement.
type wording struct{ pattern, instead string }

// banned are expressions that are grammatical, but that readers do not expect in technical English.
var banned = []wording{
	{`\b(nobody|somebody|everybody|anybody)\b`, "the actor: the caller, the user, the server"},
	{`\bwhoever\b`, "the noun: callers, users"},
	{`\banew\b`, "again"},
	{`\bfolders?\b`, "directory"},
	{`\bno more\b`, "no longer"},
	{`\btaken back\b|\btakes? back\b`, "rolled back"},
	{`\bleft out\b|\bleaves? out\b`, "skipped, omitted"},
	{`\b(told|tells?|telling)\b`, "reports, receives, records"},
	{`\b(says?|said|saying)\b`, "states, reports, defines"},
	{`\bwants\b`, "requires, expects"},
	{`\bknows? of\b|\bknows? nothing of\b`, "knows, has"},
	{`\basks? of\b|\basked of\b`, "requests"},
	{`\bst(and|ands|ood) for\b`, "means, represents"},
	{`\b(goes|go|went) on\b`, "continues"},
	{`\bcomes? to be\b|\bbecame of\b|\bbecomes? of\b`, "the result"},
	{`\bis there\b|\bare there\b`, "exists"},
	{`\bis left\b|\bare left\b|\bwas left\b`, "remains"},
	{`\b(is|are|was|were) no [a-km-z]`, "is not a"},
	{`\bat the most\b`, "at most"},
	{`\bmakes? of\b|\bmade of\b`, "converts, derives from"},
	{`\bsave for\b|\bbut for\b`, "except"},
	{`\bmends?\b|\bmended\b`, "repairs"},
	{`\bpasses? over\b|\bpassed over\b`, "ignores, skips"},
}

// openings are words that a sentence does not begin with. Questions may.
var openings = regexp.MustCompile(`(?m)(?:^|[.:!?] )((?:What|Who|Whoever|Those that|That which|Whose)\b[^.?!\n]*[.:!\n])`)

var bannedWords = compileBanned()

func compileBanned() *regexp.Regexp {
	var patterns []string
	for _, w := range banned {
		patterns = append(patterns, "(?:"+w.pattern+")")
	}
	return regexp.MustCompile("(?i)" + strings.Join(patterns, "|"))
}

// instead returns what to write in place of a banned expression.
func instead(found string) string {
	for _, w := range banned {
		if regexp.MustCompile("(?i)" + w.pattern).MatchString(found) {
			return w.instead
		}
	}
	return "another beginning"
}

// The checks of TestWording.
const (
	checkWords     = "words"     // banned expressions and openings
	checkColumns   = "columns"   // Go lines that are too long
	checkWidth     = "width"     // lines of pages that are too long
	checkSentences = "sentences" // lines of pages with several sentences
)

const (
	goColumns = 120
	pageWidth = 160
	// exceptionsFile lists how many findings of a check a directory or page may have. -update lowers the numbers. For a
	// merge of branches that started before this test, WORDING=raise also raises them.
	exceptionsFile = "testdata/wording.txt"
)

// finding is a position that a check rejects.
type finding struct{ at, text string }

// findings are rejected positions by "path check", where a path is a directory of Go code or a page.
type findings map[string][]finding

func (f findings) add(path, check, at, text string) {
	key := path + " " + check
	f[key] = append(f[key], finding{at, text})
}

// TestWording checks the English of pages, of comments, and of strings in Go code other than tests. It also checks the
// length of lines. testdata/wording.txt lists the exceptions, each with a reason. The numbers of exceptions may only
// decrease.
func TestWording(t *testing.T) {
	found := findings{}
	for _, page := range pageNames(t) {
		checkPage(t, found, page)
	}
	for _, src := range slices.Concat(sources(t), sourcesBelow(t, "examples"), sourcesBelow(t, "bench")) {
		checkSource(t, found, src)
	}
	exceptions := readExceptions(t)
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if allowed := exceptions[key].count; len(found[key]) > allowed {
			t.Errorf("%s: %d findings, and %s allows %d:\n%s", key, len(found[key]), exceptionsFile, allowed, listed(found[key]))
		}
	}
	if *update {
		writeExceptions(t, exceptions, found)
	}
}

func listed(all []finding) string {
	var lines []string
	for _, f := range all {
		lines = append(lines, fmt.Sprintf("  %s: %s", f.at, f.text))
	}
	return strings.Join(lines[:min(len(lines), 200)], "\n")
}

// pageNames returns the pages of the repository that people read.
func pageNames(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil || len(names) < 30 {
		t.Fatalf("found %d pages: %v", len(names), err)
	}
	return names
}

// checkPage checks the prose of a page, without code, link targets and the width of tables. The help in docs/cli is
// wrapped for terminals.
func checkPage(t *testing.T, found findings, page string) {
	inCode := false
	for n, line := range strings.Split(read(t, page), "\n") {
		at := fmt.Sprintf("%s:%d", page, n+1)
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		table, help := strings.HasPrefix(line, "|"), strings.HasPrefix(page, "docs/cli/")
		if utf8.RuneCountInString(line) > pageWidth && !table {
			found.add(page, checkWidth, at, line[:60])
		}
		if inCode || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<!--") {
			continue
		}
		prose := codeOrTarget.ReplaceAllString(line, "x")
		checkText(found, page, at, prose)
		if isProse := prose != "" && !table && !help && !strings.HasPrefix(prose, "- ") &&
			!startsWithNumber.MatchString(prose); isProse &&
			severalSentences.MatchString(prose) {
			found.add(page, checkSentences, at, line)
		}
	}
}

var (
	codeOrTarget     = regexp.MustCompile("``.*?``|`[^`]*`|\\]\\([^)]*\\)|\\[[a-z-]+#\\d+\\]:? ?\\S*")
	startsWithNumber = regexp.MustCompile(`^\s*\d+\. |^\s`)
	thereIsNo        = regexp.MustCompile(`(?i)\bthere (is|are|was|were) no\b`)
	severalSentences = regexp.MustCompile(`[a-zx)"\]]\. +["x\[]?[A-Z]`)
)

// checkText adds the banned expressions and openings of a text. It accepts sentences that begin with "There is no".
func checkText(found findings, path, at, text string) {
	text = thereIsNo.ReplaceAllString(text, "without")
	for _, word := range bannedWords.FindAllString(text, -1) {
		found.add(path, checkWords, at, fmt.Sprintf("%q: write %s", word, instead(word)))
	}
	for _, match := range openings.FindAllStringSubmatch(text+"\n", -1) {
		found.add(path, checkWords, at, fmt.Sprintf("a sentence begins with %q", cutAt(match[1], 30)))
	}
}

func cutAt(text string, n int) string { return text[:min(len(text), n)] }

// checkSource checks the comments and the length of lines of a Go file, and its texts if it is not a test.
func checkSource(t *testing.T, found findings, src source) {
	for n, line := range strings.Split(read(t, filepath.FromSlash(src.path)), "\n") {
		if utf8.RuneCountInString(line) > goColumns {
			found.add(src.dir, checkColumns, fmt.Sprintf("%s:%d", src.path, n+1), cutAt(strings.TrimSpace(line), 60))
		}
	}
	at := func(pos token.Pos) string { return fmt.Sprintf("%s:%d", src.path, src.set.Position(pos).Line) }
	for _, group := range src.file.Comments {
		text := strings.ReplaceAll(group.Text(), "\n", " ")
		if name, rest, _ := strings.Cut(text, " "); src.test && token.IsIdentifier(name) && !token.IsExported(name) {
			text = rest // the comment of an unexported declaration begins with its name
		}
		checkText(found, src.dir, at(group.Pos()), text)
	}
	if src.test {
		return
	}
	ast.Inspect(src.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				return false
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				text, _ := strconv.Unquote(n.Value)
				checkText(found, src.dir, at(n.Pos()), text)
			}
		}
		return true
	})
}

// exception is how many findings a check may have, and why.
type exception struct {
	count  int
	reason string
}

// readExceptions reads lines "path check count reason", by "path check".
func readExceptions(t *testing.T) map[string]exception {
	t.Helper()
	all := map[string]exception{}
	for line := range strings.Lines(read(t, exceptionsFile)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 4)
		if len(fields) < 4 {
			t.Fatalf("%s: %q has no reason", exceptionsFile, line)
		}
		count, err := strconv.Atoi(fields[2])
		if err != nil {
			t.Fatalf("%s: %q: %v", exceptionsFile, line, err)
		}
		all[fields[0]+" "+fields[1]] = exception{count, fields[3]}
	}
	return all
}

// writeExceptions lowers the numbers to the findings, and removes exceptions without findings. With WORDING=raise it
// raises numbers too, which a review of the file shows.
func writeExceptions(t *testing.T, exceptions map[string]exception, found findings) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(read(t, exceptionsFile)) {
		if strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if os.Getenv("WORDING") == "raise" {
		for key, all := range found {
			exceptions[key] = exception{len(all), cmp.Or(exceptions[key].reason, "moved or merged after the rule")}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(exceptions)) {
		if n := min(exceptions[key].count, len(found[key])); n > 0 {
			lines = append(lines, fmt.Sprintf("%s %d %s", key, n, exceptions[key].reason))
		}
	}
	if err := os.WriteFile(exceptionsFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
