package generate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// TestSchemasOfAliasesBytesAndForeignTypes checks fields for which controller-gen fails: named lists, maps, pointers,
// structs and bytes, maps with keys of named types, and limits on types of other packages.
func TestSchemasOfAliasesBytesAndForeignTypes(t *testing.T) {
	theirs := oracle.Run(t, oracle.Command{Dir: project(t, "schemas"),
		Args: []string{"crd", "paths=./...", "output:stdout"}})
	for _, message := range []string{
		"unsupported type *types.Slice for identifier List", "unsupported type *types.Map for identifier Dict",
		"unsupported type *types.Struct for identifier Inline", "unsupported type *types.Pointer for identifier Ptr",
		"map keys must be strings", "conflicting types in allOf branches in schema: string vs array",
		`must apply pattern to a textual value, found type ""`, "must apply minimum to a numeric value, found \n",
	} {
		if !strings.Contains(theirs.Stderr, message) {
			t.Errorf("controller-gen does not say %q:\n%s", message, theirs.Stderr)
		}
	}

	got := run(t, project(t, "schemas"), generate.Options{Generators: []string{generate.CRD,
		generate.Object}})["config/crd/bases/schemas.example.com_things.yaml"]
	_, schema, _ := strings.Cut(got, "          spec:\n")
	golden := filepath.Join("testdata", "schemas", "want.yaml")
	if *update {
		if err := os.WriteFile(golden, []byte(schema), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), schema); diff != "" {
		t.Errorf("the schema differs (-want +got):\n%s", diff)
	}
}
