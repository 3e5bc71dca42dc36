package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Build returns the assets that opts require. It compiles missing assets into the user's cache, which takes minutes,
// and reports progress. Several processes may call it at once: one compiles, and the others wait. An interrupted build
// leaves no partial binary, and the packages that it compiled stay in the go command's cache.
//
// If KUBEBUILDER_ASSETS is set, Build compiles nothing and returns the binaries in that directory, except for an
// in-memory API server.
func Build(ctx context.Context, opts Options, progress Progress) (Assets, error) {
	release, err := release(opts.Kubernetes)
	if err != nil {
		return Assets{}, err
	}
	if assets, given, err := givenAssets(opts); given && !opts.InMemory {
		return assets, err
	}
	builds, err := builds(ctx, release, opts)
	if err != nil {
		return Assets{}, err
	}
	for _, b := range builds {
		if b.binary.exists() {
			b.binary.used()
			return Assets{multiCall: b.binary}, nil
		}
	}
	return Assets{multiCall: builds[0].binary}, builds[0].run(ctx, progress)
}

// Compiled reports whether the assets for opts are already compiled. An error counts as not compiled.
func Compiled(ctx context.Context, opts Options) bool {
	release, err := release(opts.Kubernetes)
	_, given, _ := givenAssets(opts)
	if given || err != nil {
		return true
	}
	builds, err := builds(ctx, release, opts)
	return err != nil || slices.ContainsFunc(builds, func(b *build) bool { return b.binary.exists() })
}

// builds returns the possible builds for opts. Any one of them suffices, and the first is the one to compile.
func builds(ctx context.Context, release string, opts Options) ([]*build, error) {
	goVersion, err := goVersion(ctx)
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir("controlplane")
	if err != nil {
		return nil, err
	}
	var all []*build
	for _, p := range programs(opts) {
		files, err := module(release, p)
		if err != nil {
			return nil, err
		}
		all = append(all, &build{program: p, release: release, files: files,
			binary: p.binary(cache, moduleHash(goVersion, release, files))})
	}
	return all, nil
}

// build compiles one binary.
type build struct {
	program program
	release string
	files   []moduleFile // content of the Go module
	binary  binary
}

// recipe describes how a program is compiled.
type recipe struct {
	begins  string // first line of the progress
	pattern string // package pattern
	flags   []string
	env     []string // added to the environment of this process
}

func (b *build) recipe() recipe {
	if b.program.own() {
		return recipe{
			begins:  "compiling the API server in memory from its Go modules; this takes about a minute, once",
			pattern: "./" + string(b.program),
			// These are the flags of go test. Tests of operators link most of these packages, so the go command compiles them
			// once for both.
			flags: append([]string{"-buildvcs=false", "-ldflags=-s -w"}, compilerFlags(os.Getenv("GOFLAGS"))...),
		}
	}
	return recipe{
		begins:  "compiling etcd and Kubernetes " + b.release + " from their Go modules; this takes minutes, once",
		pattern: ".",
		flags:   []string{"-trimpath", "-buildvcs=false", "-ldflags=" + linkFlags(b.release)},
		env:     []string{"CGO_ENABLED=0"},
	}
}

// compilerFlags returns the flags in GOFLAGS that change compiled packages.
func compilerFlags(goflags string) []string {
	return slices.DeleteFunc(splitFlags(goflags), func(flag string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		return name != "gcflags" && name != "trimpath"
	})
}

// splitFlags splits GOFLAGS like the go command, at spaces outside of quotes.
func splitFlags(goflags string) (flags []string) {
	for rest := strings.TrimLeft(goflags, " \t\r\n"); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n") {
		ends, flag := " \t\r\n", rest
		if rest[0] == '\'' || rest[0] == '"' {
			ends, flag = rest[:1], rest[1:]
		}
		rest = ""
		if end := strings.IndexAny(flag, ends); end >= 0 {
			flag, rest = flag[:end], flag[end+1:]
		}
		flags = append(flags, flag)
	}
	return flags
}

// run compiles the binary, or waits for another process that is compiling it.
func (b *build) run(ctx context.Context, progress Progress) error {
	dir := filepath.Dir(string(b.binary))
	unlock, err := lockFile(ctx, dir+".lock", func() {
		progress.Step("another kctrl is compiling the control plane; waiting for it")
	})
	if err != nil {
		return err
	}
	defer unlock()
	if b.binary.exists() {
		return nil
	}
	// Only the holder of the lock uses this directory, so any content is from a process that was killed.
	work := dir + ".build"
	if err := os.RemoveAll(work); err != nil {
		return unwritable(work, err)
	}
	defer os.RemoveAll(work)
	if err := os.MkdirAll(filepath.Join(work, "tmp"), 0o700); err != nil {
		return unwritable(work, err)
	}
	if err := writeModule(work, b.files); err != nil {
		return unwritable(work, err)
	}
	progress.Step(b.recipe().begins)
	began := time.Now()
	built := filepath.Join(work, binaryName())
	if err := b.compile(ctx, progress, work, built); err != nil {
		return err
	}
	if err := b.binary.install(built); err != nil {
		return unwritable(dir, err)
	}
	b.binary.prune()
	progress.Step("control plane compiled in " + time.Since(began).Round(time.Second).String())
	return nil
}

