package webhook_test

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kind of these tests, Guestbook, has two versions. The text of version 2 is the field message in version 1, which
// has no style.
var (
	v1GVK = schema.GroupVersionKind{Group: "webapp.example.com", Version: "v1", Kind: "Guestbook"}
	v2GVK = schema.GroupVersionKind{Group: "webapp.example.com", Version: "v2", Kind: "Guestbook"}
)

type guestbookV1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              specV1 `json:"spec,omitempty"`
}

type specV1 struct {
	Message  string            `json:"message,omitempty"`
	Replicas *int32            `json:"replicas,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
}

type guestbookV2 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              specV2 `json:"spec,omitempty"`
}

type specV2 struct {
	Text     text              `json:"text,omitempty"`
	Replicas *int32            `json:"replicas,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
}

type text struct {
	Body  string `json:"body,omitempty"`
	Style string `json:"style,omitempty"`
}

func (g *guestbookV1) DeepCopyObject() runtime.Object {
	c := *g
	g.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Spec.Replicas, c.Spec.Tags = clone(g.Spec.Replicas), maps.Clone(g.Spec.Tags)
	return &c
}

func (g *guestbookV2) DeepCopyObject() runtime.Object {
	c := *g
	g.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Spec.Replicas, c.Spec.Tags = clone(g.Spec.Replicas), maps.Clone(g.Spec.Tags)
	return &c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	addTo(scheme)
	return scheme
}

func addTo(scheme *runtime.Scheme) {
	scheme.AddKnownTypeWithName(v1GVK, &guestbookV1{})
	scheme.AddKnownTypeWithName(v2GVK, &guestbookV2{})
	metav1.AddToGroupVersion(scheme, v1GVK.GroupVersion())
	metav1.AddToGroupVersion(scheme, v2GVK.GroupVersion())
}

// crd is the CustomResourceDefinition of the kind, without a conversion webhook.
const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: guestbooks.webapp.example.com
spec:
  group: webapp.example.com
  scope: Namespaced
  names: {kind: Guestbook, listKind: GuestbookList, plural: guestbooks, singular: guestbook}
  versions:
  - name: v1
    served: true
    storage: STORED_V1
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              message: {type: string}
              replicas: {type: integer}
              tags: {type: object, additionalProperties: {type: string}}
              newer: {type: string}
            x-kubernetes-preserve-unknown-fields: true
  - name: v2
    served: true
    storage: STORED_V2
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              text:
                type: object
                properties:
                  body: {type: string}
                  style: {type: string}
              replicas: {type: integer}
              tags: {type: object, additionalProperties: {type: string}}
`

// configurations are webhook configurations as controller-gen generates them from markers.
const configurations = `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: mutating-webhook-configuration
webhooks:
- admissionReviewVersions: [v1]
  clientConfig:
    service: {name: webhook-service, namespace: system, path: /mutate-webapp-example-com-v1-guestbook}
  failurePolicy: Fail
  name: mguestbook.example.com
  rules:
  - {apiGroups: [webapp.example.com], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [guestbooks]}
  sideEffects: None
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: validating-webhook-configuration
webhooks:
- admissionReviewVersions: [v1]
  clientConfig:
    service: {name: webhook-service, namespace: system, path: /validate-webapp-example-com-v1-guestbook}
  failurePolicy: Fail
  name: vguestbook.example.com
  rules:
  - {apiGroups: [webapp.example.com], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [guestbooks]}
  sideEffects: None
`
