package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kctrl-dev/kctrl/bench/corpus"
)

// fewKinds is the number of kinds of a typical project.
const fewKinds = 10

// generated measures a generated project with a number of kinds, 10 in each file.
func (b *bench) generated(ctx context.Context, kinds int) error {
	fmt.Fprintln(os.Stderr, "+", kinds, "kinds")
	s := &subject{
		name: fmt.Sprintf("%d kinds", kinds),
		calls: [][]string{
			strings.Fields("object paths=./..."),
			strings.Fields("rbac:roleName=manager-role crd webhook paths=./... output:crd:artifacts:config=config/crd/bases"),
		},
		once: strings.Fields("object rbac:roleName=manager-role crd webhook paths=./... " +
			"output:crd:artifacts:config=config/crd/bases"),
		edited: corpus.Type{File: "api/v1/types0.go", Name: "Kind0Spec"},
	}
	s.theirs, s.ours = filepath.Join(b.work, "theirs"), filepath.Join(b.work, "ours")
	s.theirRoot, s.ourRoot = s.theirs, s.ours
	for _, dir := range []string{s.theirs, s.ours} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := writeKinds(dir, kinds); err != nil {
			return err
		}
	}
	if _, err := makefile(ctx, b.peer, s.theirs, s.calls, nil); err != nil {
		return err
	}
	return b.subject(ctx, s)
}

// writeKinds writes a project with the requirements of this module.
func writeKinds(dir string, kinds int) error {
	files := map[string]string{
		"api/v1/doc.go": "// Package v1 has many kinds.\n// +kubebuilder:object:generate=true\n// " +
			"+groupName=many.example.com\npackage v1\n",
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files[name] = regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(string(content), "module example.com/many")
	}
	for first := 0; first < kinds; first += 10 {
		var types strings.Builder
		types.WriteString("package v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n")
		for i := first; i < min(first+10, kinds); i++ {
			types.WriteString(strings.ReplaceAll(kindTemplate, "KIND", fmt.Sprintf("Kind%d", i)))
		}
		files[fmt.Sprintf("api/v1/types%d.go", first/10)] = types.String()
		files[fmt.Sprintf("internal/controller/controller%d.go", first/10)] = strings.ReplaceAll(controllerTemplate, "NUMBER",
			fmt.Sprint(first))
	}
	for name, content := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

const controllerTemplate = `package controller

// +kubebuilder:rbac:groups=many.example.com,resources=kindNUMBERs,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=many.example.com,resources=kindNUMBERs/status,verbs=update

// +kubebuilder:webhook:path=/validate-kindNUMBER,mutating=false,failurePolicy=fail,sideEffects=None,` +
	`groups=many.example.com,resources=kindNUMBERs,verbs=create;update,versions=v1,name=vkindNUMBER.example.com,` +
	`admissionReviewVersions=v1
`

const kindTemplate = `
// KINDSpec is the desired state.
type KINDSpec struct {
	// size is the number of replicas.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=1
	Size *int32 ` + "`json:\"size,omitempty\"`" + `
	// image is the container image.
	// +kubebuilder:validation:MinLength=1
	Image string ` + "`json:\"image\"`" + `
	// color is a color.
	// +kubebuilder:validation:Enum=red;green;blue
	Color string ` + "`json:\"color,omitempty\"`" + `
	// ports are the open ports.
	// +listType=map
	// +listMapKey=name
	Ports []KINDPort ` + "`json:\"ports,omitempty\"`" + `
	// selector selects other objects.
	Selector *metav1.LabelSelector ` + "`json:\"selector,omitempty\"`" + `
	// options are additional settings.
	Options map[string]string ` + "`json:\"options,omitempty\"`" + `
	// timeout is the maximum wait.
	Timeout metav1.Duration ` + "`json:\"timeout,omitempty\"`" + `
}

// KINDPort is a port with a name.
type KINDPort struct {
	// name is unique.
	Name string ` + "`json:\"name\"`" + `
	// number is between 1 and 65535.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Number int32 ` + "`json:\"number\"`" + `
}

// KINDStatus is the observed state.
type KINDStatus struct {
	// conditions describe the state.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition ` + "`json:\"conditions,omitempty\"`" + `
	// ready is the number of ready replicas.
	Ready int32 ` + "`json:\"ready,omitempty\"`" + `
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Ready,type=integer,JSONPath=.status.ready

// KIND is one of the kinds.
type KIND struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	// spec is the desired state.
	Spec KINDSpec ` + "`json:\"spec\"`" + `
	// status is the observed state.
	Status KINDStatus ` + "`json:\"status,omitempty\"`" + `
}

// +kubebuilder:object:root=true

// KINDList is a list.
type KINDList struct {
	metav1.TypeMeta ` + "`json:\",inline\"`" + `
	metav1.ListMeta ` + "`json:\"metadata,omitempty\"`" + `
	Items []KIND ` + "`json:\"items\"`" + `
}
`
