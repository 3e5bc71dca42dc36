//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// result is the content of the files of -o and -compare.
type result struct {
	Seed     uint64   `json:"seed"`
	Mutants  []*site  `json:"mutants"`
	Excluded []string `json:"excluded"` // tests that fail without an active mutant
}

func byPlace(a, b *site) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID))
}

// summarize prints the mutants that were not caught, and the numbers of each area.
func (r result) summarize(out io.Writer) {
	var names []string
	counts := map[string]map[string]int{}
	fmt.Fprintln(out)
	for _, s := range r.Mutants {
		for _, area := range []string{s.Area, "total"} {
			if counts[area] == nil {
				counts[area] = map[string]int{}
				names = append(names, area)
			}
			counts[area][s.Result]++
		}
		if s.Result != "caught" {
			fmt.Fprintln(out, s)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Compare(counts[a]["caught"]+counts[a]["survived"], counts[b]["caught"]+counts[b]["survived"])
	})
	fmt.Fprintf(out, "\n%-24s %8s %8s %9s\n", "", "caught", "survived", "unreached")
	for _, name := range names {
		c := counts[name]
		fmt.Fprintf(out, "%-24s %8d %8d %9d\n", name, c["caught"], c["survived"], c["unreached"])
	}
}

// compareAndWrite writes a result. It returns an error if a mutant that was caught in the earlier result is no longer
// caught.
func compareAndWrite(out io.Writer, now result, opts options) error {
	var before result
	if opts.compare != "" {
		text, err := os.ReadFile(opts.compare)
		if err == nil {
			err = json.Unmarshal(text, &before)
		}
		if err != nil {
			return fmt.Errorf("read the earlier result: %w", err)
		}
	}
	text, err := json.MarshalIndent(now, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(opts.result), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(opts.result, append(text, '\n'), 0o644); err != nil {
		return err
	}
	lost := compare(out, before, now)
	if lost > 0 {
		return fmt.Errorf("%d mutants that the tests caught before are no longer caught", lost)
	}
	return nil
}

// compare prints the mutants that are no longer caught, and counts them.
func compare(out io.Writer, before, now result) (lost int) {
	known := map[string]*site{}
	for _, s := range now.Mutants {
		known[s.ID] = s
	}
	gone := 0
	for _, old := range before.Mutants {
		switch s := known[old.ID]; {
		case s == nil:
			gone++
		case old.Result == "caught" && s.Result != "caught":
			lost++
			fmt.Fprintf(out, "lost: %s  before by %s\n", s, old.By)
		}
	}
	if len(before.Mutants) > 0 {
		fmt.Fprintf(out, "%d of %d earlier mutants compared: %d lost\n", len(before.Mutants)-gone, len(before.Mutants), lost)
	}
	return lost
}
