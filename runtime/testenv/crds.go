package testenv

import (
	"context"
	"fmt"
	"os/exec"
)

// installCRDs applies CRDs by the kctrl command, which waits until they are served.
func installCRDs(ctx context.Context, command, kubeconfig string, paths []string) error {
	for _, path := range paths {
		cmd := exec.CommandContext(ctx, command, "env", "apply", "--kubeconfig", kubeconfig, "-f", path)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", path, explain(err), out)
		}
	}
	return nil
}
