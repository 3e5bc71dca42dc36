// Package rbac generates the role of the manager from "+kubebuilder:rbac" markers.
package rbac

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
)

const (
	// fileName is the default name of the file.
	fileName = "role.yaml"
	// roleName is the default name of the role.
	roleName = "manager-role"
)

// Generator generates a file with a ClusterRole, and a Role for each namespace in the rules.
var Generator = generator.Generator{
	Name:           "rbac",
	Options:        rbac.Generator{RoleName: roleName},
	Follows:        true,
	PackageMarkers: []string{rbac.RuleDefinition.Name},
	Generate: func(in generator.Input, options genall.Generator) error {
		o := options.(rbac.Generator)
		if in.Strict {
			o.RoleName = cmp.Or(o.RoleName, roleName)
		}
		return o.Generate(&in.GenerationContext)
	},
	Flags: func(options any) []generator.Flag {
		o := options.(*rbac.Generator)
		return []generator.Flag{
			{Name: "role-name", To: &o.RoleName, Default: o.RoleName, Usage: "name of the role of the manager"},
			{Name: "role-file", To: &o.FileName, Default: fileName,
				Usage: "`name` of the file of the role, which leaves the file that it was in"},
		}
	},
	Dir: generator.Flag{Name: "output-rbac-dir", Default: "config/rbac", Usage: "`directory` of the role"},
	Check: func(options genall.Generator) error {
		role := options.(rbac.Generator).RoleName
		if problems := content.IsPathSegmentName(role); len(problems) > 0 {
			return diagnostic.Usage(fmt.Sprintf("role name %q: API servers refuse it: it %s", role, problems[0]),
				"write --role-name="+roleName)
		}
		name := options.(rbac.Generator).FileName
		if name != "" && (path.Base(name) != name || !fs.ValidPath(name)) {
			return artifact.OutputError(name, "is not a file name")
		}
		return nil
	},
	Empty: func(options genall.Generator, read func(string) ([]byte, error)) ([]artifact.File, error) {
		name := cmp.Or(options.(rbac.Generator).FileName, fileName)
		content, err := read(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		emptied, err := withoutRules(name, content)
		return []artifact.File{{Path: name, Content: emptied}}, err
	},
}

// withoutRules removes all rules from a role file without markers. controller-gen keeps the file with its outdated
// permissions, and deleting it would break the kustomization that lists it.
func withoutRules(name string, content []byte) ([]byte, error) {
	var emptied []byte
	for _, document := range strings.Split("\n"+string(content), "\n---\n") {
		var role map[string]any
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			return nil, &diagnostic.Error{
				Pos:     token.Position{Filename: name},
				Message: "is not YAML",
				Hint:    "delete the file, and run kctrl manifests again once a controller has +kubebuilder:rbac markers",
				Cause:   err,
			}
		}
		if len(role) == 0 {
			continue
		}
		role["rules"] = []any{}
		text, err := yaml.Marshal(role)
		if err != nil {
			return nil, err
		}
		emptied = append(emptied, "---\n"+string(text)...)
	}
	return emptied, nil
}
