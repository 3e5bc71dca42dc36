package main

// shims replace unexported identifiers that the tests of a package use. Each behaves like the exported API. cut removes
// the specs that need other unexported identifiers.
var shims = map[string]string{
	"pkg/client/fake": `package fake

const (
	trackerAddResourceVersion = "999"
	maxNameLength             = 63
	subResourceScale          = "scale"
)
`,
	"pkg/webhook/admission": `package admission

import (
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var admissionScheme = runtime.NewScheme()

func init() {
	if err := admissionv1.AddToScheme(admissionScheme); err != nil {
		panic(err)
	}
}
`,
	"pkg/builder": `package builder

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func generateMutatePath(kind schema.GroupVersionKind) string { return generatePath("mutate", kind) }

func generateValidatePath(kind schema.GroupVersionKind) string { return generatePath("validate", kind) }

func generateCustomPath(path string) (string, error) { return path, nil }

func generatePath(verb string, kind schema.GroupVersionKind) string {
	group := strings.ReplaceAll(kind.Group, ".", "-")
	return "/" + verb + "-" + group + "-" + kind.Version + "-" + strings.ToLower(kind.Kind)
}
`,
	"pkg/manager": `package manager

const (
	defaultReadinessEndpoint = "/readyz"
	defaultLivenessEndpoint  = "/healthz"
)
`,
}
