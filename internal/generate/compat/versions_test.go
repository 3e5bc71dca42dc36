package compat_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// versions are two versions of a group. The first uses types of the second.
var versions = map[string]string{
	"fruit/v1/types.go": `// +groupName=fruit.example.com
package v1

import (
	"fmt"
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

// TestVersionsOfPackagesThatPathsDoesNotName follows controller-gen, which searches for the versions of a kind in the
// packages that it has loaded before.
func TestVersionsOfPackagesThatPathsDoesNotName(t *testing.T) {
	for _, line := range []string{
		"crd paths=./fruit/v1", "crd paths=./fruit/v1beta1", "crd paths=./fruit/...",
		"crd paths=example.com/operator/fruit/v1",
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

// TestTwoTypesAreOneVersionOfAKind checks two types of one kind, for which controller-gen writes two versions with the
// same name.
func TestTwoTypesAreOneVersionOfAKind(t *testing.T) {
	dir := project(t)
	const kind = "package v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n%stype Apple struct " +
		"{\n\tmetav1.TypeMeta `json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n}\n"
	const group = "// +groupName=fruit.example.com\n"
	oracle.Write(t, dir, "red/v1/types.go", group+fmt.Sprintf(kind, "// +kubebuilder:storageversion\n"))
	oracle.Write(t, dir, "green/v1/types.go", group+fmt.Sprintf(kind, ""))
	args := strings.Fields("crd paths=./red/...;./green/... output:stdout")
	if out, err := runPeer(t, dir, args); err != nil || strings.Count(out, "\n    name: v1\n")+strings.Count(out,
		"\n  - name: v1\n") != 2 {
		t.Errorf("controller-gen: %v\n%s", err, out)
	}
	_, err := run(t, dir, args, compat.Options{})
	if want := "red/v1/types.go:7:6: example.com/operator/green/v1.Apple and example.com/operator/red/v1.Apple are both " +
		"version v1 of Apple.fruit.example.com"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestRawMessagesAreAnyJSON checks types on which controller-gen fails, because it treats them as lists in one place
// and as strings in another.
func TestRawMessagesAreAnyJSON(t *testing.T) {
	dir := project(t)
	oracle.Write(t, dir, "raw/v1/types.go", `// +groupName=raw.example.com
package v1

import (
	"fmt"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type Own json.RawMessage

type Alias = json.RawMessage

type Raw struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	metav1.ObjectMeta `+"`json:\"metadata,omitempty\"`"+`
	One  json.RawMessage `+"`json:\"one\"`"+`
	Ptr  *json.RawMessage `+"`json:\"ptr\"`"+`
	Many []json.RawMessage `+"`json:\"many\"`"+`
	By   map[string]json.RawMessage `+"`json:\"by\"`"+`
	Own  Own `+"`json:\"own\"`"+`
	Alias Alias `+"`json:\"alias\"`"+`
	// +kubebuilder:validation:Type=object
	Typed json.RawMessage `+"`json:\"typed\"`"+`
}
`)
	args := strings.Fields("crd:maxDescLen=0 paths=./raw/... output:stdout")
	if _, err := peerResult(t, oracle.Command{Dir: dir, Args: args, Varies: true}); err == nil {
		t.Error("controller-gen succeeds")
	}
	out, err := run(t, dir, args, compat.Options{})
	if err != nil || strings.Count(out, "x-kubernetes-preserve-unknown-fields: true\n") != 7 ||
		strings.Contains(out, "byte") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"          one:\n            x-", "          ptr:\n            x-",
		"          many:\n            items:\n              x-", "          alias:\n            x-",
		"          own:\n            x-", "          typed:\n            type: object\n            x-",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
