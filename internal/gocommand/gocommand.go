// Package gocommand runs the go command, and finds the reason of a failure in its output.
package gocommand

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"strings"
)

// Output returns the output of the go command in a directory. If the command fails, Output returns the error of
// [Reason], or the command's own error if the output contains no reason. If ctx ends, the error is the cause of ctx.
func Output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", cmp.Or(Reason(stderr.String()), err)
	}
	return string(out), nil
}

// Reason returns the first line of output that reports a problem as an error, joined with the next line if it ends with
// a colon. It returns nil if output has no such line.
func Reason(output string) error {
	reason := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(reason, ":"):
			return errors.New(reason + " " + line)
		case strings.HasPrefix(line, "#") || strings.HasPrefix(line, "go: downloading ") || line == "":
			continue
		}
		if reason = line; !strings.HasSuffix(line, ":") {
			return errors.New(reason)
		}
	}
	if reason != "" {
		return errors.New(reason)
	}
	return nil
}
