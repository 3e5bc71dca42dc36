// Package clientconfig finds the client configurations in webhook configurations, CustomResourceDefinitions, and other
// objects with a caBundle. A client configuration defines how the API server calls a webhook and which CA it trusts.
package clientconfig

import (
	"errors"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Of returns the client configurations by their paths in the object. The maps are parts of the object. If there is
// none, Of fails for a webhook configuration or CRD, and returns an empty result for other kinds.
func Of(u *unstructured.Unstructured) (map[string]map[string]any, error) {
	switch gvk := u.GroupVersionKind(); gvk.GroupKind() {
	case schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
		schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:
		return ofWebhooks(u)
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		field, _, err := unstructured.NestedFieldNoCopy(u.Object, "spec", "conversion", "webhook", "clientConfig")
		config, ok := field.(map[string]any)
		if err != nil || !ok {
			return nil, errors.New("its spec.conversion does not name a webhook")
		}
		return map[string]map[string]any{"/spec/conversion/webhook/clientConfig": config}, nil
	case schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"},
		schema.GroupKind{Group: "externaldata.gatekeeper.sh", Kind: "Provider"}:
		spec, ok := u.Object["spec"].(map[string]any)
		if !ok {
			return nil, errors.New("it has no spec")
		}
		return map[string]map[string]any{"/spec": spec}, nil
	}
	return nil, nil
}

func ofWebhooks(u *unstructured.Unstructured) (map[string]map[string]any, error) {
	webhooks, _, err := unstructured.NestedFieldNoCopy(u.Object, "webhooks")
	list, _ := webhooks.([]any)
	if err != nil || len(list) == 0 {
		return nil, errors.New("it has no webhooks")
	}
	configs := map[string]map[string]any{}
	for i, one := range list {
		webhook, _ := one.(map[string]any)
		if config, ok := webhook["clientConfig"].(map[string]any); ok {
			configs["/webhooks/"+strconv.Itoa(i)+"/clientConfig"] = config
		}
	}
	return configs, nil
}
