package scaffold_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

func newOperand(t *testing.T) *testProject {
	t.Helper()
	p := newProject(t)
	p.initialize(t, scaffold.InitOptions{Domain: "example.com", Repo: "example.com/guestbook", License: "none"})
	opts := guestbook
	opts.Operand = &render.Operand{Image: "localhost:5000/nginx", Port: 8080, Finalizer: true}
	opts.Shape.Fields = []string{"configRef:ref=ConfigMap"}
	p.createAPI(t, opts)
	return p
}

// TestOperandRuns creates controllers that run an image, with all options and with none, and runs their tests.
func TestOperandRuns(t *testing.T) {
	p := newOperand(t)
	plain := guestbook
	plain.Kind, plain.Operand = "Deployment", &render.Operand{}
	p.createAPI(t, plain)
	p.check(t)
	t.Run("tests", func(t *testing.T) { p.test(t, "./internal/controller/...") })
}

// TestOperandTestsFindEachDefect removes parts of the controller's logic. Its tests must fail each time.
func TestOperandTestsFindEachDefect(t *testing.T) {
	p := newOperand(t)
	file := filepath.Join(p.dir, "internal", "controller", "guestbook_controller.go")
	source := string(readFile(t, p.dir, "internal/controller/guestbook_controller.go"))
	for name, change := range map[string][2]string{
		"takes what is there": {"err == nil && !metav1.IsControlledBy(live, owner)", "false"},
		"does not own": {"controllerutil.SetControllerReference(owner, desired, r.Scheme())",
			"error(nil)"},
		"watches no Deployments": {"\t\tOwns(&appsv1.Deployment{}).\n", ""},
		"is available at once": {"available := metav1.Condition{Type: \"Available\", Status: metav1.ConditionFalse",
			"available := metav1.Condition{Type: \"Available\", Status: metav1.ConditionTrue"},
		"never sees what is in the way": {"degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue",
			"_, degraded.Reason, degraded.Message = metav1.ConditionTrue"},
		"is never on its way": {"progressing.Status, progressing.Reason = metav1.ConditionTrue",
			"_, progressing.Reason = metav1.ConditionTrue"},
		"selects the Pods of all objects": {"{guestbookLabel: value}", "{guestbookLabel: \"all\"}"},
		"selects by the image": {"{guestbookLabel: value}",
			"{guestbookLabel: value, \"image\": guestbook.Spec.Image[len(guestbook.Spec.Image)-5:]}"},
		"has no Service":      {"r.apply(ctx, guestbook, guestbookService(guestbook))", "error(nil)"},
		"keeps the finalizer": {"!controllerutil.RemoveFinalizer(guestbook, guestbookFinalizer)", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(source, change[0], change[1], 1)
			if changed == source {
				t.Fatalf("the controller has no %q", change[0])
			}
			writeFile(t, file, []byte(changed))
			// The timeout ends tests that wait for a missing event. One run in three may not find a defect, if another
			// event arrives at the right time.
			out, err := tryGoCommand(t.Context(), p.dir, inMemoryEnv(t), "test", "-vet=off", "-count", "3", "-timeout", "20s",
				"./internal/controller/...")
			if err == nil || strings.Contains(out, "[build failed]") && !strings.Contains(out, "declared and not used") {
				t.Errorf("the tests pass: %v\n%s", err, out)
			}
		})
	}
}

func TestMistakesInOperands(t *testing.T) {
	p := newGuestbook(t)
	for hint, change := range map[string]func(*scaffold.APIOptions){
		"omit --namespaced=false":                      func(o *scaffold.APIOptions) { o.Namespaced = false },
		"omit --resource=false and --controller=false": func(o *scaffold.APIOptions) { o.Controller = false },
		"write --port=8080":                            func(o *scaffold.APIOptions) { o.Operand.Port = 70000 },
		`use "example.com/guestbook:v1"`:               func(o *scaffold.APIOptions) { o.Operand.Image = "a b" },
		"choose another name":                          func(o *scaffold.APIOptions) { o.Shape.Fields = []string{"image:string"} },
		"omit it": func(o *scaffold.APIOptions) {
			o.Kind, o.Version = "Guestbook",
				"v2"
		},
	} {
		opts := guestbook
		opts.Kind, opts.Operand = "Shelf", &render.Operand{}
		change(&opts)
		_, err := p.planAPI(t, opts)
		e, ok := errors.AsType[*diagnostic.Error](err)
		if !ok || !errors.Is(err, diagnostic.ErrUsage) || e.Hint != hint {
			t.Errorf("got %v, want a usage error with the hint %q", err, hint)
		}
	}
}
