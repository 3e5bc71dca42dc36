package operator

import (
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"example.com/library"
)

func newManager(config *rest.Config) (ctrl.Manager, error) {
	tls, metrics, err := library.Flags()
	if err != nil {
		return nil, err
	}
	return ctrl.NewManager(config, ctrl.Options{Metrics: *metrics, WebhookServer: webhook.NewServer(webhook.Options{TLSOpts: tls})})
}
