package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/bench/cmd/runtime/figure"
)

//go:embed api/v1/bench.example.com_widgets.yaml
var crd string

// controlPlane is an API server that has the objects, in processes of its own.
type controlPlane struct {
	kubeconfig string
	stop       func() error
}

// startControlPlane starts one by the kctrl command and creates count objects. Its data are in dataDir, or thrown away
// when that is empty.
func startControlPlane(ctx context.Context, kctrl, dataDir string, count int) (*controlPlane, error) {
	args := []string{"env", "up", "--foreground", "-o", "json"}
	if dataDir != "" {
		args = append(args, "--data-dir", dataDir)
	}
	cmd := exec.Command(kctrl, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &controlPlane{stop: func() error {
		stdin.Close()
		return cmd.Wait()
	}}
	var ready struct{ Kubeconfig string }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	c.kubeconfig = ready.Kubeconfig
	if err == nil {
		err = c.fill(ctx, kctrl, count)
	}
	if err != nil {
		_ = c.stop()
		return nil, err
	}
	return c, nil
}

func (c *controlPlane) fill(ctx context.Context, kctrl string, count int) error {
	path := filepath.Join(filepath.Dir(c.kubeconfig), "crd.yaml")
	if err := os.WriteFile(path, []byte(crd), 0o600); err != nil {
		return err
	}
	apply := exec.CommandContext(ctx, kctrl, "env", "apply", "--kubeconfig", c.kubeconfig, "-f", path)
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	fmt.Fprintf(os.Stderr, "creating %d objects\n", count)
	return figure.Populate(ctx, config, count)
}
