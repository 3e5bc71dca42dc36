package builtin

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The columns of kinds that have a template for pods.
const (
	containersText = "Names of each container in the template."
	imagesText     = "Images referenced by each container in the template."
)

func namesOf(containers []corev1.Container) string {
	var names []string
	for _, container := range containers {
		names = append(names, container.Name)
	}
	return strings.Join(names, ",")
}

func imagesOf(containers []corev1.Container) string {
	var images []string
	for _, container := range containers {
		images = append(images, container.Image)
	}
	return strings.Join(images, ",")
}

func containerColumns[T runtime.Object](template func(object T) *corev1.PodTemplateSpec) []Column {
	return []Column{
		Col("Containers", "string wide", containersText, func(object T) any { return namesOf(template(object).Spec.Containers) }),
		Col("Images", "string wide", imagesText, func(object T) any { return imagesOf(template(object).Spec.Containers) }),
	}
}

func selectorText(selector *metav1.LabelSelector) string {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return "<invalid>"
	}
	return parsed.String()
}

// selecting checks the selector of a kind, and that the template for its pods is selected.
func (f *Findings) selecting(kind string, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, at *field.Path) {
	f.selector(at.Child("selector"), selector)
	if selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		f.invalid(at.Child("selector"), selector, "empty selector is invalid for "+kind)
	}
}

func (f *Findings) selected(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, at *field.Path, evenEmpty bool) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false
	}
	if (evenEmpty || !parsed.Empty()) && !parsed.Matches(labels.Set(template.Labels)) {
		f.invalid(at.Child("template", "metadata", "labels"), template.Labels, "`selector` does not match template `labels`")
	}
	return true
}

// alwaysRestarts checks that the pods of a kind do not end by themselves.
func (f *Findings) alwaysRestarts(kind string, spec *corev1.PodSpec, at *field.Path) {
	oneOf(f, at.Child("restartPolicy"), spec.RestartPolicy, corev1.RestartPolicyAlways)
	if spec.ActiveDeadlineSeconds != nil {
		f.forbidden(at.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+" is not Supported")
	}
}

func templateWarnings(template *corev1.PodTemplateSpec) []string {
	return podWarnings(&template.ObjectMeta, &template.Spec, field.NewPath("spec", "template"))
}

// Templates, and what came before replica sets.

// PodTemplates are the kind of that name, which nothing but authors of other systems use.
func PodTemplates() Kind {
	return Kind{
		GVK: CoreV1.WithKind("PodTemplate"), Resource: "podtemplates", Namespaced: true, Returned: true,
		Columns: []Column{
			Col("Containers", "string", containersText, func(t *corev1.PodTemplate) any { return namesOf(t.Template.Spec.Containers) }),
			Col("Images", "string", imagesText, func(t *corev1.PodTemplate) any { return imagesOf(t.Template.Spec.Containers) }),
			Col("Pod Labels", "string", "The labels for the pod template.", func(t *corev1.PodTemplate) any { return labels.FormatLabels(t.Template.Labels) }),
		},
		Rules: Rules{
			Unconditional: true, Spec: Typed1(func(t *corev1.PodTemplate) any { return t.Template }),
			Validate: Typed1(func(t *corev1.PodTemplate) field.ErrorList {
				return append(ValidateMetadata(&t.ObjectMeta, true, validation.NameIsDNSSubdomain), validateTemplate(&t.Template, field.NewPath("template"))...)
			}),
			ValidateUpdate: Typed2(func(t, old *corev1.PodTemplate) field.ErrorList {
				return append(ValidateMetadataUpdate(t, old), validateTemplate(&t.Template, field.NewPath("template"))...)
			}),
			Warnings: Typed1(func(t *corev1.PodTemplate) []string {
				return podWarnings(&t.Template.ObjectMeta, &t.Template.Spec, field.NewPath("template"))
			}),
		},
	}
}
