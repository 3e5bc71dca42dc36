package kctrl_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// recordedPages are the pages with a table of the results in testdata/results/<name>.tsv. The commands that measure
// them take hours, so the results are recorded there.
var recordedPages = []string{"corpus", "drop-in"}

// TestRecordedTables compares the tables of recorded results in docs/ with testdata/results. With -update it writes
// them.
func TestRecordedTables(t *testing.T) {
	for _, name := range recordedPages {
		page, begin := "docs/"+name+".md",
			"<!-- testdata/results/"+name+".tsv: go test . -run TestRecordedTables -update -->\n"
		have := read(t, page)
		head, rest, begins := strings.Cut(have, begin)
		_, tail, ends := strings.Cut(rest, "<!-- end -->\n")
		if !begins || !ends {
			t.Errorf("%s has no place for its table", page)
			continue
		}
		want := head + begin + "\n" + recordedTable(read(t, "testdata/results/"+name+".tsv")) + "\n<!-- end -->\n" + tail
		if *update {
			write(t, page, want)
		} else if have != want {
			t.Errorf("%s is out of date; run go test . -run %s -update", page, t.Name())
		}
	}
}

var number = regexp.MustCompile(`^\d+(\.\d+)?$`)

// recordedTable formats tab-separated values, and adds a row of sums. The first line contains the titles. A column
// whose title is in parentheses is not shown.
func recordedTable(tsv string) string {
	var out strings.Builder
	lines := strings.Split(strings.TrimSuffix(tsv, "\n"), "\n")
	titles := strings.Split(lines[0], "\t")
	sums, numeric := make([]int, len(titles)), make([]bool, len(titles))
	for _, line := range lines[1:] {
		for i, value := range strings.Split(line, "\t") {
			n, err := strconv.Atoi(value)
			sums[i] += n
			numeric[i] = number.MatchString(value)
			if err != nil {
				sums[i] = -1 << 40
			}
		}
	}
	format := func(values []string) {
		for i, value := range values {
			if !strings.HasPrefix(titles[i], "(") {
				fmt.Fprintf(&out, "| %s ", value)
			}
		}
		out.WriteString("|\n")
	}
	format(titles)
	for i, title := range titles {
		if alignment := map[bool]string{true: "---:", false: "---"}[numeric[i]]; !strings.HasPrefix(title, "(") {
			out.WriteString("|" + alignment)
		}
	}
	out.WriteString("|\n")
	for _, line := range lines[1:] {
		format(strings.Split(line, "\t"))
	}
	all := make([]string, len(titles))
	for i, sum := range sums {
		if sum >= 0 {
			all[i] = strconv.Itoa(sum)
		}
	}
	all[0] = fmt.Sprintf("all %d", len(lines)-1)
	format(all)
	return out.String()
}
