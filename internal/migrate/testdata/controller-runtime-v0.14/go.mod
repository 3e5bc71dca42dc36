module sigs.k8s.io/controller-runtime

go 1.26.0

require (
	github.com/go-logr/logr v1.4.3
	gomodules.xyz/jsonpatch/v2 v2.5.0
	k8s.io/api v0.37.2
	k8s.io/apimachinery v0.37.2
	k8s.io/client-go v0.37.2
)
