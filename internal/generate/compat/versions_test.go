package compat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate/oracle"
)

// versions are two versions of a group, of which the first is partly made of the second.
var versions = map[string]string{
	"fruit/v1/types.go": `// +groupName=fruit.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/operator/fruit/v1beta1"
)

// +kubebuilder:storageversion
type Apple struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
	Spec v1beta1.Shared ` + "`json:\"spec\"`" + `
}

// +kubebuilder:storageversion
type Banana struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
}
`,
	"fruit/v1beta1/types.go": `// +groupName=fruit.example.com
package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type Shared struct {
	Size int32 ` + "`json:\"size\"`" + `
}

type Apple struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
}

type Banana struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
}
`,
}

// TestVersionsOfPackagesThatPathsDoesNotName: controller-gen looks for the versions of a kind among the packages that were
// needed before it. Apple comes to v1beta1, and Banana after Apple.
func TestVersionsOfPackagesThatPathsDoesNotName(t *testing.T) {
	for _, line := range []string{
		"crd paths=./fruit/v1", "crd paths=./fruit/v1beta1", "crd paths=./fruit/...", "crd paths=example.com/operator/fruit/v1",
	} {
		theirs, ours := project(t), project(t)
		for name, content := range versions {
			oracle.Write(t, theirs, name, content)
			oracle.Write(t, ours, name, content)
		}
		if _, err := runPeer(t, theirs, strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		mustRun(t, ours, line)
		if diff := cmp.Diff(oracle.Files(t, theirs), oracle.Files(t, ours)); diff != "" {
			t.Errorf("%s: files differ (-controller-gen +kctrl):\n%s", line, diff)
		}
		if _, err := os.Stat(filepath.Join(ours, "config/crd/fruit.example.com_bananas.yaml")); err != nil {
			t.Error(err)
		}
	}
}
