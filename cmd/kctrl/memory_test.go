//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// manyTypes is the number of types in the large package. Every tenth type is a kind.
const manyTypes = 5000

// memoryLimit is the maximum memory in bytes that generating for a large package may use.
const memoryLimit = 400 << 20

func TestManyTypesTakeBoundedMemory(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kctrl := filepath.Join(t.TempDir(), "kctrl")
	if err := os.Symlink(program, kctrl); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	oracle.Module(t, dir, "example.com/large")
	oracle.Write(t, dir, "api/v1/types.go", largePackage())
	command := exec.CommandContext(t.Context(), kctrl, "gen", "object", "crd", "paths=./...")
	command.Dir, command.Env = dir,
		append(os.Environ(), append(goEnvironment(t), "XDG_CACHE_HOME="+t.TempDir(), "GOWORK=off")...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	crds, err := filepath.Glob(filepath.Join(dir, "config", "crd", "*.yaml"))
	if err != nil || len(crds) != manyTypes/10 {
		t.Errorf("%d CRDs, want %d, %v", len(crds), manyTypes/10, err)
	}
	usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("the system does not say what a process took")
	}
	if taken := usage.Maxrss << 10; taken > memoryLimit {
		t.Errorf("took %d MiB, want at most %d", taken>>20, memoryLimit>>20)
	} else {
		t.Logf("took %d MiB", taken>>20)
	}
}

// largePackage returns the source of an API package with kinds that each have a spec and eight further types.
func largePackage() string {
	var source strings.Builder
	source.WriteString("// +groupName=large.example.com\n// +kubebuilder:object:generate=true\npackage v1\n\nimport " +
		"metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n")
	for kind := range manyTypes / 10 {
		fmt.Fprintf(&source,
			"\n// +kubebuilder:object:root=true\ntype Kind%d struct {\n\tmetav1.TypeMeta "+
				"`json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n\tSpec Kind%dSpec "+
				"`json:\"spec\"`\n}\n", kind, kind)
		fmt.Fprintf(&source, "\ntype Kind%dSpec struct {\n", kind)
		for part := range 8 {
			fmt.Fprintf(&source, "\tPart%d *Kind%dPart%d `json:\"part%d,omitempty\"`\n", part, kind, part, part)
		}
		source.WriteString("}\n")
		for part := range 8 {
			fmt.Fprintf(&source,
				"\n// Kind%dPart%d is a part.\ntype Kind%dPart%d struct {\n\t// +kubebuilder:validation:MinLength=1\n\tName "+
					"string `json:\"name\"`\n\tLabels map[string]string `json:\"labels,omitempty\"`\n\tItems []metav1.Condition "+
					"`json:\"items,omitempty\"`\n}\n", kind, part, kind, part)
		}
	}
	return source.String()
}
