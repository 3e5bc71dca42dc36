package builtin

import (
	"errors"
	"path"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/diff"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

func modesText(modes []corev1.PersistentVolumeAccessMode) string {
	var short []string
	for _, mode := range []struct {
		mode corev1.PersistentVolumeAccessMode
		text string
	}{{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"}} {
		if slices.Contains(modes, mode.mode) {
			short = append(short, mode.text)
		}
	}
	return strings.Join(short, ",")
}

func phaseText[T ~string](object metav1.Object, phase T) string {
	if object.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	return string(phase)
}

func orUnset[T ~string](value *T) string {
	if value == nil {
		return "<unset>"
	}
	return string(*value)
}

// VolumeClaims are the kind PersistentVolumeClaim.
func VolumeClaims() Kind {
	status, spec := corev1.PersistentVolumeClaimStatus{}.SwaggerDoc(), corev1.PersistentVolumeClaimSpec{}.SwaggerDoc()
	type claim = corev1.PersistentVolumeClaim
	return Kind{
		GVK: CoreV1.WithKind("PersistentVolumeClaim"), Resource: "persistentvolumeclaims", Short: []string{"pvc"}, Namespaced: true, Returned: true,
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
				return modesText(c.Status.AccessModes)
			}),
			Col("StorageClass", "string", "StorageClass of the pvc", func(c *claim) any { return storageClassOf(c, Deref(c.Spec.StorageClassName)) }),
			Col("VolumeAttributesClass", "string", "VolumeAttributesClass of the pvc", func(c *claim) any { return orUnset(c.Spec.VolumeAttributesClassName) }),
			SinceColumn,
			Col("VolumeMode", "string wide", spec["volumeMode"], func(c *claim) any { return orUnset(c.Spec.VolumeMode) }),
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"},
			Create: Change1(func(c *claim) {
				c.Status = corev1.PersistentVolumeClaimStatus{} // the phase is found by who reads it, and written by the next update
				dropFarSource(&c.Spec, nil)
				sameSources(&c.Spec, nil)
			}),
			Update: Change2(func(c, old *claim) {
				c.Status = old.Status
				dropFarSource(&c.Spec, &old.Spec)
				sameSources(&c.Spec, &old.Spec)
			}),
			Validate:       Typed1(validateClaim),
			ValidateUpdate: Typed2(validateClaimUpdate),
			Warnings:       Typed1(claimWarnings),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update: Change2(func(c, old *claim) { c.Spec = old.Spec }),
			ValidateUpdate: Typed2(func(c, old *claim) field.ErrorList {
				f := Findings{ValidateMetadataUpdate(c, old)}
				for name, quantity := range c.Status.Capacity {
					if quantity.Value() < 0 {
						f.invalid(field.NewPath("status", "capacity").Key(string(name)), quantity.Value(), "must be a valid resource quantity")
					}
				}
				f.resizes(&c.Status, field.NewPath("status"))
				return f.List
			}),
		},
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

// resizes checks how far the growth of a claim has come.
func (f *Findings) resizes(status *corev1.PersistentVolumeClaimStatus, at *field.Path) {
	steps := []corev1.ClaimResourceStatus{corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
		corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible, corev1.PersistentVolumeClaimNodeResizePending}
	slices.Sort(steps)
	for _, name := range sortedMap(status.AllocatedResourceStatuses) {
		here := at.Child("allocatedResourceStatuses")
		f.claimResource(name, here)
		if !slices.Contains(steps, status.AllocatedResourceStatuses[name]) {
			f.Add(field.NotSupported(here, name, steps)) // of the name, as the API server has it
		}
	}
	for _, name := range sortedMap(status.AllocatedResources) {
		here, before := at.Child("allocatedResources"), len(f.List)
		if f.claimResource(name, here); len(f.List) > before {
			continue
		}
		quantity := status.AllocatedResources[name]
		if quantity.Value() < 0 {
			f.invalid(here.Key(string(name)), quantity.Value(), "must be a valid resource quantity")
		} else {
			f.quantity(here.Key(string(name)), corev1.ResourceStorage, quantity)
		}
	}
}

// claimResource checks the name of what a claim has got: of what Kubernetes itself has, storage.
func (f *Findings) claimResource(name corev1.ResourceName, at *field.Path) {
	if messages := utilvalidation.IsQualifiedName(string(name)); len(messages) > 0 {
		f.invalid(at, string(name), messages...)
		return
	}
	if isNative(name) && name != corev1.ResourceStorage {
		f.Add(field.NotSupported(at, string(name), []corev1.ResourceName{corev1.ResourceStorage}))
	}
}

// dropFarSource drops a source in another namespace, as that feature is off, unless a claim has had one. Templates of claims keep theirs.
func dropFarSource(spec, old *corev1.PersistentVolumeClaimSpec) {
	if spec.DataSourceRef != nil && Deref(spec.DataSourceRef.Namespace) != "" && (old == nil || old.DataSourceRef == nil) {
		spec.DataSourceRef = nil
	}
}

// reviewGrowth refuses to ask for more than a claim has, unless it is bound, and of a class whose volumes can grow.
func reviewGrowth(cluster Cluster, a admission.Attributes) error {
	now, ok := a.GetObject().(*corev1.PersistentVolumeClaim)
	was, old := a.GetOldObject().(*corev1.PersistentVolumeClaim)
	if !ok || !old || a.GetSubresource() != "" || now.Spec.Resources.Requests.Storage().Cmp(*was.Spec.Resources.Requests.Storage()) <= 0 {
		return nil
	}
	if was.Status.Phase != corev1.ClaimBound {
		//lint:ignore ST1005 the words of the real server
		return admission.NewForbidden(a, errors.New("Only bound persistent volume claims can be expanded"))
	}
	if name := storageClassOf(now, Deref(now.Spec.StorageClassName)); name != "" && name == storageClassOf(was, Deref(was.Spec.StorageClassName)) {
		object, err := cluster.Read("storage.k8s.io", "v1", "storageclasses", "", name)
		if class, ok := object.(*storagev1.StorageClass); err == nil && ok && Deref(class.AllowVolumeExpansion) {
			return nil
		}
	}
	return admission.NewForbidden(a, errors.New("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"))
}

// storageClassOf is the class of a claim or volume, which an annotation may name as it did before there was a field.
func storageClassOf(object metav1.Object, field string) string {
	if class, there := object.GetAnnotations()[corev1.BetaStorageClassAnnotation]; there {
		return class
	}
	return field
}

// sameSources fills in whichever of the two ways to name a source is not given. The older one may name but a claim or a snapshot, unless it
// named something before.
func sameSources(spec *corev1.PersistentVolumeClaimSpec, old *corev1.PersistentVolumeClaimSpec) {
	if source := spec.DataSource; source != nil && spec.DataSourceRef == nil && (old == nil || old.DataSource == nil && old.DataSourceRef == nil) {
		group := Deref(source.APIGroup)
		if !(source.Kind == "PersistentVolumeClaim" && group == "" || source.Kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io") {
			spec.DataSource = nil
		}
	}
	switch source, reference := spec.DataSource, spec.DataSourceRef; {
	case source != nil && reference == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	case source == nil && reference != nil && Deref(reference.Namespace) == "":
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: reference.APIGroup, Kind: reference.Kind, Name: reference.Name}
	}
}

