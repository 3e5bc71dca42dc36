package scaffold_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

func newOperand(t *testing.T) *testProject {
	t.Helper()
	p := newProject(t)
	p.initialize(t, scaffold.InitOptions{Domain: "example.com", Repo: "example.com/guestbook", License: "none"})
	opts := guestbook
	opts.Operand = &scaffold.Operand{Image: "localhost:5000/nginx", Port: 8080, Finalizer: true}
	opts.Shape.Fields = []string{"configRef:ref=ConfigMap"}
	p.createAPI(t, opts)
	return p
}

// TestOperandRuns builds and tests controllers that run an image: with everything, and with nothing but that.
func TestOperandRuns(t *testing.T) {
	p := newOperand(t)
	plain := guestbook
	plain.Kind, plain.Operand = "Deployment", &scaffold.Operand{}
	p.createAPI(t, plain)
	p.check(t)
	goCommand(t, p.dir, append(cacheEnv(), "KCTRL="+kctrlCommand(t)), "test", "./internal/controller/...")
}

// TestOperandTestsMissNothing takes logic out of the controller: its tests notice. D10 and D11 of kubebuilder are among that. It
// takes out four things, and all if the environment has KCTRL_TEST_MATRIX=all.
func TestOperandTestsMissNothing(t *testing.T) {
	p := newOperand(t)
	file := filepath.Join(p.dir, "internal", "controller", "guestbook_controller.go")
	source := string(readFile(t, p.dir, "internal/controller/guestbook_controller.go"))
	few := []string{"takes what is there", "is available at once", "selects by the image", "keeps the finalizer"}
	for name, change := range map[string][2]string{
		"takes what is there":             {"err == nil && !metav1.IsControlledBy(live, owner)", "false"},
		"does not own":                    {"controllerutil.SetControllerReference(owner, desired, r.Scheme())", "error(nil)"},
		"watches no Deployments":          {"\t\tOwns(&appsv1.Deployment{}).\n", ""},
		"is available at once":            {"available := metav1.Condition{Type: \"Available\", Status: metav1.ConditionFalse", "available := metav1.Condition{Type: \"Available\", Status: metav1.ConditionTrue"},
		"never sees what is in the way":   {"degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue", "_, degraded.Reason, degraded.Message = metav1.ConditionTrue"},
		"is never on its way":             {"progressing.Status, progressing.Reason = metav1.ConditionTrue", "_, progressing.Reason = metav1.ConditionTrue"},
		"selects the Pods of all objects": {"{guestbookLabel: value}", "{guestbookLabel: \"all\"}"},
		"selects by the image":            {"{guestbookLabel: value}", "{guestbookLabel: value, \"image\": guestbook.Spec.Image[len(guestbook.Spec.Image)-5:]}"},
		"has no Service":                  {"r.apply(ctx, guestbook, guestbookService(guestbook))", "error(nil)"},
		"keeps the finalizer":             {"!controllerutil.RemoveFinalizer(guestbook, guestbookFinalizer)", "true"},
	} {
		if os.Getenv("KCTRL_TEST_MATRIX") != "all" && !slices.Contains(few, name) {
			continue
		}
		changed := strings.Replace(source, change[0], change[1], 1)
		if changed == source {
			t.Errorf("%s: the controller does not say %q", name, change[0])
			continue
		}
		writeFile(t, file, []byte(changed))
		// A test that waits for what does not come is cut short: then it has not passed. What one run does not notice, since other events
		// came just then, another does.
		out, err := tryGoCommand(t.Context(), p.dir, append(cacheEnv(), "KCTRL="+kctrlCommand(t)), "test", "-vet=off", "-count", "3", "-timeout", "20s", "./internal/controller/...")
		if err == nil || strings.Contains(out, "[build failed]") && !strings.Contains(out, "declared and not used") {
			t.Errorf("%s: the tests do not notice: %v\n%s", name, err, out)
		}
	}
}

func TestMistakesInOperands(t *testing.T) {
	p := newGuestbook(t)
	for hint, change := range map[string]func(*scaffold.APIOptions){
		"leave out --namespaced=false":                      func(o *scaffold.APIOptions) { o.Namespaced = false },
		"leave out --resource=false and --controller=false": func(o *scaffold.APIOptions) { o.Controller = false },
		"write --port=8080":                                 func(o *scaffold.APIOptions) { o.Operand.Port = 70000 },
		`use "example.com/guestbook:v1"`:                    func(o *scaffold.APIOptions) { o.Operand.Image = "a b" },
		"give this one another name":                        func(o *scaffold.APIOptions) { o.Shape.Fields = []string{"image:string"} },
		"leave it out":                                      func(o *scaffold.APIOptions) { o.Kind, o.Version = "Guestbook", "v2" },
	} {
		opts := guestbook
		opts.Kind, opts.Operand = "Shelf", &scaffold.Operand{}
		change(&opts)
		_, err := p.planAPI(t, opts)
		e, ok := errors.AsType[*diagnostic.Error](err)
		if !ok || !errors.Is(err, diagnostic.ErrUsage) || e.Hint != hint {
			t.Errorf("got %v, want a usage error with the hint %q", err, hint)
		}
	}
}
