// Package v1 is a stub.
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type EnvVar struct{ Name, Value string }

type Container struct {
	Name, Image string
	Env         []EnvVar
	Args        []string
}

type PodSpec struct {
	NodeName   string
	Containers []Container
}

type PodStatus struct{ Phase string }

type PodTemplateSpec struct {
	metav1.ObjectMeta
	Spec PodSpec
}

type ServiceSpec struct{ ClusterIP string }

type NamespaceStatus struct{ Phase string }

type Pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   PodSpec
	Status PodStatus
}

func (o *Pod) DeepCopy() *Pod { return &Pod{} }

func (o *Pod) DeepCopyObject() runtime.Object { return o.DeepCopy() }

type PodList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []Pod
}

func (o *PodList) DeepCopyObject() runtime.Object { return o }

type Secret struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Data map[string][]byte
}

func (o *Secret) DeepCopy() *Secret { return &Secret{} }

func (o *Secret) DeepCopyObject() runtime.Object { return o.DeepCopy() }

type SecretList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []Secret
}

func (o *SecretList) DeepCopyObject() runtime.Object { return o }

type ConfigMap struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Data map[string]string
}

func (o *ConfigMap) DeepCopy() *ConfigMap { return &ConfigMap{} }

func (o *ConfigMap) DeepCopyObject() runtime.Object { return o.DeepCopy() }

type ConfigMapList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []ConfigMap
}

func (o *ConfigMapList) DeepCopyObject() runtime.Object { return o }

type Service struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec ServiceSpec
}

func (o *Service) DeepCopy() *Service { return &Service{} }

func (o *Service) DeepCopyObject() runtime.Object { return o.DeepCopy() }

type ServiceList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []Service
}

func (o *ServiceList) DeepCopyObject() runtime.Object { return o }

type Namespace struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status NamespaceStatus
}

func (o *Namespace) DeepCopy() *Namespace { return &Namespace{} }

func (o *Namespace) DeepCopyObject() runtime.Object { return o.DeepCopy() }

type NamespaceList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []Namespace
}

func (o *NamespaceList) DeepCopyObject() runtime.Object { return o }
