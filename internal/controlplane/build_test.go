//go:build linux || darwin

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// fakeGo puts a go command on PATH that answers "go env" and does script for "go build", with $out the file to write.
func fakeGo(t *testing.T, script string) {
	t.Helper()
	folder := t.TempDir()
	content := "#!/bin/sh\nif [ \"$1\" = env ]; then echo go1.26.0; exit 0; fi\n" +
		"while [ $# -gt 0 ]; do if [ \"$1\" = -o ]; then out=$2; fi; shift; done\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(folder, "go"), []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+"/usr/bin"+string(os.PathListSeparator)+"/bin")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(assetsVariable, "")
}

// cached returns the files below the cache, without locks.
func cached(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(os.Getenv("XDG_CACHE_HOME"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) != ".lock" {
			files = append(files, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestConcurrentBuildsCompileOnce(t *testing.T) {
	counter := filepath.Join(t.TempDir(), "builds")
	fakeGo(t, fmt.Sprintf("echo built >> %s; echo binary > $out", counter))
	var builds sync.WaitGroup
	for range 5 {
		builds.Go(func() {
			if _, err := Build(t.Context(), Progress{}); err != nil {
				t.Error(err)
			}
		})
	}
	builds.Wait()
	count, err := os.ReadFile(counter)
	if err != nil || string(count) != "built\n" {
		t.Errorf("compiled %q times, %v; want once", count, err)
	}
	if files := cached(t); len(files) != 1 || files[0] != "controlplane" {
		t.Errorf("the cache holds %q, want the binary alone", files)
	}
}

func TestInterruptedBuildLeavesNothingBehind(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	fakeGo(t, fmt.Sprintf("echo half > $out; mkfifo %[1]s.end; echo > %[1]s; read x < %[1]s.end", started))
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Build(ctx, Progress{})
		ended <- err
	}()
	if err := poll(t.Context(), time.Millisecond, func() bool { return exists(started) }); err != nil {
		t.Fatal(err)
	}
	cancel(interrupted)
	if err := <-ended; !errors.Is(err, interrupted) {
		t.Errorf("Build = %v, want the cause of the interruption", err)
	}
	if files := cached(t); len(files) != 0 {
		t.Errorf("the cache holds %q after an interrupted build", files)
	}
}

func TestFailedBuildSaysWhatGoSaid(t *testing.T) {
	for output, hint := range map[string]string{
		"write /tmp/x: no space left on device":          "free some disk space",
		"dial tcp: lookup proxy.example: no such host":   "check the network",
		"vet: something nobody has thought of":           "tries again",
		"module lookup disabled by GOPROXY=off":          "GOPROXY",
		"compile: signal: killed (is there enough RAM?)": "tries again",
	} {
		fakeGo(t, fmt.Sprintf("echo '%s' >&2; exit 1", output))
		_, err := Build(t.Context(), Progress{})
		d, ok := errors.AsType[*diagnostic.Error](err)
		if !ok || !strings.Contains(d.Message, output) || !strings.Contains(d.Hint, hint) {
			t.Errorf("go said %q: Build = %v with hint %q; want the hint to say %q", output, err, d.Hint, hint)
		}
		if files := cached(t); len(files) != 0 {
			t.Errorf("go said %q: the cache holds %q", output, files)
		}
	}
}

func TestBuildWithoutGoSaysHowToGoOn(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(assetsVariable, "")
	_, err := Build(t.Context(), Progress{})
	if d, ok := errors.AsType[*diagnostic.Error](err); !ok || !strings.Contains(d.Hint, "install Go") {
		t.Errorf("Build = %#v", err)
	}
}

func TestGivenAssetsAreUsedOrRefused(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(assetsVariable, folder)
	if _, err := Build(t.Context(), Progress{}); err == nil || !strings.Contains(err.Error(), "has no etcd") {
		t.Errorf("Build with an empty folder = %v", err)
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	assets, err := Build(t.Context(), Progress{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := assets.etcd("--x")[0], filepath.Join(folder, "etcd"); got != want {
		t.Errorf("etcd is %s, want %s", got, want)
	}
	if _, err := assets.controllerManager(); err == nil {
		t.Error("a controller manager that is not there was not refused")
	}
}

func TestProgressOnATerminalDrawsOverItself(t *testing.T) {
	var out strings.Builder
	counter := &packageCounter{progress: Progress{Out: &out, Live: true}}
	fmt.Fprint(counter, "go.etcd.io/etcd/api/v3\nk8s.io/api/core/v1\n")
	if got := out.String(); !strings.Contains(got, "\r") || !strings.Contains(got, "2 packages, k8s.io/api/core/v1") {
		t.Errorf("progress drew %q", got)
	}
	out.Reset()
	counter = &packageCounter{progress: Progress{Out: &out}}
	fmt.Fprint(counter, "go.etcd.io/etcd/api/v3\n")
	if out.Len() != 0 {
		t.Errorf("progress drew %q where there is no terminal", out.String())
	}
}
