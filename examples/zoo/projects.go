package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// project is a kctrl project without known bugs.
type project struct {
	name     string
	commands []string // arguments of kctrl that create the project; none for an example
	example  string   // its directory; empty for a new project
}

const (
	initialize = "init --domain example.com --repo example.com/shop"
	order      = "create api --group shop --version v1 --kind Order"
)

// projects has projects with typical options of kctrl create, and the examples that are projects. TestMatrix of
// internal/scaffold simulates projects with the other options.
var projects = []project{
	{name: "a kind", commands: []string{initialize, order}},
	{name: "a kind that runs an image", commands: []string{initialize, order + " --from deployment --image nginx:1"}},
	{name: "the same, with a finalizer", commands: []string{
		initialize, order + " --from deployment --image nginx:1 --port 80 --finalizer",
	}},
	{name: "webhooks", commands: []string{
		initialize, order, "create webhook --group shop --version v1 --kind Order --defaulting --validation",
	}},
	{name: "two versions", commands: []string{initialize, order, "create api --group shop --version v2 --kind Order"}},
	{name: "two groups, one namespace", commands: []string{
		initialize + " --multigroup --namespaced", order, "create api --group stock --version v1 --kind Shelf",
	}},
	{name: "examples/cronjob", example: "../cronjob"},
}

// simulateProjects prints a table with a row for each project, and the number of false alarms.
func simulateProjects(out io.Writer, kctrl string) error {
	fmt.Fprintln(out, "\n| project | plans | plans per second | failures |\n|---|---:|---:|---:|")
	alarms := 0
	for _, p := range projects {
		report, err := p.simulate(kctrl)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if len(report.Failures) > 0 {
			alarms++
		}
		fmt.Fprintf(out, "| %s | %d of %d | %.0f | %d |\n", p.name, report.Run, report.Planned,
			float64(report.Run)/report.Seconds, len(report.Failures))
	}
	fmt.Fprintf(out, "\n%d false alarms in %d projects\n", alarms, len(projects))
	return nil
}

// report is the part of the output of kctrl sim -o json that the table shows.
type report struct {
	Run, Planned int
	Seconds      float64
	Failures     []json.RawMessage
}

// simulate creates the project, runs plans for at most 30 s, and returns the report.
func (p project) simulate(kctrl string) (r report, err error) {
	dir := p.example
	if dir == "" {
		if dir, err = os.MkdirTemp("", "kctrl-zoo-"); err != nil {
			return r, err
		}
		defer os.RemoveAll(dir)
	}
	if kctrl, err = filepath.Abs(kctrl); err != nil {
		return r, err
	}
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command(kctrl, args...)
		cmd.Dir = dir
		var stderr strings.Builder
		cmd.Stderr = &stderr
		output, err := cmd.Output()
		if err != nil && len(output) == 0 {
			err = fmt.Errorf("kctrl %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
		}
		return output, err
	}
	for _, command := range p.commands {
		if _, err := run(strings.Fields(command)...); err != nil {
			return r, err
		}
	}
	output, err := run("sim", "--budget", "30s", "-o", "json")
	if len(output) == 0 {
		return r, err // with output, failed plans are the error
	}
	return r, json.Unmarshal(output, &r)
}
