package builtin

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// ConfigMaps returns the kind ConfigMap.
func ConfigMaps() Kind {
	return Kind{
		GVK: CoreV1.WithKind("ConfigMap"), Resource: "configmaps", Short: []string{"cm"}, Namespaced: true,
		Columns: []Column{
			{metav1.TableColumnDefinition{Name: "Data", Type: "string", Description: corev1.ConfigMap{}.SwaggerDoc()["data"]},
				func(object runtime.Object) any {
					configMap := object.(*corev1.ConfigMap)
					return int64(len(configMap.Data) + len(configMap.BinaryData))
				}},
			SinceColumn,
		},
		Rules: configMapRules(),
	}
}

// Secrets returns the kind Secret.
func Secrets() Kind {
	return Kind{
		GVK: CoreV1.WithKind("Secret"), Resource: "secrets", Namespaced: true,
		Columns: []Column{
			{metav1.TableColumnDefinition{Name: "Type", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["type"]},
				func(object runtime.Object) any { return string(object.(*corev1.Secret).Type) }},
			{metav1.TableColumnDefinition{Name: "Data", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["data"]},
				func(object runtime.Object) any { return int64(len(object.(*corev1.Secret).Data)) }},
			SinceColumn,
		},
		Fields: func(object runtime.Object, set fields.Set) { set["type"] = string(object.(*corev1.Secret).Type) },
		Rules:  secretRules(),
	}
}
