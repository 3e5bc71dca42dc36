package main

import "github.com/kctrl-dev/kctrl/bench/internal/table"

// The names of the figures. Rates of reconciles are per second of CPU time.
const (
	idle          = "idle RSS, MiB"
	steady        = "steady RSS, MiB"
	peak          = "peak RSS, MiB"
	syncCPU       = "sync CPU, s"
	driven        = "driven reconciles"
	viewed        = "driven reconciles by view"
	touched       = "touched reconciles"
	statusP50     = "status p50, ms"
	statusP99     = "status p99, ms"
	reactionP50   = "reaction p50, ms"
	reactionP99   = "reaction p99, ms"
	changeCPU     = "change CPU, ms"
	perCPU        = " a CPU second"
	ofTheOperator = " of the whole operator"
)

var rows = []table.Row{
	{Figure: driven, Title: "no-op reconciles" + perCPU, Format: "%.0f", Limit: 3, AtLeast: true},
	{Figure: viewed, Peer: driven, Title: "the same with a read without a copy", Format: "%.0f"},
	{Figure: touched, Title: "no-op reconciles" + perCPU + ", of objects that are touched on the API server",
		Format: "%.0f"},
	{Figure: idle, Title: "idle RSS" + ofTheOperator + ", MiB", Format: "%.1f", Limit: 0.4},
	{Figure: steady, Title: "RSS" + ofTheOperator + " with all objects reconciled, MiB", Format: "%.1f", Limit: 0.4},
	{Figure: peak, Title: "peak RSS until then, MiB", Format: "%.1f"},
	{Figure: syncCPU, Title: "CPU until then, s", Format: "%.2f"},
	{Figure: statusP50, Title: "spec change to status under load, p50, ms", Format: "%.2f", Limit: 0.8},
	{Figure: statusP99, Title: "spec change to status under load, p99, ms", Format: "%.2f", Limit: 0.8},
	{Figure: reactionP50, Title: "the same from the watch event of the change, p50, ms", Format: "%.2f"},
	{Figure: reactionP99, Title: "the same from the watch event of the change, p99, ms", Format: "%.2f"},
	{Figure: changeCPU, Title: "CPU of the operator for each of these changes, ms", Format: "%.3f"},
}
