//go:build linux || darwin

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// fakeGo puts a go command on PATH that supports "go env" and "go list". For "go build" it runs script, in which $out
// is the output file.
func fakeGo(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	content := "#!/bin/sh\nif [ \"$1\" = env ]; then echo go1.26.0; exit 0; fi\n" +
		"if [ \"$1\" = list ]; then echo a; echo b/c; echo kctrl.dev/controlplane; exit 0; fi\n" +
		"while [ $# -gt 0 ]; do if [ \"$1\" = -o ]; then out=$2; fi; shift; done\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+"/usr/bin"+string(os.PathListSeparator)+"/bin")
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
			if _, err := Build(t.Context(), Options{}, Progress{}); err != nil {
				t.Error(err)
			}
		})
	}
	builds.Wait()
	count, err := os.ReadFile(counter)
	if err != nil || string(count) != "built\n" {
		t.Errorf("compiled %q times, %v; want once", count, err)
	}
	if files := cached(t); !slices.Equal(files, []string{"controlplane"}) {
		t.Errorf("the cache holds %q, want the binary and its sum alone", files)
	}
}

func TestInterruptedBuildLeavesNothingBehind(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	fakeGo(t, fmt.Sprintf("echo half > $out; mkfifo %[1]s.end; echo > %[1]s; read x < %[1]s.end", started))
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Build(ctx, Options{}, Progress{})
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

func TestFailedBuildHasTheOutputOfGo(t *testing.T) {
	for output, hint := range map[string]string{
		"write /tmp/x: no space left on device":          "free some disk space",
		"dial tcp: lookup proxy.example: no such host":   "check the network",
		"vet: something nobody has thought of":           "kctrl env build continues it",
		"module lookup disabled by GOPROXY=off":          "GOPROXY",
		"compile: signal: killed (is there enough RAM?)": "lack of memory",
		"reading https://p/x: 403 Forbidden":             "credentials",
		"verifying x@v1: checksum mismatch":              "differs from the pinned one",
	} {
		// The hint does not change if an earlier package fails for the same reason.
		fakeGo(t, fmt.Sprintf("echo k8s.io/kubernetes/pkg/proxy >&2; echo '%s' >&2; echo 'go: and so on' >&2; exit 1",
			output))
		_, err := Build(t.Context(), Options{}, Progress{})
		d, ok := errors.AsType[*diagnostic.Error](err)
		if !ok || !strings.Contains(d.Hint, hint) {
			t.Errorf("go said %q: Build = %v with hint %q; want the hint to say %q", output, err, d.Hint, hint)
		}
		if want := output; ok && hint != "kctrl env build continues it" && !strings.Contains(d.Message, want) {
			t.Errorf("go said %q: Build = %v", output, err)
		}
		if files := cached(t); len(files) != 0 {
			t.Errorf("go said %q: the cache holds %q", output, files)
		}
	}
}

func TestFilesOfKilledBuildsAreRemoved(t *testing.T) {
	fakeGo(t, "test ! -e half && echo binary > $out")
	dir := filepath.Dir(string(binaryOf(t, withoutControllers)))
	if err := os.MkdirAll(dir+".build/half", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), Options{}, Progress{}); err != nil {
		t.Fatal(err)
	}
	if exists(dir + ".build") {
		t.Error("the folder of the build is still there")
	}
}

// binaryOf returns the path of the binary of a program.
func binaryOf(t *testing.T, p program) binary {
	t.Helper()
	files, err := module(releases()[0], p)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := cacheDir("controlplane")
	if err != nil {
		t.Fatal(err)
	}
	return binary(filepath.Join(cache, moduleHash("go1.26.0", releases()[0], files), "controlplane"))
}

