package fakecontrollers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// serviceAccounts maintains the service account "default" in each namespace.
var serviceAccounts = Controller{"serviceaccount-controller", func(m *manager.Manager) error {
	return keepInNamespaces(m, "serviceaccount-controller",
		func(account *corev1.ServiceAccount) { account.Name = "default" })
}}

// rootCertificates maintains a ConfigMap with the API server's CA certificate in each namespace. The certificate is
// empty for a server without TLS.
var rootCertificates = Controller{"root-ca-certificate-publisher-controller", func(m *manager.Manager) error {
	authority := string(m.Config().CAData)
	return keepInNamespaces(m, "root-ca-certificate-publisher-controller", func(c *corev1.ConfigMap) {
		c.Name, c.Data = "kube-root-ca.crt", map[string]string{"ca.crt": authority}
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, "kubernetes.io/description",
			"Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "+
				"internal service IP or kubernetes.default.svc. "+
				"No other usage is guaranteed across distributions of Kubernetes clusters.")
	})
}}

// keepInNamespaces maintains an object, which fill initializes, in each namespace that is not being deleted.
func keepInNamespaces[T any, P pointer[T]](m *manager.Manager, name string, fill func(P)) error {
	b := controller.For[*corev1.Namespace](m).Named(name)
	wanted := P(new(T))
	fill(wanted)
	b.Watches(handler.For(func(_ context.Context, o P) []reconcile.Request {
		if o.GetName() != wanted.GetName() {
			return nil
		}
		return []reconcile.Request{{NamespacedName: object.Key{Name: o.GetNamespace()}}}
	}))
	c := m.Client()
	return b.Complete(byName[corev1.Namespace](c, func(ctx context.Context,
		namespace *corev1.Namespace) (reconcile.Result, error) {
		if namespace.DeletionTimestamp != nil {
			return reconcile.Result{}, nil
		}
		o := P(new(T))
		o.SetNamespace(namespace.Name)
		o.SetName(wanted.GetName())
		_, err := controllerutil.CreateOrUpdate(ctx, c, o, func() error { fill(o); return nil })
		return reconcile.Result{}, unlessTerminating(client.IgnoreAlreadyExists(err))
	}))
}
