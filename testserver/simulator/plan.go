package simulator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Plan describes one simulation by its faults, and by the seed that determines the order of operations. The zero value
// has no fault.
type Plan struct {
	// Seed determines the order of operations, names and UIDs.
	Seed uint64 `json:"seed"`
	// Replicas is the number of processes; 0 means 1. Several processes elect a leader.
	Replicas int `json:"replicas,omitempty"`
	// Faults are injected when the run reaches their places.
	Faults []Fault `json:"faults,omitempty"`
	// Create defines how the user creates the samples: at once, [Slow] or [Reverse].
	Create Kind `json:"create,omitempty"`
	// Resync makes the caches deliver all objects again while the operator is at rest.
	Resync bool `json:"resync,omitempty"`
	// Then is the user's action when the operator is at rest: none, [Delete], [Recreate], [Change], [Rollback] or
	// [Terminate].
	Then Kind `json:"then,omitempty"`
	// Change is the change of a sample for [Change] and [Rollback]. In a plan without these two, the user creates the
	// sample with the change.
	Change *Edit `json:"change,omitempty"`
}

// deletes reports whether the user's objects are gone at the end.
func (p Plan) deletes() bool { return p.Then == Delete || p.Then == Terminate || p.has(Delete) }

// recreates reports whether the user creates objects again.
func (p Plan) recreates() bool { return p.Then == Recreate || p.has(Recreate) }

// changes reports whether the user changes an existing sample.
func (p Plan) changes() bool { return p.Then == Change || p.has(Change) }

func (p Plan) has(kind Kind) bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind == kind })
}

// Steps returns the faults of the plan and the actions of its user, each in a few words.
func (p Plan) Steps() []string {
	var steps []string
	for _, f := range p.Faults {
		steps = append(steps, f.String())
	}
	if p.Change != nil {
		steps = append(steps, "the user changes "+p.Change.String())
	}
	for _, kind := range p.actions() {
		what, _, _ := strings.Cut(kinds[kind].does, " before this write")
		steps = append(steps, what)
	}
	if p.Resync {
		steps = append(steps, resyncs)
	}
	return steps
}

// actions returns the kinds of the user's actions.
func (p Plan) actions() []Kind {
	return slices.DeleteFunc([]Kind{p.Create, p.Then}, func(kind Kind) bool { return kind == "" })
}

// describe returns the plan in one line.
func (p Plan) describe() string { return cmp.Or(strings.Join(p.Steps(), "; "), "no fault") }

// resyncs describes the effect of Resync.
const resyncs = "the caches deliver all objects again"

// Fault is one fault and its place.
type Fault struct {
	// Kind is the kind of fault.
	Kind Kind `json:"fault"`
	// At is the target of a call, such as "create apps/deployments default/web", or of an event, such as
	// "event apps/deployments MODIFIED default/web".
	At string `json:"at"`
	// Number counts calls or events with this target, from 1.
	Number int `json:"number"`
	// For is the length of a delay.
	For metav1.Duration `json:"for,omitzero"`
}

func (f Fault) String() string {
	text := fmt.Sprintf("%s: %s", kinds[f.Kind].does, f.At)
	if f.Number > 1 {
		text += fmt.Sprintf(" (number %d)", f.Number)
	}
	if f.For.Duration > 0 {
		text += fmt.Sprintf(", for %s", f.For.Duration)
	}
	return text
}

type Kind string

// The kinds of faults.
const (
	CrashBefore  Kind = "crash-before"
	CrashAfter   Kind = "crash-after"
	LoseResponse Kind = "lose-response"
	Conflict     Kind = "conflict"
	TooMany      Kind = "too-many-requests"
	ServerError  Kind = "server-error"
	Timeout      Kind = "timeout"
	Lag          Kind = "lag"
	Cut          Kind = "cut"
	Hide         Kind = "hide"
	Delete       Kind = "delete"
	Recreate     Kind = "recreate"
	Change       Kind = "change"
	Rollback     Kind = "rollback"
	Slow         Kind = "slow"
	Reverse      Kind = "reverse"
	Rewind       Kind = "rewind"
	LoseLease    Kind = "lose-lease"
	Stall        Kind = "stall"
	Reject       Kind = "reject"
	Jump         Kind = "jump"
	WebhookDown  Kind = "webhook-down"
	Terminate    Kind = "terminate"
)

