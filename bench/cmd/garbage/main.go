// Command garbage measures the memory that the garbage collectors of kctrl and of kube-controller-manager use per
// object. It compares the memory of the collecting process for many objects and for few. Both run in turn on one API
// server with the same objects, as `kctrl env up` starts them. It prints a Markdown table. `make bench-collector` runs
// it from bench/.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/bench/internal/process"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	environment = "bench-garbage"
	perOwner    = 100              // dependents of each owner
	quiet       = 45 * time.Second // memory is stable after this time without a decrease
)

// collector has the flags of kctrl env up that start a garbage collector, and the name of its process.
type collector struct {
	title, process string
	flags          []string
}

var (
	ours   = collector{"kctrl", "garbage-collector", []string{"--garbage-collector"}}
	theirs = collector{"kube-controller-manager", "kube-controller-manager",
		[]string{"--controller-manager", "--controllers=garbage-collector-controller"}}
)

type bench struct {
	kctrl, data string
	objects     int
}

func main() {
	var b bench
	flag.StringVar(&b.kctrl, "kctrl", "../bin/kctrl", "path of kctrl")
	flag.IntVar(&b.objects, "objects", 100_000, "number of objects")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "garbage:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.kctrl, err = filepath.Abs(b.kctrl); err != nil {
		return err
	}
	if b.data, err = os.MkdirTemp("", "kctrl-bench-garbage-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.data)) }()
	few := map[string]float64{}
	many := map[string]float64{}
	for _, c := range []collector{ours, theirs} {
		if few[c.title], err = b.measure(ctx, c); err != nil {
			return err
		}
	}
	if err := b.with(ctx, collector{}, func(live *client.REST, _ int) error { return b.load(ctx, live) }); err != nil {
		return err
	}
	for _, c := range []collector{ours, theirs} {
		if many[c.title], err = b.measure(ctx, c); err != nil {
			return err
		}
	}
	each := func(c collector) float64 { return (many[c.title] - few[c.title]) * (1 << 20) / float64(b.objects) }
	fmt.Printf("| figure | %s | %s | ratio | limit |\n|---|---|---|---|---|\n", ours.title, theirs.title)
	fmt.Printf("| memory with few objects | %.1f MB | %.1f MB | %.3f | |\n", few[ours.title], few[theirs.title],
		few[ours.title]/few[theirs.title])
	fmt.Printf("| memory with %d objects | %.1f MB | %.1f MB | %.3f | |\n", b.objects, many[ours.title],
		many[theirs.title], many[ours.title]/many[theirs.title])
	fmt.Printf("| memory for each object | %.0f B | %.0f B | %.3f | 0.40 |\n", each(ours), each(theirs),
		each(ours)/each(theirs))
	return nil
}

// measure returns the memory of a collector's process in MiB, after it has collected and returned unused memory.
func (b *bench) measure(ctx context.Context, c collector) (least float64, err error) {
	err = b.with(ctx, c, func(live *client.REST, pid int) error {
		if err := mark(ctx, live); err != nil {
			return err
		}
		least, err = process.Memory(pid, process.Resident)
		for since := time.Now(); err == nil && time.Since(since) < quiet; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
			}
			var now float64
			if now, err = process.Memory(pid, process.Resident); now < least*0.99 {
				since = time.Now()
			}
			least = min(least, now)
		}
		return err
	})
	fmt.Fprintf(os.Stderr, "%s: %.1f MB\n", c.title, least)
	return least, err
}

// with starts the API server with the stored data and collector c, and calls do.
func (b *bench) with(ctx context.Context, c collector, do func(live *client.REST, pid int) error) (err error) {
	up := exec.CommandContext(ctx, b.kctrl, append([]string{"env", "up", "--name", environment, "--data-dir", b.data, "-o",
		"json"}, c.flags...)...)
	up.Stderr = os.Stderr
	out, err := up.Output()
	if err != nil {
		return fmt.Errorf("start an API server: %w", err)
	}
	defer func() { err = errors.Join(err, exec.Command(b.kctrl, "env", "down", "--name", environment).Run()) }()
	var env struct {
		Kubeconfig string
		Processes  []struct {
			Name string
			PID  int
		}
	}
	if err := json.Unmarshal(out, &env); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", env.Kubeconfig)
	if err != nil {
		return err
	}
	live, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return err
	}
	for _, p := range env.Processes {
		if p.Name == c.process {
			return do(live, p.PID)
		}
	}
	return do(live, 0)
}

// mark creates an object whose owner does not exist, and returns after the object has been collected.
func mark(ctx context.Context, live *client.REST) error {
	marker := configMap(fmt.Sprintf("mark-%d", time.Now().UnixNano()), "absent", "absent")
	if err := live.Create(ctx, marker); err != nil {
		return err
	}
	for {
		err := live.Get(ctx, object.KeyOf(marker), marker)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func configMap(name, owner string, uid types.UID) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("v1")
	o.SetKind("ConfigMap")
	o.SetNamespace("default")
	o.SetName(name)
	o.SetLabels(map[string]string{"app.kubernetes.io/name": owner, "app.kubernetes.io/managed-by": "bench",
		"pod-template-hash": "7d9f8c6b5"})
	o.SetAnnotations(map[string]string{"example.com/revision": "17",
		"example.com/checksum": "4bf92f3577b34da6a3ce929d0e0e4736"})
	if uid != "" {
		yes := true
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner, UID: uid,
			Controller: &yes, BlockOwnerDeletion: &yes}})
	}
	return o
}

// load creates the owners, each with its dependents.
func (b *bench) load(ctx context.Context, live *client.REST) error {
	const workers = 16
	errs := make([]error, workers)
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			for n := w; n*perOwner < b.objects && errs[w] == nil; n += workers {
				errs[w] = family(ctx, live, fmt.Sprintf("web-%05d", n))
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

func family(ctx context.Context, live *client.REST, name string) error {
	owner := configMap(name, name, "")
	if err := live.Create(ctx, owner); err != nil {
		return err
	}
	for i := range perOwner - 1 {
		if err := live.Create(ctx, configMap(fmt.Sprintf("%s-7d9f8c6b5-%05d", name, i), name, owner.GetUID())); err != nil {
			return err
		}
	}
	return nil
}
