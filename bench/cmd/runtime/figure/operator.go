package figure

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/bench/internal/process"
	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

// Operator is a running manager with one controller, whose reconciler gets its object and calls a function.
type Operator struct {
	Get func(namespace, name string) error
	// List returns the number of objects in a namespace, or in all namespaces if it is empty. If name is set, it selects
	// by label.
	List func(namespace, name string) (int, error)
	// Index indexes the objects by [IndexField]. It is called only after the measurements without an index.
	Index func() error
	// Indexed returns the number of objects whose [IndexField] has a value.
	Indexed func(value string) (int, error)
	// Event sends an external event about an object.
	Event func(*v1.Widget)
}

// nameLabel is a label whose value is unique to each object.
const nameLabel = "app.kubernetes.io/name"

// NameLabel returns the labels that select the object of a name.
func NameLabel(name string) map[string]string { return map[string]string{nameLabel: name} }

// IndexField is the field that both sides index.
const IndexField = "group"

// indexed is the number of objects with the same index value.
const indexed = 100

// IndexValue returns the index value of an object: its name without the last two digits.
func IndexValue(o *v1.Widget) string { return o.Name[:max(0, len(o.Name)-2)] }

// measureOperator measures an operator that first reconciles each object once, then reads, and then reconciles objects
// that have not changed.
func measureOperator(ctx context.Context, side Side, count int, form Form) (Figures, error) {
	config, err := config()
	if err != nil {
		return nil, err
	}
	var reconciled atomic.Int64
	operator, err := side.Operator(ctx, config, form, func() { reconciled.Add(1) })
	if err != nil {
		return nil, err
	}
	await := func(want int) {
		for reconciled.Load() < int64(want) {
			time.Sleep(time.Millisecond)
		}
	}
	await(count)
	figures := Figures{"operator CPU, s": process.CPU().Seconds()}
	if figures["operator peak RSS, MiB"], err = process.Memory(0, process.Peak); err != nil {
		return nil, err
	}
	settle()
	figures["operator heap, MiB"] = retained()
	debug.FreeOSMemory()
	if figures["operator RSS, MiB"], err = process.Memory(0, process.Resident); err != nil {
		return nil, err
	}
	if err := measureReads(operator, count, figures); err != nil {
		return nil, err
	}
	const rounds = 4
	before := process.CPU()
	for round := range rounds {
		for i := range count {
			namespace, name := widgets.KeyOf(i)
			w := &v1.Widget{}
			w.Namespace, w.Name = namespace, name
			operator.Event(w)
		}
		await((round + 2) * count)
	}
	figures["reconciles in a CPU second"] = float64(rounds*count) / (process.CPU() - before).Seconds()
	return figures, nil
}

// measureReads measures the CPU time of each kind of read.
func measureReads(o *Operator, count int, figures Figures) error {
	list := func(want int, in, name func(i int) string) func(i int) error {
		return func(i int) error {
			got, err := o.List(in(i), name(i))
			if err == nil && got != want {
				err = fmt.Errorf("listed %d objects, want %d", got, want)
			}
			return err
		}
	}
	byIndex := func(i int) error {
		_, name := widgets.KeyOf(i)
		got, err := o.Indexed(IndexValue(&v1.Widget{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		if err == nil && got != indexed {
			err = fmt.Errorf("listed %d objects by an index, want %d", got, indexed)
		}
		return err
	}
	namespace := func(i int) string { in, _ := widgets.KeyOf(i); return in }
	name := func(i int) string { _, name := widgets.KeyOf(i); return name }
	none := func(int) string { return "" }
	if err := o.Index(); err != nil {
		return err
	}
	for _, read := range []struct {
		figure string
		times  int
		once   func(i int) error
	}{
		{"get, µs", 200_000, func(i int) error { return o.Get(namespace(i%count), name(i%count)) }},
		{"list of a namespace, µs", 100, list(count/20, namespace, none)},
		{"list by label in a namespace, µs", 400, list(1, namespace, name)},
		{"list by label, µs", 40, list(1, none, name)},
		{"list by index, µs", 400, byIndex},
	} {
		if err := read.once(0); err != nil { // the first read may build an index
			return fmt.Errorf("%s: %w", read.figure, err)
		}
		before := process.CPU()
		for i := range read.times {
			if err := read.once(i % count); err != nil {
				return fmt.Errorf("%s: %w", read.figure, err)
			}
		}
		figures[read.figure] = float64((process.CPU() - before).Microseconds()) / float64(read.times)
	}
	return nil
}

// Fail ends the process with an error of its manager.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, "manager:", err)
	os.Exit(1)
}

// OperatorOf starts an operator on one of the runtimes.
type OperatorOf func(ctx context.Context, config *rest.Config, form Form, reconciled func()) (*Operator, error)
