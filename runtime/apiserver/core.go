package apiserver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

var (
	coreV1        = corev1.SchemeGroupVersion
	namespaceKind = coreV1.WithKind("Namespace")
)

// coreKinds are the kinds of the core group.
func coreKinds() []kind {
	return []kind{
		configMaps(), endpointsKind(), limitRanges(), namespaces(), nodes(), volumeClaims(), volumes(), pods(), podTemplates(), replicationControllers(), resourceQuotas(), secrets(), serviceAccounts(), services(),
	}
}

// coreDefaults are the defaults of the core group, but for those of pods.
func coreDefaults() []defaulter {
	return []defaulter{
		defaultsOf(func(configMap *corev1.ConfigMap) {
			if configMap.Data == nil {
				configMap.Data = map[string]string{}
			}
		}),
		defaultsOf(func(controller *corev1.ReplicationController) {
			if template := controller.Spec.Template; template != nil && template.Labels != nil {
				if len(controller.Spec.Selector) == 0 {
					controller.Spec.Selector = template.Labels
				}
				if len(controller.Labels) == 0 {
					controller.Labels = template.Labels
				}
			}
			setPointer(&controller.Spec.Replicas, 1)
		}),
		defaultsOf(func(volume *corev1.PersistentVolume) {
			set(&volume.Status.Phase, corev1.VolumePending)
			set(&volume.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
			setPointer(&volume.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		}),
		defaultsOf(func(claim *corev1.PersistentVolumeClaim) { set(&claim.Status.Phase, corev1.ClaimPending) }),
		defaultsOf(func(spec *corev1.PersistentVolumeClaimSpec) {
			setPointer(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		}),
		defaultsOf(func(port *corev1.EndpointPort) { set(&port.Protocol, corev1.ProtocolTCP) }),
		defaultsOf(func(spec *corev1.NodeSpec) { // the first address range stands in two fields
			switch {
			case spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR):
				spec.PodCIDRs = []string{spec.PodCIDR}
			case spec.PodCIDR == "" && len(spec.PodCIDRs) > 0:
				spec.PodCIDR = spec.PodCIDRs[0]
			}
		}),
		defaultsOf(func(status *corev1.NodeStatus) {
			if status.Allocatable == nil {
				status.Allocatable = status.Capacity
			}
		}),
		defaultsOf(func(limit *corev1.LimitRangeItem) {
			if limit.Type != corev1.LimitTypeContainer {
				return
			}
			for _, lists := range [][2]*corev1.ResourceList{{&limit.Default, &limit.Max}, {&limit.DefaultRequest, &limit.Default}, {&limit.DefaultRequest, &limit.Min}} {
				if *lists[0] == nil {
					*lists[0] = corev1.ResourceList{}
				}
				for name, quantity := range *lists[1] {
					if _, ok := (*lists[0])[name]; !ok {
						(*lists[0])[name] = quantity.DeepCopy()
					}
				}
			}
		}),
		defaultsOf(func(namespace *corev1.Namespace) {
			if namespace.Name != "" {
				labelNamespace(namespace)
			}
		}),
		defaultsOf(func(status *corev1.NamespaceStatus) { set(&status.Phase, corev1.NamespaceActive) }),
		defaultsOf(func(secret *corev1.Secret) {
			set(&secret.Type, corev1.SecretTypeOpaque)
			if len(secret.StringData) > 0 && secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			for key, value := range secret.StringData {
				secret.Data[key] = []byte(value)
			}
			secret.StringData = nil
		}),
	}
}

func namespaces() kind {
	return kind{
		gvk: namespaceKind, resource: "namespaces", short: []string{"ns"}, returned: true,
		verbs: slices.DeleteFunc(slices.Clone(allVerbs), func(verb string) bool { return verb == "deletecollection" }),
		parts: []extraPart{{
			name: "finalize", kind: namespaceKind, verbs: []string{"update"},
			part: func(s *Server, r *registry, k *kind, f family) part {
				finalize := r.with(&kindStrategy{f.scheme, s.names, genericStoreOnly{}, k, finalizeRules()})
				return part{storage: updater{subresource{finalize}}, scope: newScope(k, f, "finalize", finalize.GetResetFields(), r)}
			},
		}},
		complete: func(_ *Server, r *registry, e *endpoint) { completeNamespaces(r, e) },
		columns: []column{
			{metav1.TableColumnDefinition{Name: "Status", Type: "string", Description: "The status of the namespace"}, func(object runtime.Object) any { return string(object.(*corev1.Namespace).Status.Phase) }},
			sinceColumn,
		},
		selectable: []string{"status.phase"},
		fields: func(object runtime.Object, set fields.Set) {
			set["status.phase"], set["name"] = string(object.(*corev1.Namespace).Status.Phase), mustAccess(object).GetName()
		},
		rules: rules{
			unconditional: true, reset: []string{"status"},
			create: func(object runtime.Object) {
				namespace := object.(*corev1.Namespace)
				namespace.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
				if !slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes) {
					namespace.Spec.Finalizers = append(namespace.Spec.Finalizers, corev1.FinalizerKubernetes)
				}
			},
			update: func(object, old runtime.Object) {
				namespace, was := object.(*corev1.Namespace), old.(*corev1.Namespace)
				namespace.Spec.Finalizers, namespace.Status = was.Spec.Finalizers, was.Status
			},
			canonicalize: func(object runtime.Object) { labelNamespace(object.(*corev1.Namespace)) },
			validate:     validateNamespace,
			validateUpdate: func(object, old runtime.Object) field.ErrorList {
				return append(validateNamespace(object), validateMetadataUpdate(object, old)...)
			},
		},
		status: &rules{
			unconditional: true, reset: []string{"spec"},
			update: func(object, old runtime.Object) {
				object.(*corev1.Namespace).Spec = old.(*corev1.Namespace).Spec
			},
			validateUpdate: func(object, old runtime.Object) field.ErrorList {
				problems, namespace := validateMetadataUpdate(object, old), object.(*corev1.Namespace)
				path, phase := field.NewPath("status", "Phase"), namespace.Status.Phase
				switch {
				case namespace.DeletionTimestamp.IsZero() && phase != corev1.NamespaceActive:
					problems = append(problems, field.Invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty"))
				case !namespace.DeletionTimestamp.IsZero() && phase != corev1.NamespaceTerminating:
					problems = append(problems, field.Invalid(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
				}
				return problems
			},
		},
	}
}

func validateNamespace(object runtime.Object) (problems field.ErrorList) {
	namespace := object.(*corev1.Namespace)
	problems = validateMetadata(&namespace.ObjectMeta, false, validation.ValidateNamespaceName)
	for _, finalizer := range namespace.Spec.Finalizers {
		problems = append(problems, validateFinalizer(string(finalizer), field.NewPath("spec", "finalizers"))...)
	}
	return problems
}

// finalizeRules are those of the finalize subresource of namespaces, by which what empties a namespace lets it go.
func finalizeRules() rules {
	return rules{
		unconditional: true, reset: []string{"status"},
		update: func(object, old runtime.Object) {
			object.(*corev1.Namespace).Status = old.(*corev1.Namespace).Status
		},
		validateUpdate: func(object, old runtime.Object) field.ErrorList {
			problems := validateMetadataUpdate(object, old)
			for i, finalizer := range object.(*corev1.Namespace).Spec.Finalizers {
				problems = append(problems, validateFinalizer(string(finalizer), field.NewPath("spec", "finalizers").Index(i))...)
			}
			return problems
		},
	}
}

func labelNamespace(namespace *corev1.Namespace) {
	if namespace.Labels == nil {
		namespace.Labels = map[string]string{}
	}
	namespace.Labels[corev1.LabelMetadataName] = namespace.Name
}

func configMaps() kind {
	return kind{
		gvk: coreV1.WithKind("ConfigMap"), resource: "configmaps", short: []string{"cm"}, namespaced: true,
		columns: []column{
			{metav1.TableColumnDefinition{Name: "Data", Type: "string", Description: corev1.ConfigMap{}.SwaggerDoc()["data"]}, func(object runtime.Object) any {
				configMap := object.(*corev1.ConfigMap)
				return int64(len(configMap.Data) + len(configMap.BinaryData))
			}},
			sinceColumn,
		},
		rules: rules{
			unconditional: true,
			validate:      validateConfigMap,
			validateUpdate: func(object, old runtime.Object) field.ErrorList {
				configMap, was := object.(*corev1.ConfigMap), old.(*corev1.ConfigMap)
				problems := validateMetadataUpdate(object, old)
				problems = append(problems, validateImmutable(configMap.Immutable, was.Immutable, "data", configMap.Data, was.Data)...)
				if was.Immutable != nil && *was.Immutable && !reflect.DeepEqual(configMap.BinaryData, was.BinaryData) {
					problems = append(problems, field.Forbidden(field.NewPath("binaryData"), immutableMessage))
				}
				return append(problems, validateConfigMap(object)...)
			},
		},
	}
}

func validateConfigMap(object runtime.Object) field.ErrorList {
	configMap := object.(*corev1.ConfigMap)
	problems := validateMetadata(&configMap.ObjectMeta, true, validation.NameIsDNSSubdomain)
	size := 0
	for _, key := range slices.Sorted(maps.Keys(configMap.Data)) {
		problems = append(problems, validateKey(field.NewPath("data").Key(key), key)...)
		if _, twice := configMap.BinaryData[key]; twice {
			problems = append(problems, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
		size += len(configMap.Data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(configMap.BinaryData)) {
		problems = append(problems, validateKey(field.NewPath("binaryData").Key(key), key)...)
		size += len(configMap.BinaryData[key])
	}
	if size > corev1.MaxSecretSize {
		problems = append(problems, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return problems
}

func secrets() kind {
	return kind{
		gvk: coreV1.WithKind("Secret"), resource: "secrets", namespaced: true,
		columns: []column{
			{metav1.TableColumnDefinition{Name: "Type", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["type"]}, func(object runtime.Object) any { return string(object.(*corev1.Secret).Type) }},
			{metav1.TableColumnDefinition{Name: "Data", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["data"]}, func(object runtime.Object) any { return int64(len(object.(*corev1.Secret).Data)) }},
			sinceColumn,
		},
		fields:     func(object runtime.Object, set fields.Set) { set["type"] = string(object.(*corev1.Secret).Type) },
		selectable: []string{"type"},
		rules: rules{
			unconditional: true,
			update: func(object, old runtime.Object) {
				if secret := object.(*corev1.Secret); secret.Type == "" {
					secret.Type = old.(*corev1.Secret).Type
				}
			},
			validate: func(object runtime.Object) field.ErrorList { return validateSecret(object.(*corev1.Secret)) },
			validateUpdate: func(object, old runtime.Object) field.ErrorList {
				secret, was := object.(*corev1.Secret), old.(*corev1.Secret)
				problems := validateMetadataUpdate(object, old)
				problems = append(problems, validation.ValidateImmutableField(secret.Type, was.Type, field.NewPath("type"))...)
				problems = append(problems, validateImmutable(secret.Immutable, was.Immutable, "data", secret.Data, was.Data)...)
				return append(problems, validateSecret(secret)...)
			},
			warnings: func(object runtime.Object) []string {
				secret := object.(*corev1.Secret)
				if secret.Type != corev1.SecretTypeTLS {
					return nil
				}
				if _, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err != nil {
					return []string{err.Error()}
				}
				return nil
			},
		},
	}
}

func validateSecret(secret *corev1.Secret) field.ErrorList {
	problems, data, size := validateMetadata(&secret.ObjectMeta, true, validation.NameIsDNSSubdomain), field.NewPath("data"), 0
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		problems = append(problems, validateKey(data.Key(key), key)...)
		size += len(secret.Data[key])
	}
	if size > corev1.MaxSecretSize {
		problems = append(problems, field.TooLong(data, "", corev1.MaxSecretSize))
	}
	required := func(keys ...string) {
		for _, key := range keys {
			if _, ok := secret.Data[key]; !ok {
				problems = append(problems, field.Required(data.Key(key), ""))
			}
		}
	}
	switch secret.Type {
	case corev1.SecretTypeServiceAccountToken:
		if secret.Annotations[corev1.ServiceAccountNameKey] == "" {
			problems = append(problems, field.Required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), ""))
		}
	case corev1.SecretTypeDockercfg:
		problems = append(problems, validateDocker(secret, corev1.DockerConfigKey)...)
	case corev1.SecretTypeDockerConfigJson:
		problems = append(problems, validateDocker(secret, corev1.DockerConfigJsonKey)...)
	case corev1.SecretTypeBasicAuth:
		_, name := secret.Data[corev1.BasicAuthUsernameKey]
		_, password := secret.Data[corev1.BasicAuthPasswordKey]
		if !name && !password {
			required(corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		}
	case corev1.SecretTypeSSHAuth:
		if len(secret.Data[corev1.SSHAuthPrivateKey]) == 0 {
			problems = append(problems, field.Required(data.Key(corev1.SSHAuthPrivateKey), ""))
		}
	case corev1.SecretTypeTLS:
		required(corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	return problems
}

func validateDocker(secret *corev1.Secret, key string) field.ErrorList {
	path, content := field.NewPath("data").Key(key), secret.Data[key]
	if _, ok := secret.Data[key]; !ok {
		return field.ErrorList{field.Required(path, "")}
	}
	if err := json.Unmarshal(content, &map[string]any{}); err != nil {
		return field.ErrorList{field.Invalid(path, "<secret contents redacted>", err.Error())}
	}
	return nil
}

func validateKey(path *field.Path, key string) (problems field.ErrorList) {
	for _, problem := range utilvalidation.IsConfigMapKey(key) {
		problems = append(problems, field.Invalid(path, key, problem))
	}
	return problems
}

const immutableMessage = "field is immutable when `immutable` is set"

func validateImmutable[T any](now, was *bool, name string, content, before map[string]T) (problems field.ErrorList) {
	if was == nil || !*was {
		return nil
	}
	if now == nil || !*now {
		problems = append(problems, field.Forbidden(field.NewPath("immutable"), immutableMessage))
	}
	if !reflect.DeepEqual(content, before) {
		problems = append(problems, field.Forbidden(field.NewPath(name), immutableMessage))
	}
	return problems
}

// updater can only update: the finalize subresource cannot be read.
type updater struct{ rest.Updater }

func completeNamespaces(r *registry, e *endpoint) {
	r.deletable = func(updated, _ runtime.Object) bool { return len(updated.(*corev1.Namespace).Spec.Finalizers) == 0 }
	e.objects = &namespaceStorage{r}
}

// namespaceStorage deletes namespaces in two steps: they terminate until nothing is in them.
type namespaceStorage struct{ *registry }

func (s *namespaceStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	object, err := s.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	namespace := object.(*corev1.Namespace)
	preconditions, err := s.pinned(object, options, "Precondition failed")
	if err != nil {
		return nil, false, err
	}
	if namespace.DeletionTimestamp.IsZero() {
		return s.terminate(ctx, name, preconditions, validate, options, func(object runtime.Object) {
			namespace := object.(*corev1.Namespace)
			namespace.Status.Phase = corev1.NamespaceTerminating
			if finalizers, changed := s.deletionFinalizers(ctx, namespace, options); changed {
				namespace.Finalizers = finalizers
			}
		})
	}
	if len(namespace.Spec.Finalizers) > 0 {
		return namespace, false, nil
	}
	return s.registry.Delete(ctx, name, validate, options)
}

// createNamespace makes a namespace that is there from the start.
func (s *Server) createNamespace(name string) error {
	_, err := s.endpointOf(coreV1.WithResource("namespaces")).objects.Create(request.WithNamespace(request.NewContext(), ""),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}, nil, &metav1.CreateOptions{})
	return err
}

// namespace is a namespace, which nobody changes, or nil.
func (s *Server) namespace(name string) *corev1.Namespace {
	record := s.store.table(schema.GroupResource{Resource: "namespaces"}).get("/registry/namespaces/" + name)
	if record == nil {
		return nil
	}
	return record.object.(*corev1.Namespace)
}

func unavailable(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
	err := apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", info.Name))
	responsewriters.ErrorNegotiated(err, metaCodecs, coreV1, w, r)
}

// Claims and volumes.

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

func volumeClaims() kind {
	status, spec := corev1.PersistentVolumeClaimStatus{}.SwaggerDoc(), corev1.PersistentVolumeClaimSpec{}.SwaggerDoc()
	type claim = corev1.PersistentVolumeClaim
	return kind{
		gvk: coreV1.WithKind("PersistentVolumeClaim"), resource: "persistentvolumeclaims", undefaulted: true, short: []string{"pvc"}, namespaced: true, returned: true,
		columns: []column{
			col("Status", "string", status["phase"], func(c *claim) any { return phaseText(c, c.Status.Phase) }),
			col("Volume", "string", spec["volumeName"], func(c *claim) any { return c.Spec.VolumeName }),
			col("Capacity", "string", status["capacity"], func(c *claim) any {
				if c.Spec.VolumeName == "" {
					return ""
				}
				return c.Status.Capacity.Storage().String()
			}),
			col("Access Modes", "string", status["accessModes"], func(c *claim) any {
				if c.Spec.VolumeName == "" {
					return ""
				}
				return modesText(c.Status.AccessModes)
			}),
			col("StorageClass", "string", "StorageClass of the pvc", func(c *claim) any { return deref(c.Spec.StorageClassName) }),
			col("VolumeAttributesClass", "string", "VolumeAttributesClass of the pvc", func(c *claim) any { return orUnset(c.Spec.VolumeAttributesClassName) }),
			sinceColumn,
			col("VolumeMode", "string wide", spec["volumeMode"], func(c *claim) any { return orUnset(c.Spec.VolumeMode) }),
		},
		rules: rules{
			unconditional: true, reset: []string{"status"},
			create: change1(func(c *claim) {
				c.Status = corev1.PersistentVolumeClaimStatus{} // the phase is found by who reads it, and written by the next update
				sameSources(&c.Spec)
			}),
			update: change2(func(c, old *claim) {
				c.Status = old.Status
				sameSources(&c.Spec)
			}),
			validate:       typed1(validateClaim),
			validateUpdate: typed2(validateClaimUpdate),
		},
		status: &rules{
			unconditional: true, reset: []string{"spec"},
			update: change2(func(c, old *claim) { c.Spec = old.Spec }),
			validateUpdate: typed2(func(c, old *claim) field.ErrorList {
				f := findings{validateMetadataUpdate(c, old)}
				for name, quantity := range c.Status.Capacity {
					if quantity.Value() < 0 {
						f.invalid(field.NewPath("status", "capacity").Key(string(name)), quantity.Value(), "must be a valid resource quantity")
					}
				}
				return f.list
			}),
		},
		admit: func(s *Server, a admission.Attributes) error {
			c, ok := a.GetObject().(*claim)
			if !ok || a.GetOperation() != admission.Create {
				return nil
			}
			protect(c, "kubernetes.io/pvc-protection")
			if c.Spec.StorageClassName == nil {
				if class := s.defaultStorageClass(); class != "" {
					c.Spec.StorageClassName = &class
				}
			}
			return nil
		},
	}
}

// sameSources fills in whichever of the two ways to name a source is not given.
func sameSources(spec *corev1.PersistentVolumeClaimSpec) {
	switch source, reference := spec.DataSource, spec.DataSourceRef; {
	case source != nil && reference == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	case source == nil && reference != nil && deref(reference.Namespace) == "":
		if deref(reference.APIGroup) == "" && reference.Kind == "PersistentVolumeClaim" || deref(reference.APIGroup) == "snapshot.storage.k8s.io" && reference.Kind == "VolumeSnapshot" {
			spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: reference.APIGroup, Kind: reference.Kind, Name: reference.Name}
		}
	}
}

// protect keeps what is in use from being deleted.
func protect(object metav1.Object, finalizer string) {
	if !slices.Contains(object.GetFinalizers(), finalizer) {
		object.SetFinalizers(append(object.GetFinalizers(), finalizer))
	}
}

func volumes() kind {
	status, spec := corev1.PersistentVolumeStatus{}.SwaggerDoc(), corev1.PersistentVolumeSpec{}.SwaggerDoc()
	type volume = corev1.PersistentVolume
	return kind{
		gvk: coreV1.WithKind("PersistentVolume"), resource: "persistentvolumes", short: []string{"pv"}, returned: true,
		columns: []column{
			col("Capacity", "string", spec["capacity"], func(v *volume) any { return v.Spec.Capacity.Storage().String() }),
			col("Access Modes", "string", spec["accessModes"], func(v *volume) any { return modesText(v.Spec.AccessModes) }),
			col("Reclaim Policy", "string", spec["persistentVolumeReclaimPolicy"], func(v *volume) any { return string(v.Spec.PersistentVolumeReclaimPolicy) }),
			col("Status", "string", status["phase"], func(v *volume) any { return phaseText(v, v.Status.Phase) }),
			col("Claim", "string", spec["claimRef"], func(v *volume) any {
				if v.Spec.ClaimRef == nil {
					return ""
				}
				return v.Spec.ClaimRef.Namespace + "/" + v.Spec.ClaimRef.Name
			}),
			col("StorageClass", "string", "StorageClass of the pv", func(v *volume) any { return v.Spec.StorageClassName }),
			col("VolumeAttributesClass", "string", "VolumeAttributesClass of the pv", func(v *volume) any { return orUnset(v.Spec.VolumeAttributesClassName) }),
			col("Reason", "string", status["reason"], func(v *volume) any { return v.Status.Reason }),
			sinceColumn,
			col("VolumeMode", "string wide", spec["volumeMode"], func(v *volume) any { return orUnset(v.Spec.VolumeMode) }),
		},
		rules: rules{
			unconditional: true, reset: []string{"status"},
			create: change1(func(v *volume) {
				now := metav1.Now()
				v.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
			}),
			update:         change2(func(v, old *volume) { v.Status = old.Status }),
			validate:       typed1(validateVolume),
			validateUpdate: typed2(validateVolumeUpdate),
		},
		status: &rules{
			unconditional: true, reset: []string{"spec"},
			update: change2(func(v, old *volume) {
				v.Spec = old.Spec
				switch now, was := v.Status.LastPhaseTransitionTime, old.Status.LastPhaseTransitionTime; {
				case v.Status.Phase == old.Status.Phase && now == nil:
					v.Status.LastPhaseTransitionTime = was
				case v.Status.Phase != old.Status.Phase && (now == nil || now.Equal(was)):
					now := metav1.Now()
					v.Status.LastPhaseTransitionTime = &now
				}
			}),
			validateUpdate: validateMetadataUpdate,
		},
		admit: func(_ *Server, a admission.Attributes) error {
			if v, ok := a.GetObject().(*volume); ok && a.GetOperation() == admission.Create {
				protect(v, "kubernetes.io/pv-protection")
			}
			return nil
		},
	}
}

// Nodes.

func nodes() kind {
	doc := corev1.NodeSystemInfo{}.SwaggerDoc()
	type node = corev1.Node
	info := func(name, field string, value func(n *node) string) column {
		return col(name, "string wide", doc[field], func(n *node) any {
			if text := value(n); text != "" {
				return text
			}
			return "<unknown>"
		})
	}
	address := func(name string, kind corev1.NodeAddressType) column {
		return col(name, "string wide", corev1.NodeStatus{}.SwaggerDoc()["addresses"], func(n *node) any {
			for _, address := range n.Status.Addresses {
				if address.Type == kind {
					return address.Address
				}
			}
			return "<none>"
		})
	}
	return kind{
		gvk: coreV1.WithKind("Node"), resource: "nodes", short: []string{"no"},
		columns: []column{
			col("Status", "string", "The status of the node", func(n *node) any { return nodeText(n) }),
			col("Roles", "string", "The roles of the node", func(n *node) any { return rolesText(n) }),
			sinceColumn,
			col("Version", "string", doc["kubeletVersion"], func(n *node) any { return n.Status.NodeInfo.KubeletVersion }),
			address("Internal-IP", corev1.NodeInternalIP), address("External-IP", corev1.NodeExternalIP),
			info("OS-Image", "osImage", func(n *node) string { return n.Status.NodeInfo.OSImage }),
			col("Kernel-Version", "string wide", doc["kernelVersion"], func(n *node) any {
				text := n.Status.NodeInfo.KernelVersion
				set(&text, "<unknown>")
				if architecture := n.Status.NodeInfo.Architecture; architecture != "" {
					text += " (" + architecture + ")"
				}
				return text
			}),
			info("Container-Runtime", "containerRuntimeVersion", func(n *node) string { return n.Status.NodeInfo.ContainerRuntimeVersion }),
		},
		selectable: []string{"spec.unschedulable"},
		fields: func(object runtime.Object, set fields.Set) {
			set["spec.unschedulable"] = fmt.Sprint(object.(*node).Spec.Unschedulable)
		},
		rules: rules{
			unconditional: true, reset: []string{"status"},
			update:         change2(func(n, old *node) { n.Status = old.Status }),
			validate:       typed1(validateNode),
			validateUpdate: typed2(validateNodeUpdate),
		},
		status: &rules{
			unconditional: true, reset: []string{"spec"},
			update:         change2(func(n, old *node) { n.Spec = old.Spec }),
			validateUpdate: typed2(validateNodeUpdate),
		},
		parts: []extraPart{{name: "proxy", kind: coreV1.WithKind("NodeProxyOptions"), verbs: proxyVerbs, part: func(*Server, *registry, *kind, family) part { return part{serve: unavailable} }}},
		admit: func(_ *Server, a admission.Attributes) error {
			n, ok := a.GetObject().(*node)
			if ok && a.GetOperation() == admission.Create {
				taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
				if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
					n.Spec.Taints = append(n.Spec.Taints, taint)
				}
			}
			return nil
		},
	}
}

func nodeText(n *corev1.Node) string {
	status := "Unknown"
	for _, condition := range n.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			status = "NotReady"
			if condition.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func rolesText(n *corev1.Node) string {
	var roles []string
	for _, name := range sortedMap(n.Labels) {
		if role, ok := strings.CutPrefix(name, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		} else if name == "kubernetes.io/role" && n.Labels[name] != "" {
			roles = append(roles, n.Labels[name])
		}
	}
	slices.Sort(roles)
	if len(roles) == 0 {
		return "<none>"
	}
	return strings.Join(roles, ",")
}

func (f *findings) taints(taints []corev1.Taint, at *field.Path) {
	type key struct {
		key    string
		effect corev1.TaintEffect
	}
	known := map[key]bool{}
	for i, taint := range taints {
		here := at.Index(i)
		f.labelName(here.Child("key"), taint.Key)
		if messages := utilvalidation.IsValidLabelValue(taint.Value); len(messages) > 0 {
			f.invalid(here.Child("value"), taint.Value, strings.Join(messages, ";"))
		}
		oneOfOrRequired(f, here.Child("effect"), taint.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
		if known[key{taint.Key, taint.Effect}] {
			problem := field.Duplicate(here, taint)
			problem.Detail = "taints must be unique by key and effect pair"
			f.add(problem)
		}
		known[key{taint.Key, taint.Effect}] = true
	}
}

func (f *findings) nodeResources(n *corev1.Node) {
	for name, list := range map[string]corev1.ResourceList{"capacity": n.Status.Capacity, "allocatable": n.Status.Allocatable} {
		for resource, quantity := range list {
			f.quantity(field.NewPath("status", name, string(resource)), resource, quantity)
		}
	}
}

func validateNode(n *corev1.Node) field.ErrorList {
	f := findings{validateMetadata(&n.ObjectMeta, false, validation.NameIsDNSSubdomain)}
	f.taints(n.Spec.Taints, field.NewPath("metadata", "taints"))
	f.nodeResources(n)
	for i, cidr := range n.Spec.PodCIDRs {
		f.cidr(field.NewPath("spec", "podCIDRs").Index(i), cidr)
	}
	return f.list
}

func validateNodeUpdate(n, old *corev1.Node) field.ErrorList {
	f, at := findings{append(validateNode(n), validateMetadataUpdate(n, old)...)}, field.NewPath("spec")
	f.nodeResources(n)
	known := map[corev1.NodeAddress]bool{}
	for i, address := range n.Status.Addresses {
		if known[address] {
			f.add(field.Duplicate(field.NewPath("status", "addresses").Index(i), address))
		}
		known[address] = true
	}
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(n.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		f.forbidden(at.Child("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid")
	}
	if was, now := old.Spec.ProviderID, n.Spec.ProviderID; was != "" && was != now {
		message := "field cannot be modified once set"
		if now == "" {
			message = "field cannot be cleared once set"
		}
		f.invalid(at.Child("providerID"), nil, message)
	}
	f.taints(n.Spec.Taints, field.NewPath("metadata", "taints"))
	return f.list
}

// Limits and quotas.

func limitRanges() kind {
	return kind{
		gvk: coreV1.WithKind("LimitRange"), resource: "limitranges", short: []string{"limits"}, namespaced: true,
		rules: rules{
			unconditional: true, creates: true,
			validate:       typed1(validateLimitRange),
			validateUpdate: typed2(func(l, _ *corev1.LimitRange) field.ErrorList { return validateLimitRange(l) }),
		},
	}
}

func validateLimitRange(l *corev1.LimitRange) field.ErrorList {
	f, at := findings{validateMetadata(&l.ObjectMeta, true, validation.NameIsDNSSubdomain)}, field.NewPath("spec", "limits")
	types := map[corev1.LimitType]bool{}
	for i, limit := range l.Spec.Limits {
		here := at.Index(i)
		if messages := utilvalidation.IsQualifiedName(string(limit.Type)); len(messages) > 0 {
			f.invalid(here.Child("type"), limit.Type, messages...)
		} else if !strings.Contains(string(limit.Type), "/") && limit.Type != corev1.LimitTypePod && limit.Type != corev1.LimitTypeContainer && limit.Type != corev1.LimitTypePersistentVolumeClaim {
			f.invalid(here.Child("type"), limit.Type, "must be a standard limit type or fully qualified")
		}
		if types[limit.Type] {
			f.add(field.Duplicate(here.Child("type"), limit.Type))
		}
		types[limit.Type] = true
		f.limit(limit, here)
	}
	return f.list
}

func (f *findings) limit(limit corev1.LimitRangeItem, at *field.Path) {
	names := map[corev1.ResourceName]bool{}
	check := func(field string, list corev1.ResourceList) {
		for _, name := range sortedMap(list) {
			names[name] = true
			if limit.Type == corev1.LimitTypePod || limit.Type == corev1.LimitTypeContainer {
				containerResourceName(f, at.Child(field).Key(string(name)), name)
			} else {
				f.resourceName(at.Child(field).Key(string(name)), name)
			}
		}
	}
	check("max", limit.Max)
	check("min", limit.Min)
	usual, requested := limit.Default, limit.DefaultRequest
	if limit.Type == corev1.LimitTypePod {
		if len(usual) > 0 {
			f.forbidden(at.Child("default"), "may not be specified when `type` is 'Pod'")
		}
		if len(requested) > 0 {
			f.forbidden(at.Child("defaultRequest"), "may not be specified when `type` is 'Pod'")
		}
		usual, requested = nil, nil
	}
	check("default", usual)
	check("defaultRequest", requested)
	if limit.Type == corev1.LimitTypePersistentVolumeClaim {
		_, least := limit.Min[corev1.ResourceStorage]
		if _, most := limit.Max[corev1.ResourceStorage]; !least && !most {
			f.required(at.Child("limits"), "either minimum or maximum storage value is required, but neither was provided")
		}
	}
	check("maxLimitRequestRatio", limit.MaxLimitRequestRatio)
	for _, name := range sortedMap(names) {
		f.limitOrder(name, limit, usual, requested, at)
	}
}

func (f *findings) limitOrder(name corev1.ResourceName, limit corev1.LimitRangeItem, usual, requested corev1.ResourceList, at *field.Path) {
	least, hasLeast := limit.Min[name]
	most, hasMost := limit.Max[name]
	normal, hasNormal := usual[name]
	request, hasRequest := requested[name]
	ratio, hasRatio := limit.MaxLimitRequestRatio[name]
	wrong := func(is bool, field string, value resource.Quantity, format string, arguments ...any) {
		if is {
			f.invalid(at.Child(field).Key(string(name)), value, fmt.Sprintf(format, arguments...))
		}
	}
	wrong(hasLeast && hasMost && least.Cmp(most) > 0, "min", least, "min value %s is greater than max value %s", least.String(), most.String())
	wrong(hasRequest && hasLeast && least.Cmp(request) > 0, "defaultRequest", request, "min value %s is greater than default request value %s", least.String(), request.String())
	wrong(hasRequest && hasMost && request.Cmp(most) > 0, "defaultRequest", request, "default request value %s is greater than max value %s", request.String(), most.String())
	wrong(hasRequest && hasNormal && request.Cmp(normal) > 0, "defaultRequest", request, "default request value %s is greater than default limit value %s", request.String(), normal.String())
	wrong(hasNormal && hasLeast && least.Cmp(normal) > 0, "default", least, "min value %s is greater than default value %s", least.String(), normal.String())
	wrong(hasNormal && hasMost && normal.Cmp(most) > 0, "default", most, "default value %s is greater than max value %s", normal.String(), most.String())
	wrong(hasRatio && ratio.Cmp(resource.MustParse("1")) < 0, "maxLimitRequestRatio", ratio, "ratio %s is less than 1", ratio.String())
	wrong(!mayOvercommit(name) && hasNormal && hasRequest && normal.Cmp(request) != 0, "defaultRequest", request, "default value %s must equal to defaultRequest value %s in %s", normal.String(), request.String(), name)
}

func resourceQuotas() kind {
	type quota = corev1.ResourceQuota
	cells := func(q *quota, limits bool) string {
		var text []string
		for _, name := range sortedMap(q.Status.Hard) {
			used, hard := q.Status.Used[name], q.Status.Hard[name]
			if strings.HasPrefix(string(name), "limits.") == limits {
				text = append(text, fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String()))
			}
		}
		return strings.Join(text, ", ")
	}
	return kind{
		gvk: coreV1.WithKind("ResourceQuota"), resource: "resourcequotas", short: []string{"quota"}, namespaced: true, returned: true,
		columns: []column{
			col("Request", "string", "Request represents a minimum amount of cpu/memory that a container may consume.", func(q *quota) any { return cells(q, false) }),
			col("Limit", "string", "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.", func(q *quota) any { return cells(q, true) }),
			sinceColumn,
		},
		rules: rules{
			unconditional: true, reset: []string{"status"},
			create: change1(func(q *quota) { q.Status = corev1.ResourceQuotaStatus{} }),
			update: change2(func(q, old *quota) { q.Status = old.Status }),
			validate: typed1(func(q *quota) field.ErrorList {
				f := findings{validateMetadata(&q.ObjectMeta, true, validation.NameIsDNSSubdomain)}
				f.quota(q.Spec, field.NewPath("spec"))
				return f.list
			}),
			validateUpdate: typed2(func(q, old *quota) field.ErrorList {
				f, at := findings{validateMetadataUpdate(q, old)}, field.NewPath("spec")
				f.quota(q.Spec, at)
				if !sets.New(q.Spec.Scopes...).Equal(sets.New(old.Spec.Scopes...)) {
					f.invalid(at.Child("scopes"), q.Spec.Scopes, validation.FieldImmutableErrorMsg)
				}
				return f.list
			}),
		},
		status: &rules{
			unconditional: true, reset: []string{"spec"},
			update: change2(func(q, old *quota) { q.Spec = old.Spec }),
			validateUpdate: typed2(func(q, old *quota) field.ErrorList {
				f, at := findings{validateMetadataUpdate(q, old)}, field.NewPath("status")
				f.amounts(q.Status.Hard, at.Child("hard"))
				f.amounts(q.Status.Used, at.Child("used"))
				return f.list
			}),
		},
	}
}

func (f *findings) amounts(list corev1.ResourceList, at *field.Path) {
	for _, name := range sortedMap(list) {
		here := at.Key(string(name))
		f.resourceName(here, name)
		if !strings.Contains(string(name), "/") && !standardResources.Has(name) && !isHugePages(name) && !strings.HasPrefix(string(name), "requests.hugepages-") {
			f.invalid(here, name, "must be a standard resource for quota")
		}
		f.quantity(here, name, list[name])
	}
}

func (f *findings) quota(spec corev1.ResourceQuotaSpec, at *field.Path) {
	f.amounts(spec.Hard, at.Child("hard"))
	known := sets.New(spec.Scopes...)
	for _, scope := range spec.Scopes {
		switch scope {
		case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
			corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity, corev1.ResourceQuotaScopeVolumeAttributesClass:
		default:
			f.invalid(at.Child("scopes"), spec.Scopes, "unsupported scope")
		}
	}
	if known.HasAll(corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort) || known.HasAll(corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating) {
		f.invalid(at.Child("scopes"), spec.Scopes, "conflicting scopes")
	}
}

// Templates, and what came before replica sets.

func podTemplates() kind {
	return kind{
		gvk: coreV1.WithKind("PodTemplate"), resource: "podtemplates", namespaced: true, returned: true,
		columns: []column{
			col("Containers", "string", containersText, func(t *corev1.PodTemplate) any { return namesOf(t.Template.Spec.Containers) }),
			col("Images", "string", imagesText, func(t *corev1.PodTemplate) any { return imagesOf(t.Template.Spec.Containers) }),
			col("Pod Labels", "string", "The labels for the pod template.", func(t *corev1.PodTemplate) any { return labels.FormatLabels(t.Template.Labels) }),
		},
		rules: rules{
			unconditional: true, spec: typed1(func(t *corev1.PodTemplate) any { return t.Template }),
			validate: typed1(func(t *corev1.PodTemplate) field.ErrorList {
				return append(validateMetadata(&t.ObjectMeta, true, validation.NameIsDNSSubdomain), validateTemplate(&t.Template, field.NewPath("template"))...)
			}),
			validateUpdate: typed2(func(t, old *corev1.PodTemplate) field.ErrorList {
				return append(validateMetadataUpdate(t, old), validateTemplate(&t.Template, field.NewPath("template"))...)
			}),
			warnings: typed1(func(t *corev1.PodTemplate) []string {
				return podWarnings(&t.Template.ObjectMeta, &t.Template.Spec, field.NewPath("template"))
			}),
		},
	}
}

func replicationControllers() kind {
	type controller = corev1.ReplicationController
	doc := corev1.ReplicationControllerStatus{}.SwaggerDoc()
	template := func(c *controller) *corev1.PodTemplateSpec {
		if c.Spec.Template == nil {
			return &corev1.PodTemplateSpec{}
		}
		return c.Spec.Template
	}
	check := func(c *controller) field.ErrorList {
		var f findings
		at := field.NewPath("spec")
		f.notNegative(at.Child("minReadySeconds"), int64(c.Spec.MinReadySeconds))
		if len(c.Spec.Selector) == 0 {
			f.required(at.Child("selector"), "")
		}
		f.notNegative(at.Child("replicas"), int64(deref(c.Spec.Replicas)))
		if c.Spec.Template == nil {
			f.required(at.Child("template"), "")
			return f.list
		}
		f.selected(&metav1.LabelSelector{MatchLabels: c.Spec.Selector}, c.Spec.Template, at, false)
		f.add(validateTemplate(c.Spec.Template, at.Child("template"))...)
		f.alwaysRestarts("ReplicationController", &c.Spec.Template.Spec, at.Child("template", "spec"))
		return f.list
	}
	return kind{
		gvk: coreV1.WithKind("ReplicationController"), resource: "replicationcontrollers", short: []string{"rc"}, categories: []string{"all"}, namespaced: true, policy: rest.OrphanDependents,
		columns: append(append([]column{
			col("Desired", "integer", corev1.ReplicationControllerSpec{}.SwaggerDoc()["replicas"], func(c *controller) any { return int64(deref(c.Spec.Replicas)) }),
			col("Current", "integer", doc["replicas"], func(c *controller) any { return int64(c.Status.Replicas) }),
			col("Ready", "integer", doc["readyReplicas"], func(c *controller) any { return int64(c.Status.ReadyReplicas) }),
			sinceColumn,
		}, containerColumns(template)...),
			col("Selector", "string wide", corev1.ReplicationControllerSpec{}.SwaggerDoc()["selector"], func(c *controller) any { return labels.FormatLabels(c.Spec.Selector) })),
		scale: func(object runtime.Object) scaled {
			c := object.(*controller)
			return scaled{c.Spec.Replicas, c.Status.Replicas, labels.Set(c.Spec.Selector).AsSelector().String()}
		},
		selectable: []string{"status.replicas"},
		fields: func(object runtime.Object, set fields.Set) {
			set["status.replicas"] = fmt.Sprint(object.(*controller).Status.Replicas)
		},
		rules: rules{
			unconditional: true, reset: []string{"status"}, spec: typed1(func(c *controller) any { return c.Spec }),
			create: change1(func(c *controller) { c.Status = corev1.ReplicationControllerStatus{} }),
			update: change2(func(c, old *controller) { c.Status = old.Status }),
			validate: typed1(func(c *controller) field.ErrorList {
				return append(validateMetadata(&c.ObjectMeta, true, validation.NameIsDNSSubdomain), check(c)...)
			}),
			validateUpdate: typed2(func(c, old *controller) field.ErrorList { return append(validateMetadataUpdate(c, old), check(c)...) }),
			warnings: typed1(func(c *controller) []string {
				return append(dnsLabelWarning(c.Name, "Pod names and hostnames"), templateWarnings(template(c))...)
			}),
			updateWarnings: typed2(func(c, old *controller) []string {
				if c.Generation == old.Generation {
					return nil
				}
				return templateWarnings(template(c))
			}),
		},
		status: &rules{
			unconditional: true, reset: []string{"spec"},
			update: change2(func(c, old *controller) { c.Spec = old.Spec }),
			validateUpdate: typed2(func(c, old *controller) field.ErrorList {
				f, s := findings{validateMetadataUpdate(c, old)}, c.Status
				f.replicaStatus(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, nil, s.ObservedGeneration)
				return f.list
			}),
		},
	}
}
