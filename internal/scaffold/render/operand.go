package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// Operand is the workload that a controller runs for each object: a Deployment with the image that the object
// specifies.
type Operand struct {
	// Image is the default image. Empty means that each object must specify one.
	Image string
	// Port is the containers' port, for which the controller creates a Service. 0 means no Service.
	Port int
	// Finalizer makes the controller clean up before an object is deleted.
	Finalizer bool
}

// Validate rejects invalid options, and options that the kind does not support. A nil Operand is valid.
func (o *Operand) Validate(resource, controller, namespaced bool) error {
	message, hint := "", ""
	switch {
	case o == nil:
		return nil
	case !controller || !resource:
		message, hint = "--from deployment writes the types of a kind and its controller",
			"omit --resource=false and --controller=false"
	case !namespaced:
		message, hint = "--from deployment is for kinds whose objects live in namespaces, where their Deployments are",
			"omit --namespaced=false"
	case o.Port < 0 || o.Port > 65535:
		message, hint = fmt.Sprintf("--port: want a number from 1 to 65535, got %d", o.Port), "write --port=8080"
	case o.Image != "":
		return project.ValidateImage(o.Image)
	default:
		return nil
	}
	return diagnostic.Usage(message, hint)
}

// maxImage is the length limit of image names in the CRD.
const maxImage = 512

// shape adds the fields, columns and subresources that the controller uses.
func (o *Operand) shape(s Shape) Shape {
	image := fmt.Sprintf(`image:string,minLength=1,maxLength=%d,example="registry.k8s.io/pause:3.10",doc="image is the image of the containers."`, maxImage)
	if o.Image != "" {
		image = fmt.Sprintf(`image:string,minLength=1,maxLength=%d,default=%s,doc="image is the image of the containers."`,
			maxImage, strconv.Quote(o.Image))
	}
	s.Fields = slices.Concat([]string{image,
		`replicas:int32,min=0,default=1,doc="replicas is the desired number of Pods."`}, s.Fields)
	s.StatusFields = slices.Concat([]string{
		`replicas:int32,min=0,doc="replicas is the number of Pods."`,
		`readyReplicas:int32,min=0,doc="readyReplicas is the number of ready Pods."`,
		`selector:string,doc="selector selects the Pods, in the form of the scale subresource."`,
	}, s.StatusFields)
	if s.Scale == "" {
		s.Scale = "default"
	}
	if !slices.ContainsFunc(s.Columns, func(c string) bool { return strings.HasPrefix(c, "Image:") }) {
		s.Columns = slices.Concat([]string{"Image:string:.spec.image", "Replicas:integer:.spec.replicas"}, s.Columns)
	}
	return s
}
