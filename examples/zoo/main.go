// Zoo simulates small operators, each with a bug that real operators have had, and their fixed twins. For each bug, it
// prints the violated rule if the simulator finds the bug. It also prints whether two other tests find the bug: a
// client with random errors, and the test of a scaffolded controller. Then it simulates projects without known bugs.
package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/testserver/simulator"
)

// limit is the time limit for the plans of one operator.
const limit = 10 * time.Second

func main() {
	only := flag.String("run", "", "simulate only the operators whose names contain this `text`")
	kctrl := flag.String("kctrl", "", "also simulate scaffolded projects and examples, with this `program`")
	stories := flag.Bool("v", false, "print the stories of failures that are not expected")
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	simulator.Stuck = func(err error) {
		fmt.Fprintln(os.Stderr, "zoo:", err)
		os.Exit(1)
	}
	// testing.Main ends the process. It is the only way for a program to get the testing.T that synctest needs.
	os.Args = os.Args[:1]
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "zoo", F: func(t *testing.T) {
			v := &visit{t: t, out: os.Stdout, stories: *stories}
			for _, s := range zoo {
				if strings.Contains(s.name, *only) {
					v.see(s)
				}
			}
			v.total()
			if *kctrl != "" {
				if err := simulateProjects(os.Stdout, *kctrl); err != nil {
					t.Error(err)
				}
			}
		},
	}}, nil, nil)
}

// visit prints a table with a row for each operator, and counts the results.
type visit struct {
	t       *testing.T
	out     io.Writer
	stories bool

	seen, found, falseAlarms, plans int
	took, longest                   time.Duration
	random, scaffolded              tally
}

// see simulates an operator and its twin, and prints their row.
func (v *visit) see(s specimen) {
	if v.seen == 0 {
		fmt.Fprintln(v.out,
			"| operator | class of bug | found by | plan | plans | time | twin | random errors | scaffolded test |")
		fmt.Fprintln(v.out, "|---|---|---|---|---|---|---|---|---|")
	}
	v.seen++
	began := time.Now()
	bug, err := s.simulate(v.t, false)
	took := time.Since(began)
	v.took += took
	v.longest = max(v.longest, took)
	rule, plan := verdict(bug, err)
	if rule != "" {
		v.found++
	}
	twin, err := s.simulate(v.t, true)
	alarm, where := verdict(twin, err)
	if alarm != "" {
		v.falseAlarms++
		alarm += " " + where
	}
	class := s.class
	if s.source != "" {
		class += " (" + s.source + ")"
	}
	plans := 0
	if bug != nil {
		plans = bug.Run
	}
	v.plans += plans
	random, scaffolded := v.compare(s)
	fmt.Fprintf(v.out, "| %s | %s | %s | %s | %d | %.1f s | %s | %s | %s |\n", s.name, class, or(rule, "**not found**"),
		plan, plans, took.Seconds(), or(alarm, "passes"), random, scaffolded)
	if v.stories {
		v.explain(bug)
		v.explain(twin)
	}
}

// total prints the totals of all operators.
func (v *visit) total() {
	if v.seen == 0 {
		fmt.Fprintln(v.out, "no such operator")
		return
	}
	fmt.Fprintf(v.out, "\n%d of %d bugs found (%d %%), %d false alarms on %d twins, %.1f s per operator, at most %.1f s\n",
		v.found, v.seen, 100*v.found/v.seen, v.falseAlarms, v.seen, v.took.Seconds()/float64(v.seen), v.longest.Seconds())
	fmt.Fprintf(v.out, "random errors, %.0f %% of calls and %d seeds: %d of %d bugs found, %d false alarms\n",
		100*share, seeds, v.random.found, v.seen, v.random.falseAlarms)
	fmt.Fprintf(v.out, "scaffolded test: %d of %d bugs found, %d false alarms\n",
		v.scaffolded.found, v.seen, v.scaffolded.falseAlarms)
}

// explain prints the story of the first failure, if the report has failures.
func (v *visit) explain(report *simulator.Report) {
	if report != nil && len(report.Failures) > 0 {
		report.Failures[0].WriteStory(v.out, "1")
	}
}

// verdict returns the first violated rule and its plan, or "" if no plan failed.
func verdict(report *simulator.Report, err error) (rule, plan string) {
	if err != nil {
		return "cannot be simulated", err.Error()
	}
	if len(report.Failures) == 0 {
		return "", ""
	}
	f := report.Failures[0]
	return "`" + f.Violations[0].Invariant + "`", nameOf(f.Plan)
}

// nameOf returns a description of a plan in one line.
func nameOf(p simulator.Plan) string {
	var faults []string
	for _, f := range p.Faults {
		faults = append(faults, fmt.Sprintf("%s at %s", f.Kind, f.At))
	}
	if p.Then != "" {
		faults = append(faults, "then "+string(p.Then))
	}
	if p.Create != "" {
		faults = append(faults, "create "+string(p.Create))
	}
	if p.Change != nil {
		faults = append(faults, p.Change.String())
	}
	return or(strings.Join(faults, ", "), "no fault")
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
