//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kctrl-dev/kctrl/internal/testing/guard"
)

// TestMain makes kctrl a command that scripts can call.
func TestMain(m *testing.M) {
	program := func() { os.Exit(runFaulty()) }
	testscript.Main(removing{m},
		map[string]func(){"kctrl": program, "controller-gen": program, "controller-gen-v0.20.1": program})
}

// removing removes the shared projects after all tests.
type removing struct{ *testing.M }

func (m removing) Run() int {
	defer shared.remove()
	return m.M.Run()
}

// TestScript runs the scripts in testdata/script, which contain commands and their complete output.
func TestScript(t *testing.T) {
	goEnv := goEnvironment(t)
	compiled := controlPlaneCache(t)
	handleHangup(t)
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, goEnv...)
			cache := filepath.Join(env.WorkDir, ".cache")
			env.Setenv("XDG_CACHE_HOME", cache)
			env.Setenv("REPOSITORY", repository)
			kctrl := filepath.Join(filepath.SplitList(env.Getenv("PATH"))[0], "kctrl")
			vars := slices.Clone(env.Vars)
			stopGuard, err := guard.Start(env.WorkDir)
			if err != nil {
				return err
			}
			env.Defer(stopGuard)
			env.Defer(func() { stopEnvironments(t, vars, kctrl) })
			return errors.Join(
				os.MkdirAll(filepath.Join(cache, "kctrl"), 0o700),
				os.Symlink(compiled, filepath.Join(cache, "kctrl", "controlplane")),
			)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits, "denied": scriptDenied, "console": scriptConsole, "await": scriptAwait,
			"project": scriptProject(goEnv), "fixture": scriptFixture, "module": scriptModule, "matches": scriptMatches,
		},
	})
}

// scriptExits is the script command "exits N program [args...]": it checks that the program ends with exit code N.
func scriptExits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits code program [args...]")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// controlPlaneCache returns the directory of the user's compiled control planes. It is the only part of the cache that
// scripts share.
func controlPlaneCache(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "kctrl", "controlplane")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// handleHangup makes SIGHUP end the programs of scripts even if the tests run under nohup, because child processes
// inherit ignored signals.
func handleHangup(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGHUP)
		t.Cleanup(func() { signal.Stop(signals) })
	}
}

// stopEnvironments stops the environments of a failed script.
func stopEnvironments(t *testing.T, vars []string, kctrl string) {
	down := exec.Command(kctrl, "env", "down", "--all")
	down.Env = vars
	if out, err := down.CombinedOutput(); err != nil {
		t.Errorf("kctrl env down --all: %v\n%s", err, out)
	}
}
