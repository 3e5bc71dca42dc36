package admission_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
)

// ofAnything asks which kind it is given.
type ofAnything struct{}

func (ofAnything) Default(_ context.Context, obj runtime.Object) error {
	obj.(*thing).Spec.Size = 3
	return nil
}

func (ofAnything) ValidateCreate(_ context.Context, obj runtime.Object) (admission.Warnings, error) {
	return admission.Warnings{fmt.Sprintf("created %T", obj)}, nil
}

func (ofAnything) ValidateUpdate(_ context.Context, oldObj, newObj runtime.Object) (admission.Warnings, error) {
	return nil, fmt.Errorf("from %d to %d", oldObj.(*thing).Spec.Size, newObj.(*thing).Spec.Size)
}

func (ofAnything) ValidateDelete(_ context.Context, obj runtime.Object) (admission.Warnings, error) {
	return nil, fmt.Errorf("%T stays", obj)
}

// typedThings is for one kind.
type typedThings struct {
	admission.ValidatorFuncs[*thing]
}

func (typedThings) Default(_ context.Context, obj *thing) error {
	obj.Spec.Size = 4
	return nil
}

func TestWebhooksOfAnyObjectAreAskedAboutThoseOfAKind(t *testing.T) {
	larger := strings.Replace(small, `"size":1`, `"size":5`, 1)
	validator := admission.WithCustomValidator(scheme(), &thing{}, ofAnything{})
	for name, c := range map[string]struct {
		handler admission.Handler
		body    string
		want    string
	}{
		"a defaulter":         {admission.WithCustomDefaulter(scheme(), &thing{}, ofAnything{}), body(t, "CREATE", small, "", nil), `"value":3`},
		"a creation":          {validator, body(t, "CREATE", small, "", nil), `created *admission_test.thing`},
		"an update":           {validator, body(t, "UPDATE", larger, small, nil), `from 1 to 5`},
		"a deletion":          {validator, body(t, "DELETE", "", small, nil), `*admission_test.thing stays`},
		"a defaulter of one":  {admission.WithDefaulter(scheme(), admission.Defaulter[*thing](typedThings{})), body(t, "CREATE", small, "", nil), `"value":4`},
		"a validator of one":  {admission.WithValidator(scheme(), admission.Validator[*thing](typedThings{})), body(t, "CREATE", small, "", nil), `"allowed":true`},
		"a kind of no scheme": {admission.WithCustomValidator(runtime.NewScheme(), &thing{}, ofAnything{}), body(t, "CREATE", small, "", nil), `"code":500`},
		"no metadata":         {admission.WithCustomDefaulter(scheme(), &runtime.Unknown{}, ofAnything{}), body(t, "CREATE", small, "", nil), `"code":500`},
	} {
		t.Run(name, func(t *testing.T) {
			code, text := post(c.handler, strings.NewReader(c.body), nil)
			if code != 200 {
				t.Fatalf("answered %d %s", code, text)
			}
			if strings.Contains(c.want, "value") {
				text = string(review(t, c.handler, c.body).Patch)
			}
			if !strings.Contains(text, c.want) {
				t.Errorf("answered %s, want %s", text, c.want)
			}
		})
	}
}
