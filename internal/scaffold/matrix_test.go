package scaffold_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
	"github.com/kctrl-dev/kctrl/internal/rbac"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/simulate"
	"github.com/kctrl-dev/kctrl/internal/vet"
)

// combination is one choice of each property in which projects differ.
type combination struct {
	multiGroup, namespaced bool
	webhooks, origin       string
	runtime                project.RuntimeMode
	apiModule              bool
}

func (c combination) String() string {
	return fmt.Sprintf(
		"multigroup=%t,namespaced=%t,webhooks=%s,origin=%s,runtime=%s,apimodule=%t", c.multiGroup, c.namespaced, c.webhooks,
		c.origin, c.runtime, c.apiModule,
	)
}

func combinations() []combination {
	var all []combination
	for _, multiGroup := range []bool{false, true} {
		for _, namespaced := range []bool{false, true} {
			for _, webhooks := range []string{"none", "admission", "conversion"} {
				for _, origin := range []string{"own", "core", "external"} {
					for _, runtime := range []project.RuntimeMode{project.Bundled, project.Module} {
						for _, apiModule := range []bool{false, true} {
							all = append(all, combination{multiGroup, namespaced, webhooks, origin, runtime, apiModule})
						}
					}
				}
			}
		}
	}
	return all
}

// eachChoice are a few combinations that together contain each choice.
var eachChoice = []combination{
	{false, true, "conversion", "core", project.Module, false},
	{true, false, "admission", "external", project.Bundled, true},
	{true, true, "none", "own", project.Module, false},
}

// TestMatrix creates a project for each combination, checks its types and code, and applies its manifests to an
// in-memory API server. For combinations that together have each pair of choices, subtests also build the project with
// the go command, run its tests, simulate it, and apply the manifests to a real API server.
func TestMatrix(t *testing.T) {
	t.Run("each choice", func(t *testing.T) {
		for _, c := range eachChoice {
			t.Run(c.String(), func(t *testing.T) { c.test(t) })
		}
	})
	complete := pairs()
	t.Run("each pair", func(t *testing.T) {
		for _, c := range complete {
			t.Run(c.String(), func(t *testing.T) { c.test(t) })
		}
	})
	t.Run("other combinations", func(t *testing.T) {
		for _, c := range combinations() {
			if !slices.Contains(complete, c) {
				t.Run(c.String(), func(t *testing.T) { c.testTypes(t) })
			}
		}
	})
}

// testTypes runs the tests without compilation.
func (c combination) testTypes(t *testing.T) {
	p := c.make(t)
	p.check(t)
	p.checkAccepted(t, apiServers["in memory"])
	if c.runtime == project.Module {
		goCommand(t, p.dir, moduleEnv(), "mod", "tidy")
	}
	p.checkCode(t, c.namespaced)
	p.checkRemovedMarkers(t, c.namespaced)
}

func (c combination) test(t *testing.T) {
	p := c.make(t)
	p.check(t)
	for name, start := range apiServers {
		t.Run(name, func(t *testing.T) { p.checkAccepted(t, start) })
	}
	t.Run("build and test", func(t *testing.T) {
		if c.runtime == project.Module {
			goCommand(t, p.dir, moduleEnv(), "mod", "tidy") // go.sum has no checksums of a replaced module
		}
		p.build(t)
		p.test(t, "./internal/...")
	})
	t.Run("simulation", func(t *testing.T) { p.simulate(t) })
	t.Run("vet and rbac", func(t *testing.T) {
		if c.runtime == project.Module {
			goCommand(t, p.dir, moduleEnv(), "mod", "tidy")
		}
		p.checkCode(t, c.namespaced)
		p.checkRemovedMarkers(t, c.namespaced)
	})
}

