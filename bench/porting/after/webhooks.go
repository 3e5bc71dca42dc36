package after

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/runtime/webhook"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
)

func Webhooks(m controller.Manager, d admission.Defaulter[*corev1.Pod], v admission.Validator[*corev1.Pod]) error {
	return webhook.For[*corev1.Pod](m).WithDefaulter(d).WithValidator(v).Complete()
}

func AdmissionHandler(m controller.Manager) error {
	handle := admission.HandlerFunc(func(ctx context.Context, req *admission.Request) admission.Response {
		return admission.Allowed("").WithWarnings("it is " + req.Name)
	})
	return webhook.Handle(m, "/check", admission.NewReviewer(handle, m.Logger()))
}

func Environment(t *testing.T) *rest.Config {
	env := testenv.Start(t, testenv.WithCRDs("config/crd"))
	return env.Config
}
