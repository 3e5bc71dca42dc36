package validity

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestMetadataIsUpstreams makes random metadata, and has upstream check and write those that are certain.
func TestMetadataIsUpstreams(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 5))}
	names := []string{"a", "a.b/c", "A_b", "-a", "a/", "/a", "a/b/c", "A.b/c", "a..b/c", "a.b/c-", strings.Repeat("a", 63), strings.Repeat("a", 64), "kubernetes.io/x", "a b", "é", ""}
	owner := func() any {
		reference := map[string]any{}
		for name, values := range map[string][]any{
			"apiVersion": {"v1", "a/v1", "a/b/c", "/v1", "a/", "", int64(1)}, "kind": {"K", "Event", ""}, "name": {"n", "m", ""}, "uid": {"1", "2", "", nil},
			"controller": {true, false, "x"}, "blockOwnerDeletion": {true, nil},
		} {
			if g.IntN(4) > 0 {
				reference[name] = values[g.IntN(1+g.IntN(len(values)))]
			}
		}
		return reference
	}
	list := func(of func() any) any {
		items := []any{}
		for range g.IntN(3) {
			items = append(items, of())
		}
		return items
	}
	texts := func() any {
		members := map[string]any{}
		for range g.IntN(3) {
			members[one(g, names...)] = one[any](g, "a", "a", "A.b", "", "not valid", strings.Repeat("a", 64), int64(1), nil)
		}
		return members
	}
	certain := 0
	for range 40_000 {
		metadata := map[string]any{"name": "x", "namespace": "y"}
		for name, value := range map[string]func() any{
			"labels": texts, "annotations": texts, "finalizers": func() any { return list(func() any { return one(g, names...) }) }, "ownerReferences": func() any { return list(owner) },
			"generateName": func() any { return one[any](g, "a", "a-", "a.", "A", "", int64(1)) }, "uid": func() any { return one[any](g, "u", "", int64(1)) }, "generation": func() any { return one[any](g, int64(1), int64(0), "x", 1.5) },
			"selfLink": func() any { return "x" }, "unknown": func() any { return "x" },
		} {
			if g.IntN(5) == 0 {
				metadata[name] = value()
			}
		}
		if !Metadata(metadata) {
			continue
		}
		certain++
		object := map[string]any{"metadata": runtime.DeepCopyJSON(metadata)}
		typed, _, unknown, err := objectmeta.GetObjectMetaWithOptions(object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
		if err != nil || len(unknown) > 0 {
			t.Fatalf("%v: %v, %q", metadata, err, unknown)
		}
		if err := objectmeta.SetObjectMeta(object, typed); err != nil {
			t.Fatal(err)
		}
		written := object["metadata"].(map[string]any)
		if created, there := written["creationTimestamp"]; there && created == nil {
			delete(written, "creationTimestamp")
		}
		if !reflect.DeepEqual(written, metadata) {
			t.Fatalf("upstream writes %v as %v", metadata, written)
		}
		if problems := metavalidation.ValidateObjectMeta(typed, true, metavalidation.NameIsDNSSubdomain, field.NewPath("metadata")); len(problems) > 0 {
			t.Fatalf("%v: %v", metadata, problems)
		}
	}
	if certain < 5_000 {
		t.Errorf("%d were certain: hardly anything was tested", certain)
	}
}
