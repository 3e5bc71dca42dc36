// Package admission has the signatures of controller-runtime's.
package admission

import (
	"context"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type Request struct{ admissionv1.AdmissionRequest }

type Response struct{ admissionv1.AdmissionResponse }

type Handler interface {
	Handle(context.Context, Request) Response
}

type Webhook struct{ Handler Handler }

func (*Webhook) ServeHTTP(http.ResponseWriter, *http.Request) {}

type Decoder struct{}

func (*Decoder) Decode(req Request, into runtime.Object) error { return nil }

func Allowed(reason string) Response { return Response{} }