// protect keeps what is in use from being deleted.
func protect(object metav1.Object, finalizer string) {
	if !slices.Contains(object.GetFinalizers(), finalizer) {
		object.SetFinalizers(append(object.GetFinalizers(), finalizer))
	}
}

// Volumes are the kind PersistentVolume.
func Volumes() Kind {
	status, spec := corev1.PersistentVolumeStatus{}.SwaggerDoc(), corev1.PersistentVolumeSpec{}.SwaggerDoc()
	type volume = corev1.PersistentVolume
	return Kind{
		GVK: CoreV1.WithKind("PersistentVolume"), Resource: "persistentvolumes", Short: []string{"pv"}, Returned: true,
		Columns: []Column{
			Col("Capacity", "string", spec["capacity"], func(v *volume) any { return v.Spec.Capacity.Storage().String() }),
			Col("Access Modes", "string", spec["accessModes"], func(v *volume) any { return modesText(v.Spec.AccessModes) }),
			Col("Reclaim Policy", "string", spec["persistentVolumeReclaimPolicy"], func(v *volume) any { return string(v.Spec.PersistentVolumeReclaimPolicy) }),
			Col("Status", "string", status["phase"], func(v *volume) any { return phaseText(v, v.Status.Phase) }),
			Col("Claim", "string", spec["claimRef"], func(v *volume) any {
				if v.Spec.ClaimRef == nil {
					return ""
				}
				return v.Spec.ClaimRef.Namespace + "/" + v.Spec.ClaimRef.Name
			}),
			Col("StorageClass", "string", "StorageClass of the pv", func(v *volume) any { return storageClassOf(v, v.Spec.StorageClassName) }),
			Col("VolumeAttributesClass", "string", "VolumeAttributesClass of the pv", func(v *volume) any { return orUnset(v.Spec.VolumeAttributesClassName) }),
			Col("Reason", "string", status["reason"], func(v *volume) any { return v.Status.Reason }),
			SinceColumn,
			Col("VolumeMode", "string wide", spec["volumeMode"], func(v *volume) any { return orUnset(v.Spec.VolumeMode) }),
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"},
			Create: Change1(func(v *volume) {
				now := metav1.Now()
				v.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
			}),
			Update:         Change2(func(v, old *volume) { v.Status = old.Status }),
			Validate:       Typed1(validateVolume),
			ValidateUpdate: Typed2(validateVolumeUpdate),
			Warnings:       Typed1(volumeWarnings),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update: Change2(func(v, old *volume) {
				v.Spec = old.Spec
				switch now, was := v.Status.LastPhaseTransitionTime, old.Status.LastPhaseTransitionTime; {
				case v.Status.Phase == old.Status.Phase && now == nil:
					v.Status.LastPhaseTransitionTime = was
				case v.Status.Phase != old.Status.Phase && (now == nil || now.Equal(was)):
					now := metav1.Now()
					v.Status.LastPhaseTransitionTime = &now
				}
			}),
			ValidateUpdate: ValidateMetadataUpdate,
		},
		Admit: func(_ Cluster, a admission.Attributes) error {
			if v, ok := a.GetObject().(*volume); ok && a.GetOperation() == admission.Create {
				protect(v, "kubernetes.io/pv-protection")
			}
			return nil
		},
	}
}

