package builtin

import (
	"fmt"
	"path"
	"reflect"
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

// volume checks that a volume is of one type, and what that says.
func (c *podChecks) volume(volume corev1.Volume, metadata *metav1.ObjectMeta, at *field.Path) {
	types := 0
	typesOf(volume.VolumeSource, podVolumeTypes, func(name string, source any) {
		if types++; types > 1 {
			c.forbidden(at.Child(misnamed(name)), "may not specify more than 1 volume type")
		} else if _, ok := driverlessTypes[name]; ok {
			c.driverless(name, source, at)
		} else {
			c.volumeType(source, volume.Name, metadata, at, at.Child(name))
		}
		if iscsi, ok := source.(*corev1.ISCSIVolumeSource); ok {
			if message, long := longTarget(iscsi.InitiatorName, volume.Name, iscsi.TargetPortal); long {
				c.invalid(at.Child("name"), volume.Name, message)
			}
		}
	})
	if types == 0 {
		c.Required(at, "must specify a volume type")
	}
}

// misnamed is a type of volumes as the API server has it where there is more than one.
func misnamed(name string) string {
	switch name {
	case "downwardAPI":
		return "downwarAPI"
	case "cephfs":
		return "cephFS"
	}
	return name
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

func (c *podChecks) volumeType(source any, volume string, metadata *metav1.ObjectMeta, at, here *field.Path) {
	switch source := source.(type) {
	case *corev1.EmptyDirVolumeSource:
		if limit := source.SizeLimit; limit != nil && limit.Sign() < 0 {
			c.forbidden(here.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity")
		}
	case *corev1.HostPathVolumeSource:
		c.hostPath(source, here)
	case *corev1.SecretVolumeSource:
		c.needs(here, "secretName", source.SecretName)
		c.mode(source.DefaultMode, here.Child("defaultMode"))
		c.items(source.Items, here.Child("items"))
	case *corev1.ConfigMapVolumeSource:
		c.needs(here, "name", source.Name)
		c.mode(source.DefaultMode, here.Child("defaultMode"))
		c.items(source.Items, here.Child("items"))
	case *corev1.PersistentVolumeClaimVolumeSource:
		c.needs(here, "claimName", source.ClaimName)
	case *corev1.NFSVolumeSource:
		c.nfs(source, here)
	case *corev1.DownwardAPIVolumeSource:
		c.mode(source.DefaultMode, here.Child("defaultMode"))
		for _, file := range source.Items {
			c.downward(file, here)
		}
	case *corev1.ProjectedVolumeSource:
		c.mode(source.DefaultMode, here.Child("defaultMode"))
		c.projected(source, here)
	case *corev1.CSIVolumeSource:
		c.driver(here.Child("driver"), source.Driver)
		if secret := source.NodePublishSecretRef; secret != nil {
			c.needs(here.Child("nodePublishSecretRef"), "name", secret.Name)
			if secret.Name != "" {
				for _, message := range validation.NameIsDNSSubdomain(secret.Name, false) {
					c.invalid(here.Child("name"), secret.Name, message)
				}
			}
		}
	case *corev1.EphemeralVolumeSource:
		template := source.VolumeClaimTemplate
		if template == nil {
			c.Required(here.Child("volumeClaimTemplate"), "")
			return
		}
		here = here.Child("volumeClaimTemplate")
		c.Add(validation.ValidateAnnotations(template.Annotations, here.Child("metadata", "annotations"))...)
		c.labels(here.Child("metadata", "labels"), template.Labels)
		c.onlyLabelled(&template.ObjectMeta, here.Child("metadata"))
		c.claim(&template.Spec, here.Child("spec"))
		if metadata != nil && metadata.Name != "" && volume != "" {
			name := metadata.Name + "-" + volume
			for _, message := range validation.NameIsDNSSubdomain(name, false) {
				c.invalid(at.Child("name"), volume, fmt.Sprintf("PVC name %q: %v", name, message))
			}
		}
	case *corev1.ImageVolumeSource:
		c.needs(here, "reference", source.Reference)
		oneOf(&c.Findings, here.Child("pullPolicy"), source.PullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
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
	f.noBacksteps(source.Path, at.Child("path"))
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
		if bundle := source.ClusterTrustBundle; bundle != nil {
			sources++
			c.trustBundle(bundle, here.Child("clusterTrustBundle"))
			if paths.Has(bundle.Path) {
				c.invalid(at, bundle.Path, "conflicting duplicate paths")
			}
			paths.Insert(bundle.Path)
		}
		if certificate := source.PodCertificate; certificate != nil {
			sources++
			c.podCertificate(certificate, here.Child("podCertificate"), once)
		}
		if sources > 1 {
			c.forbidden(here, "may not specify more than 1 volume type per source")
		}
	}
}

// trustBundle checks a projection of the certificates of a bundle, by its name or by a signer.
func (c *podChecks) trustBundle(bundle *corev1.ClusterTrustBundleProjection, at *field.Path) {
	switch {
	case bundle.Name != nil && bundle.SignerName != nil:
		c.invalid(at, bundle, "only one of name and signerName may be used")
	case bundle.Name != nil:
		c.bundleName(*bundle.Name, at.Child("name"))
		if bundle.LabelSelector != nil {
			c.invalid(at.Child("labelSelector"), bundle.LabelSelector, "labelSelector must be unset if name is specified")
		}
	case bundle.SignerName != nil:
		if *bundle.SignerName == "" {
			c.Required(at.Child("signerName"), "must be a valid signer name")
		}
		c.signer(at.Child("signerName"), *bundle.SignerName)
		c.selector(at.Child("labelSelector"), bundle.LabelSelector)
	default:
		c.Required(at, "either name or signerName must be specified")
	}
	c.needs(at, "path", bundle.Path)
	c.local(bundle.Path, at.Child("path"))
}

// bundleName checks the name of a bundle, which begins with that of its signer, if it has one.
func (c *podChecks) bundleName(name string, at *field.Path) {
	if name == "" {
		c.Required(at, "must be a valid object name")
	}
	var messages []string
	if signed := strings.LastIndex(name, ":"); signed == 0 {
		messages = []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
	} else {
		messages = validation.NameIsDNSSubdomain(name[signed+1:], false)
	}
	for _, message := range messages {
		c.invalid(at, name, "not a valid clustertrustbundlename: "+message)
	}
}

// podCertificate checks a projection of a certificate that is made for the pod.
func (c *podChecks) podCertificate(certificate *corev1.PodCertificateProjection, at *field.Path, once func(path, name string)) {
	const day = 24 * 60 * 60
	c.signer(at.Child("signerName"), certificate.SignerName)
	for _, key := range sortedMap(certificate.UserAnnotations) {
		c.Add(utilvalidation.IsDomainPrefixedKey(at.Child("userAnnotations"), strings.ToLower(key))...)
	}
	if validation.ValidateAnnotationsSize(certificate.UserAnnotations) != nil {
		c.Add(field.TooLong(at.Child("userAnnotations"), "", validation.TotalAnnotationSizeLimitB))
	}
	oneOfListed(&c.Findings, at.Child("keyType"), certificate.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
	if seconds := certificate.MaxExpirationSeconds; seconds != nil {
		most := int32(91 * day)
		if domain, _, _ := strings.Cut(certificate.SignerName, "/"); strings.HasSuffix("."+domain, ".kubernetes.io") {
			most = day
		}
		if *seconds < 3600 {
			c.invalid(at.Child("maxExpirationSeconds"), *seconds, "if provided, maxExpirationSeconds must be >= 3600")
		}
		if *seconds > most {
			c.invalid(at.Child("maxExpirationSeconds"), *seconds, fmt.Sprintf("if provided, maxExpirationSeconds must be <= %d", most))
		}
	}
	for _, file := range []struct{ name, path string }{
		{"credentialBundlePath", certificate.CredentialBundlePath}, {"keyPath", certificate.KeyPath}, {"certificateChainPath", certificate.CertificateChainPath},
	} {
		if file.path != "" {
			c.local(file.path, at.Child(file.name))
			once(file.path, file.path)
		}
	}
	if certificate.CredentialBundlePath+certificate.KeyPath+certificate.CertificateChainPath == "" {
		c.Required(at, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")
	}
}
