// Command diff runs kctrl diff and crdify on the labeled CRD changes and prints a Markdown table of both verdicts. It
// fails if kctrl misses a breaking change or reports a compatible one. Run it from bench/.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/testing/labeled"
)

func main() {
	kctrl := flag.String("kctrl", "../bin/kctrl", "path of kctrl")
	crdify := flag.String("crdify", "", "directory of crdify: a clone, or its copy in the Go module cache")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	right, err := compareAll(ctx, os.Stdout, *kctrl, *crdify)
	if err != nil {
		fmt.Fprintln(os.Stderr, "diff:", err)
	}
	if err != nil || !right {
		os.Exit(1)
	}
}

// tool is one of the compared tools, with the counts of its verdicts.
type tool struct {
	name    string
	command func(before, after string) []string
	// found counts reported breaking changes, and alarms counts reported compatible changes.
	found, alarms int
}

// compareAll compares the verdicts and reports whether all of kctrl's verdicts are right.
func compareAll(ctx context.Context, out io.Writer, kctrl, crdify string) (right bool, err error) {
	work, err := os.MkdirTemp("", "kctrl-bench-diff-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	binary := filepath.Join(work, "crdify")
	build := exec.CommandContext(ctx, "go", "build", "-C", crdify, "-o", binary, ".")
	if output, err := build.CombinedOutput(); err != nil {
		return false, fmt.Errorf("%s: %w\n%s", build, err, output)
	}
	tools := []*tool{
		{name: "kctrl", command: func(before, after string) []string { return []string{kctrl, "diff", before, after} }},
		{name: "crdify", command: func(before, after string) []string {
			return []string{binary, "file://" + before,
				"file://" + after}
		}},
	}
	changes, err := labeled.Changes()
	if err != nil {
		return false, err
	}
	fmt.Fprintln(out, "| change | label | kctrl | crdify |\n|---|---|---|---|")
	breaking, all := 0, 0
	right = true
	for _, c := range changes {
		before, after, err := c.CRDs()
		if err != nil {
			return false, err
		}
		if before == nil || after == nil {
			continue // crdify compares two files
		}
		all++
		breaks := counts(c.Break)
		if breaks {
			breaking++
		}
		row := []string{c.Name, verdict(breaks)}
		for _, t := range tools {
			reported, err := t.reports(ctx, work, before, after)
			if err != nil {
				return false, err
			}
			t.count(reported, breaks)
			row = append(row, verdict(reported))
		}
		right = right && row[1] == row[2]
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintln(out)
	for _, t := range tools {
		fmt.Fprintf(out, "%s: finds %d of %d breaking changes; %d false alarms for the %d others\n", t.name, t.found,
			breaking, t.alarms, all-breaking)
	}
	return right, ctx.Err()
}

// counts reports whether a label has a class other than downgrades.
func counts(lines []string) bool {
	for _, line := range lines {
		for _, class := range []string{"writers", "readers", "stored"} {
			if strings.Contains(line, class) {
				return true
			}
		}
	}
	return false
}

func verdict(breaks bool) string {
	if breaks {
		return "breaks"
	}
	return "-"
}

func (t *tool) count(reported, breaks bool) {
	switch {
	case reported && breaks:
		t.found++
	case reported:
		t.alarms++
	}
}

// reports returns whether the tool fails for two CRDs.
func (t *tool) reports(ctx context.Context, work string, before,
	after *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	for name, crd := range map[string]*apiextensionsv1.CustomResourceDefinition{"new.yaml": after, "old.yaml": before} {
		text, err := yaml.Marshal(crd)
		if err != nil {
			return false, err
		}
		if err := os.WriteFile(filepath.Join(work, name), text, 0o600); err != nil {
			return false, err
		}
	}
	args := t.command(filepath.Join(work, "old.yaml"), filepath.Join(work, "new.yaml"))
	output, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	failed, ok := errors.AsType[*exec.ExitError](err)
	if err != nil && (!ok || t.name == "kctrl" && failed.ExitCode() != 3) {
		return false, fmt.Errorf("%q: %w\n%s", args, err, output)
	}
	return err != nil, nil
}