// Claims.

func accessModes(f *Findings, modes []corev1.PersistentVolumeAccessMode, at *field.Path) {
	one, other := false, false
	known := []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod}
	for _, mode := range modes {
		oneOf(f, at, mode, known...)
		one, other = one || mode == corev1.ReadWriteOncePod, other || mode != corev1.ReadWriteOncePod && slices.Contains(known, mode)
	}
	if one && other {
		f.forbidden(at, "may not use ReadWriteOncePod with other access modes")
	}
}

func (f *Findings) claim(spec *corev1.PersistentVolumeClaimSpec, at *field.Path) {
	if len(spec.AccessModes) == 0 {
		f.Required(at.Child("accessModes"), "at least 1 access mode is required")
	}
	if spec.Selector != nil {
		f.selector(at.Child("selector"), spec.Selector)
	}
	accessModes(f, spec.AccessModes, at.Child("accessModes"))
	size, here := at.Child("resources").Key("storage"), at
	if storage, ok := spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		f.Required(size, "")
	} else {
		f.positiveQuantity(size, storage)
	}
	if Deref(spec.StorageClassName) != "" {
		f.subdomain(at.Child("storageClassName"), *spec.StorageClassName)
	}
	if spec.VolumeMode != nil {
		oneOf(f, at.Child("volumeMode"), *spec.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
	}
	source := func(at *field.Path, group *string, kind, name string) {
		if name == "" {
			f.Required(at.Child("name"), "")
		}
		if kind == "" {
			f.Required(at.Child("kind"), "")
		}
		if Deref(group) == "" && kind != "PersistentVolumeClaim" {
			f.invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
		}
		if Deref(group) != "" {
			f.subdomain(at.Child("apiGroup"), *group)
		}
	}
	if d := spec.DataSource; d != nil {
		source(at.Child("dataSource"), d.APIGroup, d.Kind, d.Name)
	}
	if d := spec.DataSourceRef; d != nil {
		source(at.Child("dataSourceRef"), d.APIGroup, d.Kind, d.Name)
		if Deref(d.Namespace) != "" {
			f.label(at.Child("dataSourceRef", "namespace"), *d.Namespace)
		}
		if s := spec.DataSource; s != nil && Deref(d.Namespace) == "" && (s.Kind != d.Kind || s.Name != d.Name || Deref(s.APIGroup) != Deref(d.APIGroup)) {
			f.invalid(here, here.Child("dataSource"), "must match dataSourceRef")
		}
	}
	if Deref(spec.VolumeAttributesClassName) != "" {
		f.subdomain(at.Child("volumeAttributesClassName"), *spec.VolumeAttributesClassName)
	}
}

