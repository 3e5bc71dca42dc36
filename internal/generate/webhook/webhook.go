// Package webhook generates the webhook configurations of the API server from "+kubebuilder:webhook" markers. A
// configuration lists the admission webhooks that the API server calls.
package webhook

import (
	"cmp"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/load"
)

// Generator writes a file with a MutatingWebhookConfiguration, a ValidatingWebhookConfiguration, or both. In a project,
// markers that the API server would reject are errors.
var Generator = generator.Generator{
	Name:           "webhook",
	Options:        webhook.Generator{},
	PackageMarkers: []string{webhook.ConfigDefinition.Name, webhook.WebhookConfigDefinition.Name},
	OrderCounts: func(packages []*load.Package, _ genall.OutputRule) bool {
		return sharesWebhooks(packages)
	},
	Generate: func(in generator.Input, options genall.Generator) error {
		if in.Strict {
			if err := check(in.Markers, in.Dir, in.Roots); err != nil {
				return err
			}
		}
		err := options.Generate(&in.GenerationContext)
		if err == nil {
			return nil
		}
		return cmp.Or(check(in.Markers, in.Dir, in.Roots), err)
	},
	Dir: generator.Flag{Name: "output-webhook-dir", Default: "config/webhook",
		Usage: "`directory` of webhook configurations"},
	Kustomization: "config/webhook",
}

// sharesWebhooks reports whether two packages configure the same configuration or webhook. In that case the last one
// takes effect.
func sharesWebhooks(packages []*load.Package) bool {
	configurations := 0
	named := map[string]bool{}
	for _, pkg := range packages {
		if pkg.Has(webhook.WebhookConfigDefinition.Name) {
			configurations++
		}
		for _, value := range pkg.Values(webhook.ConfigDefinition.Name) {
			name := value.(webhook.Config).Name
			if named[name] {
				return true
			}
			named[name] = true
		}
	}
	return configurations > 1
}
