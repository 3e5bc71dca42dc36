package doctor

import (
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// issuedBy is the annotation by which cert-manager writes the CA of a certificate into an object.
const issuedBy = "cert-manager.io/inject-ca-from"

// checkNames reports the names in webhook configurations that do not follow the prefix and the namespace of their
// kustomization.
func checkNames(folder string, built resmap.ResMap) []Finding {
	var findings []Finding
	report := func(r *resource.Resource, hint, format string, args ...any) {
		findings = append(findings, warnings(diagnostic.In(folder,
			fmt.Sprintf("%s %s ", r.GetKind(), r.GetName())+fmt.Sprintf(format, args...), hint))...)
	}
	for _, r := range built.Resources() {
		if !strings.HasSuffix(r.GetKind(), "WebhookConfiguration") {
			continue
		}
		text, err := r.AsYAML()
		if err != nil {
			continue
		}
		// Both kinds of configurations have these fields.
		var config admissionregistrationv1.ValidatingWebhookConfiguration
		if sigsyaml.Unmarshal(text, &config) != nil {
			continue
		}
		certificate, issued := certificateOf(built, config.Annotations[issuedBy])
		if !issued {
			report(r, "list ../components/webhook/names under transformers",
				"gets the CA of the certificate %s, which does not exist", config.Annotations[issuedBy])
		}
		for _, w := range config.Webhooks {
			if s := w.ClientConfig.Service; s != nil && certificate != nil {
				names, err := certificate.GetSlice("spec.dnsNames")
				if address := s.Name + "." + s.Namespace + ".svc"; err == nil && !slices.Contains(names, any(address)) {
					report(r, "list ../components/webhook/names under transformers",
						"calls %s, and the certificate %s has no such DNS name", address, certificate.GetName())
				}
			}
			if w.NamespaceSelector == nil {
				continue
			}
			for _, e := range w.NamespaceSelector.MatchExpressions {
				if slices.Contains(e.Values, "system") {
					report(r, "list ../manager, which has the Namespace, or write the name of the namespace in the marker",
						"has a selector for the namespace system: kustomize inserts the namespace only for a listed Namespace")
				}
			}
		}
	}
	return slices.CompactFunc(findings, func(a, b Finding) bool { return a.Error.Error() == b.Error.Error() })
}

// certificateOf returns the certificate that an annotation of cert-manager names. found is false if the manifests have
// the certificate of the component under another name. The certificate can be nil: others may create it.
func certificateOf(built resmap.ResMap, annotation string) (certificate *resource.Resource, found bool) {
	for _, r := range built.Resources() {
		switch {
		case annotation == "" || r.GetKind() != "Certificate":
		case r.GetNamespace()+"/"+r.GetName() == annotation:
			return r, true
		case strings.Contains(r.GetName(), "webhook-certificate") && strings.Contains(annotation, "webhook-certificate"):
			certificate = r
		}
	}
	return nil, certificate == nil
}

// overlays returns the directories in config whose kustomizations list config/default.
func overlays(p *plan.Plan) (folders []string) {
	for folder, name := range kustomizations(p) {
		text, err := p.Read(name)
		if err == nil && slices.ContainsFunc(templated.ListedFiles(text, name), func(item *yaml.Node) bool {
			return path.Join(folder, item.Value) == defaultFolder
		}) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// kustomizations yields the directories in config that have a kustomization, and the names of the kustomizations. It
// skips unreadable directories, which other checks report.
func kustomizations(p *plan.Plan) iter.Seq2[string, string] {
	return func(yield func(folder, name string) bool) {
		_ = fs.WalkDir(p.FS(), "config", func(folder string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil
			}
			if name, found, err := templated.Kustomization(p, folder); err == nil && found && !yield(folder, name) {
				return fs.SkipAll
			}
			return nil
		})
	}
}