// where is the kind of place at which a fault can happen.
type where int

const (
	atWrite  where = iota // any write of the operator
	atUpdate              // a write that the server can reject with a conflict
	atEvent               // an event of a watch
	atUser                // a write, before which the user acts on a sample
	atPast                // an event of a sample that the user changes or recreates
	atChild               // a write to an object that is not a sample
	inPlan                // a field of the plan, not a fault
)

// kindInfo has the properties of a kind of fault.
type kindInfo struct {
	does  string // description of the effect, for stories
	where where
	group string // value of --only that selects the kind
	delay time.Duration
}

// kinds has a row for each kind of fault. To add a kind, add a row here and implement its effect in process.go.
var kinds = map[Kind]kindInfo{
	CrashBefore:  {"the process crashes before it", atWrite, "crash", 0},
	CrashAfter:   {"the process crashes after the server commits it", atWrite, "crash", 0},
	LoseResponse: {"the server commits it, and the answer is lost", atWrite, "lost", 0},
	Conflict:     {"the server answers 409 Conflict", atUpdate, "conflict", 0},
	TooMany:      {"the server answers 429 Too Many Requests", atWrite, "error", 0},
	ServerError:  {"the server answers 500 Internal Server Error", atWrite, "error", 0},
	Timeout:      {"the server answers 504 Gateway Timeout without a commit", atWrite, "error", 0},
	Lag:          {"the event arrives late", atEvent, "stale", 20 * time.Second},
	Cut:          {"the watch ends before the event", atEvent, "watch", 0},
	Hide: {
		"the watch ends before the event, and the next list merges it with later ones",
		atEvent, "watch", 5 * time.Second,
	},
	Delete:   {"the user deletes the object before this write", atUser, "user", 0},
	Recreate: {"the user deletes the object and creates it again before this write", atUser, "user", 0},
	Change:   {"the user changes a field of the spec before this write", atUser, "change", 0},
	Rollback: {"the user changes a field of the spec, and changes it back", inPlan, "change", 0},
	Slow:     {"the user creates the samples one by one, when the operator is at rest", inPlan, "user", 0},
	Reverse:  {"the user creates the samples one by one, the last one first", inPlan, "user", 0},
	Rewind: {
		"the operator restarts at rest, and its first list is as old as this event",
		atPast, "stale", 20 * time.Second,
	},
	LoseLease: {
		"another replica leads from here on, and the write reaches the server after that",
		atWrite, "leader", 35 * time.Second,
	},
	Stall:  {"the network of the process stands still before it", atWrite, "stall", 10 * time.Minute},
	Reject: {"the server rejects it and all later ones like it", atChild, "reject", 0},
	Jump: {
		"the clock of the process jumps before it, and requests and events wait meanwhile",
		atWrite, "clock", 2 * time.Hour,
	},
	WebhookDown: {"the webhooks of the operator fail from here on for a while", atWrite, "webhook", 15 * time.Second},
	Terminate:   {"the user deletes the namespace of the samples", inPlan, "user", 0},
}

// ParsePlan reads a plan file.
func ParsePlan(data []byte) (Plan, error) {
	var p Plan
	if err := yaml.UnmarshalStrict(data, &p); err != nil {
		return Plan{}, err
	}
	for i, f := range p.Faults {
		if _, known := kinds[f.Kind]; !known {
			return Plan{}, fmt.Errorf("fault %d: unknown kind %q", i+1, f.Kind)
		}
		if kinds[f.Kind].where == inPlan {
			return Plan{}, fmt.Errorf("fault %d: %s is a value of create or then, not a fault", i+1, f.Kind)
		}
		if f.At == "" || f.Number < 1 {
			return Plan{}, fmt.Errorf("fault %d (%s): at and number are required", i+1, f.Kind)
		}
	}
	return p, nil
}

// Bytes returns the content of a plan file, which [ParsePlan] reads.
func (p Plan) Bytes() []byte {
	data, err := yaml.Marshal(p)
	if err != nil {
		panic(err) // YAML can represent all fields
	}
	return data
}
