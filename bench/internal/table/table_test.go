package table

import (
	"strings"
	"testing"
)

func TestRowsHaveRatiosAndLimits(t *testing.T) {
	rows := []Row{
		{Figure: "cpu", Title: "CPU, s", Format: "%.2f", Limit: 0.25},
		{Figure: "masked", Peer: "whole", Title: "masked", Format: "%.1f", Limit: 0.2},
		{Figure: "relist", Title: "relist", Format: "%.2f", Limit: 1.15, Own: true},
		{Figure: "rate", Title: "rate", Format: "%.0f", Limit: 3, AtLeast: true},
		{Figure: "wall", Title: "wall", Format: "%.0f"},
		{Figure: "nothing", Title: "of one side only", Format: "%.0f"},
	}
	var out strings.Builder
	Print(&out, rows,
		Figures{"cpu": 1, "masked": 10, "relist": 1.1, "rate": 400, "wall": 3, "nothing": 1},
		Figures{"cpu": 8, "masked": 20, "whole": 40, "relist": 2, "rate": 100, "wall": 0})
	want := `| figure | kctrl | controller-runtime v0.25.2 | ratio | limit |
|---|---|---|---|---|
| CPU, s | 1.00 | 8.00 | 0.125 | 0.25 |
| masked | 10.0 | 40.0 | 0.250 | 0.20 |
| relist | 1.10 | 2.00 | 0.550 | 1.15 of its own |
| rate | 400 | 100 | 4.000 | at least 3.00 |
| wall | 3 | 0 |  |  |
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestMediansOfEachFigure(t *testing.T) {
	runs := Runs{}
	for _, a := range []float64{9, 1, 5} {
		runs.Add(Figures{"a": a})
	}
	runs.Add(Figures{"b": 2})
	if got := runs.Medians(); got["a"] != 5 || got["b"] != 2 {
		t.Errorf("got %v", got)
	}
}

func TestPercentileReturnsOneOfTheValues(t *testing.T) {
	var values []float64
	for i := 100; i > 0; i-- {
		values = append(values, float64(i))
	}
	for percent, want := range map[int]float64{0: 1, 50: 51, 99: 100, 100: 100} {
		if got := Percentile(values, percent); got != want {
			t.Errorf("%d %% is %v, want %v", percent, got, want)
		}
	}
	if values[0] != 100 {
		t.Error("the values were sorted in place")
	}
}
