// Package webhook generates the webhook configurations that tell the API server which admission webhooks to call, from
// "+kubebuilder:webhook" markers.
package webhook

import (
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/load"
)

// Folder is where the file is written.
const Folder = "config/webhook"

// FileName is the name of the file.
const FileName = "manifests.yaml"

// Emits reports whether a package has webhooks.
func Emits(pkg *load.Package) bool {
	return pkg.Has(webhook.ConfigDefinition.Name, webhook.WebhookConfigDefinition.Name)
}

// Generate returns the file with a MutatingWebhookConfiguration, a ValidatingWebhookConfiguration, or both. Without any
// webhook it returns nothing. Markers that the API server would refuse come back joined from *diagnostic.Error.
func Generate(program *load.Program, folder string, header artifact.Header) ([]artifact.File, error) {
	sink := &artifact.Sink{Folder: folder}
	ctx := &genall.GenerationContext{Collector: &markers.Collector{Registry: program.Registry().Registry}, OutputRule: sink, InputRule: header}
	for _, pkg := range program.Packages() {
		if Emits(pkg) {
			ctx.Roots = append(ctx.Roots, pkg.Only(webhook.ConfigDefinition.Name, webhook.WebhookConfigDefinition.Name))
		}
	}
	if err := Check(program.Registry(), program.Dir(), ctx.Roots); err != nil {
		return nil, err
	}
	err := webhook.Generator{HeaderFile: header.Path(), Year: header.Year}.Generate(ctx)
	return sink.Files(), err
}
