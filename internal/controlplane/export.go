//go:build linux || darwin

package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Export writes the executables that envtest starts into dir, which it creates: etcd, kube-apiserver and, if kubectl is
// on PATH, a link to kubectl. They do not depend on other files, because dir also contains a copy of the compiled
// control plane. Export replaces the executables of an earlier call.
func (a Assets) Export(dir string) error {
	if a.multiCall == "" {
		return diagnostic.New(assetsVariable+"="+a.dir+" names executables already",
			"unset "+assetsVariable+" to export the control plane that kctrl builds")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return diagnostic.AtFile(dir, "cannot write", err)
	}
	if err := copyExecutable(string(a.multiCall), filepath.Join(dir, "controlplane")); err != nil {
		return diagnostic.AtFile(dir, "cannot write", err)
	}
	for _, name := range []string{etcdName, apiServerName} {
		script := fmt.Sprintf("#!/bin/sh\nexec \"${0%%/*}/controlplane\" %s \"$@\"\n", name)
		if err := replaceExecutable(filepath.Join(dir, name), []byte(script)); err != nil {
			return diagnostic.AtFile(filepath.Join(dir, name), "cannot write", err)
		}
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return nil
	}
	if kubectl, err = filepath.Abs(kubectl); err != nil {
		return err
	}
	err = os.Symlink(kubectl, filepath.Join(dir, "kubectl"))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return diagnostic.AtFile(filepath.Join(dir, "kubectl"), "cannot write", err)
	}
	return nil
}

// copyExecutable hard-links a file to a second path, or copies it if the file system does not support that.
func copyExecutable(from, to string) error {
	temporary := to + ".tmp"
	if err := os.RemoveAll(temporary); err != nil {
		return err
	}
	if err := os.Link(from, temporary); err != nil {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(temporary, content, 0o755); err != nil {
			return errors.Join(err, os.RemoveAll(temporary))
		}
	}
	return os.Rename(temporary, to)
}

// replaceExecutable replaces a file atomically.
func replaceExecutable(path string, content []byte) error {
	if err := replaceFile(path, content); err != nil {
		return err
	}
	return os.Chmod(path, 0o755)
}
