//go:build linux || darwin

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Build returns the assets of a control plane, compiling them into the user's cache if they are not there: that takes
// minutes, and Progress is called. It is safe to call from several processes at once, of which one compiles. When it
// is interrupted nothing half-written is left where a later call would find it.
//
// When KUBEBUILDER_ASSETS is set, nothing is compiled and the binaries in that folder are used.
func Build(ctx context.Context, progress Progress) (Assets, error) {
	if assets, given, err := givenAssets(); given {
		return assets, err
	}
	goVersion, err := goVersion(ctx)
	if err != nil {
		return Assets{}, err
	}
	hash, err := moduleHash(goVersion)
	if err != nil {
		return Assets{}, err
	}
	cache, err := cacheFolder("controlplane")
	if err != nil {
		return Assets{}, err
	}
	binary := filepath.Join(cache, hash, "controlplane")
	if exists(binary) {
		return Assets{multiCall: binary}, nil
	}
	unlock, err := lockFile(ctx, filepath.Join(cache, hash+".lock"), func() {
		progress.Step("another kctrl is compiling the control plane; waiting for it")
	})
	if err != nil {
		return Assets{}, err
	}
	defer unlock()
	if exists(binary) {
		return Assets{multiCall: binary}, nil
	}
	return Assets{multiCall: binary}, compile(ctx, progress, cache, binary)
}

// compile builds in a temporary folder and moves the result into place.
func compile(ctx context.Context, progress Progress, cache, binary string) error {
	work, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return unwritable(cache, err)
	}
	defer os.RemoveAll(work)
	if err := writeModule(work); err != nil {
		return unwritable(cache, err)
	}
	progress.Step("compiling etcd and Kubernetes " + KubernetesVersion + " from their Go modules; this takes minutes, once")
	built := filepath.Join(work, "controlplane")
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-trimpath", "-ldflags="+linkFlags, "-o", built, ".")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly", "GOOS=", "GOARCH=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	packages := &packageCounter{progress: progress}
	cmd.Stderr = packages
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		progress.clear()
		return buildFailed(err, packages.tail.String())
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o700); err != nil {
		return unwritable(cache, err)
	}
	if err := os.Rename(built, binary); err != nil {
		return unwritable(cache, err)
	}
	progress.clear()
	progress.Step("control plane compiled")
	return nil
}

func buildFailed(err error, output string) error {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := lines[len(lines)-1]
	hint := "see the lines above; kctrl env build tries again"
	switch {
	case strings.Contains(output, "no space left"):
		hint = "free some disk space: the build needs about 3 GB in the Go caches"
	case strings.Contains(output, "dial tcp"), strings.Contains(output, "module lookup disabled"), strings.Contains(output, "proxy"):
		hint = "the first build downloads Go modules: check the network and go env GOPROXY"
	}
	return &diagnostic.Error{Message: fmt.Sprintf("compile the control plane: %v: %s", err, last), Hint: hint, Cause: err}
}

// goVersion asks the go command for its version, and so also whether there is one.
func goVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", &diagnostic.Error{
			Message: "no go command on PATH, which compiles the control plane",
			Hint:    "install Go 1.26 or newer, or set " + assetsVariable + " to a folder with etcd and kube-apiserver",
			Cause:   err,
		}
	}
	if err != nil {
		return "", fmt.Errorf("go env GOVERSION: %w", err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// cacheFolder returns a folder of kctrl in the user's cache, made if it does not exist.
func cacheFolder(name string) (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", &diagnostic.Error{Message: err.Error(), Hint: "set HOME or XDG_CACHE_HOME", Cause: err}
	}
	folder := filepath.Join(user, "kctrl", name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", unwritable(folder, err)
	}
	return folder, nil
}

func unwritable(folder string, err error) error {
	d := &diagnostic.Error{Message: "write to the cache: " + err.Error(), Hint: "make " + folder + " writable, or set XDG_CACHE_HOME", Cause: err}
	if errors.Is(err, syscall.ENOSPC) {
		d.Hint = "free some disk space"
	}
	return d
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
