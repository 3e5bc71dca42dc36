package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRowsNameTests checks that the test and the guard in each row exist.
func TestRowsNameTests(t *testing.T) {
	for _, row := range nightly {
		if row.reason == "" {
			t.Errorf("%s %s has no reason", row.pkg, row.pattern)
		}
		checkTests(t, row.pkg, row.pattern)
		pkg, guard, found := strings.Cut(row.guard, " ")
		if !found {
			t.Errorf("%s %s: guard %q is not a package and a test", row.pkg, row.pattern, row.guard)
			continue
		}
		checkTests(t, pkg, guard)
		for _, other := range nightly {
			if other.pkg == pkg && other.pattern == guard {
				t.Errorf("%s %s: its guard %s does not run in make test either", row.pkg, row.pattern, row.guard)
			}
		}
	}
	for _, row := range onRealServer {
		if row.reason == "" {
			t.Errorf("%s %s has no reason", row.pkg, row.run)
		}
		checkTests(t, row.pkg, row.run)
	}
	for _, row := range expensive {
		if row.reason == "" {
			t.Errorf("%s %s has no reason", row.pkg, row.test)
		}
		checkTests(t, row.pkg, row.test)
	}
}

// checkTests checks that the test function and the script of a pattern exist in a package.
func checkTests(t *testing.T, pkg, pattern string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`).FindAllSubmatch(text, -1) {
			declared = append(declared, string(match[1]))
		}
	}
	name, sub, _ := strings.Cut(pattern, "/")
	if name != "" { // otherwise every test matches the subtest
		matcher, err := regexp.Compile(name)
		if err != nil || !slices.ContainsFunc(declared, matcher.MatchString) {
			t.Errorf("%s has no test %s (%v)", pkg, name, err)
		}
		story := strings.Trim(sub, "^$")
		if strings.Trim(name, "^$") == "TestScript" && sub != "" {
			if _, err := os.Stat(filepath.Join("..", "..", "testdata", "script", story+".txtar")); err != nil {
				t.Errorf("%s: %v", pkg, err)
			}
		}
	}
}

func TestTestsAboveTheLimitFail(t *testing.T) {
	costs := []cost{{Package: "a", CPU: 100}, {Package: "a", Test: "TestCheap", CPU: limit},
		{Package: "a", Test: "TestDear", CPU: 61}}
	if errs := tooExpensive(costs); len(errs) != 1 ||
		!strings.Contains(errs[0].Error(), "a TestDear uses 61 CPU seconds") {
		t.Errorf("got %v, want one error, for TestDear", errs)
	}
}

func TestParallelTestsShareTheTime(t *testing.T) {
	m := &meter{costs: map[string]float64{}}
	m.through(io.Discard)
	for _, line := range []string{
		"\x16=== RUN   TestA\n", "\x16=== RUN   TestA/one\n", "\x16=== PAUSE TestA/one\n", "\x16=== RUN   TestA/two/deep\n",
		"\x16=== RUN  ",
	} {
		if _, err := io.WriteString(m, line); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"TestA", "TestA/two/deep"}; !slices.Equal(m.running, want) {
		t.Errorf("running: %q, want %q", m.running, want)
	}
	if m.hasSubtest("TestA/two/deep") || !m.hasSubtest("TestA") || unit("TestA/two/deep") != "TestA/two" {
		t.Error("TestA/two/deep is the only leaf, and its cost is that of TestA/two")
	}
}

// TestOutputOfUnendedTestsIsPrinted checks the output of a test binary that ended within a test.
func TestOutputOfUnendedTestsIsPrinted(t *testing.T) {
	var out bytes.Buffer
	s := &suite{out: &out, start: time.Now(), failed: map[string]bool{}}
	s.report(strings.NewReader(`{"Action":"run","Package":"a","Test":"TestPassed"}
{"Action":"output","Package":"a","Test":"TestPassed","Output":"of no interest\n"}
{"Action":"pass","Package":"a","Test":"TestPassed"}
{"Action":"run","Package":"a","Test":"TestPanics"}
{"Action":"output","Package":"a","Test":"TestPanics","Output":"panic: reason\n"}
{"Action":"output","Package":"a/b","Test":"TestOther","Output":"another package\n"}
{"Action":"output","Package":"a","Output":"exit status 2\n"}
{"Action":"fail","Package":"a"}
`))
	if got, _, _ := strings.Cut(out.String(), "00:00"); got != "panic: reason\nexit status 2\n" || !s.failed["a"] {
		t.Errorf("printed %q, failed %v", got, s.failed)
	}
}

func TestTableKeepsTheOtherColumn(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("head\n"+tableBegin+tableEnd+"tail\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	costs := []cost{{Package: "cmd/kctrl", CPU: 10}, {Package: "cmd/kctrl", Test: "TestScript/init", CPU: 4},
		{Package: "cmd/kctrl", Test: "TestScript/edit", CPU: 10}}
	if err := writeTable(page, costs, 12, false); err != nil {
		t.Fatal(err)
	}
	costs[0].CPU = 15
	if err := writeTable(page, costs, 20, true); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := "head\n" + tableBegin + `
| | | ` + "`make test` | `make test-all`" + ` adds |
|---|---|---:|---:|
| total |  | 12 | 8 |
| compiling and linking |  | 2 | 3 |
| package | ` + "`cmd/kctrl`" + ` | 10 | 5 |
| script | ` + "`edit`" + ` | 10 | 0 |

` + tableEnd + "tail\n"
	if !bytes.Equal(got, []byte(want)) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRunsContinueWhereTheLastOneEnded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "costs")
	if passed, err := openResults(file); err != nil || len(passed) != 0 {
		t.Fatalf("passed: %v, %v, want nothing in a new directory", passed, err)
	}
	err := appendCosts(file,
		cost{Step: 3, Package: "a", CPU: 5, Passed: true}, cost{Step: 3, Package: "a", Test: "T", CPU: 4},
		cost{Step: 3, Package: "b", CPU: 7}, cost{Step: 3, Package: "b", Test: "T", CPU: 6},
		cost{Step: 0, Passed: true}, cost{Step: wholeRun, CPU: 12, Passed: true})
	if err != nil {
		t.Fatal(err)
	}
	passed, err := openResults(file)
	if err != nil || !passed[part{3, "a"}] || !passed[part{0, ""}] || passed[part{3, "b"}] || passed[part{4, "a"}] {
		t.Errorf("passed: %v, %v, want a in step 3, and step 0", passed, err)
	}
	if err := appendCosts(file, cost{Step: wholeRun, CPU: 3, Passed: true}); err != nil {
		t.Fatal(err)
	}
	costs, err := readCosts(file)
	if err != nil || slices.ContainsFunc(costs, func(c cost) bool { return c.Package == "b" }) || len(costs) != 5 {
		t.Errorf("costs: %v, %v, want none of b, which did not pass", costs, err)
	}
	if total := totalOf(costs); total != 15 {
		t.Errorf("%v CPU seconds, want 15", total)
	}
}
