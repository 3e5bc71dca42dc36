package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/release"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

func newBuildChartCommand(s *streams) *cobra.Command {
	opts := buildOptions{write: writeOptions{command: "kctrl build chart"}}
	chart := release.Chart{Dir: "dist/chart"}
	cmd := &cobra.Command{
		Use:   "chart",
		Short: "Write a Helm chart of config/default",
		Long: `Write a Helm chart with a template for each object of config/default. With the default values, the
chart installs the same objects as config/default. Values set the image, replicas, resources,
scheduling, service account, CRDs, metrics, certificates, network policies and monitoring. If the
chart exists, the command keeps the values and the templates that you edited or added, and adds new
values. A switch that you have not changed, such as grafana.enabled, follows config/default.`,
		Example: `  kctrl build chart --image example.com/guestbook:v1.0.0 --version 1.0.0
  helm install guestbook dist/chart --namespace guestbook-system --create-namespace`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chart.History = history(cmd.Context(), s.dir)
			return runBuild(cmd.Context(), s, opts, func(p *plan.Plan, proj *project.Project, source release.Source) error {
				chart.Name, chart.Force = proj.Name, opts.force
				chart.Dir = filepath.ToSlash(chart.Dir)
				return release.PlanChart(p, chart, source)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&chart.Dir, "dir", chart.Dir, "`directory` of the chart")
	flags.StringVar(&chart.Version, "version", "",
		"`version` of the chart and of the operator (default: from Chart.yaml, or 0.1.0)")
	opts.addFlags(flags)
	return cmd
}
