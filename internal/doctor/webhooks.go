package doctor

import (
	"context"

	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// checkWebhooks reports webhook markers with paths that the program does not serve. It has no findings if the program
// may serve them, for example because it computes a path, or if the code cannot be loaded, which other checks report.
func checkWebhooks(ctx context.Context, p *Project) []Finding {
	called := p.calledWebhooks(ctx)
	if len(called) == 0 {
		return nil
	}
	program, err := load.Load(ctx, load.Config{Dir: p.Dir, Lenient: true})
	if err != nil {
		return nil
	}
	found, err := p.analyzed(ctx)
	if err != nil {
		return nil
	}
	var findings []Finding
	for _, pkg := range program.Packages() {
		for _, m := range pkg.Markers {
			config, ok := m.Value.(webhook.Config)
			if !ok || !m.Counts() || !called[calledWebhook{config.Name, config.Path}] ||
				found.Webhooks.MayServe(config.Path) {
				continue
			}
			findings = append(findings, warnings(diagnostic.At(
				diagnostic.Relative(p.Dir, program.Fset().Position(m.Pos)), gosource.UnservedWebhook(config.Path),
				"register the webhook in the manager, or remove the marker and run kctrl manifests"))...)
		}
	}
	return findings
}

// calledWebhook is a webhook in a generated configuration.
type calledWebhook struct{ name, path string }

// calledWebhooks returns the webhooks for which API servers call the manager's service. Webhooks with another service
// may belong to another program.
func (p *Project) calledWebhooks(ctx context.Context) map[calledWebhook]bool {
	generated, err := p.generated(ctx)
	if err != nil {
		return nil
	}
	called := map[calledWebhook]bool{}
	for c := range generated.Files() {
		if c.Template != webhooksTemplate {
			continue
		}
		docs, err := edit.Documents(c.After)
		if err != nil {
			return nil
		}
		for _, doc := range docs {
			for _, w := range yamlnode.Items(doc.Content[0], "webhooks") {
				service := func(key string) string { return yamlnode.Text(w, "clientConfig", "service", key) }
				if service("name") == "webhook-service" && service("namespace") == "system" && service("port") == "" {
					called[calledWebhook{yamlnode.Text(w, "name"), service("path")}] = true
				}
			}
		}
	}
	return called
}

// webhooksTemplate is the name in PROJECT.lock for files that are generated from webhook markers.
const webhooksTemplate = "generate/webhook"
