/*
Copyright 2026 The kctrl Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package v2 is the v2 API of the group batch.example.com.
//
// +kubebuilder:object:generate=true
// +groupName=batch.example.com
package v2

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion names this API.
	GroupVersion = schema.GroupVersion{Group: "batch.example.com", Version: "v2"}

	// SchemeGroupVersion is GroupVersion under the name that generated clients and apply configurations use.
	SchemeGroupVersion = GroupVersion

	// SchemeBuilder collects the functions that register the kinds of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package in a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
