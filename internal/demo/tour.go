package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

const (
	environment = "demo" // the name of the control plane that the tour starts
	sampleName  = "guestbook-sample"
	patience    = time.Minute // limit of the wait for each observation
)

// server is an API server for the tour.
type server struct {
	up   string // the flag that starts it
	what string // its description
}

var servers = map[string]server{
	"": {" --in-memory", "kctrl's own API server, in memory: make demo SERVER=real takes etcd and kube-apiserver, " +
		"and minutes to compile them once"},
	"real": {"", "etcd and kube-apiserver"},
}

// tour runs all steps in a new temporary directory, which it removes at the end.
func tour(ctx context.Context, out io.Writer, kctrl, on string) (err error) {
	if kctrl == "" {
		return fmt.Errorf("KCTRL is not set to the kctrl binary; run make demo")
	}
	server, ok := servers[on]
	if !ok {
		return fmt.Errorf("there is no SERVER=%s; unset it, or set SERVER=real", on)
	}
	dir, err := os.MkdirTemp("", "guestbook-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sh := newShell(out, dir, filepath.Dir(kctrl))
	defer func() {
		if err == nil {
			sh.summary()
		}
	}()
	fmt.Fprintf(out, "In the new, empty directory %s, and later on %s:\n", dir, server.what)
	started, err := sh.background(ctx, "kctrl env up"+server.up+" --name "+environment)
	if err != nil {
		return err
	}
	defer func() {
		if started() != nil { // err contains it, unless another step failed first
			return
		}
		if downErr := sh.run(context.WithoutCancel(ctx), "kctrl env down --name "+environment); err == nil {
			err = downErr
		}
	}()
	if err := scaffold(ctx, sh); err != nil {
		return err
	}
	if err := started(); err != nil {
		return err
	}
	return operate(ctx, sh)
}

// scaffold turns the empty directory into an operator that compiles.
func scaffold(ctx context.Context, sh *shell) error {
	for _, command := range []string{
		"kctrl init --domain example.com --repo example.com/guestbook",
		"kctrl create api --group webapp --version v1 --kind Guestbook --resource --controller",
		"make generate manifests",
		"go build ./...",
		"go build -o bin/manager ./cmd",
	} {
		if err := sh.run(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

// operate runs the operator on the control plane and observes its effect on the sample, from creation to deletion.
func operate(ctx context.Context, sh *shell) error {
	if err := sh.useKubeconfig(ctx); err != nil {
		return err
	}
	for _, command := range []string{
		"kctrl env apply --name " + environment + " -k config/crd",
		"kctrl env apply --name " + environment + " -k config/samples",
	} {
		if err := sh.run(ctx, command); err != nil {
			return err
		}
	}
	client, err := kubectl.Connect(sh.kubeconfig)
	if err != nil {
		return err
	}
	operator, err := sh.start(ctx, "bin/manager --health-probe-bind-address 127.0.0.1:0")
	if err != nil {
		return err
	}
	defer operator.stop()
	if err := follow(ctx, sh, observer{client, sh.out}); err != nil {
		return err
	}
	err = sh.step("operator saw the deletion", func() error { return operator.log.waitFor(ctx, "gone") })
	if err != nil {
		return err
	}
	return sh.step("operator stops on SIGTERM", operator.stop)
}

// follow observes the sample from creation to deletion.
func follow(ctx context.Context, sh *shell, o observer) error {
	if err := sh.step("sample is Ready", func() error { return o.waitReady(ctx, 1) }); err != nil {
		return err
	}
	const change = "sed 's/Hello/Good day/' config/samples/webapp_v1_guestbook.yaml"
	if err := sh.run(ctx, change+" | kctrl env apply --name "+environment+" -f -"); err != nil {
		return err
	}
	if err := sh.step("sample is Ready for the new spec", func() error { return o.waitReady(ctx, 2) }); err != nil {
		return err
	}
	for _, command := range []string{
		"kctrl env get --name " + environment + " guestbooks",
		"kctrl env delete --name " + environment + " -k config/samples",
	} {
		if err := sh.run(ctx, command); err != nil {
			return err
		}
	}
	return sh.step("sample is gone", func() error { return o.waitGone(ctx) })
}