func validateClaim(claim *corev1.PersistentVolumeClaim) field.ErrorList {
	f := Findings{ValidateMetadata(&claim.ObjectMeta, true, validation.NameIsDNSSubdomain)}
	f.claim(&claim.Spec, field.NewPath("spec"))
	return f.List
}

func validateClaimUpdate(claim, old *corev1.PersistentVolumeClaim) field.ErrorList {
	f := Findings{append(ValidateMetadataUpdate(claim, old), validateClaim(claim)...)}
	now, was := claim.DeepCopy(), old.DeepCopy()
	if was.Spec.VolumeName == "" {
		was.Spec.VolumeName = now.Spec.VolumeName
	}
	f.classUpgrade(now, was)
	if claim.Status.Phase == corev1.ClaimBound {
		if now.Spec.Resources.Requests != nil {
			now.Spec.Resources.Requests["storage"] = was.Spec.Resources.Requests["storage"]
		}
		now.Spec.VolumeAttributesClassName = was.Spec.VolumeAttributesClassName
	}
	at := field.NewPath("spec")
	if !equality.Semantic.DeepEqual(now.Spec, was.Spec) {
		f.forbidden(at, "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"+diff.Diff(goValue{was.Spec}, goValue{now.Spec}))
	}
	size, before, have := claim.Spec.Resources.Requests["storage"], old.Spec.Resources.Requests["storage"], old.Status.Capacity["storage"]
	if size.Cmp(before) < 0 && size.Cmp(have) <= 0 {
		f.forbidden(at.Child("resources", "requests", "storage"), "field can not be less than status.capacity")
	}
	f.immutable(field.NewPath("volumeMode"), claim.Spec.VolumeMode, old.Spec.VolumeMode)
	if old.Status.CurrentVolumeAttributesClassName != nil && !equality.Semantic.DeepEqual(claim.Spec.VolumeAttributesClassName, old.Spec.VolumeAttributesClassName) {
		switch class := claim.Spec.VolumeAttributesClassName; {
		case class == nil:
			f.forbidden(at.Child("volumeAttributesClassName"), "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil")
		case *class == "":
			f.forbidden(at.Child("volumeAttributesClassName"), "update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil")
		}
	}
	return f.List
}

// classUpgrade lets a claim name its class where it named none, or the same one by an annotation, which does not change otherwise.
func (f *Findings) classUpgrade(now, was *corev1.PersistentVolumeClaim) {
	class, said := was.Annotations[corev1.BetaStorageClassAnnotation]
	saysNow, says := now.Annotations[corev1.BetaStorageClassAnnotation]
	named := was.Spec.StorageClassName == nil && now.Spec.StorageClassName != nil && (!said || *now.Spec.StorageClassName == class)
	if moved := named && said && (!says || saysNow == class); !moved {
		f.immutable(field.NewPath("metadata", "annotations", corev1.BetaStorageClassAnnotation), saysNow, class)
	}
	if named {
		now.Spec.StorageClassName = nil
	}
}

// Volumes.

