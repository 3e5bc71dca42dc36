package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/crd"
	"github.com/kctrl-dev/kctrl/internal/generate/rbac"
	"github.com/kctrl-dev/kctrl/internal/generate/webhook"
)

// manifestsOptions are the flags of manifests as they are written.
type manifestsOptions struct {
	generateOptions
	maxDescLen            int
	preserveUnknownFields bool
}

func newManifestsCommand(s *streams) *cobra.Command {
	opts := manifestsOptions{generateOptions: generateOptions{
		command: "kctrl manifests",
		Options: generate.Options{CRD: true, RBAC: true, Webhook: true},
	}}
	cmd := &cobra.Command{
		Use:   "manifests",
		Short: "Write the manifests that markers ask for: CRDs, RBAC rules and webhook configurations",
		Long: `Write config/crd/bases/<group>_<plural>.yaml for every kind, config/rbac/role.yaml from +kubebuilder:rbac markers, and
config/webhook/manifests.yaml from +kubebuilder:webhook markers. Files whose content would not change are not touched.
CRDs of kinds that are gone are removed, and so are webhook configurations when the last marker is gone. What names the
role follows it to another name and another file.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runGenerate(cmd.Context(), s, opts.options(cmd.Flags()))
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func (o *manifestsOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ManifestHeaderFile, "header-file", "", "`file` with the text that manifests begin with")
	flags.StringVar(&o.Year, "year", "", "what replaces YEAR in the header")
	flags.StringVar(&o.RoleName, "role-name", generate.DefaultRoleName, "name of the role of the manager")
	flags.StringVar(&o.RoleFile, "role-file", rbac.FileName, "`name` of the file of the role, which leaves the file that it was in")
	flags.StringVar(&o.CRDFolder, "output-crd-dir", crd.Folder, "`folder` of the CRDs")
	flags.StringVar(&o.RBACFolder, "output-rbac-dir", rbac.Folder, "`folder` of the role; what config/rbac holds and binds stays as it is beside another")
	flags.StringVar(&o.WebhookFolder, "output-webhook-dir", webhook.Folder, "`folder` of the webhook configurations")
	flags.IntVar(&o.maxDescLen, "crd-max-desc-len", -1, "cut descriptions in CRDs at the sentence that ends within so many characters; 0 leaves them out, -1 keeps them whole")
	flags.BoolVar(&o.CRDs.EmbeddedObjectMeta, "crd-generate-embedded-object-meta", false, "write the fields of embedded metav1.ObjectMeta into CRDs")
	flags.BoolVar(&o.CRDs.DangerousTypes, "crd-allow-dangerous-types", false, "allow float32 and float64 in CRDs")
	flags.BoolVar(&o.CRDs.IgnoreUnexportedFields, "crd-ignore-unexported-fields", false, "leave fields that are not exported out of CRDs")
	flags.BoolVar(&o.CRDs.OmitToolVersion, "crd-omit-tool-version", false, "leave the version of the generator out of CRDs")
	flags.BoolVar(&o.preserveUnknownFields, "crd-preserve-unknown-fields", false, "set spec.preserveUnknownFields in CRDs to `value`; for those that once were v1beta1")
	o.generateOptions.addFlags(flags)
}

// options returns what the flags say.
func (o *manifestsOptions) options(flags *pflag.FlagSet) generateOptions {
	if o.maxDescLen >= 0 {
		o.CRDs.MaxDescLen = &o.maxDescLen
	}
	if flags.Changed("crd-preserve-unknown-fields") {
		o.CRDs.PreserveUnknownFields = &o.preserveUnknownFields
	}
	return o.generateOptions
}
