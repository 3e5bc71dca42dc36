package main

import (
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/bench/internal/table"
)

func TestBothSidesReadRenderedBodies(t *testing.T) {
	const size = 50
	for _, f := range formats {
		dir := t.TempDir()
		if err := f.render(dir, size); err != nil {
			t.Fatal(err)
		}
		b, err := f.open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs(f, size) {
			figures, err := j.measure(t.Context(), f, newServer(t.Context(), f, b, j.way))
			if err != nil || figures[allocationsFigure] <= 0 || figures[bytesFigure] <= 0 {
				t.Errorf("%s: got %v, %v", j, figures, err)
			}
		}
	}
}

func TestTablesHaveRatiosAndGrowth(t *testing.T) {
	var out strings.Builder
	figures := func(cpu float64) table.Figures {
		return table.Figures{cpuFigure: cpu, allocationsFigure: 10, bytesFigure: 100}
	}
	printTables(&out, []int{10, 1000}, map[job]table.Figures{
		{kctrlSide, "JSON", listed, 10}: figures(4), {peerSide, "JSON", listed, 10}: figures(8),
		{kctrlSide, "JSON", listed, 1000}: figures(5), {peerSide, "JSON", listed, 1000}: figures(20),
	})
	for _, row := range []string{
		"| LIST, JSON | 10 | 4.0 | 8.0 | 0.500 | 10.0 | 10.0 | 1.000 | 100.0 | 100.0 | 1.000 |",
		"| LIST, JSON | 1000 | 5.0 | 20.0 | 0.250 | 10.0 | 10.0 | 1.000 | 100.0 | 100.0 | 1.000 |",
		"| LIST, JSON | 1.25 | 1.00 | 1.00 |",
	} {
		if !strings.Contains(out.String(), row+"\n") {
			t.Errorf("no row %s in:\n%s", row, out.String())
		}
	}
}
