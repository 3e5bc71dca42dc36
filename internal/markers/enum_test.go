package markers

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
)

// TestEnumsInPartsAreThoseOfControllerTools parses random lists as a whole and in small parts, and compares the
// results.
func TestEnumsInPartsAreThoseOfControllerTools(t *testing.T) {
	definition := enumDefinitions["kubebuilder:validation:Enum"]
	words := []string{
		"a", "true", "false", "1", "-2", "1.5", "087", "100Mi", `"x;y"`, `"a,b"`, `"\"}"`, "`;`", "'q'", "don't", "a b",
		" c ", "a:b", "null", "2024-01-15",
		"", "{", "}", "{a}", ",", `"`, "é", "/", "//", "-",
	}
	random := rand.New(rand.NewPCG(1, 2))
	split := 0
	for range 20_000 {
		var values []string
		for range 1 + random.IntN(8) {
			n := len(words)
			if random.IntN(4) > 0 {
				n -= 10 // mostly values that do not end a list
			}
			values = append(values, words[random.IntN(n)])
		}
		fields := strings.Join(values, ";")
		if random.IntN(3) == 0 {
			fields = "{" + strings.Join(values, ",") + "}"
		}
		parts, ok := enumParts(fields, 1+random.IntN(3))
		var got Enum
		if !ok || got.parse(definition, parts) != nil {
			continue
		}
		split++
		want, err := definition.Parse("+kubebuilder:validation:Enum=" + fields)
		if diff := cmp.Diff(want, any(crdmarkers.Enum(got))); diff != "" || err != nil {
			t.Fatalf("%s in parts %q: %v\n%s", fields, parts, err, diff)
		}
	}
	if split < 1000 {
		t.Errorf("only %d lists were parsed in parts", split)
	}
}

// TestLongEnumsAreParsedInParts checks that no part of a long list has more than enumPart values. It measures no time.
func TestLongEnumsAreParsedInParts(t *testing.T) {
	const count = 100_000
	fields := strings.TrimSuffix(strings.Repeat("value;", count), ";")
	parts, ok := enumParts(fields, enumPart)
	if !ok || len(parts) != (count+enumPart-1)/enumPart {
		t.Fatalf("%d parts", len(parts))
	}
	registry, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range allTargets[1:] {
		text := "+kubebuilder:validation:Enum=" + fields
		value, err := registry.Lookup(text, target).Parse(text)
		if values, ok := value.(Enum); !ok || len(values) != count || err != nil {
			t.Errorf("%T with %d values: %v", value, len(values), err)
		}
	}
}
