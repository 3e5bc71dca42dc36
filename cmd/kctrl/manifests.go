package main

import (
	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/generate"
)

func newManifestsCommand(s *streams) *cobra.Command {
	opts := generateOptions{command: "kctrl manifests", Options: generate.Options{CRD: true, RBAC: true}}
	maxDescLen := -1
	cmd := &cobra.Command{
		Use:   "manifests",
		Short: "Write the manifests that markers ask for: CRDs and RBAC rules",
		Long: `Write config/crd/bases/<group>_<plural>.yaml for every kind, and config/rbac/role.yaml from +kubebuilder:rbac markers.
Files whose content would not change are not touched. CRDs of kinds that are gone are removed.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if maxDescLen >= 0 {
				opts.MaxDescLen = &maxDescLen
			}
			return runGenerate(cmd.Context(), s, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.RoleName, "role-name", generate.DefaultRoleName, "name of the role of the manager")
	flags.IntVar(&maxDescLen, "crd-max-desc-len", -1, "cut descriptions in CRDs at the sentence that ends within so many characters; 0 leaves them out, -1 keeps them whole")
	opts.addFlags(flags)
	return cmd
}
