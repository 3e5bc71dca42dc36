package main

import (
	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/generate"
)

func newManifestsCommand(s *streams) *cobra.Command {
	opts := generateOptions{command: "kctrl manifests", Options: generate.Options{Generators: generate.Named(makesManifests)}}
	cmd := &cobra.Command{
		Use:   "manifests",
		Short: "Write the manifests that markers ask for: CRDs, RBAC rules and webhook configurations",
		Long: `Write config/crd/bases/<group>_<plural>.yaml for every kind, config/rbac/role.yaml from +kubebuilder:rbac markers, and
config/webhook/manifests.yaml from +kubebuilder:webhook markers. Files whose content would not change are not touched.
CRDs of kinds that are gone are removed, and so are webhook configurations when the last marker is gone. What names the
role follows it to another name and another file.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGenerate(cmd.Context(), s, opts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.ManifestHeaderFile, "header-file", "", "`file` with the text that manifests begin with")
	flags.StringVar(&opts.Postprocess, "postprocess", "", postprocessUsage)
	flags.StringVar(&opts.Year, "year", "", "what replaces YEAR in the header (default that of the code there is, or else this year)")
	opts.addFlags(flags)
	return cmd
}
