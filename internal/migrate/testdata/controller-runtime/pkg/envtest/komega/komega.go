package komega

import "sigs.k8s.io/controller-runtime/pkg/client"

type Komega interface {
	Get(client.Object) func() error
}

func New(c client.Client) Komega { return nil }
