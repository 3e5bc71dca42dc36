package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
)

func writeMigration(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "migration.yaml")
	ok(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// migrationFile writes a LeaderMigrationConfiguration. The arguments are alternately a controller and its program.
func migrationFile(t *testing.T, pairs ...string) string {
	t.Helper()
	text := "apiVersion: controllermanager.config.k8s.io/v1\nkind: LeaderMigrationConfiguration\nleaderName: " +
		"moving\ncontrollerLeaders:\n"
	for i := 0; i < len(pairs); i += 2 {
		text += fmt.Sprintf("- {name: %q, component: %q}\n", pairs[i], pairs[i+1])
	}
	return writeMigration(t, text)
}

func TestLeaderMigrationReportsMistakes(t *testing.T) {
	const head = "apiVersion: controllermanager.config.k8s.io/v1alpha1\nkind: LeaderMigrationConfiguration\n"
	for text, wants := range map[string][]string{
		"kind: [": {"PATH: error converting YAML to JSON: yaml: line 1: did not find expected node " +
			"content"},
		"":                             {`PATH: want apiVersion: controllermanager.config.k8s.io/v1 and kind: LeaderMigrationConfiguration, got "" and ""`, `PATH: leaderName "" cannot be the name of a lease`},
		head + "leaderName: a\nx: 1\n": {`PATH: error unmarshaling JSON: while decoding JSON: json: unknown field "x"`},
		head +
			"leaderName: A\n": {`PATH: leaderName "A" cannot be the name of a lease: a lowercase RFC 1123 subdomain`},
		head +
			"leaderName: a\nresourceLock: endpoints\n": {`PATH: resourceLock: want leases, got "endpoints"`},
		head +
			"leaderName: a\ncontrollerLeaders: [{component: c}, {name: mover}]\n": {"PATH: controllerLeaders[0] has no name",
			"PATH: controllerLeaders[1], mover, has no component"},
		head +
			"leaderName: a\ncontrollerLeaders: [{name: mover, component: c}, {name: mover, component: d}]\n": {"PATH: controllerLeaders[1], mover, is duplicated"},
		"apiVersion: controllermanager.config.k8s.io/v2\nkind: LeaderMigrationConfiguration\nleaderName: a": {`got "controllermanager.config.k8s.io/v2" and`},
	} {
		path := writeMigration(t, text)
		_, err := loadLeaderMigration(path)
		if err == nil {
			t.Errorf("%q: got no error", text)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), strings.ReplaceAll(want, "PATH", path)) {
				t.Errorf("%q: %q is not in %v", text, want, err)
			}
		}
	}
	for _, version := range migrationVersions {
		text := "apiVersion: " + version + "\nkind: LeaderMigrationConfiguration\nleaderName: a\nresourceLock: " +
			"leases\ncontrollerLeaders: [{name: mover, component: '*'}]\n"
		if m, err := loadLeaderMigration(writeMigration(t, text)); err != nil || m.lease != "a" || m.program["mover"] != "*" {
			t.Errorf("%s: got %+v, %v", version, m, err)
		}
	}
}

func TestLeaderMigrationThatCannotBeIsAUsageError(t *testing.T) {
	elected := manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true, ID: "here", Namespace: "ns"}}
	for want, c := range map[string]struct {
		opts manager.Options
		file string
	}{
		"leader-migration-config: the program runs without leader election; set leader-elect too": {manager.Options{},
			migrationFile(t)},
		`here has no controller "moevr"; did you mean "mover"?`: {elected, migrationFile(t, "moevr", "here", "unknown",
			"there")},
		"controller everywhere: it runs without leader election, so ": {elected, migrationFile(t, "everywhere", "here")},
	} {
		m, _ := newManager(t, newAPIServer(), c.opts)
		r := New(Options{})
		r.Register(Descriptor{Name: "mover", New: building(&fake{})},
			Descriptor{Name: "everywhere", Election: controller.Election{Off: true}, New: building(&fake{})})
		ok(t, r.setLeaderMigration(c.file))
		err := r.AddTo(t.Context(), m)
		_, usage := errors.AsType[*manager.UsageError](err)
		if err == nil || !strings.Contains(err.Error(), want) || usage == strings.HasPrefix(want, "controller") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestMigratedControllersRunInTheirNewProcess(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{LeaderElection: manager.LeaderElectionOptions{Enabled: true,
		ID: "here", Namespace: "ns"}})
	r := New(Options{})
	for _, name := range []string{"stays", "here", "there", "any"} {
		r.Register(Descriptor{Name: name, New: building(&fake{})})
	}
	r.Register(Descriptor{Name: "renamed", Aliases: []string{"before"}, New: building(&fake{})})
	r.RegisterSetup(func(_ context.Context, m controller.Manager) error {
		return errors.Join(m.Add(&namedFake{name: "set-up-here"}), m.Add(&namedFake{name: "set-up-there"}))
	})
	ok(t, r.setLeaderMigration(migrationFile(t,
		"here", "here", "there", "elsewhere", "any", "*", "before", "elsewhere", "set-up-here", "here", "set-up-there",
		"elsewhere",
	)))
	l, err := r.launch(t.Context(), m)
	ok(t, err)
	if got := states(l); got != "any=waiting here=waiting renamed=elsewhere set-up-here=waiting set-up-there=elsewhere "+
		"stays=waiting there=elsewhere" {
		t.Errorf("got %s", got)
	}
	moves := controller.Election{Group: "leader-migration", MigratesFrom: controller.MainGroup, Lease: "moving"}
	for name, want := range map[string]controller.Election{"stays": {}, "here": moves, "any": moves,
		"set-up-here": moves} {
		if got := l.runners[name].election; got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}