func TestControllersAreCompiledWhenTheyAreAskedFor(t *testing.T) {
	fakeGo(t, "grep -c controller-manager main.go > $out; true")
	small, large := binaryOf(t, withoutControllers), binaryOf(t, withControllers)
	for _, test := range []struct {
		opts Options
		want binary
	}{{Options{}, small}, {Options{ControllerManager: true}, large}, {Options{}, small}} {
		got, err := Build(t.Context(), test.opts, Progress{})
		if err != nil || got.multiCall != test.want {
			t.Errorf("Build(%+v) = %s, %v; want %s", test.opts, got.multiCall, err, test.want)
		}
	}
	for path, want := range map[binary]string{small: "0\n", large: "3\n"} {
		if content, err := os.ReadFile(string(path)); err != nil || string(content) != want {
			t.Errorf("%s mentions kube-controller-manager %q times, %v; want %q", path, content, err, want)
		}
	}
}

func TestBinaryOfAnOlderKctrlIsUsed(t *testing.T) {
	fakeGo(t, "echo must not be called >&2; exit 1")
	all := binaryOf(t, withControllers)
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" &&
		filepath.Base(filepath.Dir(string(all))) != "62c2b6e409a11cfc" {
		t.Errorf("the control plane that kctrl has compiled so far is looked for in %s", all)
	}
	if err := os.MkdirAll(filepath.Dir(string(all)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(string(all), []byte("old"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, opts := range []Options{{}, {ControllerManager: true}} {
		if got, err := Build(t.Context(), opts, Progress{}); err != nil || got.multiCall != all {
			t.Errorf("Build(%+v) = %s, %v; want %s", opts, got.multiCall, err, all)
		}
	}
}

func TestDamagedBinaryHasHint(t *testing.T) {
	fakeGo(t, "echo '#!/nowhere' > $out; chmod +x $out")
	assets, err := Build(t.Context(), Options{}, Progress{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), assets, Options{Dir: t.TempDir(), Attached: true})
	if d, ok := errors.AsType[*diagnostic.Error](err); !ok || !strings.Contains(d.Hint, "remove it") {
		t.Errorf("Start = %v", err)
	}
}

func TestBuildWithoutGoHasHint(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(assetsVariable, "")
	_, err := Build(t.Context(), Options{}, Progress{})
	if d, ok := errors.AsType[*diagnostic.Error](err); !ok || !strings.Contains(d.Hint, "install Go") {
		t.Errorf("Build = %#v", err)
	}
}

func TestGivenAssetsAreUsedOrRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(assetsVariable, dir)
	if _, err := Build(t.Context(), Options{}, Progress{}); err == nil || !strings.Contains(err.Error(), "has no etcd") {
		t.Errorf("Build with an empty folder = %v", err)
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	assets, err := Build(t.Context(), Options{}, Progress{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := assets.etcd("--x")[0], filepath.Join(dir, "etcd"); got != want {
		t.Errorf("etcd is %s, want %s", got, want)
	}
	if _, err := assets.controllerManager(); err == nil {
		t.Error("a controller manager that is not there was not refused")
	}
}

func TestTheServerInMemoryIsCompiledAsItsUsersCompile(t *testing.T) {
	for goflags, want := range map[string][]string{
		"":                                  nil,
		"-mod=vendor -race":                 nil,
		"-gcflags=all=-dwarf=false -v":      {"-gcflags=all=-dwarf=false"},
		" --gcflags=-N  -ldflags=gcflags=x": {"--gcflags=-N"},
		"-trimpath -v --trimpath=false":     {"-trimpath", "--trimpath=false"},
		"-v '-gcflags=all=-dwarf=false -l' \"-gcflags=b=-N -l\" -x": {"-gcflags=all=-dwarf=false -l", "-gcflags=b=-N -l"},
	} {
		t.Setenv("GOFLAGS", goflags)
		flags := (&build{program: inMemory}).recipe().flags
		if got := flags[2:]; !slices.Equal(got, want) {
			t.Errorf("GOFLAGS=%s: %q, want %q", goflags, got, want)
		}
		if flags := (&build{program: withControllers, release: "v1.37.0"}).recipe().flags; len(flags) != 3 {
			t.Errorf("GOFLAGS=%s: %q", goflags, flags)
		}
	}
}
