package informer_test

import (
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
)

// labelled returns a source with the objects x/a, x/b and y/a in one list. Objects with the name a have the label size.
func labelled() *listwatch.Source {
	s := listwatch.New()
	for _, key := range []string{"x/a", "x/b", "y/a"} {
		s.Namespace = key[:1]
		s.Create(key[2:])
	}
	for key, o := range s.Objects {
		if key.Name == "a" {
			o.Labels = map[string]string{"size": key.Namespace}
		}
	}
	return s
}

// S07
func TestListerSelectsByNamespaceAndLabels(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := labelled()
		shared := start(t, s, in(options{}))
		l := shared.Lister()
		sized, _ := labels.Parse("size")
		big, _ := labels.Parse("size=y")
		for _, test := range []struct {
			namespace string
			selector  labels.Selector
			want      string
		}{
			{"", nil, "a a b"}, {"x", nil, "a b"}, {"y", labels.Everything(), "a"}, {"z", nil, ""},
			{"", sized, "a a"}, {"x", sized, "a"}, {"x", big, ""}, {"", big, "a"}, {"x", labels.Nothing(), ""},
		} {
			if got := names(l.Namespace(test.namespace).List(test.selector)); got != test.want {
				t.Errorf("%q %v: got %q, want %q", test.namespace, test.selector, got, test.want)
			}
		}
		s.Namespace = "x"
		s.Delete("a")
		synctest.Wait()
		if got := names(shared.Lister().Namespace("x").List(nil)); got != "b" {
			t.Errorf("after a deletion: %s", got)
		}
	})
}

// S07
func TestListerReturnsTheServersNotFound(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		l := start(t, labelled(), in(options{})).Lister()
		if o, err := l.Namespace("x").Get("b"); err != nil || o.Name != "b" {
			t.Errorf("got %v, %v", o, err)
		}
		_, err := l.Namespace("y").Get("b")
		if !apierrors.IsNotFound(err) || err.Error() != `things "b" not found` {
			t.Errorf("got %v", err)
		}
	})
}
