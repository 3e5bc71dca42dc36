package apiserver

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const modeMessage = "must be a number between 0 and 0777 (octal), both inclusive"

func (c *podChecks) checkVolumes(metadata *metav1.ObjectMeta, at *field.Path) {
	c.volumes = map[string]corev1.VolumeSource{}
	names, claims := sets.New[string](), sets.New[string]()
	for _, volume := range c.spec.Volumes {
		if metadata != nil && metadata.Name != "" && volume.Ephemeral != nil {
			claims.Insert(metadata.Name + "-" + volume.Name)
		}
	}
	for i, volume := range c.spec.Volumes {
		here, before := at.Index(i), len(c.list)
		c.volume(volume, metadata, here)
		if volume.Name == "" {
			c.required(here.Child("name"), "")
		} else {
			c.label(here.Child("name"), volume.Name)
		}
		if names.Has(volume.Name) {
			c.add(field.Duplicate(here.Child("name"), volume.Name))
		}
		if len(c.list) == before {
			names.Insert(volume.Name)
			c.volumes[volume.Name] = volume.VolumeSource
		}
		if claim := volume.PersistentVolumeClaim; claim != nil && claims.Has(claim.ClaimName) {
			c.invalid(here.Child("persistentVolumeClaim", "claimName"), claim.ClaimName, "must not reference a PVC that gets created for an ephemeral volume")
		}
	}
}

// volume checks that a volume is of one type, and what that says. Types that the tree has no driver for any more are only counted.
func (c *podChecks) volume(volume corev1.Volume, metadata *metav1.ObjectMeta, at *field.Path) {
	types := 0
	source := reflect.ValueOf(volume.VolumeSource)
	for i := range source.NumField() {
		if source.Field(i).IsNil() {
			continue
		}
		name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
		if types > 0 && name != "emptyDir" {
			c.forbidden(at.Child(name), "may not specify more than 1 volume type")
			continue
		}
		types++
		c.volumeType(volume, metadata, at, at.Child(name))
	}
	if types == 0 {
		c.required(at, "must specify a volume type")
	}
}

func (c *podChecks) mode(mode *int32, at *field.Path) {
	if mode != nil && (*mode > 0o777 || *mode < 0) {
		c.invalid(at, *mode, modeMessage)
	}
}

func (c *podChecks) needs(at *field.Path, name, value string) {
	if value == "" {
		c.required(at.Child(name), "")
	}
}

