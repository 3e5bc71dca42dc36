// Package v1 is a stub.
package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type DeploymentSpec struct {
	Replicas *int32
	Template corev1.PodTemplateSpec
}

type DeploymentStatus struct{ ReadyReplicas int32 }

type Deployment struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   DeploymentSpec
	Status DeploymentStatus
}

func (o *Deployment) DeepCopy() *Deployment { return &Deployment{} }

func (o *Deployment) DeepCopyObject() runtime.Object { return o.DeepCopy() }

type DeploymentList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []Deployment
}

func (o *DeploymentList) DeepCopyObject() runtime.Object { return o }
