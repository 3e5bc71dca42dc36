package informer_test

import (
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// form returns options with the form in which an informer keeps its objects.
type form func(options) options

func whole(opts options) options { return opts }

// packed keeps the objects packed.
func packed(opts options) options {
	packing, err := informer.NewPacking[obj](&metav1.PartialObjectMetadata{})
	if err != nil {
		panic(err)
	}
	opts.Packed = packing
	return opts
}

// forms are all there are, by name.
var forms = map[string]form{"whole": whole, "packed": packed}

// inBothForms runs a test in a bubble of virtual time for each form.
func inBothForms(t *testing.T, test func(t *testing.T, in form)) {
	t.Helper()
	for name, in := range forms {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, in) })
		})
	}
}