func validateVolume(volume *corev1.PersistentVolume) field.ErrorList {
	at, spec := field.NewPath("spec"), &volume.Spec
	f := Findings{ValidateMetadata(&volume.ObjectMeta, false, validation.NameIsDNSSubdomain)}
	f.mountOptions(volume)
	f.access(spec, at)
	if len(spec.Capacity) == 0 {
		f.Required(at.Child("capacity"), "")
	}
	if _, ok := spec.Capacity[corev1.ResourceStorage]; !ok || len(spec.Capacity) > 1 {
		f.Add(field.NotSupported(at.Child("capacity"), spec.Capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for name, quantity := range spec.Capacity {
		here := at.Child("capacity").Key(string(name))
		if quantity.Value() < 0 {
			f.invalid(here, quantity.Value(), "must be a valid resource quantity")
		}
		f.positiveQuantity(here, quantity)
	}
	if spec.PersistentVolumeReclaimPolicy != "" {
		oneOf(&f, at.Child("persistentVolumeReclaimPolicy"), spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)
	}
	if affinity := spec.NodeAffinity; affinity != nil {
		if affinity.Required == nil {
			f.Required(at.Child("nodeAffinity", "required"), "must specify required node constraints")
		} else {
			f.nodeSelector(affinity.Required, at.Child("nodeAffinity", "required"))
		}
	}
	f.volumeSource(spec, volume.Name, at)
	if spec.StorageClassName != "" {
		f.subdomain(at.Child("storageClassName"), spec.StorageClassName)
	}
	if spec.VolumeMode != nil {
		oneOf(&f, at.Child("volumeMode"), *spec.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
	}
	if class := spec.VolumeAttributesClassName; class != nil {
		if *class == "" {
			f.Required(at.Child("volumeAttributesClassName"), "an empty string is disallowed")
		} else {
			f.subdomain(at.Child("volumeAttributesClassName"), *class)
		}
		if spec.CSI == nil {
			f.Required(at.Child("csi"), "has to be specified when using volumeAttributesClassName")
		}
	}
	return f.List
}

// mountOptions are in an annotation of volumes that know what to do with them.
func (f *Findings) mountOptions(volume *corev1.PersistentVolume) {
	_, said := volume.Annotations[corev1.MountOptionAnnotation]
	of := volume.Spec.PersistentVolumeSource
	if said && of.GCEPersistentDisk == nil && of.AWSElasticBlockStore == nil && of.Glusterfs == nil && of.NFS == nil && of.RBD == nil && of.Quobyte == nil && of.ISCSI == nil &&
		of.Cinder == nil && of.CephFS == nil && of.AzureFile == nil && of.VsphereVolume == nil && of.AzureDisk == nil && of.PhotonPersistentDisk == nil {
		f.forbidden(field.NewPath("metadata", "annotations", corev1.MountOptionAnnotation), "may not specify mount options for this volume type")
	}
}

func (f *Findings) access(spec *corev1.PersistentVolumeSpec, at *field.Path) {
	if len(spec.AccessModes) == 0 {
		f.Required(at.Child("accessModes"), "")
	}
	accessModes(f, spec.AccessModes, at.Child("accessModes"))
}

// inlineVolume checks a volume that is written where it is used.
func (f *Findings) inlineVolume(spec *corev1.PersistentVolumeSpec, at *field.Path) {
	const inline = "in the context of inline volumes"
	without := func(name string, given bool) {
		if given {
			f.forbidden(at.Child(name), "may not be specified "+inline)
		}
	}
	without("claimRef", spec.ClaimRef != nil)
	without("capacity", len(spec.Capacity) > 0)
	if spec.CSI == nil {
		f.Required(at.Child("csi"), "has to be specified "+inline)
	}
	f.access(spec, at)
	if spec.PersistentVolumeReclaimPolicy != "" && spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		f.forbidden(at.Child("persistentVolumeReclaimPolicy"), "may only be Retain "+inline)
	}
	without("nodeAffinity", spec.NodeAffinity != nil)
	f.volumeSource(spec, "", at)
	without("storageClassName", spec.StorageClassName != "")
	if spec.VolumeMode != nil && *spec.VolumeMode != corev1.PersistentVolumeFilesystem {
		f.forbidden(at.Child("volumeMode"), "may not specify volumeMode other than Filesystem "+inline)
	}
}

func (f *Findings) volumeSource(spec *corev1.PersistentVolumeSpec, name string, at *field.Path) {
	types := 0
	typesOf(spec.PersistentVolumeSource, volumeTypes, func(kind string, source any) {
		here := at.Child(kind)
		if types++; types > 1 && kind != "flexVolume" {
			f.forbidden(at.Child(misnamed(kind)), "may not specify more than 1 volume type")
			return
		}
		switch source := source.(type) {
		case *corev1.HostPathVolumeSource:
			f.hostPath(source, here)
		case *corev1.NFSVolumeSource:
			f.nfs(source, here)
		case *corev1.LocalVolumeSource:
			if source.Path == "" {
				f.Required(here.Child("path"), "")
			} else {
				f.noBacksteps(source.Path, here.Child("path"))
			}
			if spec.NodeAffinity == nil {
				f.Required(at.Child("nodeAffinity"), "Local volume requires node affinity")
			}
		case *corev1.CSIPersistentVolumeSource:
			f.csiVolume(source, here)
		default:
			if target := spec.ISCSI; kind == "iscsi" && target.TargetPortal != "" {
				if message, long := longTarget(target.InitiatorName, name, target.TargetPortal); long {
					f.invalid(here.Child("targetportal"), target.TargetPortal, message)
				}
			}
			f.driverless(kind, source, at)
		}
	})
	if types == 0 {
		f.Required(at, "must specify a volume type")
	}
	if spec.HostPath != nil && path.Clean(spec.HostPath.Path) == "/" && spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		f.forbidden(at.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'")
	}
}

func (f *Findings) csiVolume(source *corev1.CSIPersistentVolumeSource, at *field.Path) {
	f.driver(at.Child("driver"), source.Driver)
	if source.VolumeHandle == "" {
		f.Required(at.Child("volumeHandle"), "")
	}
	for _, one := range []struct {
		name   string
		secret *corev1.SecretReference
	}{
		{"controllerPublishSecretRef", source.ControllerPublishSecretRef}, {"controllerExpandSecretRef", source.ControllerExpandSecretRef},
		{"nodePublishSecretRef", source.NodePublishSecretRef}, {"nodeExpandSecretRef", source.NodeExpandSecretRef},
	} {
		if one.secret != nil {
			f.secret(one.secret, at.Child(one.name))
		}
	}
}

func (f *Findings) secret(secret *corev1.SecretReference, at *field.Path) {
	if secret.Name == "" {
		f.Required(at.Child("name"), "")
	} else {
		f.subdomain(at.Child("name"), secret.Name)
	}
	if secret.Namespace == "" {
		f.Required(at.Child("namespace"), "")
	} else {
		f.label(at.Child("namespace"), secret.Namespace)
	}
}

func validateVolumeUpdate(volume, old *corev1.PersistentVolume) field.ErrorList {
	f := Findings{append(ValidateMetadataUpdate(volume, old), validateVolume(volume)...)}
	if was, is := old.Spec.CSI, volume.Spec.CSI; was != nil && is != nil && was.ControllerExpandSecretRef == nil && is.ControllerExpandSecretRef != nil {
		volume = volume.DeepCopy() // which may be said later
		volume.Spec.CSI.ControllerExpandSecretRef = nil
	}
	if !equality.Semantic.DeepEqual(volume.Spec.PersistentVolumeSource, old.Spec.PersistentVolumeSource) {
		f.forbidden(field.NewPath("spec", "persistentvolumesource"), "spec.persistentvolumesource is immutable after creation\n"+
			diff.Diff(goValue{old.Spec.PersistentVolumeSource}, goValue{volume.Spec.PersistentVolumeSource}))
	}
	f.immutable(field.NewPath("volumeMode"), volume.Spec.VolumeMode, old.Spec.VolumeMode)
	if affinity := volume.Spec.NodeAffinity; old.Spec.NodeAffinity != nil && !sameButLabels().DeepEqual(affinity, old.Spec.NodeAffinity) {
		f.invalid(field.NewPath("nodeAffinity"), affinity, validation.FieldImmutableErrorMsg+", except for updating from beta label to GA")
	}
	if old.Spec.VolumeAttributesClassName != nil && volume.Spec.VolumeAttributesClassName == nil {
		f.forbidden(field.NewPath("spec", "volumeAttributesClassName"), "update from non-nil value to nil is forbidden")
	}
	return f.List
}

// stableLabels are what labels of nodes are called that once had another name.
var stableLabels = map[string]string{
	"failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
	"beta.kubernetes.io/os": "kubernetes.io/os", "beta.kubernetes.io/arch": "kubernetes.io/arch", "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}

// sameButLabels compares an affinity with the one before, in which labels may have had their old names.
var sameButLabels = sync.OnceValue(func() conversion.Equalities {
	same := equality.Semantic.Copy()
	must.Do(same.AddFunc(func(now, was corev1.NodeSelectorRequirement) bool {
		if stable, ok := stableLabels[was.Key]; ok && stable == now.Key {
			was.Key = now.Key
		}
		return equality.Semantic.DeepEqual(now, was)
	}))
	return same
})
