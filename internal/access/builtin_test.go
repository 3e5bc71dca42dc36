package access

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write builtin.txt")

// typedClients are the directories with the clients that client-gen generated, by module, and the modules of the API
// types.
var typedClients = []struct{ module, clients, apiModule, apis string }{
	{"k8s.io/client-go", "kubernetes/typed", "k8s.io/api", ""},
	{
		"k8s.io/apiextensions-apiserver", "pkg/client/clientset/clientset/typed", "k8s.io/apiextensions-apiserver",
		"pkg/apis",
	},
}

var (
	newClient = regexp.MustCompile(`gentype\.New\w+\[\*?\w+\.(\w+)[^(]*\(` +
		`\s*"(\w+)",\s*c\.RESTClient\(\),\s*[^,]+,\s*([^,]+),`)
	groupName = regexp.MustCompile(`(?m)GroupName\s*=\s*"([^"]*)"`)
)

// TestBuiltinTable compares the table of kinds with Kubernetes' typed clients, which contain the resource of each kind
// and whether it is namespaced. With -update it writes the table.
func TestBuiltinTable(t *testing.T) {
	lines := []string{"apiregistration.k8s.io APIService apiservices Cluster"} // its clients are in k8s.io/kube-aggregator
	for _, typed := range typedClients {
		clients, apis := moduleDir(t, typed.module), moduleDir(t, typed.apiModule)
		files, err := filepath.Glob(filepath.Join(clients, typed.clients, "*", "*", "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			group := filepath.Base(filepath.Dir(filepath.Dir(file)))
			version := filepath.Base(filepath.Dir(file))
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			match := newClient.FindSubmatch(text)
			if match == nil {
				continue
			}
			scope := "Namespaced"
			if string(match[3]) == `""` {
				scope = "Cluster"
			}
			lines = append(lines, fmt.Sprintf("%s %s %s %s",
				groupOf(t, filepath.Join(apis, typed.apis, group, version)), match[1], match[2], scope))
		}
	}
	slices.SortFunc(lines, cmp.Compare)
	lines = slices.Compact(lines)
	want := "# group kind resource scope; written by: go test ./internal/access -run TestBuiltinTable -update\n" +
		strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("builtin.txt", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if builtinTable != want {
		t.Error("builtin.txt differs from the clients of Kubernetes; run the test with -update")
	}
	if len(lines) < 60 {
		t.Errorf("found %d kinds, want at least 60", len(lines))
	}
}

func groupOf(t *testing.T, dir string) string {
	t.Helper()
	for _, name := range []string{"register.go", "../register.go"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			if match := groupName.FindSubmatch(text); match != nil {
				return cmp.Or(string(match[1]), "core")
			}
		}
	}
	t.Fatalf("%s has no constant GroupName", dir)
	return ""
}

func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
