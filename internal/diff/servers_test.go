package diff_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/internal/diff"
	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/diff/witness"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// TestServersConfirmWitnesses writes the witness of each labeled change to two API servers, one with the old CRD and
// one with the new CRD.
func TestServersConfirmWitnesses(t *testing.T) {
	before, after := connect(t), connect(t)
	confirmed := 0
	for i, l := range readTable(t) {
		old, now := sides(t, &l)
		group := fmt.Sprintf("row%d.example.com", i)
		inGroup(old, group)
		inGroup(now, group)
		report, err := diff.Compare(t.Context(), sideOf("old", old), sideOf("new", now), diff.Options{Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		apply(t, before, old)
		apply(t, after, now)
		for _, f := range report.Findings {
			for _, try := range []struct {
				lenient, strict *kubectl.Client
				witness         *witness.Witness
			}{{before, after, f.Witness}, {after, before, f.Backward}} {
				if try.witness == nil {
					continue
				}
				confirmed++
				if reason := ask(t.Context(), try.lenient, try.strict, try.witness); reason != "" {
					t.Errorf("%s: %s: %s\n%v", l.Name, f.Title(), reason, try.witness)
				}
			}
		}
	}
	t.Logf("%d witnesses", confirmed)
}

func connect(t *testing.T) *kubectl.Client {
	t.Helper()
	client, err := kubectl.Connect(testenv.Start(t).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func inGroup(crd *apiextensionsv1.CustomResourceDefinition, group string) {
	if crd != nil {
		crd.Spec.Group, crd.Name = group, crd.Spec.Names.Plural+"."+group
	}
}

// apply creates or replaces a CRD on a server, without webhook conversion.
func apply(t *testing.T, client *kubectl.Client, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	if crd == nil {
		return
	}
	given := crd.DeepCopy()
	given.Spec.Conversion = nil
	text, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &object.Object); err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	if err := client.Apply(t.Context(), []kubectl.Manifest{{Object: object}}); err != nil {
		t.Fatal(err)
	}
}

// ask returns why two servers do not confirm a witness, or "" if they do.
func ask(ctx context.Context, lenient, strict *kubectl.Client, w *witness.Witness) string {
	object := func(content map[string]any) *unstructured.Unstructured {
		if content == nil {
			return nil
		}
		return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	}
	attempt := kubectl.Attempt{Object: object(w.Object), Before: object(w.Before), Status: w.Status}
	accepted, err := lenient.Try(ctx, attempt)
	if err != nil {
		return "the lenient server: " + err.Error()
	}
	got, err := strict.Try(ctx, attempt)
	if _, refused := errors.AsType[*kubectl.RefusedError](err); refused {
		return ""
	}
	same := func(part string) bool { return reflect.DeepEqual(accepted.Object[part], got.Object[part]) }
	switch {
	case err != nil:
		return "the strict server: " + err.Error()
	case w.Reason != "":
		return "the strict server accepts it"
	case same("spec") && same("status"):
		return "both servers store the same"
	}
	return ""
}

// TestOtherObjectsStayStored covers the labeled changes that are not reported to break stored objects. It stores the
// witness, replaces the CRD, and checks that the object reads as before and that an update of another field succeeds:
// API servers ratchet, which means that they accept an invalid value that an update does not change.
func TestOtherObjectsStayStored(t *testing.T) {
	env := testenv.Start(t)
	crds, err := kubectl.Connect(env.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for i, l := range readTable(t) {
		old, now := sides(t, &l)
		report, err := diff.Compare(t.Context(), sideOf("old", old), sideOf("new", now), diff.Options{Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		for j, f := range report.Findings {
			w := f.Witness
			// A removed version or subresource cannot be written.
			if w == nil || w.Before != nil || w.Status || f.Field == "" || slices.Contains(f.Breaks, change.Stored) {
				continue
			}
			checked++
			group := fmt.Sprintf("stored%d-%d.example.com", i, j)
			before, after := old.DeepCopy(), now.DeepCopy()
			inGroup(before, group)
			inGroup(after, group)
			apply(t, crds, before)
			stored := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(w.Object)}
			stored.SetAPIVersion(group + "/" + w.Version)
			live, err := client.New(env.Config, client.Options{Scheme: runtime.NewScheme()})
			if err != nil {
				t.Fatal(err)
			}
			if err := live.Create(t.Context(), stored); err != nil {
				t.Errorf("%s: %s: %v", l.Name, f.Title(), err)
				continue
			}
			want := runtime.DeepCopyJSONValue(stored.Object["spec"])
			apply(t, crds, after)
			stored.SetLabels(map[string]string{"touched": "yes"})
			if err := live.Update(t.Context(), stored); err != nil {
				t.Errorf("%s: %s breaks %s only, and an update of a label fails: %v", l.Name, f.Title(), f.Classes(), err)
			} else if got := stored.Object["spec"]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s breaks %s only, and the object changes to %v", l.Name, f.Title(), f.Classes(), got)
			}
		}
	}
	if t.Logf("%d witnesses", checked); checked < 30 {
		t.Errorf("%d witnesses, want 30", checked)
	}
}
