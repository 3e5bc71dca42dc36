package main

import "github.com/kctrl-dev/kctrl/bench/internal/table"

// rows are the figures, as the sides name them.
var rows = []table.Row{
	{Figure: "sync CPU, s", Title: "client CPU until all objects are in the queue, s", Format: "%.2f", Limit: 0.25},
	{Figure: "sync wall, s", Title: "wall time of that, most of it the server's, s", Format: "%.2f"},
	{Figure: "sync peak RSS, MiB", Title: "peak RSS of that, MiB", Format: "%.0f", Limit: 0.40},
	{Figure: "retained heap, MiB", Title: "retained heap, MiB", Format: "%.1f", Limit: 0.60},
	{
		Figure: "masked retained heap, MiB", Peer: "retained heap, MiB", // which has no masks
		Title: "retained heap with only metadata and status.conditions, MiB", Format: "%.1f", Limit: 0.20,
	},
	{
		Figure: "packed retained heap, MiB", Peer: "retained heap, MiB",
		Title: "retained heap of these packed, MiB", Format: "%.1f", Limit: 0.20,
	},
	{
		Figure: "packed sync peak RSS, MiB", Peer: "sync peak RSS, MiB",
		Title: "peak RSS until all of these are in the queue, MiB", Format: "%.0f",
	},
	{
		Figure: "packed sync CPU, s", Peer: "sync CPU, s",
		Title: "client CPU of that, s", Format: "%.2f",
	},
	{Figure: "relist peak over steady RSS", Title: "peak RSS over steady RSS in a forced relist", Format: "%.2f", Limit: 1.15, Own: true},
	{Figure: "relist CPU, s", Title: "client CPU of that relist, s", Format: "%.2f"},
	{Figure: "event to queue, ns", Title: "event to queue with 8 handlers, ns an event", Format: "%.0f", Limit: 0.25},
	{Figure: "event to queue CPU, ns", Title: "CPU of that, ns an event", Format: "%.0f"},
	{Figure: "list, µs", Title: "look at 10,000 cached objects, µs", Format: "%.0f", Limit: 0.02},
	{Figure: "growth behind a blocked handler, MiB", Title: "memory behind a blocked handler, 200,000 updates of 1,000 keys, MiB", Format: "%.1f"},
}
