package builtin

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		here, before := at.Index(i), len(c.List)
		c.volume(volume, metadata, here)
		if volume.Name == "" {
			c.Required(here.Child("name"), "")
		} else {
			c.label(here.Child("name"), volume.Name)
		}
		if names.Has(volume.Name) {
			c.Add(field.Duplicate(here.Child("name"), volume.Name))
		}
		if len(c.List) == before {
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
	order := []int{1, 0} // emptyDir is looked at before hostPath
	for i := 2; i < source.NumField(); i++ {
		order = append(order, i)
	}
	for _, i := range order {
		if source.Field(i).IsNil() {
			continue
		}
		name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
		if types > 0 {
			if name == "downwardAPI" {
				name = "downwarAPI" // as the API server has it
			}
			c.forbidden(at.Child(name), "may not specify more than 1 volume type")
			continue
		}
		types++
		one := corev1.Volume{Name: volume.Name}
		reflect.ValueOf(&one.VolumeSource).Elem().Field(i).Set(source.Field(i))
		c.volumeType(one, metadata, at, at.Child(name))
	}
	if types == 0 {
		c.Required(at, "must specify a volume type")
	}
}

func (c *podChecks) mode(mode *int32, at *field.Path) {
	if mode != nil && (*mode > 0o777 || *mode < 0) {
		c.invalid(at, *mode, modeMessage)
	}
}

func (c *podChecks) needs(at *field.Path, name, value string) {
	if value == "" {
		c.Required(at.Child(name), "")
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
			if secret.Name != "" {
				for _, message := range validation.NameIsDNSSubdomain(secret.Name, false) {
					c.invalid(here.Child("name"), secret.Name, message)
				}
			}
		}
	case source.Ephemeral != nil:
		template := source.Ephemeral.VolumeClaimTemplate
		if template == nil {
			c.Required(here.Child("volumeClaimTemplate"), "")
			return
		}
		here = here.Child("volumeClaimTemplate")
		c.Add(validation.ValidateAnnotations(template.Annotations, here.Child("metadata", "annotations"))...)
		c.labels(here.Child("metadata", "labels"), template.Labels)
		c.onlyLabelled(&template.ObjectMeta, here.Child("metadata"))
		c.claim(&template.Spec, here.Child("spec"))
		if metadata != nil && metadata.Name != "" && volume.Name != "" {
			name := metadata.Name + "-" + volume.Name
			for _, message := range validation.NameIsDNSSubdomain(name, false) {
				c.invalid(at.Child("name"), volume.Name, fmt.Sprintf("PVC name %q: %v", name, message))
			}
		}
	case source.Image != nil:
		c.needs(here, "reference", source.Image.Reference)
		oneOf(&c.Findings, here.Child("pullPolicy"), source.Image.PullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	}
}

// onlyLabelled checks that the metadata of a template has nothing but labels and annotations. Its fields have the names of Go, as upstream finds them.
func (f *Findings) onlyLabelled(metadata *metav1.ObjectMeta, at *field.Path) {
	value := reflect.ValueOf(*metadata)
	for i := range value.NumField() {
		if name := value.Type().Field(i).Name; name != "Labels" && name != "Annotations" && !value.Field(i).IsZero() {
			f.forbidden(at.Child(strings.ToLower(name[:1])+name[1:]), "cannot be set")
		}
	}
}

func (f *Findings) hostPath(source *corev1.HostPathVolumeSource, at *field.Path) {
	if source.Path == "" {
		f.Required(at.Child("path"), "")
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

func (f *Findings) nfs(source *corev1.NFSVolumeSource, at *field.Path) {
	if source.Server == "" {
		f.Required(at.Child("server"), "")
	}
	if source.Path == "" {
		f.Required(at.Child("path"), "")
	}
	if !path.IsAbs(source.Path) {
		f.invalid(at.Child("path"), source.Path, "must be an absolute path")
	}
}

// driver checks the name of a driver of volumes.
func (f *Findings) driver(at *field.Path, name string) {
	if name == "" {
		f.Required(at, "")
		return
	}
	if len(name) > 63 {
		f.Add(field.TooLong(at, "", 63))
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
		c.Required(at, "one of fieldRef and resourceFieldRef is required")
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
			if seconds := Deref(token.ExpirationSeconds); seconds < 600 {
				c.invalid(here.Child("serviceAccountToken", "expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")
			} else if seconds > 1<<32 {
				c.invalid(here.Child("serviceAccountToken", "expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds")
			}
			if token.Path == "" {
				c.Required(at.Child("path"), "")
			} else {
				c.local(token.Path, at.Child("path"))
			}
		}
		if sources > 1 {
			c.forbidden(here, "may not specify more than 1 volume type per source")
		}
	}
}
