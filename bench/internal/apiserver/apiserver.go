// Package apiserver starts API servers for the measurements.
package apiserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Server is an API server and its etcd, each in its own process. Stop ends them.
type Server struct {
	Kubeconfig string
	Stop       func() error
	PIDs       []int
	kctrl      string
}

// Start starts a server with the kctrl command at a path. The data are in dataDir; if it is empty, Stop deletes them.
func Start(kctrl, dataDir string) (*Server, error) {
	kctrl, err := filepath.Abs(kctrl)
	if err != nil {
		return nil, err
	}
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
	stop := func() error {
		stdin.Close()
		return cmd.Wait()
	}
	var ready struct {
		Kubeconfig string
		Processes  []struct{ PID int }
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		_ = stop()
		return nil, fmt.Errorf("start an API server: %w", err)
	}
	server := &Server{Kubeconfig: ready.Kubeconfig, Stop: stop, kctrl: kctrl}
	for _, one := range ready.Processes {
		server.PIDs = append(server.PIDs, one.PID)
	}
	return server, nil
}

// Config returns the client configuration of the server, without a rate limit.
func (s *Server) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// ApplyCRD applies a CustomResourceDefinition and waits until the server serves its kind.
func (s *Server) ApplyCRD(ctx context.Context, crd string) error {
	path := filepath.Join(filepath.Dir(s.Kubeconfig), "crd.yaml")
	if err := os.WriteFile(path, []byte(crd), 0o600); err != nil {
		return err
	}
	apply := exec.CommandContext(ctx, s.kctrl, "env", "apply", "--kubeconfig", s.Kubeconfig, "-f", path)
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("apply the CRD: %w\n%s", err, out)
	}
	return nil
}
