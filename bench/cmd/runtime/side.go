package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kctrl-dev/kctrl/bench/internal/program"
	"github.com/kctrl-dev/kctrl/bench/internal/table"
)

// side is one of the compared runtimes.
type side struct {
	name   string
	binary string
	runs   table.Runs
}

// build compiles the programs of both sides into work.
func build(ctx context.Context, work string) ([]*side, error) {
	var sides []*side
	for _, name := range []string{"kctrl", "peer"} {
		s := &side{name: name, binary: filepath.Join(work, name), runs: table.Runs{}}
		if err := program.Build(ctx, s.binary, "./cmd/runtime/"+name); err != nil {
			return nil, err
		}
		sides = append(sides, s)
	}
	return sides, nil
}

// measures are the measurements in their order. Figures of masked and unpacked objects have their own names.
var measures = []string{"operator", "unpacked", "sync", "masked", "events", "list", "blocked"}

func measure(ctx context.Context, sides []*side, kubeconfig string, o options) error {
	for range o.runs {
		for _, what := range measures {
			for _, s := range sides {
				if o.only != "" && o.only != what {
					continue
				}
				if err := s.measure(ctx, what, kubeconfig, o.objects); err != nil {
					return fmt.Errorf("%s of %s: %w", what, s.name, err)
				}
			}
		}
	}
	return nil
}

// measure runs the program of s once.
func (s *side) measure(ctx context.Context, what, kubeconfig string, objects int) error {
	cmd := exec.CommandContext(ctx, s.binary, "-measure", what, "-objects", fmt.Sprint(objects))
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, stderr.String())
	}
	found := table.Figures{}
	if err := json.Unmarshal(out, &found); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s of %s: %s", what, s.name, out)
	if what == "masked" || what == "unpacked" {
		found = named(what, found)
	}
	s.runs.Add(found)
	return nil
}

// named adds the name of the measurement to figures.
func named(what string, figures table.Figures) table.Figures {
	renamed := table.Figures{}
	for name, value := range figures {
		renamed[what+" "+name] = value
	}
	return renamed
}
