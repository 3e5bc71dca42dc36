//go:build linux || darwin

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
)

func newEnvStatusCommand(s *streams) *cobra.Command {
	var output outputFormat
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List the API servers of this user",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runEnvStatus(cmd.Context(), s, output) },
	}
	addOutputFlag(cmd.Flags(), &output, outputText, outputJSON)
	return cmd
}

// envStatus is an environment with its state.
type envStatus struct {
	*controlplane.Environment
	State string `json:"state"` // running, starting or crashed
	Crash string `json:"crash,omitempty"`
}

func runEnvStatus(ctx context.Context, s *streams, output outputFormat) error {
	environments, err := openEnvironments(ctx, s)
	if err != nil {
		return err
	}
	list, broken := environments.List()
	all := []envStatus{}
	for _, env := range list {
		all = append(all, statusOf(env))
	}
	if output == outputJSON {
		return errors.Join(json.NewEncoder(s.out).Encode(all), broken)
	}
	if len(all) == 0 {
		if broken == nil {
			s.printf("no environments; kctrl env up starts one\n")
		}
		return broken
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tSERVER")
	for _, env := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", env.Name, env.State, env.Server)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, env := range all {
		if env.Crash != "" {
			s.printf("\n%s: %s\n", env.Name, env.Crash)
		}
	}
	return broken
}

func statusOf(env *controlplane.Environment) envStatus {
	status := envStatus{Environment: env, State: "running"}
	if crash := env.Crashed(); crash != nil {
		status.State, status.Crash = "crashed", crash.Error()
	} else if !env.Ready {
		status.State = "starting"
	}
	return status
}
