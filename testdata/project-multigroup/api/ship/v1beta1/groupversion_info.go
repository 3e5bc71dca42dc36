/*
Copyright 2026.
*/

// Package v1beta1 is the v1beta1 API of the group ship.example.org.
//
// +kubebuilder:object:generate=true
// +groupName=ship.example.org
package v1beta1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion names this API.
	GroupVersion = schema.GroupVersion{Group: "ship.example.org", Version: "v1beta1"}

	// SchemeGroupVersion is GroupVersion under the name that generated clients and apply configurations use.
	SchemeGroupVersion = GroupVersion

	// SchemeBuilder collects the functions that register the kinds of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package in a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