func (c *podChecks) volumeType(volume corev1.Volume, metadata *metav1.ObjectMeta, at, here *field.Path) {
	switch source := volume.VolumeSource; {
	case source.EmptyDir != nil && here.String() == at.Child("emptyDir").String():
		if limit := source.EmptyDir.SizeLimit; limit != nil && limit.Sign() < 0 {
			c.forbidden(here.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity")
		}
	case source.HostPath != nil:
		c.hostPath(source.HostPath, here)
	case source.Secret != nil:
		c.needs(here, "secretName", source.Secret.SecretName)
		c.mode(source.Secret.DefaultMode, here.Child("defaultMode"))
		c.items(source.Secret.Items, here.Child("items"))
	case source.ConfigMap != nil:
		c.needs(here, "name", source.ConfigMap.Name)
		c.mode(source.ConfigMap.DefaultMode, here.Child("defaultMode"))
		c.items(source.ConfigMap.Items, here.Child("items"))
	case source.PersistentVolumeClaim != nil:
		c.needs(here, "claimName", source.PersistentVolumeClaim.ClaimName)
	case source.NFS != nil:
		c.nfs(source.NFS, here)
	case source.DownwardAPI != nil:
		c.mode(source.DownwardAPI.DefaultMode, here.Child("defaultMode"))
		for _, file := range source.DownwardAPI.Items {
			c.downward(file, here)
		}
	case source.Projected != nil:
		c.mode(source.Projected.DefaultMode, here.Child("defaultMode"))
		c.projected(source.Projected, here)
	case source.CSI != nil:
		c.driver(here.Child("driver"), source.CSI.Driver)
		if secret := source.CSI.NodePublishSecretRef; secret != nil {
			c.needs(here.Child("nodePublishSecretRef"), "name", secret.Name)
		}
	case source.Ephemeral != nil:
		template := source.Ephemeral.VolumeClaimTemplate
		if template == nil {
			c.required(here.Child("volumeClaimTemplate"), "")
			return
		}
		here = here.Child("volumeClaimTemplate")
		c.add(validation.ValidateAnnotations(template.Annotations, here.Child("metadata", "annotations"))...)
		c.labels(here.Child("metadata", "labels"), template.Labels)
		c.claim(&template.Spec, here.Child("spec"))
		if metadata != nil && metadata.Name != "" && volume.Name != "" {
			name := metadata.Name + "-" + volume.Name
			for _, message := range validation.NameIsDNSSubdomain(name, false) {
				c.invalid(at.Child("name"), volume.Name, fmt.Sprintf("PVC name %q: %v", name, message))
			}
		}
	case source.Image != nil:
		if c.isPod {
			c.needs(here, "reference", source.Image.Reference)
		}
		oneOf(&c.findings, here.Child("pullPolicy"), source.Image.PullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	}
}

func (f *findings) hostPath(source *corev1.HostPathVolumeSource, at *field.Path) {
	if source.Path == "" {
		f.required(at.Child("path"), "")
		return
	}
	if slices.Contains(strings.Split(source.Path, "/"), "..") {
		f.invalid(at.Child("path"), source.Path, "must not contain '..'")
	}
	if source.Type != nil {
		oneOf(f, at.Child("type"), *source.Type, corev1.HostPathUnset, corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory, corev1.HostPathFileOrCreate,
			corev1.HostPathFile, corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev)
	}
}

func (f *findings) nfs(source *corev1.NFSVolumeSource, at *field.Path) {
	if source.Server == "" {
		f.required(at.Child("server"), "")
	}
	if source.Path == "" {
		f.required(at.Child("path"), "")
	}
	if !path.IsAbs(source.Path) {
		f.invalid(at.Child("path"), source.Path, "must be an absolute path")
	}
}

func (f *findings) driver(at *field.Path, name string) {
	if name == "" {
		f.required(at, "")
		return
	}
	if len(name) > 63 {
		f.add(field.TooLong(at, "", 63))
	}
	f.invalid(at, name, utilvalidation.IsDNS1123Subdomain(strings.ToLower(name))...)
}

func (c *podChecks) items(items []corev1.KeyToPath, at *field.Path) {
	for i, item := range items {
		here := at.Index(i)
		c.needs(here, "key", item.Key)
		c.needs(here, "path", item.Path)
		c.local(item.Path, here.Child("path"))
		c.mode(item.Mode, here.Child("mode"))
	}
}

func (c *podChecks) downward(file corev1.DownwardAPIVolumeFile, at *field.Path) {
	c.needs(at, "path", file.Path)
	c.local(file.Path, at.Child("path"))
	switch {
	case file.FieldRef != nil:
		c.fieldRef(file.FieldRef, at.Child("fieldRef"), "metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid")
		if file.ResourceFieldRef != nil {
			c.invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
		}
	case file.ResourceFieldRef != nil:
		c.resourceRef(file.ResourceFieldRef, at.Child("resourceFieldRef"), true)
	default:
		c.required(at, "one of fieldRef and resourceFieldRef is required")
	}
	c.mode(file.Mode, at.Child("mode"))
}

func (c *podChecks) projected(source *corev1.ProjectedVolumeSource, at *field.Path) {
	paths := sets.New[string]()
	once := func(path, name string) {
		if path != "" && paths.Has(path) {
			c.invalid(at, name, "conflicting duplicate paths")
		}
		paths.Insert(path)
	}
	for i, source := range source.Sources {
		here, sources := at.Child("sources").Index(i), 0
		keys := func(kind, name string, items []corev1.KeyToPath) {
			sources++
			c.needs(here.Child(kind), "name", name)
			c.items(items, here.Child(kind, "items"))
			for _, item := range items {
				once(item.Path, name)
			}
		}
		if source.Secret != nil {
			keys("secret", source.Secret.Name, source.Secret.Items)
		}
		if source.ConfigMap != nil {
			keys("configMap", source.ConfigMap.Name, source.ConfigMap.Items)
		}
		if source.DownwardAPI != nil {
			sources++
			for _, file := range source.DownwardAPI.Items {
				c.downward(file, here.Child("downwardAPI"))
				once(file.Path, file.Path)
			}
		}
		if token := source.ServiceAccountToken; token != nil {
			sources++
			if seconds := deref(token.ExpirationSeconds); seconds < 600 {
				c.invalid(here.Child("serviceAccountToken", "expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")
			} else if seconds > 1<<32 {
				c.invalid(here.Child("serviceAccountToken", "expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds")
			}
			if token.Path == "" {
				c.required(at.Child("path"), "")
			} else {
				c.local(token.Path, at.Child("path"))
			}
		}
		if sources > 1 {
			c.forbidden(here, "may not specify more than 1 volume type per source")
		}
	}
}

// Claims.

func accessModes(f *findings, modes []corev1.PersistentVolumeAccessMode, at *field.Path) {
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

func (f *findings) claim(spec *corev1.PersistentVolumeClaimSpec, at *field.Path) {
	if len(spec.AccessModes) == 0 {
		f.required(at.Child("accessModes"), "at least 1 access mode is required")
	}
	if spec.Selector != nil {
		f.selector(at.Child("selector"), spec.Selector)
	}
	accessModes(f, spec.AccessModes, at.Child("accessModes"))
	size, here := at.Child("resources").Key("storage"), at
	if storage, ok := spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		f.required(size, "")
	} else {
		f.positiveQuantity(size, storage)
	}
	if deref(spec.StorageClassName) != "" {
		f.subdomain(at.Child("storageClassName"), *spec.StorageClassName)
	}
	if spec.VolumeMode != nil {
		oneOf(f, at.Child("volumeMode"), *spec.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
	}
	source := func(at *field.Path, group *string, kind, name string) {
		if name == "" {
			f.required(at.Child("name"), "")
		}
		if kind == "" {
			f.required(at.Child("kind"), "")
		}
		if deref(group) == "" && kind != "PersistentVolumeClaim" {
			f.invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
		}
		if deref(group) != "" {
			f.subdomain(at.Child("apiGroup"), *group)
		}
	}
	if d := spec.DataSource; d != nil {
		source(at.Child("dataSource"), d.APIGroup, d.Kind, d.Name)
	}
	if d := spec.DataSourceRef; d != nil {
		source(at.Child("dataSourceRef"), d.APIGroup, d.Kind, d.Name)
		if deref(d.Namespace) != "" {
			f.label(at.Child("dataSourceRef", "namespace"), *d.Namespace)
		}
		if s := spec.DataSource; s != nil && deref(d.Namespace) == "" && (s.Kind != d.Kind || s.Name != d.Name || deref(s.APIGroup) != deref(d.APIGroup)) {
			f.invalid(here, here.Child("dataSource"), "must match dataSourceRef")
		}
	}
	if deref(spec.VolumeAttributesClassName) != "" {
		f.subdomain(at.Child("volumeAttributesClassName"), *spec.VolumeAttributesClassName)
	}
}

func validateClaim(claim *corev1.PersistentVolumeClaim) field.ErrorList {
	f := findings{validateMetadata(&claim.ObjectMeta, true, validation.NameIsDNSSubdomain)}
	f.claim(&claim.Spec, field.NewPath("spec"))
	return f.list
}

func validateClaimUpdate(claim, old *corev1.PersistentVolumeClaim) field.ErrorList {
	f := findings{append(validateMetadataUpdate(claim, old), validateClaim(claim)...)}
	now, was := claim.DeepCopy(), old.DeepCopy()
	if was.Spec.VolumeName == "" {
		was.Spec.VolumeName = now.Spec.VolumeName
	}
	if was.Spec.StorageClassName == nil && now.Spec.StorageClassName != nil {
		now.Spec.StorageClassName = nil
	}
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
	return f.list
}

// Volumes.

func validateVolume(volume *corev1.PersistentVolume) field.ErrorList {
	at, spec := field.NewPath("spec"), &volume.Spec
	f := findings{validateMetadata(&volume.ObjectMeta, false, validation.NameIsDNSSubdomain)}
	if len(spec.AccessModes) == 0 {
		f.required(at.Child("accessModes"), "")
	}
	accessModes(&f, spec.AccessModes, at.Child("accessModes"))
	if len(spec.Capacity) == 0 {
		f.required(at.Child("capacity"), "")
	}
	if _, ok := spec.Capacity[corev1.ResourceStorage]; !ok || len(spec.Capacity) > 1 {
		f.add(field.NotSupported(at.Child("capacity"), spec.Capacity, []corev1.ResourceName{corev1.ResourceStorage}))
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
			f.required(at.Child("nodeAffinity", "required"), "must specify required node constraints")
		} else {
			f.nodeSelector(affinity.Required, at.Child("nodeAffinity", "required"))
		}
	}
	f.volumeSource(spec, at)
	if spec.StorageClassName != "" {
		f.subdomain(at.Child("storageClassName"), spec.StorageClassName)
	}
	if spec.VolumeMode != nil {
		oneOf(&f, at.Child("volumeMode"), *spec.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
	}
	return f.list
}

func (f *findings) volumeSource(spec *corev1.PersistentVolumeSpec, at *field.Path) {
	types, source := 0, reflect.ValueOf(spec.PersistentVolumeSource)
	for i := range source.NumField() {
		if source.Field(i).IsNil() {
			continue
		}
		name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
		here := at.Child(name)
		if types++; types > 1 {
			f.forbidden(here, "may not specify more than 1 volume type")
			continue
		}
		switch name {
		case "hostPath":
			f.hostPath(spec.HostPath, here)
		case "nfs":
			f.nfs(spec.NFS, here)
		case "local":
			if spec.Local.Path == "" {
				f.required(here.Child("path"), "")
			} else if slices.Contains(strings.Split(spec.Local.Path, "/"), "..") {
				f.invalid(here.Child("path"), spec.Local.Path, "must not contain '..'")
			}
			if spec.NodeAffinity == nil {
				f.required(at.Child("nodeAffinity"), "Local volume requires node affinity")
			}
		case "csi":
			f.driver(here.Child("driver"), spec.CSI.Driver)
			if spec.CSI.VolumeHandle == "" {
				f.required(here.Child("volumeHandle"), "")
			}
		}
	}
	if types == 0 {
		f.required(at, "must specify a volume type")
	}
	if spec.HostPath != nil && path.Clean(spec.HostPath.Path) == "/" && spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		f.forbidden(at.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'")
	}
}

func validateVolumeUpdate(volume, old *corev1.PersistentVolume) field.ErrorList {
	f := findings{append(validateMetadataUpdate(volume, old), validateVolume(volume)...)}
	if !equality.Semantic.DeepEqual(volume.Spec.PersistentVolumeSource, old.Spec.PersistentVolumeSource) {
		f.forbidden(field.NewPath("spec", "persistentvolumesource"), "spec.persistentvolumesource is immutable after creation\n"+
			diff.Diff(goValue{old.Spec.PersistentVolumeSource}, goValue{volume.Spec.PersistentVolumeSource}))
	}
	f.immutable(field.NewPath("volumeMode"), volume.Spec.VolumeMode, old.Spec.VolumeMode)
	return f.list
}
