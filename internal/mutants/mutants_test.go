//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const code = `package m

import "errors"

// Sum adds values, each of them times times.
func Sum(values []int, times map[int]int) (total int, err error) {
	for _, v := range values {
		if v < 0 && v != -1 || v > 100 {
			return 0, errors.New("out of range")
		}
		if v == 100 { continue }
		for range times[v] { total = total + v }
		calls++
	}
	return total, nil
}

var calls int

func isLarge(n int) bool { return n >= 10 && !(n > 20 && n < 30 || n-1 == 5) }

type flag bool

// small cannot have a mutant: the comparison is not a bool.
func small(n int) flag { return n < 10 }

// Unused is not tested.
func Unused(c chan int) {
	defer close(c)
	select {
	case n := <-c: c <- n
	default: panic("empty")
	}
}
`

const tests = `package m

import ("os"; "os/exec"; "testing")

func TestSum(t *testing.T) {
	for value, want := range map[int]int{-1: -3, 0: 0, 1: 2, 100: 0} {
		got, err := Sum([]int{value}, map[int]int{-1: 3, 0: 1, 1: 2, 100: 1})
		if got != want || err != nil { t.Errorf("%d: got %d, %v", value, got, err) }
	}
	for _, value := range []int{-2, 101} {
		if _, err := Sum([]int{value}, nil); err == nil { t.Error(value) }
	}
}

// TestInAnotherProcess checks isLarge in a process with another environment.
func TestInAnotherProcess(t *testing.T) {
	if os.Getenv("CHILD") == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestInAnotherProcess$")
		child.Env = []string{"CHILD=1", "PATH=" + os.Getenv("PATH")}
		if out, err := child.CombinedOutput(); err != nil { t.Fatalf("%s", out) }
		return
	}
	if small(10) { t.Error("10 is small") }
	for _, n := range []int{9, 10, 15, 20, 21, 25, 29, 30} {
		if want := n >= 10 && n <= 20 || n >= 30; isLarge(n) != want { t.Error(n) }
	}
}

func TestIsExcluded(t *testing.T) {
	t.Run("passes", func(*testing.T) {})
	t.Run("fails", func(t *testing.T) { t.Error(isLarge(0)) })
}

func TestIsSkipped(t *testing.T) { t.Error("skipped tests do not run") }
`

// want contains all mutants of the constant code that its tests do not catch, and some that they catch.
var want = map[string]string{
	"m.go:8: negate condition: v < 0 && v != -1 || v > 100":    "caught by . TestSum",
	"m.go:8: swap && and ||: v < 0 && v != -1 || v > 100":      "caught by . TestSum",
	"m.go:8: swap && and ||: v < 0 && v != -1":                 "caught by . TestSum",
	"m.go:9: return a nil error: errors.New(\"out of range\")": "caught by . TestSum",
	"m.go:11: drop continue: continue":                         "caught by . TestSum",
	"m.go:12: drop assignment: total = total + v":              "caught by . TestSum",
	"m.go:12: + becomes -: total + v":                          "caught by . TestSum",
	"m.go:13: ++ becomes --: calls++":                          "survived by ",
	"m.go:20: >= becomes >: n >= 10":                           "caught by . TestInAnotherProcess",
	"m.go:20: > becomes >=: n > 20":                            "caught by . TestInAnotherProcess",
	"m.go:20: < becomes <=: n < 30":                            "caught by . TestInAnotherProcess",
	"m.go:20: - becomes +: n-1":                                "survived by ",
	"m.go:29: drop call: defer close(c)":                       "unreached by ",
	"m.go:31: drop send: c <- n":                               "unreached by ",
}

// TestMutantsOfASmallPackage plants all mutants of the constant code, including nested ones, and measures which of them
// its tests catch.
func TestMutantsOfASmallPackage(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "m.go": code, "m_test.go": tests,
		"skip": "# package pattern\n. TestIsSkipped\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var out bytes.Buffer
	opts := options{
		repository: dir, areas: []area{{"m", []string{"."}}}, tests: []string{"."}, modules: []string{"."}, jobs: 2,
		skip: filepath.Join(dir, "skip"), result: filepath.Join(dir, "bin", "result.json"),
	}
	if err := run(t.Context(), &out, opts); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(opts.result)
	if err != nil {
		t.Fatal(err)
	}
	var got result
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, s := range got.Mutants {
		key := fmt.Sprintf("%s:%d: %s: %s", s.File, s.Line, s.Operator, s.Code)
		found[key] = s.Result + " by " + s.By
		if want[key] == "" && s.Result != "caught" {
			t.Errorf("%s: %s", key, found[key])
		}
	}
	for key, result := range want {
		if found[key] != result {
			t.Errorf("%s: got %q, want %q", key, found[key], result)
		}
	}
	if len(found) != 21 { // without the comparison of small
		t.Errorf("got %d mutants, want 21", len(found))
	}
	if want := []string{". TestIsExcluded/fails"}; !slices.Equal(got.Excluded, want) {
		t.Errorf("excluded %q, want %q", got.Excluded, want)
	}
}

// TestChoiceKeepsMutantsOfUnchangedCode checks that the choice still contains the same mutants of the remaining sites
// after other sites were removed.
func TestChoiceKeepsMutantsOfUnchangedCode(t *testing.T) {
	areas := []area{{name: "a"}, {name: "b"}}
	var sites []*site
	for i := range 100 {
		sites = append(sites, &site{ID: strconv.Itoa(i), Area: areas[i%2].name})
	}
	ids := func(sites []*site) (ids []string) {
		for _, s := range sites {
			ids = append(ids, s.ID)
		}
		return ids
	}
	all := ids(choose(sites, 7, 11, areas))
	fewer := ids(choose(sites[:90], 7, 11, areas))
	if len(all) != 11 || len(fewer) != 11 {
		t.Errorf("got %d and %d mutants, want 11", len(all), len(fewer))
	}
	for _, id := range all {
		if n, _ := strconv.Atoi(id); n < 90 && !slices.Contains(fewer, id) {
			t.Errorf("mutant %s is no longer chosen", id)
		}
	}
	if slices.Equal(all, ids(choose(sites, 8, 11, areas))) {
		t.Error("another seed chooses the same mutants")
	}
}

func TestComparisonFindsLostMutants(t *testing.T) {
	before := result{Mutants: []*site{
		{ID: "1", Result: "caught", By: "x TestX"}, {ID: "2", Result: "caught"}, {ID: "3", Result: "survived"},
		{ID: "4", Result: "caught"},
	}}
	now := result{Mutants: []*site{
		{ID: "1", Result: "unreached"}, {ID: "2", Result: "caught"}, {ID: "3", Result: "survived"},
		{ID: "5", Result: "survived"},
	}}
	var out bytes.Buffer
	if lost := compare(&out, before, now); lost != 1 || !strings.Contains(out.String(), "before by x TestX") {
		t.Errorf("got %d lost mutants, want 1:\n%s", lost, &out)
	}
}
