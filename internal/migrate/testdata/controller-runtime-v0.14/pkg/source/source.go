// Package source has the signatures of controller-runtime's.
package source

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

type Source interface{ String() string }

type Kind struct{ Type client.Object }

func (*Kind) String() string { return "" }

type Channel struct {
	Source         <-chan event.GenericEvent
	DestBufferSize int
}

func (*Channel) String() string { return "" }
