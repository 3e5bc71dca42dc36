// Package logic contains the code that the measured programs share: the logic of the webhooks, and the server loop.
package logic

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/kctrl-dev/kctrl/bench/internal/process"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	v2 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v2"
)

// The paths of the webhooks.
const (
	Mutate   = "/mutate-bench-example-com-v1-widget"
	Validate = "/validate-bench-example-com-v1-widget"
	Convert  = "/convert"
)

// Default sets typical defaults: a number, a label, and a field of each list element.
func Default(_ context.Context, w *v1.Widget) error {
	if w.Spec.Replicas == 0 {
		w.Spec.Replicas = 3
	}
	if w.Labels["tier"] == "" {
		if w.Labels == nil {
			w.Labels = map[string]string{}
		}
		w.Labels["tier"] = "backend"
	}
	for i := range w.Spec.Containers {
		if c := &w.Spec.Containers[i]; len(c.Args) == 0 {
			c.Args = []string{"--serve"}
		}
	}
	return nil
}

// Check makes typical checks.
func Check(_ context.Context, w *v1.Widget) error {
	if w.Spec.Replicas < 0 || len(w.Spec.Containers) == 0 {
		return errors.New("spec: want containers and no negative replicas")
	}
	seen := map[int32]bool{}
	for _, p := range w.Spec.Ports {
		if seen[p.Number] {
			return fmt.Errorf("spec.ports: duplicate %d", p.Number)
		}
		seen[p.Number] = true
	}
	return nil
}

// FromHub converts v2 to v1.
func FromHub(_ context.Context, hub *v2.Widget, spoke *v1.Widget) error {
	spoke.ObjectMeta = hub.ObjectMeta
	spoke.Spec = v1.WidgetSpec{Replicas: hub.Spec.Scale.Replicas, Containers: hub.Spec.Runs, Ports: hub.Spec.Listens}
	spoke.Status = hub.Status
	return nil
}

// ToHub converts v1 to v2.
func ToHub(_ context.Context, spoke *v1.Widget, hub *v2.Widget) error {
	hub.ObjectMeta = spoke.ObjectMeta
	hub.Spec = v2.WidgetSpec{Scale: v2.Scale{Replicas: spoke.Spec.Replicas}, Runs: spoke.Spec.Containers,
		Listens: spoke.Spec.Ports}
	hub.Status = spoke.Status
	return nil
}

// Serve runs a server with the port and the certificates from the command line until standard input ends. After each
// input line, it prints the CPU time of the process.
func Serve(run func(ctx context.Context, port int, dir string) error) {
	port := flag.Int("port", 0, "port on loopback")
	dir := flag.String("certificates", "", "directory with tls.crt and tls.key")
	flag.Parse()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Println(process.CPU().Nanoseconds())
		}
		cancel()
	}()
	if err := run(ctx, *port, *dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
