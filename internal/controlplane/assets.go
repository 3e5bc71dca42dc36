//go:build linux || darwin

package controlplane

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// assetsVariable names a folder with etcd and kube-apiserver binaries to use instead of building them.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Assets are the binaries of a control plane: either the multi-call binary that [Build] makes, or a folder of single
// ones.
type Assets struct {
	multiCall string
	folder    string
}

// givenAssets returns the assets that the environment names, if it does.
func givenAssets() (Assets, bool, error) {
	folder := os.Getenv(assetsVariable)
	if folder == "" {
		return Assets{}, false, nil
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return Assets{}, true, &diagnostic.Error{
				Message: assetsVariable + "=" + folder + " has no " + name,
				Hint:    "unset " + assetsVariable + " to use the control plane that kctrl builds",
				Cause:   err,
			}
		}
	}
	return Assets{folder: folder}, true, nil
}

func (a Assets) etcd(flags ...string) []string      { return a.command("etcd", flags) }
func (a Assets) apiServer(flags ...string) []string { return a.command("kube-apiserver", flags) }

func (a Assets) controllerManager(flags ...string) ([]string, error) {
	const name = "kube-controller-manager"
	if a.multiCall == "" {
		if _, err := os.Stat(filepath.Join(a.folder, name)); errors.Is(err, fs.ErrNotExist) {
			return nil, &diagnostic.Error{
				Message: assetsVariable + "=" + a.folder + " has no " + name,
				Hint:    "leave out --controller-manager, or unset " + assetsVariable,
			}
		}
	}
	return a.command(name, flags), nil
}

func (a Assets) command(name string, flags []string) []string {
	if a.multiCall != "" {
		return append([]string{a.multiCall, name}, flags...)
	}
	return append([]string{filepath.Join(a.folder, name)}, flags...)
}
