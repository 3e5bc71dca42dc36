package builtin

import (
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
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ConfigMaps are the kind ConfigMap.
func ConfigMaps() Kind {
	return Kind{
		GVK: CoreV1.WithKind("ConfigMap"), Resource: "configmaps", Short: []string{"cm"}, Namespaced: true,
		Columns: []Column{
			{metav1.TableColumnDefinition{Name: "Data", Type: "string", Description: corev1.ConfigMap{}.SwaggerDoc()["data"]}, func(object runtime.Object) any {
				configMap := object.(*corev1.ConfigMap)
				return int64(len(configMap.Data) + len(configMap.BinaryData))
			}},
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true,
			Validate:      validateConfigMap,
			ValidateUpdate: func(object, old runtime.Object) field.ErrorList {
				configMap, was := object.(*corev1.ConfigMap), old.(*corev1.ConfigMap)
				problems := ValidateMetadataUpdate(object, old)
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
	problems := ValidateMetadata(&configMap.ObjectMeta, true, validation.NameIsDNSSubdomain)
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

// Secrets are the kind Secret.
func Secrets() Kind {
	return Kind{
		GVK: CoreV1.WithKind("Secret"), Resource: "secrets", Namespaced: true,
		Columns: []Column{
			{metav1.TableColumnDefinition{Name: "Type", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["type"]}, func(object runtime.Object) any { return string(object.(*corev1.Secret).Type) }},
			{metav1.TableColumnDefinition{Name: "Data", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["data"]}, func(object runtime.Object) any { return int64(len(object.(*corev1.Secret).Data)) }},
			SinceColumn,
		},
		Fields:     func(object runtime.Object, set fields.Set) { set["type"] = string(object.(*corev1.Secret).Type) },
		Selectable: []string{"type"},
		Rules: Rules{
			Unconditional: true,
			Update: func(object, old runtime.Object) {
				if secret := object.(*corev1.Secret); secret.Type == "" {
					secret.Type = old.(*corev1.Secret).Type
				}
			},
			Validate: func(object runtime.Object) field.ErrorList { return validateSecret(object.(*corev1.Secret)) },
			ValidateUpdate: func(object, old runtime.Object) field.ErrorList {
				secret, was := object.(*corev1.Secret), old.(*corev1.Secret)
				problems := ValidateMetadataUpdate(object, old)
				problems = append(problems, validation.ValidateImmutableField(secret.Type, was.Type, field.NewPath("type"))...)
				problems = append(problems, validateImmutable(secret.Immutable, was.Immutable, "data", secret.Data, was.Data)...)
				return append(problems, validateSecret(secret)...)
			},
			Warnings: func(object runtime.Object) []string {
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
	problems, data, size := ValidateMetadata(&secret.ObjectMeta, true, validation.NameIsDNSSubdomain), field.NewPath("data"), 0
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
