// Package meta is a stub.
package meta

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

func SetStatusCondition(conditions *[]metav1.Condition, condition metav1.Condition) bool { return true }

func RemoveStatusCondition(conditions *[]metav1.Condition, name string) bool { return true }
