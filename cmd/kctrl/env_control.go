//go:build linux || darwin

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
)

// controlAnswer is the response to a command.
type controlAnswer struct {
	Command string `json:"command"`
	Error   string `json:"error,omitempty"`
}

// takeCommands reads commands from in, one per line, and executes them on instance in order, until in ends. It writes
// each answer to out.
func takeCommands(ctx context.Context, instance *controlplane.Instance, in io.Reader, out io.Writer) {
	answers := json.NewEncoder(out)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		answer := controlAnswer{Command: lines.Text()}
		if err := obey(ctx, instance, answer.Command); err != nil {
			answer.Error = err.Error()
		}
		if err := answers.Encode(answer); err != nil {
			return
		}
	}
}

// obey executes one command: "kill NAME", "start NAME", "slow DURATION" or "compact".
func obey(ctx context.Context, instance *controlplane.Instance, command string) error {
	verb, argument, _ := strings.Cut(command, " ")
	switch verb {
	case "kill":
		return instance.Kill(argument)
	case "start":
		return instance.Restart(ctx, argument)
	case "slow":
		delay, err := time.ParseDuration(argument)
		if err != nil {
			return err
		}
		return instance.Slow(delay)
	case "compact":
		return instance.Compact(ctx)
	}
	return fmt.Errorf("unknown command %q: want kill NAME, start NAME, slow DURATION or compact", command)
}
