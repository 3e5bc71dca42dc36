package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// side is one of the two that are compared.
type side struct {
	name   string
	binary string
	runs   map[string][]float64 // what was measured, by figure
}

// build compiles the programs of both sides into work.
func build(ctx context.Context, work string) ([]*side, error) {
	var sides []*side
	for _, name := range []string{"kctrl", "peer"} {
		s := &side{name: name, binary: filepath.Join(work, name), runs: map[string][]float64{}}
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", s.binary, "./cmd/runtime/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
		sides = append(sides, s)
	}
	return sides, nil
}

// measures are what both sides measure, one after the other. Those of masked objects have names of their own.
var measures = []string{"sync", "masked", "events", "list", "blocked"}

func measure(ctx context.Context, sides []*side, kubeconfig string, o options) error {
	for range o.runs {
		for _, what := range measures {
			for _, s := range sides {
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
	found := map[string]float64{}
	if err := json.Unmarshal(out, &found); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s of %s: %s", what, s.name, out)
	for figure, value := range found {
		if what == "masked" {
			figure = "masked " + figure
		}
		s.runs[figure] = append(s.runs[figure], value)
	}
	return nil
}

// medians returns the median of each figure.
func (s *side) medians() map[string]float64 {
	medians := map[string]float64{}
	for figure, values := range s.runs {
		slices.Sort(values)
		medians[figure] = values[len(values)/2]
	}
	return medians
}
