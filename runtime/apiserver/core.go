package apiserver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

var (
	coreV1        = corev1.SchemeGroupVersion
	namespaceKind = coreV1.WithKind("Namespace")
)

// coreKinds are the kinds of the core group.
func coreKinds() []kind { return []kind{configMaps(), namespaces(), secrets(), serviceAccounts()} }

// coreDefaults are the defaults of the core group, but for those of pods.
func coreDefaults() []defaulter {
	return []defaulter{
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
