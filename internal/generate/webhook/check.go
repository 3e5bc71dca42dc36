package webhook

import (
	"errors"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// check returns the problems of the webhook markers of packages, joined from *diagnostic.Error. The generator of
// controller-tools stops at the first problem and does not report its position. File names are relative to dir.
func check(registry *markers.Registry, dir string, packages []*loader.Package) error {
	var errs []error
	for _, pkg := range packages {
		first := map[bool]bool{}
		for _, m := range markersIn(registry, pkg, webhook.WebhookConfigDefinition.Name) {
			config := m.Value.(webhook.WebhookConfig)
			if first[config.Mutating] {
				errs = append(errs, problem(dir, pkg, m, "a second configuration of this kind in the package",
					"keep one: all webhooks of a kind share one configuration"))
			}
			first[config.Mutating] = true
		}
		for _, m := range markersIn(registry, pkg, webhook.ConfigDefinition.Name) {
			if message, hint := problemOf(m.Value.(webhook.Config)); message != "" {
				errs = append(errs, problem(dir, pkg, m, message, hint))
			}
		}
	}
	return errors.Join(errs...)
}

func problem(dir string, pkg *loader.Package, m markers.Marker, message, hint string) error {
	pos := diagnostic.Relative(dir, pkg.Fset.Position(m.Pos))
	return &diagnostic.Error{Pos: pos, Message: "+" + m.Definition.Name + ": " + message, Hint: hint}
}

// markersIn returns the markers of one definition anywhere in a package. It skips unreadable markers, because package
// lint reports them.
func markersIn(registry *markers.Registry, pkg *loader.Package, name string) []markers.Marker {
	var all []markers.Marker
	for _, file := range pkg.Syntax {
		for _, m := range registry.Read(pkg.Fset, file) {
			if m.Definition != nil && m.Definition.Name == name && m.Err == nil {
				all = append(all, m)
			}
		}
	}
	return all
}

// problemOf returns the problem of a webhook and a hint. An empty message means no problem.
func problemOf(config webhook.Config) (message, hint string) {
	for _, version := range config.WebhookVersions {
		if version != "v1" {
			return "unsupported webhook version " + version, "write webhookVersions=v1, or leave it out"
		}
	}
	sent, err := convert(config)
	switch {
	case err != nil:
		return err.Error(), hintFor(config)
	case sent.SideEffects == nil:
		return "sideEffects is missing", "write sideEffects=None, or sideEffects=NoneOnDryRun"
	case *sent.SideEffects == admissionv1.SideEffectClassUnknown || *sent.SideEffects == admissionv1.SideEffectClassSome:
		return "sideEffects must not be " + string(*sent.SideEffects), "write sideEffects=None, or sideEffects=NoneOnDryRun"
	case sent.TimeoutSeconds != nil && (*sent.TimeoutSeconds < 1 || *sent.TimeoutSeconds > 30):
		return "timeoutSeconds must be between 1 and 30", "write timeoutSeconds=10, or leave it out"
	case len(sent.AdmissionReviewVersions) == 0:
		return "admissionReviewVersions is empty", "write admissionReviewVersions=v1"
	}
	return "", ""
}

// hintFor returns a hint for a webhook that cannot be called.
func hintFor(config webhook.Config) string {
	if (config.Path == "") == (config.URL == "") {
		return "write path=/... for a service of the cluster, or url=https://... for any other server"
	}
	return "see kctrl gen webhook -www for what the marker takes"
}

// convert converts a marker, with its patch applied, to the webhook that the API server gets. For a mutating webhook it
// returns the fields that it shares with a validating webhook.
func convert(config webhook.Config) (admissionv1.ValidatingWebhook, error) {
	if !config.Mutating {
		return config.ToValidatingWebhook()
	}
	w, err := config.ToMutatingWebhook()
	return admissionv1.ValidatingWebhook{
		SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
	}, err
}
