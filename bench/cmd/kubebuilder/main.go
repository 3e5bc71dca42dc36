// Command kubebuilder runs the unmodified envtest suites of kubebuilder's sample projects on kctrl's API server. Each
// suite gets its own server through USE_EXISTING_CLUSTER and KUBECONFIG. It prints a Markdown table, and fails if a
// suite fails. With -migrate it migrates the projects and runs their suites after each step. Run it from bench/.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

type options struct {
	kctrl, checkout, server, only string
	migrate                       bool
}

func main() {
	var o options
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "path of kctrl")
	flag.StringVar(&o.checkout, "checkout", "", "directory of a clone of kubebuilder")
	flag.StringVar(&o.server, "server", "memory", "kind of API server: memory or real")
	flag.StringVar(&o.only, "only", "", "only suites or samples whose directory contains this text")
	flag.BoolVar(&o.migrate, "migrate", false, "migrate the samples, in memory, and run their suites after each step")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := run
	if o.migrate {
		do = migrateSamples
	}
	if err := do(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "kubebuilder:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) error {
	suites, err := findSuites(o.checkout)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| suite | specs | passed |\n|---|---:|---:|")
	var errs []error
	for _, suite := range suites {
		if strings.Contains(suite, o.only) && ctx.Err() == nil {
			if err := runSuite(ctx, out, o, suite); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", suite, err))
			}
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// findSuites returns the directories with envtest suites, relative to the checkout.
func findSuites(checkout string) (suites []string, err error) {
	for _, root := range []string{"testdata", "docs/book/src"} {
		err := filepath.WalkDir(filepath.Join(checkout, root), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(entry.Name(), "suite_test.go") {
				return err
			}
			content, err := os.ReadFile(name)
			if err == nil && bytes.Contains(content, []byte("envtest.Environment{")) && bytes.HasPrefix(content, []byte("/*")) {
				suite, relErr := filepath.Rel(checkout, filepath.Dir(name))
				suites, err = append(suites, suite), relErr
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(suites) == 0 {
		return nil, fmt.Errorf("%s has no suites: clone https://github.com/kubernetes-sigs/kubebuilder", checkout)
	}
	return suites, nil
}

// counts matches the summary of ginkgo.
var counts = regexp.MustCompile(`Ran (\d+) of \d+ Specs[\s\S]*?(\d+) Passed`)

func runSuite(ctx context.Context, out io.Writer, o options, suite string) error {
	kubeconfig, stop, err := startServer(ctx, o)
	if err != nil {
		return err
	}
	test := exec.CommandContext(ctx, "go", "test", "-count", "1", "-v", ".")
	test.Dir = filepath.Join(o.checkout, suite)
	test.Env = append(os.Environ(), "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+kubeconfig, "GOWORK=off",
		"GOFLAGS=-mod=mod") // kubebuilder commits no go.sum of the samples
	output, err := test.CombinedOutput()
	specs, passed := "-", "-"
	if found := counts.FindSubmatch(output); found != nil {
		specs, passed = string(found[1]), string(found[2])
	}
	fmt.Fprintf(out, "| %s | %s | %s |\n", suite, specs, passed)
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, output)
	}
	return errors.Join(err, stop())
}

// startServer starts a server for one suite. The server ends with stop, and with this process.
func startServer(ctx context.Context, o options) (kubeconfig string, stop func() error, err error) {
	args := []string{"env", "up", "--foreground", "-o", "json"}
	if o.server == "memory" {
		args = append(args, "--in-memory")
	}
	server := exec.CommandContext(ctx, o.kctrl, args...)
	var stderr bytes.Buffer
	server.Stderr = &stderr
	stdin, err := server.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		stdin.Close()
		return server.Wait()
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	var ready struct{ Kubeconfig string }
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("%w\n%s", err, &stderr), stop())
	}
	return ready.Kubeconfig, stop, nil
}
