package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recorder is a testing.TB that records errors instead of failing.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

// record runs a simulation with the test binary in place of kctrl, which prints answer. It returns the errors that the
// simulation reports.
func record(t *testing.T, answer string, o Options) (plans int, errors []string) {
	t.Helper()
	t.Setenv("KCTRL", os.Args[0])
	t.Setenv("KCTRL_TEST_SIM_ANSWER", answer)
	r := &recorder{TB: t}
	defer func() {
		if problem := recover(); problem != nil && problem != any(r) {
			panic(problem)
		}
		errors = r.errors
	}()
	return Run(r, o), nil
}

func TestMain(m *testing.M) {
	if answer, set := os.LookupEnv("KCTRL_TEST_SIM_ANSWER"); set {
		fmt.Fprintln(os.Stderr, "kctrl:", strings.Join(os.Args[1:], " "))
		fmt.Print(answer)
		if !strings.Contains(answer, `"failures":[]`) {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestFailedPlansAreErrors(t *testing.T) {
	dir := t.TempDir()
	plans, errors := record(
		t,
		`{"run":7,"failures":[{"story":"1: bad\n","plan":"seed: 1\n"}]}[{"message":"1 plan failed"}]`,
		Options{Dir: dir},
	)
	want := "1: bad\nthe plan, for kctrl sim --replay FILE:\nseed: 1\n"
	if len(errors) != 1 || errors[0] != want {
		t.Errorf("got %d plans and %q", plans, errors)
	}
	if plans, errors = record(t, `{"run":9,"failures":[]}`, Options{Dir: dir}); plans != 9 || len(errors) > 0 {
		t.Errorf("got %d plans and %q", plans, errors)
	}
}

func TestAnOperatorThatCannotBeSimulatedEndsTheTest(t *testing.T) {
	_, errors := record(t, `[{"message":"no samples"}]`, Options{
		Dir: "x", Plans: 3, Budget: time.Second, Only: []string{"crash", "lost"}, Disable: []string{"leak"},
	})
	want := "kctrl: sim --directory x --output json --seed 1 --plans 3 --budget 1s --only crash,lost --disable leak"
	if len(errors) != 1 || !strings.Contains(errors[0], want) || !strings.Contains(errors[0], "exit status 1") {
		t.Errorf("got %q, want %q in it", errors, want)
	}
}

func TestTheProjectIsTheNearestDirectoryWithPROJECT(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "internal", "controller")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	if got, err := (Options{}).directory(); err == nil {
		t.Errorf("got %s without a PROJECT file", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "PROJECT"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Options{}.directory()
	if err != nil || filepath.Base(got) != filepath.Base(dir) {
		t.Errorf("got %s, %v", got, err)
	}
}
