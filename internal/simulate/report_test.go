package simulate

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"
)

// failed is a report with one failure, whose strings contain characters that XML and HTML must escape.
var failed = Report{Planned: 9, Run: 9, Seconds: 1.5, Writes: 2, Events: 3, Failures: []Failure{{
	Title: `violates "the operator comes to rest"`, Plan: "seed: 1\n", Story: "a < b\n",
	Faults:     []string{"the process crashes: update pods <x>"},
	Violations: []Violation{{"converges", "still writes", &ViolatingCall{Source: "a.go:1"}}},
	Timeline: []Entry{
		{Time: time.Second, Process: "user", Text: "create pods x", Outcome: "done"},
		{
			Time:    2 * time.Second,
			Process: "operator-0",
			Text:    "update pods <x>",
			Fault:   "the process crashes",
			Behind:  2,
		},
	},
	Differences: []Difference{{"pods x", ".spec", "1", "2"}},
	Logs:        []string{"<script>"},
}}}

func TestJUnitHasACaseForEachFailure(t *testing.T) {
	var out strings.Builder
	if err := failed.WriteJUnit(&out, "kctrl sim"); err != nil {
		t.Fatal(err)
	}
	var suite testSuite
	if err := xml.Unmarshal([]byte(out.String()), &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests != 2 || suite.Failures != 1 || len(suite.Cases) != 2 ||
		suite.Cases[0].Failure == nil || !strings.Contains(suite.Cases[0].Failure.Text, "a < b") ||
		suite.Cases[0].Name != "1: the process crashes: update pods <x>" ||
		suite.Cases[1].Name != "8 plans without a failure" {
		t.Errorf("got %s", out.String())
	}
}

func TestPageShowsTheTimelineOfEachProcess(t *testing.T) {
	var out strings.Builder
	if err := failed.WritePage(&out, "kctrl sim"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"kctrl sim: 1 of 9 plans failed", `<div class="lane">user</div><div class="lane">operator-0</div>`,
		"update pods &lt;x&gt;", "fault: the process crashes", "2 events behind", "at a.go:1", "&lt;script&gt;", "--lanes: 2",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(out.String(), "<script") || strings.Contains(out.String(), "http") {
		t.Error("the page has scripts or needs other files")
	}
}