// compile compiles the module in work into the file built.
func (b *build) compile(ctx context.Context, progress Progress, work, built string) error {
	output := &goOutput{began: time.Now()}
	defer progress.During(output.state)()
	stale, err := b.runGo(ctx, work, output, append([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"},
		b.recipe().flags...)...)
	if err != nil {
		return err
	}
	output.expect(len(bytes.Fields(stale)))
	_, err = b.runGo(ctx, work, output, append([]string{"build", "-v", "-o", built}, b.recipe().flags...)...)
	return err
}

// runGo runs the go command for the module in work, and returns its standard output.
func (b *build) runGo(ctx context.Context, work string, output *goOutput, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", append(args, b.recipe().pattern)...)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "GOOS=", "GOARCH=",
		"GOTMPDIR="+filepath.Join(work,
			"tmp")) // the next build removes this directory, with the temporary files of a killed one
	cmd.Env = append(cmd.Env, b.recipe().env...)
	endWithUs(cmd)
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, buildFailed(err, output.errorLines())
	}
	return stdout.Bytes(), nil
}

// failures are causes of failed builds, each with a string in the go command's output that identifies it, and a hint.
var failures = []struct{ says, hint string }{
	{"no space left on device", "free some disk space: a build needs about 3 GB in the directories of go env GOCACHE " +
		"GOMODCACHE"},
	{"SECURITY ERROR", "a module proxy served a source that differs from the pinned hash: check go env GOPROXY"},
	{"checksum mismatch", "the hash of a module differs from the pinned one: go clean -modcache downloads it again; " +
		"else check go env GOPROXY"},
	{"module lookup disabled",
		"a build downloads Go modules: go env -w GOPROXY=https://proxy.golang.org,direct allows it"},
	{"404 Not Found", "the module proxy does not have a module: check go env GOPROXY"},
	{"410 Gone", "the module proxy does not have a module: check go env GOPROXY"},
	{"403 Forbidden", "the module proxy rejected the request: check go env GOPROXY, and its credentials in ~/.netrc"},
	{"401 Unauthorized", "the module proxy rejected the request: check go env GOPROXY, and its credentials in ~/.netrc"},
	{"407 Proxy Authentication Required", "the HTTP proxy rejected the request: check HTTPS_PROXY and its credentials"},
	{"dial tcp", "a build downloads Go modules: check the network, HTTPS_PROXY, and go env GOPROXY"},
	{"proxyconnect", "a build downloads Go modules: check the network, HTTPS_PROXY, and go env GOPROXY"},
	{"i/o timeout", "a build downloads Go modules: check the network, HTTPS_PROXY, and go env GOPROXY"},
	{"TLS handshake", "a build downloads Go modules: check the network, HTTPS_PROXY, and go env GOPROXY"},
	{"signal: killed", "the compiler was killed, possibly for lack of memory: a build needs about 4 GB; kctrl env build " +
		"continues it"},
}

// buildFailed returns an error with the messages of the go command and a hint.
func buildFailed(err error, errorLines []string) error {
	d := &diagnostic.Error{Hint: "kctrl env build continues it", Cause: err}
	what := err.Error()
	if len(errorLines) > 0 {
		what = errorLines[len(errorLines)-1]
	}
	for _, failure := range failures {
		if i := slices.IndexFunc(errorLines, func(line string) bool { return strings.Contains(line, failure.says) }); i >= 0 {
			what, d.Hint = errorLines[i], failure.hint
			break
		}
	}
	d.Message = "compile the control plane: " + strings.TrimSpace(what)
	return d
}

// goVersion returns the version of the go command, or an error if go is not on PATH.
func goVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", diagnostic.Because(err, "no go command on PATH, which compiles the control plane",
			"install Go 1.26 or newer, or set "+assetsVariable+" to a directory with etcd and kube-apiserver")
	}
	if err != nil {
		return "", fmt.Errorf("go env GOVERSION: %w", err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// cacheDir returns one of kctrl's directories in the user's cache. It creates the directory.
func cacheDir(name string) (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", &diagnostic.Error{Message: err.Error(), Hint: "set HOME or XDG_CACHE_HOME", Cause: err}
	}
	dir := filepath.Join(user, "kctrl", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", unwritable(dir, err)
	}
	return dir, nil
}

func unwritable(dir string, err error) error {
	d := &diagnostic.Error{Message: "write to the cache: " + err.Error(),
		Hint: "make " + dir + " writable, or set XDG_CACHE_HOME", Cause: err}
	if errors.Is(err, syscall.ENOSPC) {
		d.Hint = "free some disk space"
	}
	return d
}
