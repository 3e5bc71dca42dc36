// Package conversion defines the interfaces of types that convert between versions through a hub.
package conversion

import "k8s.io/apimachinery/pkg/runtime"

// Convertible is a version that converts to and from the hub.
type Convertible interface {
	runtime.Object
	// ConvertTo sets dst from the object.
	ConvertTo(dst Hub) error
	// ConvertFrom sets the object from src.
	ConvertFrom(src Hub) error
}

// Hub is the version that all other versions convert to and from.
type Hub interface {
	runtime.Object
	// Hub marks the type.
	Hub()
}
