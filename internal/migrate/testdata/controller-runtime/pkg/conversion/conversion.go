package conversion

import "k8s.io/apimachinery/pkg/runtime"

type Hub interface {
	runtime.Object
	Hub()
}
