package corpus

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// TestData returns the test packages of a checkout of controller-tools. Each directory of a module is a project. Calls
// that both tools reject are skipped.
func TestData(checkout string) ([]Project, error) {
	const dangerous = "crd:allowDangerousTypes=true,ignoreUnexportedFields=true"
	modules := []struct {
		path    string
		calls   []string
		refused []string // directories
	}{
		{
			path:  "pkg/crd/testdata",
			calls: []string{"object", dangerous, dangerous + ",maxDescLen=0", "rbac:roleName=manager-role"},
			refused: []string{
				"enum_error", "iface", "inline_struct_error", "oneof_error", "oneof_missing_tag_error", "unserved",
				"wrong_annotation_format", "wrong_title_format",
			},
		},
		{path: "pkg/deepcopy/testdata", calls: []string{"object", "object:year=2026"}},
		{
			path:  "pkg/webhook/testdata",
			calls: []string{"webhook"},
			refused: []string{
				"invalid-admissionReviewVersionsRequired", "invalid-multiple-webhookconfigurations", "invalid-path-and-url",
				"invalid-sideEffects", "invalid-timeoutSeconds", "invalid-v1beta1NotSupported",
			},
		},
	}
	var projects []Project
	for _, module := range modules {
		dirs, err := packageDirs(filepath.Join(checkout, module.path))
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			if slices.Contains(module.refused, dir) {
				continue
			}
			project := Project{Name: "controller-tools " + module.path + "/" + dir,
				Source: filepath.Join(checkout, module.path), Dir: dir}
			for _, call := range module.calls {
				project.More = append(project.More, []string{call, "paths=.", "output:dir=out"})
			}
			projects = append(projects, project)
		}
	}
	return append(projects, Project{
		Name:   "controller-tools pkg/schemapatcher/testdata",
		Source: filepath.Join(checkout, "pkg/schemapatcher/testdata"),
		More: [][]string{
			args("schemapatch:manifests=./valid paths=./apis/... output:dir=out/patched"),
			args("schemapatch:manifests=./valid,maxDescLen=0,generateEmbeddedObjectMeta=true paths=./apis/... " +
				"output:dir=out/patched"),
		},
	}, Project{
		Name:   "controller-tools pkg/applyconfiguration/testdata",
		Source: filepath.Join(checkout, "pkg/applyconfiguration/testdata/cronjob"),
		More:   [][]string{args("applyconfiguration paths=./...")},
	}), nil
}

// packageDirs returns the directories with Go packages in a module.
func packageDirs(module string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(module, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			dir, _ := filepath.Rel(module, filepath.Dir(name))
			found = append(found, dir)
		}
		return err
	})
	slices.Sort(found)
	return slices.Compact(found), err
}
