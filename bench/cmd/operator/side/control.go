package side

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strings"
	"sync/atomic"

	"github.com/kctrl-dev/kctrl/bench/internal/process"
	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

// Sample has the number of reconciles and the CPU time of an operator since its start.
type Sample struct {
	Reconciles int64
	CPU        float64 // seconds
}

// Control runs commands, one per line, and answers each with a Sample as a line of JSON:
//
//	sample                          returns at once
//	drive <reconciles> <objects>    sends events of the first objects and returns after a number of reconciles
//	profile <path>                  starts a CPU profile; without a path, ends it
//	heap <path>                     writes a heap profile
type Control struct {
	reconciles atomic.Int64
	left       atomic.Int64  // reconciles until drained receives a value; unused if negative
	drained    chan struct{} // has capacity 1
	profile    *os.File      // nil unless a CPU profile is being written
}

// NewControl returns a Control of this process.
func NewControl() *Control { return &Control{drained: make(chan struct{}, 1)} }

// Reconciled counts a reconcile that has ended.
func (c *Control) Reconciled() {
	c.reconciles.Add(1)
	if c.left.Add(-1) == 0 {
		c.drained <- struct{}{}
	}
}

// ErrEnd is the error of Run after the last command.
var ErrEnd = errors.New("end of the commands")

// Run runs commands until the input ends. To trigger a reconcile, it calls send with an object of which only the
// namespace and the name matter.
func (c *Control) Run(ctx context.Context, commands io.Reader, answers io.Writer, send func(*v1.Widget)) error {
	scanner, encoder := bufio.NewScanner(commands), json.NewEncoder(answers)
	for scanner.Scan() {
		if err := c.obey(ctx, scanner.Text(), send); err != nil {
			return fmt.Errorf("%s: %w", scanner.Text(), err)
		}
		if err := encoder.Encode(Sample{Reconciles: c.reconciles.Load(), CPU: process.CPU().Seconds()}); err != nil {
			return err
		}
	}
	return errors.Join(scanner.Err(), ErrEnd)
}

func (c *Control) obey(ctx context.Context, command string, send func(*v1.Widget)) error {
	verb, argument, _ := strings.Cut(command, " ")
	switch verb {
	case "sample":
		return nil
	case "drive":
		var reconciles, objects int
		if _, err := fmt.Sscan(argument, &reconciles, &objects); err != nil {
			return err
		}
		return c.drive(ctx, reconciles, objects, send)
	case "profile":
		return c.profileTo(argument)
	case "heap":
		file, err := os.Create(argument)
		if err != nil {
			return err
		}
		return errors.Join(pprof.Lookup("heap").WriteTo(file, 0), file.Close())
	}
	return errors.New("unknown command")
}

// batch is the number of events that are sent before all their reconciles must end.
const batch = 1000

// drive sends events of the objects in turn. A batch contains an object twice only if there are too few objects.
func (c *Control) drive(ctx context.Context, reconciles, objects int, send func(*v1.Widget)) error {
	all := make([]*v1.Widget, objects)
	for i := range all {
		all[i] = &v1.Widget{}
		all[i].Namespace, all[i].Name = widgets.KeyOf(i)
	}
	for sent := 0; sent < reconciles; {
		n := min(batch, objects, reconciles-sent)
		c.left.Store(int64(n))
		for range n {
			send(all[sent%objects])
			sent++
		}
		select {
		case <-c.drained:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// profileTo starts a CPU profile, or ends it if the path is empty.
func (c *Control) profileTo(path string) (err error) {
	if path == "" {
		pprof.StopCPUProfile()
		return c.profile.Close()
	}
	if c.profile, err = os.Create(path); err != nil {
		return err
	}
	return pprof.StartCPUProfile(c.profile)
}
