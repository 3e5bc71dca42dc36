package main

import (
	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/generate"
)

func newManifestsCommand(s *streams) *cobra.Command {
	opts := generateOptions{command: "kctrl manifests",
		Options: generate.Options{Generators: generate.Named(makesManifests)}}
	cmd := &cobra.Command{
		Use:   "manifests",
		Short: "Generate CRDs, roles and webhook configurations",
		Long: `Write config/crd/bases/<group>_<plural>.yaml for every kind, config/rbac/role.yaml from
+kubebuilder:rbac markers, and config/webhook/manifests.yaml from +kubebuilder:webhook markers. The
command writes only files that change. It removes the CRD of a deleted kind, and the webhook
configurations if no marker declares a webhook. If the name or file of the role changes, it also
updates references to the role.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGenerate(cmd.Context(), s, opts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.ManifestHeaderFile, "header-file", "", "`file` with the header of manifests")
	flags.StringVar(&opts.Postprocess, "postprocess", "", postprocessUsage)
	flags.StringVar(&opts.Year, "year", "", "value of YEAR in the header (default: as in existing files, or this year)")
	opts.addFlags(flags)
	return cmd
}
