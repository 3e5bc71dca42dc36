package builtin

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
)

func phaseText[T ~string](object metav1.Object, phase T) string {
	if object.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	return string(phase)
}

// textOr returns the target of a pointer, or otherwise for nil.
func textOr[T ~string](value *T, otherwise string) string {
	if value == nil {
		return otherwise
	}
	return string(*value)
}

// VolumeClaims returns the kind PersistentVolumeClaim.
func VolumeClaims() Kind {
	rules, part := claimRules()
	status, spec := corev1.PersistentVolumeClaimStatus{}.SwaggerDoc(), corev1.PersistentVolumeClaimSpec{}.SwaggerDoc()
	type claim = corev1.PersistentVolumeClaim
	return Kind{
		GVK: CoreV1.WithKind("PersistentVolumeClaim"), Resource: "persistentvolumeclaims", Short: []string{"pvc"},
		Namespaced: true, Returned: true,
		Columns: []Column{
			Col("Status", "string", status["phase"], func(c *claim) any { return phaseText(c, c.Status.Phase) }),
			Col("Volume", "string", spec["volumeName"], func(c *claim) any { return c.Spec.VolumeName }),
			Col("Capacity", "string", status["capacity"], func(c *claim) any {
				if c.Spec.VolumeName == "" {
					return ""
				}
				return c.Status.Capacity.Storage().String()
			}),
			Col("Access Modes", "string", status["accessModes"], func(c *claim) any {
				if c.Spec.VolumeName == "" {
					return ""
				}
				return v1helper.GetAccessModesAsString(c.Status.AccessModes)
			}),
			Col("StorageClass", "string", "StorageClass of the pvc",
				func(c *claim) any { return storageClassOf(c, Deref(c.Spec.StorageClassName)) }),
			Col("VolumeAttributesClass", "string", "VolumeAttributesClass of the pvc",
				func(c *claim) any { return textOr(c.Spec.VolumeAttributesClassName, "<unset>") }),
			SinceColumn,
			Col("VolumeMode", "string wide", spec["volumeMode"],
				func(c *claim) any { return textOr(c.Spec.VolumeMode, "<unset>") }),
		},
		Rules:  rules,
		Status: &part,
		Admit: func(cluster Cluster, a admission.Attributes) error {
			c, ok := a.GetObject().(*claim)
			if !ok || a.GetOperation() != admission.Create {
				return nil
			}
			protect(c, "kubernetes.io/pvc-protection")
			if _, there := c.Annotations[corev1.BetaStorageClassAnnotation]; !there && c.Spec.StorageClassName == nil {
				if class := cluster.defaultStorageClass(); class != "" {
					c.Spec.StorageClassName = &class
				}
			}
			return nil
		},
		Review: func(cluster Cluster, a admission.Attributes) error {
			if err := cluster.reviewClaimLimits(a); err != nil {
				return err
			}
			return reviewGrowth(cluster, a)
		},
	}
}

// reviewGrowth rejects an update that increases a claim's storage request, unless the claim is bound and its class
// allows expansion.
func reviewGrowth(cluster Cluster, a admission.Attributes) error {
	now, ok := a.GetObject().(*corev1.PersistentVolumeClaim)
	was, old := a.GetOldObject().(*corev1.PersistentVolumeClaim)
	if !ok || !old || a.GetSubresource() != "" || now.Spec.Resources.Requests.Storage().Cmp(
		*was.Spec.Resources.Requests.Storage()) <= 0 {
		return nil
	}
	if was.Status.Phase != corev1.ClaimBound {
		//lint:ignore ST1005 the words of the real server
		return admission.NewForbidden(a, errors.New("Only bound persistent volume claims can be expanded"))
	}
	if name := storageClassOf(now, Deref(now.Spec.StorageClassName)); name != "" &&
		name == storageClassOf(was, Deref(was.Spec.StorageClassName)) {
		object, err := cluster.Read("storage.k8s.io", "v1", "storageclasses", "", name)
		if class, ok := object.(*storagev1.StorageClass); err == nil && ok && Deref(class.AllowVolumeExpansion) {
			return nil
		}
	}
	return admission.NewForbidden(a, errors.New("only dynamically provisioned pvc can be resized and the storageclass "+
		"that provisions the pvc must support resize"))
}

// storageClassOf returns the class of a claim or volume. The annotation that preceded the field takes precedence over
// it.
func storageClassOf(object metav1.Object, field string) string {
	if class, there := object.GetAnnotations()[corev1.BetaStorageClassAnnotation]; there {
		return class
	}
	return field
}

// protect adds a finalizer that prevents the deletion of an object in use.
func protect(object metav1.Object, finalizer string) {
	if !slices.Contains(object.GetFinalizers(), finalizer) {
		object.SetFinalizers(append(object.GetFinalizers(), finalizer))
	}
}

// Volumes returns the kind PersistentVolume.
func Volumes() Kind {
	rules, part := volumeRules()
	status, spec := corev1.PersistentVolumeStatus{}.SwaggerDoc(), corev1.PersistentVolumeSpec{}.SwaggerDoc()
	type volume = corev1.PersistentVolume
	return Kind{
		GVK: CoreV1.WithKind("PersistentVolume"), Resource: "persistentvolumes", Short: []string{"pv"}, Returned: true,
		Columns: []Column{
			Col("Capacity", "string", spec["capacity"], func(v *volume) any { return v.Spec.Capacity.Storage().String() }),
			Col("Access Modes", "string", spec["accessModes"],
				func(v *volume) any { return v1helper.GetAccessModesAsString(v.Spec.AccessModes) }),
			Col("Reclaim Policy", "string", spec["persistentVolumeReclaimPolicy"],
				func(v *volume) any { return string(v.Spec.PersistentVolumeReclaimPolicy) }),
			Col("Status", "string", status["phase"], func(v *volume) any { return phaseText(v, v.Status.Phase) }),
			Col("Claim", "string", spec["claimRef"], func(v *volume) any {
				if v.Spec.ClaimRef == nil {
					return ""
				}
				return v.Spec.ClaimRef.Namespace + "/" + v.Spec.ClaimRef.Name
			}),
			Col("StorageClass", "string", "StorageClass of the pv",
				func(v *volume) any { return storageClassOf(v, v.Spec.StorageClassName) }),
			Col("VolumeAttributesClass", "string", "VolumeAttributesClass of the pv",
				func(v *volume) any { return textOr(v.Spec.VolumeAttributesClassName, "<unset>") }),
			Col("Reason", "string", status["reason"], func(v *volume) any { return v.Status.Reason }),
			SinceColumn,
			Col("VolumeMode", "string wide", spec["volumeMode"],
				func(v *volume) any { return textOr(v.Spec.VolumeMode, "<unset>") }),
		},
		Rules:  rules,
		Status: &part,
		Admit: func(_ Cluster, a admission.Attributes) error {
			if v, ok := a.GetObject().(*volume); ok && a.GetOperation() == admission.Create {
				protect(v, "kubernetes.io/pv-protection")
			}
			return nil
		},
	}
}
