/*
Copyright 2026.
*/

// Package v2 is the v2 API of the group example.org.
//
// +kubebuilder:object:generate=true
// +groupName=example.org
package v2

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion names this API.
	GroupVersion = schema.GroupVersion{Group: "example.org", Version: "v2"}

	// SchemeGroupVersion is GroupVersion under the name that generated clients and apply configurations use.
	SchemeGroupVersion = GroupVersion

	// SchemeBuilder collects the functions that register the kinds of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package in a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