// simulate fails if a plan of kctrl sim fails.
func (p *testProject) simulate(t *testing.T) {
	t.Helper()
	for _, variable := range cacheEnv() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("GOCACHE") == "" {
		t.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // the compiled program is removed with the test
	opts := simulate.SimOptions{Options: simulate.Options{Seed: 1}}
	report, err := simulate.Run(t.Context(), p.dir, opts, controlplane.Progress{}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Failures {
		t.Errorf("%s\n%s", f.Story, f.Plan)
	}
	t.Logf("%d plans, %d writes without faults, %.1f plans/s", report.Run, report.Writes,
		float64(report.Run)/report.Seconds)
	p.simulateRemovals(t)
}

// isUnneeded reports whether no request of a simulated operator needs a permission: the API server streams lists in
// watches, and no admission plugin checks owner references. TestDeployedOperatorNeedsEachPermission checks list.
func (p permission) isUnneeded() bool {
	return p.verb == "list" || p.verb == "get" && !strings.HasSuffix(p.resource, "/status") ||
		strings.HasSuffix(p.resource, "/finalizers")
}

// simulateRemovals removes the permissions of config/rbac/role.yaml one at a time. The API server must then forbid a
// request of the simulated operator that needs the permission, and no other request; isUnneeded lists exceptions.
func (p *testProject) simulateRemovals(t *testing.T) {
	t.Helper()
	original := readFile(t, p.dir, "config/rbac/role.yaml")
	role := filepath.Join(p.dir, "config", "rbac", "role.yaml")
	defer writeFile(t, role, original)
	noticed := 0
	for _, removed := range p.granted(t) {
		var documents [][]byte
		for _, one := range objectsIn(t, original) {
			document, err := yaml.Marshal(without(one, removed).Object)
			if err != nil {
				t.Fatal(err)
			}
			documents = append(documents, document)
		}
		writeFile(t, role, bytes.Join(documents, []byte("---\n")))
		opts := simulate.SimOptions{Options: simulate.Options{Seed: 1, Plans: 1}}
		report, err := simulate.Run(t.Context(), p.dir, opts, controlplane.Progress{}, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		forbidden := false
		text := fmt.Sprintf("cannot %s resource %q in API group %q", removed.verb, removed.resource, removed.group)
		for _, f := range report.Failures {
			for _, v := range f.Violations {
				if v.Invariant != "allowed" {
					continue
				}
				if strings.Contains(v.Message, text) {
					forbidden = true
				} else {
					t.Errorf("without %s: %s", removed, v.Message)
				}
			}
		}
		if !forbidden && !removed.isUnneeded() {
			t.Errorf("no request of the simulated operator needs %s", removed)
		}
		if forbidden {
			noticed++
		}
	}
	t.Logf("the API server noticed %d removed permissions", noticed)
}

// granted returns the permissions of config/rbac/role.yaml.
func (p *testProject) granted(t *testing.T) (all []permission) {
	t.Helper()
	for _, role := range objectsIn(t, readFile(t, p.dir, "config/rbac/role.yaml")) {
		rules, _, err := unstructured.NestedSlice(role.Object, "rules")
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range rules {
			all = append(all, permissionsOf(rule.(map[string]any))...)
		}
	}
	return all
}

// checkCode checks that the markers grant exactly the permissions that the code needs, and that no rule of kctrl vet
// has a finding.
func (p *testProject) checkCode(t *testing.T, namespaced bool) {
	t.Helper()
	for _, variable := range cacheEnv() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	permissions, err := rbac.Check(t.Context(), rbac.Options{Dir: p.dir, FS: os.DirFS(p.dir), Namespaced: namespaced})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := vet.Run(t.Context(), vet.Options{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range permissions.Problems {
		t.Error(problem)
	}
	for _, problem := range rules.Problems {
		t.Error(problem)
	}
	for _, f := range permissions.Findings {
		t.Errorf("%s: %s: %s", f.Pos, f.Class, f.Message)
	}
	for _, f := range rules.Findings {
		t.Error(f)
	}
}

// checkRemovedMarkers removes the RBAC markers, and expects kctrl rbac to report each of their permissions: as missing,
// or as unproven if the plural of a foreign kind is a guess. The verb get need not be reported if list is.
func (p *testProject) checkRemovedMarkers(t *testing.T, namespaced bool) {
	t.Helper()
	granted := p.granted(t)
	err := filepath.WalkDir(p.dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(content, []byte("+kubebuilder:rbac")) {
			return err
		}
		writeFile(t, name, markerLine.ReplaceAll(content, nil))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := rbac.Check(t.Context(), rbac.Options{Dir: p.dir, FS: os.DirFS(p.dir), Namespaced: namespaced})
	if err != nil {
		t.Fatal(err)
	}
	reported := map[permission]bool{}
	for _, f := range report.Findings {
		for _, verb := range f.Verbs {
			of := permission{verb, f.Resource.Group, f.Resource.Name, ""}
			reported[of] = reported[of] || f.Class == rbac.Missing || f.Class == rbac.Unproven
		}
	}
	for _, one := range granted {
		listed := one
		one.name, listed.name, listed.verb = "", "", "list"
		if !reported[one] && (one.verb != "get" || !reported[listed]) {
			t.Errorf("kctrl rbac does not report %s", one)
		}
	}
	if len(granted) < 6 {
		t.Errorf("the markers grant only %v", granted)
	}
}

// markerLine matches an RBAC marker.
var markerLine = regexp.MustCompile(`(?m)^[ \t]*//[ ]?\+kubebuilder:rbac:.*\n`)

// make creates the project.
func (c combination) make(t *testing.T) *testProject {
	t.Helper()
	p := newProject(t)
	init := scaffold.InitOptions{Domain: "example.com", Repo: "example.com/guestbook", MultiGroup: c.multiGroup,
		Namespaced: c.namespaced, Runtime: c.runtime, APIModule: c.apiModule}
	if c.runtime == project.Module {
		init.Kctrl = project.Build{Version: "v1.0.0", Sum: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}
	}
	p.initialize(t, init)
	if c.runtime == project.Module {
		p.replaceRuntime(t)
	}
	own := guestbook
	own.Shape = render.Shape{Fields: []string{"size:int32,min=1,default=3", "mode:string,enum=Fast|Safe"},
		Scale: "default"}
	p.createAPI(t, own)
	switch c.webhooks {
	case "admission":
		webhooks := scaffold.WebhookOptions{Group: own.Group, Version: own.Version, Kind: own.Kind, Defaulting: true,
			Validation: true, Policy: true}
		if c.multiGroup {
			webhooks.Certificates = project.CertManager
		}
		p.create(t, webhooks)
	case "conversion":
		further := guestbook
		further.Version, further.Controller, further.Shape.Fields = "v2", false, []string{"paused:bool,optional"}
		p.createAPI(t, further)
	}
	switch c.origin {
	case "own":
		runs := guestbook
		runs.Kind, runs.Operand = "Server", &render.Operand{Image: "nginx:1.29", Port: 8080}
		p.createAPI(t, runs)
	case "core":
		p.create(t, scaffold.ControllerOptions{Group: "apps", Version: "v1", Kind: "Deployment", Namespaced: true})
		if !c.namespaced {
			p.create(t, scaffold.ControllerOptions{Group: "core", Version: "v1", Kind: "Namespace", Name: "tenants"})
		}
	case "external":
		writeFile(t, filepath.Join(p.dir, "pkg", "fleet", "v1", "ship.go"), []byte(foreignTypes))
		writeFile(t, filepath.Join(p.dir, "config", "sim", "ship.yaml"), []byte(foreignDefinition))
		p.create(t, scaffold.ControllerOptions{
			Group: "fleet", Domain: "example.io", Version: "v1", Kind: "Ship", Path: "example.com/guestbook/pkg/fleet/v1",
			Namespaced: true,
		})
	}
	return p
}

// replaceRuntime makes the project compile with the runtime of this repository, because the version that the project
// requires is not published.
func (p *testProject) replaceRuntime(t *testing.T) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(p.dir, "go.mod"), fmt.Appendf(readFile(t, p.dir, "go.mod"), "\nreplace %s => %s\n",
		runtimeModule, root))
}

// foreignDefinition is the CRD of another project's kind.
const foreignDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.fleet.example.io}
spec:
  group: fleet.example.io
  scope: Namespaced
  names: {kind: Ship, listKind: ShipList, plural: ships, singular: ship}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// foreignTypes are the types of a kind of another project.
const foreignTypes = `// Package v1 is somebody else's, who has its CRD.
// +kubebuilder:skip
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ship is a kind of another project.
type Ship struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
}

// ShipList is a list of them.
type ShipList struct {
	metav1.TypeMeta ` + "`json:\",inline\"`" + `
	metav1.ListMeta ` + "`json:\"metadata,omitempty\"`" + `
	Items           []Ship ` + "`json:\"items\"`" + `
}

// DeepCopyObject copies a ship.
func (s *Ship) DeepCopyObject() runtime.Object {
	return &Ship{TypeMeta: s.TypeMeta, ObjectMeta: *s.ObjectMeta.DeepCopy()}
}

// DeepCopyObject copies a list.
func (l *ShipList) DeepCopyObject() runtime.Object {
	out := &ShipList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Ship))
	}
	return out
}

// AddToScheme makes the kind known.
func AddToScheme(s *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "fleet.example.io", Version: "v1"}
	s.AddKnownTypes(version, &Ship{}, &ShipList{})
	metav1.AddToGroupVersion(s, version)
	return nil
}
`
