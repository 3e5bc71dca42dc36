package registry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/runtime/controller"
)

// leaderMigration determines which program runs a controller while the controller moves between programs, like the
// LeaderMigrationConfiguration of kube-controller-manager. All participating programs share a lease in addition to
// their own leases. A moving controller runs only in a process that holds both its program's lease and the shared
// lease. To move it, users roll out a new file to one program after the other. Two programs never run the controller at
// the same time.
type leaderMigration struct {
	path  string
	lease string
	// program maps the name of a controller to the lease name of the program that runs it, or to * for any program that
	// holds both leases.
	program map[string]string
}

// migrationGroup is the leader election group of the shared lease.
const migrationGroup = "leader-migration"

// migrationVersions are the versions of the file. They have the same fields, except that the last has no resourceLock.
var migrationVersions = []string{
	"controllermanager.config.k8s.io/v1alpha1", "controllermanager.config.k8s.io/v1beta1",
	"controllermanager.config.k8s.io/v1",
}

// loadLeaderMigration reads a LeaderMigrationConfiguration. The error reports all mistakes in it.
func loadLeaderMigration(path string) (*leaderMigration, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		APIVersion        string `json:"apiVersion"`
		Kind              string `json:"kind"`
		LeaderName        string `json:"leaderName"`
		ResourceLock      string `json:"resourceLock"`
		ControllerLeaders []struct {
			Name      string `json:"name"`
			Component string `json:"component"`
		} `json:"controllerLeaders"`
	}
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(path+": "+format, args...)) }
	if file.Kind != "LeaderMigrationConfiguration" || !slices.Contains(migrationVersions, file.APIVersion) {
		wrong("want apiVersion: %s and kind: LeaderMigrationConfiguration, got %q and %q",
			migrationVersions[len(migrationVersions)-1], file.APIVersion, file.Kind)
	}
	if problems := validation.IsDNS1123Subdomain(file.LeaderName); len(problems) > 0 {
		wrong("leaderName %q cannot be the name of a lease: %s", file.LeaderName, strings.Join(problems, "; "))
	}
	if file.ResourceLock != "" && file.ResourceLock != "leases" {
		wrong("resourceLock: want leases, got %q", file.ResourceLock)
	}
	m := &leaderMigration{path: path, lease: file.LeaderName, program: map[string]string{}}
	for i, c := range file.ControllerLeaders {
		_, twice := m.program[c.Name]
		switch {
		case c.Name == "":
			wrong("controllerLeaders[%d] has no name", i)
		case c.Component == "":
			wrong("controllerLeaders[%d], %s, has no component", i, c.Name)
		case twice:
			wrong("controllerLeaders[%d], %s, is duplicated", i, c.Name)
		}
		m.program[c.Name] = c.Component
	}
	return m, errors.Join(errs...)
}

// checkMigrating returns an error for controllers that the migration assigns to this program but that it does not have.
// It cannot check the controllers of other programs.
func (l *launch) checkMigrating() error {
	m := l.registry.migration
	if m == nil {
		return nil
	}
	var errs []error
	known := l.registry.known()
	for _, name := range slices.Sorted(maps.Keys(m.program)) {
		program := m.program[name]
		has := slices.ContainsFunc(known, func(d Descriptor) bool { return d.hasName(name) })
		if program == l.manager.LeaderElectionID() && !has {
			errs = append(errs, fmt.Errorf("%s: %s has no controller %q%s", m.path, program, name,
				didYouMean(name, namesOf(known))))
		}
	}
	return errors.Join(errs...)
}

// programOf returns the program that runs a moving controller, or "" for any other controller.
func (l *launch) programOf(name string) string {
	m := l.registry.migration
	if m == nil {
		return ""
	}
	program := m.program[name]
	for _, d := range l.registry.descriptors {
		if d.Name == name {
			for _, alias := range d.Aliases {
				program = cmp.Or(program, m.program[alias])
			}
		}
	}
	return program
}

// elsewhere reports whether the migration assigns a controller to another program.
func (l *launch) elsewhere(name string) bool {
	program := l.programOf(name)
	return program != "" && program != "*" && program != l.manager.LeaderElectionID()
}

// whyNot returns the state of a controller that does not run.
func (l *launch) whyNot(name string) State {
	if l.elsewhere(name) {
		return Elsewhere
	}
	return Disabled
}

// electionOf returns the election of a build: the election of its descriptor, or its own. If the controller moves
// between programs, electionOf adds the shared lease.
func (l *launch) electionOf(d Descriptor, built together) (controller.Election, error) {
	e := d.electionOf(built)
	if l.programOf(d.Name) == "" {
		return e, nil
	}
	if e.Off {
		return e, fmt.Errorf("it runs without leader election, so %s cannot make it move", l.registry.migration.path)
	}
	return controller.Election{Group: migrationGroup, MigratesFrom: groupName(e), Lease: l.registry.migration.lease}, nil
}
