package main

import (
	"strings"
	"testing"
)

func TestTableHasRatiosAndLimits(t *testing.T) {
	var out strings.Builder
	kctrl := map[string]float64{"sync CPU, s": 1, "masked retained heap, MiB": 10, "relist peak over steady RSS": 1.1}
	peer := map[string]float64{
		"sync CPU, s": 8, "retained heap, MiB": 40, "masked retained heap, MiB": 20, "relist peak over steady RSS": 2,
	}
	printTable(&out, 50_000, kctrl, peer)
	for _, row := range []string{
		"| client CPU until all objects are in the queue, s | 1.00 | 8.00 | 0.125 | 0.25 |",
		"| retained heap with only metadata and status.conditions, MiB | 10.0 | 40.0 | 0.250 | 0.20 |",
		"| peak RSS over steady RSS in a forced relist | 1.10 | 2.00 | 0.550 | 1.15 of its own |",
	} {
		if !strings.Contains(out.String(), row+"\n") {
			t.Errorf("no row %s in:\n%s", row, out.String())
		}
	}
}

func TestMediansAreThoseOfEachFigure(t *testing.T) {
	s := &side{runs: map[string][]float64{"a": {9, 1, 5}, "b": {2}}}
	if got := s.medians(); got["a"] != 5 || got["b"] != 2 {
		t.Errorf("got %v", got)
	}
}
