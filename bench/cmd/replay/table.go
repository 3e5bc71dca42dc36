package main

import (
	"fmt"
	"io"

	"github.com/kctrl-dev/kctrl/bench/internal/table"
)

// printTables prints the cost per object of each side, and for kctrl the ratio between the most and the fewest objects.
func printTables(out io.Writer, sizes []int, medians map[job]table.Figures) {
	fmt.Fprint(out, "| objects come | objects | CPU, ns: kctrl | peer | ratio | allocations: kctrl | peer | ratio | "+
		"bytes: kctrl | peer | ratio |\n")
	fmt.Fprint(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, f := range formats {
		for _, way := range ways {
			for _, size := range sizes {
				a, b := medians[job{kctrlSide, f.name, way, size}], medians[job{peerSide, f.name, way, size}]
				fmt.Fprintf(out, "| %s, %s | %d |", way, f.name, size)
				for _, figure := range []string{cpuFigure, allocationsFigure, bytesFigure} {
					printPair(out, a[figure], b[figure])
				}
				fmt.Fprintln(out)
			}
		}
	}
	few, most := sizes[0], sizes[len(sizes)-1]
	fmt.Fprintf(out, "\n| kctrl, an object of %d over one of %d | CPU | allocations | bytes |\n|---|---:|---:|---:|\n",
		most, few)
	for _, f := range formats {
		for _, way := range ways {
			a, b := medians[job{kctrlSide, f.name, way, most}], medians[job{kctrlSide, f.name, way, few}]
			fmt.Fprintf(out, "| %s, %s |", way, f.name)
			for _, figure := range []string{cpuFigure, allocationsFigure, bytesFigure} {
				fmt.Fprintf(out, " %.2f |", a[figure]/b[figure])
			}
			fmt.Fprintln(out)
		}
	}
}

// printPair prints the figures of both sides.
func printPair(out io.Writer, kctrl, peer float64) {
	fmt.Fprintf(out, " %.1f | %.1f | %.3f |", kctrl, peer, kctrl/peer)
}
