//go:build linux || darwin

package controlplane

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// KubernetesVersion is the version of the API server that Build compiles.
const KubernetesVersion = "v1.37.0"

// moduleFiles is the Go module of the binary. The files end in .txt so that it is no module of this repository.
//
//go:embed module
var moduleFiles embed.FS

// linkFlags tell the binary its version.
var linkFlags = fmt.Sprintf("-s -w -X k8s.io/component-base/version.gitVersion=%s -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=%s",
	KubernetesVersion, strings.Split(KubernetesVersion, ".")[1])

// writeModule writes the module into folder.
func writeModule(folder string) error {
	return eachModuleFile(func(name string, content []byte) error {
		return os.WriteFile(filepath.Join(folder, name), content, 0o600)
	})
}

// moduleHash names the binary by everything that decides its content.
func moduleHash(goVersion string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, goVersion, runtime.GOOS, runtime.GOARCH, linkFlags)
	err := eachModuleFile(func(name string, content []byte) error {
		fmt.Fprintln(h, name, len(content))
		_, err := h.Write(content)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

func eachModuleFile(do func(name string, content []byte) error) error {
	entries, err := fs.ReadDir(moduleFiles, "module")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := fs.ReadFile(moduleFiles, "module/"+entry.Name())
		if err != nil {
			return err
		}
		if err := do(strings.TrimSuffix(entry.Name(), ".txt"), content); err != nil {
			return err
		}
	}
	return nil
}
