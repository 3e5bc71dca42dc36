package client

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// TestOptionsCanBeCompared checks that go-cmp can compare options as with controller-runtime v0.24, which has no logger
// in them, and that a logger can be set as with v0.25.
func TestOptionsCanBeCompared(t *testing.T) {
	if diff := cmp.Diff(Options{FieldOwner: "a"}, Options{FieldOwner: "a"}); diff != "" {
		t.Error(diff)
	}
	var wrote string
	options := Options{Log: funcr.New(func(_, text string) { wrote = text }, funcr.Options{})}
	options.Log.Info("sent")
	if !strings.Contains(wrote, "sent") {
		t.Errorf("the logger wrote %q", wrote)
	}
}

// TestSelectorThatMatchesNothing checks that a List ignores such a selector, as with controller-runtime, but that
// DeleteAllOf does not delete all objects.
func TestSelectorThatMatchesNothing(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.String())
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind": "ConfigMapList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}`)
	}))
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	c, err := New(&rest.Config{Host: server.URL}, Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	nothing := &ListOptions{Namespace: "n", LabelSelector: labels.Nothing(), FieldSelector: fields.Nothing()}
	for _, option := range []ListOption{nothing, MatchingLabelsSelector{}, MatchingFieldsSelector{}} {
		var list corev1.ConfigMapList
		if err := c.List(t.Context(), &list, InNamespace("n"), option); err != nil || len(list.Items) != 1 {
			t.Errorf("%T: listed %v, %v", option, list.Items, err)
		}
	}
	err = c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, InNamespace("n"), MatchingLabelsSelector{})
	if err == nil || !strings.Contains(err.Error(), "the label selector matches no object") {
		t.Errorf("DeleteAllOf: %v", err)
	}
	if want := slices.Repeat([]string{"GET /api/v1/namespaces/n/configmaps"}, 3); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}
