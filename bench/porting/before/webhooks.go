// Webhooks and tests.

package before

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Register the webhooks of a kind
func Webhooks(m ctrl.Manager, d admission.Defaulter[*corev1.Pod], v admission.Validator[*corev1.Pod]) error {
	return ctrl.NewWebhookManagedBy(m, &corev1.Pod{}).WithDefaulter(d).WithValidator(v).Complete()
}

// Register a handler for admission requests
func AdmissionHandler(m ctrl.Manager) {
	handle := admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
		return admission.Allowed("").WithWarnings("it is " + req.Name)
	})
	m.GetWebhookServer().Register("/check", &admission.Webhook{Handler: handle})
}

// Start an API server for tests
func Environment() (*rest.Config, error) {
	env := &envtest.Environment{CRDDirectoryPaths: []string{"config/crd"}}
	return env.Start()
}
