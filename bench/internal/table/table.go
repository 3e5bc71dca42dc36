// Package table compares figures of kctrl and of controller-runtime.
package table

import (
	"fmt"
	"io"
	"slices"
)

// Figures are measured values by name.
type Figures map[string]float64

// Row is a figure of the table.
type Row struct {
	// Figure is the name in kctrl's figures. Peer is the name in the peer's figures; empty means the same name.
	Figure, Peer string
	Title        string
	Format       string
	// Limit is the maximum ratio of kctrl to the peer; zero means no limit.
	Limit float64
	// Own applies the limit to kctrl's figure instead of the ratio.
	Own bool
	// AtLeast makes Limit a minimum.
	AtLeast bool
}

// Print prints the rows whose figures exist on both sides.
func Print(out io.Writer, rows []Row, kctrl, peer Figures) {
	fmt.Fprintf(out, "| figure | kctrl | controller-runtime v0.25.2 | ratio | limit |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		a, measured := kctrl[r.Figure]
		name := r.Figure
		if r.Peer != "" {
			name = r.Peer
		}
		b, compared := peer[name]
		if !measured || !compared {
			continue
		}
		fmt.Fprintf(out, "| %s | "+r.Format+" | "+r.Format+" | %s | %s |\n", r.Title, a, b, ratio(a, b), r.limit())
	}
}

func (r Row) limit() string {
	switch {
	case r.Limit == 0:
		return ""
	case r.Own:
		return fmt.Sprintf("%.2f of its own", r.Limit)
	case r.AtLeast:
		return fmt.Sprintf("at least %.2f", r.Limit)
	}
	return fmt.Sprintf("%.2f", r.Limit)
}

func ratio(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", a/b)
}

// Runs has the values of several runs by figure.
type Runs map[string][]float64

// Add adds the figures of one run.
func (r Runs) Add(figures Figures) {
	for name, value := range figures {
		r[name] = append(r[name], value)
	}
}

// Medians returns the median of each figure.
func (r Runs) Medians() Figures {
	medians := Figures{}
	for name, values := range r {
		medians[name] = Median(values)
	}
	return medians
}

// Median returns the median of values, which must not be empty.
func Median(values []float64) float64 { return Percentile(values, 50) }

// Percentile returns a percentile of values, which must not be empty.
func Percentile(values []float64, percent int) float64 {
	ordered := slices.Sorted(slices.Values(values))
	return ordered[min(len(ordered)*percent/100, len(ordered)-1)]
}
