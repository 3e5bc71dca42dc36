package main

import "github.com/kctrl-dev/kctrl/bench/internal/table"

var rows = []table.Row{
	{Figure: "operator CPU, s", Title: "CPU until each object was reconciled once, with a Get, s", Format: "%.2f",
		Limit: 0.22},
	{
		Figure: "operator peak RSS, MiB", Title: "peak RSS until each object was reconciled once, MiB",
		Format: "%.0f", Limit: 0.25,
	},
	{Figure: "operator RSS, MiB", Title: "RSS after a collection, MiB", Format: "%.0f", Limit: 0.18},
	{Figure: "operator heap, MiB", Title: "heap after a collection, MiB", Format: "%.1f", Limit: 0.12},
	{Figure: "get, µs", Title: "CPU of a Get, µs", Format: "%.2f", Limit: 1},
	{Figure: "list of a namespace, µs", Title: "CPU of a List of a namespace, µs", Format: "%.0f", Limit: 1},
	{
		Figure: "list by label in a namespace, µs", Title: "CPU of a List by label within a namespace, µs",
		Format: "%.0f", Limit: 1,
	},
	{Figure: "list by label, µs", Title: "CPU of a List by label over all, µs", Format: "%.0f", Limit: 1},
	{Figure: "list by index, µs", Title: "CPU of a List of 100 objects by an index, µs", Format: "%.0f", Limit: 1},
	{
		Figure: "reconciles in a CPU second", Title: "reconciles without a change, in a CPU second",
		Format: "%.0f", Limit: 3, AtLeast: true,
	},
	{
		Figure: "unpacked reconciles in a CPU second", Title: "the same with a kind that is `Unpacked`", Format: "%.0f",
	},
	{Figure: "unpacked operator heap, MiB", Title: "heap after a collection with that kind, MiB", Format: "%.1f"},
	{Figure: "sync CPU, s", Title: "client CPU until all objects are in the queue, s", Format: "%.2f", Limit: 0.25},
	{Figure: "sync wall, s", Title: "wall time of that, most of it the server's, s", Format: "%.2f"},
	{Figure: "sync peak RSS, MiB", Title: "peak RSS until all objects are in the queue, MiB", Format: "%.0f", Limit: 0.40},
	{Figure: "retained heap, MiB", Title: "retained heap, MiB", Format: "%.1f", Limit: 0.60},
	{
		Figure: "masked retained heap, MiB", Peer: "retained heap, MiB", // controller-runtime has no masks
		Title: "retained heap with only metadata and status.conditions, MiB", Format: "%.1f", Limit: 0.20,
	},
	{Figure: "relist peak over steady RSS", Title: "peak RSS over steady RSS in a forced relist", Format: "%.2f",
		Limit: 0.49},
	{Figure: "relist CPU, s", Title: "client CPU of that relist, s", Format: "%.2f", Limit: 0.12},
	{Figure: "event to queue, ns", Title: "event to queue with 8 handlers, ns an event", Format: "%.0f", Limit: 0.25},
	{Figure: "event to queue CPU, ns", Title: "CPU of that, ns an event", Format: "%.0f"},
	{Figure: "list, µs", Title: "look at 10,000 cached objects, µs", Format: "%.0f", Limit: 0.02},
	{Figure: "growth behind a blocked handler, MiB", Title: "memory behind a blocked handler, 200,000 updates of 1,000 " +
		"keys, MiB", Format: "%.1f"},
}
