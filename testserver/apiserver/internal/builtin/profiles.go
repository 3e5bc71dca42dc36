package builtin

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Profiles of seccomp and AppArmor, which were annotations before they were fields.

const localProfile = "localhost/" // what names of profiles on nodes begin with, in annotations

func (c *podChecks) profileAnnotations(annotations map[string]string, at *field.Path) {
	containers := map[string]bool{}
	EachContainer(c.spec, nil, func(container *corev1.Container, _ *field.Path) { containers[container.Name] = true })
	if value, there := annotations[corev1.SeccompPodAnnotationKey]; there {
		c.seccompAnnotation(value, at.Child(corev1.SeccompPodAnnotationKey))
	}
	keys := sortedMap(annotations)
	for _, key := range keys {
		if strings.HasPrefix(key, corev1.SeccompContainerAnnotationKeyPrefix) {
			c.seccompAnnotation(annotations[key], at.Child(key))
		}
	}
	for _, key := range keys {
		value := annotations[key]
		if name, is := strings.CutPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix); is {
			if !containers[name] {
				c.invalid(at.Key(key), name, "container not found")
			}
			if value != "" && value != "runtime/default" && value != "unconfined" && !strings.HasPrefix(value, localProfile) {
				c.invalid(at.Key(key), value, fmt.Sprintf("invalid AppArmor profile name: %q", value))
			}
		}
	}
}

func (c *podChecks) seccompAnnotation(value string, at *field.Path) {
	if local, is := strings.CutPrefix(value, localProfile); is {
		c.descending(local, at)
	} else if value != "runtime/default" && value != "docker/default" && value != "unconfined" {
		c.invalid(at, value, "must be a valid seccomp profile")
	}
}

// profile is one of either sort, without its type.
type profile struct {
	of    string // seccomp or apparmor
	sort  string
	local *string
}

func seccompOf(p *corev1.SeccompProfile) *profile {
	if p == nil {
		return nil
	}
	return &profile{"seccomp", string(p.Type), p.LocalhostProfile}
}

func appArmorOf(p *corev1.AppArmorProfile) *profile {
	if p == nil {
		return nil
	}
	return &profile{"apparmor", string(p.Type), p.LocalhostProfile}
}

// sameProfiles refuses a new pod, or a template, whose annotations say something else than its fields.
func (f *Findings) sameProfiles(annotations map[string]string, spec *corev1.PodSpec, at *field.Path) {
	var armor *profile
	if context := spec.SecurityContext; context != nil {
		f.sameProfile(annotations, corev1.SeccompPodAnnotationKey, seccompOf(context.SeccompProfile), at.Child("securityContext", "seccompProfile"))
		armor = appArmorOf(context.AppArmorProfile)
	}
	EachContainer(spec, at, func(container *corev1.Container, here *field.Path) {
		if context := container.SecurityContext; context != nil {
			f.sameProfile(annotations, corev1.SeccompContainerAnnotationKeyPrefix+container.Name, seccompOf(context.SeccompProfile), here.Child("securityContext", "seccompProfile"))
		}
	})
	if isWindows(spec) {
		return
	}
	EachContainer(spec, at, func(container *corev1.Container, here *field.Path) {
		armor := armor
		if context := container.SecurityContext; context != nil && context.AppArmorProfile != nil {
			armor = appArmorOf(context.AppArmorProfile)
		}
		f.sameProfile(annotations, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+container.Name, armor, here.Child("securityContext", "appArmorProfile"))
	})
}

func (f *Findings) sameProfile(annotations map[string]string, key string, p *profile, at *field.Path) {
	value, said := annotations[key]
	if !said || p == nil {
		return
	}
	same := true
	switch p.sort {
	case "Unconfined":
		same = value == "unconfined"
	case "RuntimeDefault":
		same = value == "runtime/default" || p.of == "seccomp" && value == "docker/default"
	case "Localhost":
		local, is := strings.CutPrefix(value, localProfile)
		if same = is; is && (p.local == nil || local != *p.local) {
			f.forbidden(at.Child("localhostProfile"), p.of+" profile in annotation and field must match")
		}
	}
	if !same {
		f.forbidden(at.Child("type"), p.of+" type in annotation and field must match")
	}
}

// annotatedArmor is the field for an annotation of AppArmor, whatever path it has, or nil.
func annotatedArmor(value string) *corev1.AppArmorProfile {
	switch local, is := strings.CutPrefix(value, localProfile); {
	case value == "unconfined":
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case value == "runtime/default":
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	case is && local != "":
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &local}
	}
	return nil
}

// maxProfile is how long the path of a profile may be.
const maxProfile = 4095

// eachAnnotatedArmor visits the containers of a new pod that have a profile of AppArmor by an annotation alone, with the field for it: nil
// if there is none, or if it is what the pod has for all.
func eachAnnotatedArmor(pod *corev1.Pod, visit func(container *corev1.Container, key string, valid bool, field *corev1.AppArmorProfile)) {
	if isWindows(&pod.Spec) {
		return
	}
	var all *corev1.AppArmorProfile
	if pod.Spec.SecurityContext != nil {
		all = pod.Spec.SecurityContext.AppArmorProfile
	}
	EachContainer(&pod.Spec, nil, func(container *corev1.Container, _ *field.Path) {
		key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + container.Name
		value, said := pod.Annotations[key]
		if !said || container.SecurityContext != nil && container.SecurityContext.AppArmorProfile != nil {
			return
		}
		found := annotatedArmor(value)
		var problems podChecks
		if problems.appArmor(found, nil); len(problems.List) > 0 {
			found = nil
		}
		if valid := found != nil; valid && equality.Semantic.DeepEqual(found, all) {
			visit(container, key, true, nil)
		} else {
			visit(container, key, valid, found)
		}
	})
}

const armorDeprecated = `%s: deprecated since v1.30; use the "appArmorProfile" field instead`

// armorWarnings are of annotations that have no field, or are about to get one.
func armorWarnings(pod *corev1.Pod) []string {
	var c cautions
	eachAnnotatedArmor(pod, func(_ *corev1.Container, key string, valid bool, found *corev1.AppArmorProfile) {
		if !valid || found != nil {
			c.warn(armorDeprecated, field.NewPath("metadata", "annotations").Key(key))
		}
	})
	return c
}

// templateArmor warns of annotations of a template that have no field; those of pods are told when they get one.
func (c *cautions) templateArmor(metadata *metav1.ObjectMeta, spec *corev1.PodSpec, container *corev1.Container, at *field.Path) {
	key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + container.Name
	value, said := metadata.Annotations[key]
	if at == nil || !said || container.SecurityContext != nil && container.SecurityContext.AppArmorProfile != nil {
		return
	}
	if all := spec.SecurityContext; all == nil || all.AppArmorProfile == nil || !equality.Semantic.DeepEqual(all.AppArmorProfile, annotatedArmor(value)) {
		c.warn(armorDeprecated, at.Child("metadata", "annotations").Key(key))
	}
}

// armorFields gives containers the fields for their annotations.
func armorFields(pod *corev1.Pod) {
	eachAnnotatedArmor(pod, func(container *corev1.Container, _ string, _ bool, found *corev1.AppArmorProfile) {
		if found == nil {
			return
		}
		if container.SecurityContext == nil {
			container.SecurityContext = &corev1.SecurityContext{}
		}
		container.SecurityContext.AppArmorProfile = found
	})
}
