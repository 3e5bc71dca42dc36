package builtin

import (
	"strings"

	podtemplateregistry "k8s.io/kubernetes/pkg/registry/core/podtemplate"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// These are the columns of kinds with a pod template.
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
		Col("Containers", "string wide", containersText,
			func(object T) any { return namesOf(template(object).Spec.Containers) }),
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

// PodTemplates returns the kind PodTemplate. Nothing in the server uses it; only other systems do.
func PodTemplates() Kind {
	return Kind{
		GVK: CoreV1.WithKind("PodTemplate"), Resource: "podtemplates", Namespaced: true, Returned: true,
		Columns: []Column{
			Col("Containers", "string", containersText,
				func(t *corev1.PodTemplate) any { return namesOf(t.Template.Spec.Containers) }),
			Col("Images", "string", imagesText, func(t *corev1.PodTemplate) any { return imagesOf(t.Template.Spec.Containers) }),
			Col("Pod Labels", "string", "The labels for the pod template.",
				func(t *corev1.PodTemplate) any { return labels.FormatLabels(t.Template.Labels) }),
		},
		Rules: By(podtemplateregistry.Strategy),
	}
}
