package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kctrl-dev/kctrl/bench/internal/process"
	"github.com/kctrl-dev/kctrl/bench/internal/program"
)

const settle = 10 * time.Second // idle time before the memory is read

// measureIdle reads the resident memory of each operator after it has been ready and idle for a while. Each operator
// runs alone on one control plane, with the CRD and the sample applied.
func measureIdle(ctx context.Context, kctrl, project, work string, operators []*operator) error {
	const name = "footprint"
	env := func(args ...string) error {
		_, err := command(ctx, project, nil, kctrl, append([]string{"env"}, args...)...)
		return err
	}
	if err := env("up", "--name", name); err != nil {
		return err
	}
	defer env("down", "--name", name)
	for _, dir := range []string{"config/crd", "config/samples"} {
		if err := env("apply", "--name", name, "-k", dir); err != nil {
			return err
		}
	}
	kubeconfig, err := command(ctx, project, nil, kctrl, "env", "kubeconfig", "--path", "--name", name)
	if err != nil {
		return err
	}
	for _, o := range operators {
		if err := o.measureIdle(ctx, work, strings.TrimSpace(kubeconfig)); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return nil
}

func (o *operator) measureIdle(ctx context.Context, work, kubeconfig string) error {
	const probe = "127.0.0.1:18081"
	cmd := exec.CommandContext(ctx, o.binaryPath(work), "--health-probe-bind-address="+probe)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	log, err := os.Create(filepath.Join(work, o.name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	if err := program.AwaitReady(ctx, "http://"+probe+"/readyz", time.Minute); err != nil {
		return fmt.Errorf("%w; its log is in %s", err, log.Name())
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settle):
	}
	o.figures["idle"], err = process.Memory(cmd.Process.Pid, process.Resident)
	return err
}
