package builtin

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write merging.txt")

// mergedPackages contains the packages of the served types.
var mergedPackages = []string{
	"k8s.io/api/admissionregistration/v1", "k8s.io/api/apps/v1", "k8s.io/api/autoscaling/v1", "k8s.io/api/autoscaling/v2",
	"k8s.io/api/batch/v1", "k8s.io/api/certificates/v1", "k8s.io/api/coordination/v1",
	"k8s.io/api/core/v1", "k8s.io/api/discovery/v1", "k8s.io/api/events/v1", "k8s.io/api/networking/v1",
	"k8s.io/api/node/v1", "k8s.io/api/policy/v1", "k8s.io/api/rbac/v1", "k8s.io/api/scheduling/v1",
	"k8s.io/api/storage/v1", "k8s.io/apimachinery/pkg/apis/meta/v1",
}

// TestMergingMatchesMarkers compares merging.txt with the markers in the source of the packages.
func TestMergingMatchesMarkers(t *testing.T) {
	var lines []string
	for _, path := range mergedPackages {
		output, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", path).Output()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		lines = append(lines, markersOf(t, path, filepath.Join(strings.TrimSpace(string(output)), "types.go"))...)
	}
	slices.Sort(lines)
	found := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("merging.txt", []byte(found), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if found != mergingText {
		t.Error("merging.txt does not match the source of k8s.io/api: go test ./testserver/apiserver/internal/builtin " +
			"-run TestMerging -update")
	}
}

var marker = regexp.MustCompile(`(?m)^\+(listType|listMapKey|mapType|structType|default)=(.*)$`)

func markersOf(t *testing.T, path, file string) (lines []string) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		declaration, ok := node.(*ast.GenDecl)
		if !ok || declaration.Tok != token.TYPE {
			return true
		}
		for _, spec := range declaration.Specs {
			typeSpec := spec.(*ast.TypeSpec)
			structure, ok := typeSpec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			name := path + "." + typeSpec.Name.Name
			if how := howMerged(declaration.Doc, ""); how != "" {
				lines = append(lines, name+" "+how)
			}
			for _, field := range structure.Fields.List {
				if field.Tag == nil {
					continue
				}
				tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
				member, _, _ := strings.Cut(tag.Get("json"), ",")
				if how := howMerged(field.Doc, tag); how != "" && member != "" {
					lines = append(lines, name+"."+member+" "+how)
				}
			}
		}
		return true
	})
	return lines
}

// howMerged returns the merge strategy in the markers of a comment, or an empty string if the tags have the same
// strategy.
func howMerged(comment *ast.CommentGroup, tag reflect.StructTag) string {
	if comment == nil {
		return ""
	}
	marked, keys := map[string]string{}, []string(nil)
	for _, line := range comment.List { // CommentGroup.Text omits markers
		if found := marker.FindStringSubmatch(strings.TrimSpace(strings.TrimPrefix(line.Text, "//"))); found != nil {
			marked[found[1]] = found[2]
			if found[1] == "listMapKey" {
				keys = append(keys, found[2])
			}
		}
	}
	tagged := strings.HasPrefix(tag.Get("patchStrategy"), "merge")
	switch list := marked["listType"]; {
	case list == "map" && tagged && slices.Equal(keys, []string{tag.Get("patchMergeKey")}), list == "atomic" && !tagged,
		list == "set" && tagged && tag.Get("patchMergeKey") == "":
		return ""
	case list == "map":
		return "map " + strings.Join(keys, ",")
	case list != "":
		return list
	case marked["structType"] != "" || marked["mapType"] != "":
		return marked["structType"] + marked["mapType"]
	case json.Valid([]byte(marked["default"])):
		return "default " + marked["default"]
	}
	return ""
}
