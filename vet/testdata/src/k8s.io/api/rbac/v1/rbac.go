// Package v1 is a stub.
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type ClusterRole struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (o *ClusterRole) DeepCopy() *ClusterRole { return &ClusterRole{} }

func (o *ClusterRole) DeepCopyObject() runtime.Object { return o.DeepCopy() }

type ClusterRoleList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []ClusterRole
}

func (o *ClusterRoleList) DeepCopyObject() runtime.Object { return o }
