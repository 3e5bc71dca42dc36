package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// App is the kind that most operators of the zoo reconcile. Its CRD prunes no fields, so each operator uses the fields
// that it needs.
type App struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AppSpec   `json:"spec,omitempty"`
	Status AppStatus `json:"status,omitempty"`
}

// AppSpec is the desired state of an App.
type AppSpec struct {
	Image    string            `json:"image,omitempty"`
	Replicas int               `json:"replicas,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
	Target   string            `json:"target,omitempty"`
	Rollout  string            `json:"rollout,omitempty"`
}

// AppStatus is the observed state of an App.
type AppStatus struct {
	Phase              string             `json:"phase,omitempty"`
	Child              string             `json:"child,omitempty"`
	Ready              int                `json:"ready,omitempty"`
	Image              string             `json:"image,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Checked            string             `json:"checked,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// AppList is a list of Apps.
type AppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []App `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (a *App) DeepCopyObject() runtime.Object { return copyOf(a) }

// DeepCopy returns a deep copy.
func (a *App) DeepCopy() *App { return copyOf(a) }

// DeepCopyObject implements runtime.Object.
func (l *AppList) DeepCopyObject() runtime.Object { return copyOf(l) }

func copyOf[T any](from *T) *T {
	data, err := json.Marshal(from)
	to := new(T)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		panic(err) // JSON can represent all kinds of the zoo
	}
	return to
}

var version = schema.GroupVersion{Group: "zoo.example.com", Version: "v1"}

func addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(version, &App{}, &AppList{})
	metav1.AddToGroupVersion(s, version)
	return nil
}

// definition is the CRD of App.
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.zoo.example.com}
spec:
  group: zoo.example.com
  names: {kind: App, listKind: AppList, plural: apps, singular: app}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              image: {type: string}
              replicas: {type: integer, minimum: 0}
              settings: {type: object, additionalProperties: {type: string}}
              target: {type: string}
              rollout: {type: string}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// objects parses YAML documents.
func objects(documents ...string) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, document := range documents {
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &u.Object); err != nil {
			panic(err) // the documents are constants
		}
		all = append(all, u)
	}
	return all
}
