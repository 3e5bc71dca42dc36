package main

import (
	"fmt"
	"io"
)

// row is a figure of the table.
type row struct {
	figure string // as the sides name it
	title  string
	format string
	// limit is what the ratio of kctrl to the peer shall not exceed; zero is none.
	limit float64
	// own makes the limit one of kctrl's figure itself.
	own bool
}

var rows = []row{
	{figure: "sync CPU, s", title: "client CPU until all objects are in the queue, s", format: "%.2f", limit: 0.25},
	{figure: "sync wall, s", title: "wall time of that, most of it the server's, s", format: "%.2f"},
	{figure: "sync peak RSS, MiB", title: "peak RSS of that, MiB", format: "%.0f", limit: 0.40},
	{figure: "retained heap, MiB", title: "retained heap, MiB", format: "%.1f", limit: 0.60},
	{figure: "masked retained heap, MiB", title: "retained heap with only metadata and status.conditions, MiB", format: "%.1f", limit: 0.20},
	{figure: "relist peak over steady RSS", title: "peak RSS over steady RSS in a forced relist", format: "%.2f", limit: 1.15, own: true},
	{figure: "relist CPU, s", title: "client CPU of that relist, s", format: "%.2f"},
	{figure: "event to queue, ns", title: "event to queue with 8 handlers, ns an event", format: "%.0f", limit: 0.25},
	{figure: "event to queue CPU, ns", title: "CPU of that, ns an event", format: "%.0f"},
	{figure: "list, µs", title: "look at 10,000 cached objects, µs", format: "%.0f", limit: 0.02},
	{figure: "growth behind a blocked handler, MiB", title: "memory behind a blocked handler, 200,000 updates of 1,000 keys, MiB", format: "%.1f"},
}

// printTable prints the figures of both sides. Those that a mask changes are compared with the peer's without one, which
// has no masks.
func printTable(out io.Writer, objects int, kctrl, peer map[string]float64) {
	fmt.Fprintf(out, "%d objects.\n\n| figure | kctrl | controller-runtime v0.25.2 | ratio | limit |\n|---|---|---|---|---|\n", objects)
	for _, r := range rows {
		a, b := kctrl[r.figure], peer[r.figure]
		if r.figure == "masked retained heap, MiB" {
			b = peer["retained heap, MiB"]
		}
		limit := ""
		switch {
		case r.own:
			limit = fmt.Sprintf("%.2f of its own", r.limit)
		case r.limit > 0:
			limit = fmt.Sprintf("%.2f", r.limit)
		}
		fmt.Fprintf(out, "| %s | "+r.format+" | "+r.format+" | %s | %s |\n", r.title, a, b, ratio(a, b), limit)
	}
}

func ratio(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", a/b)
}
