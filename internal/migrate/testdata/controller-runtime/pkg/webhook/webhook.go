package webhook

import (
	"crypto/tls"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type Options struct {
	Host     string
	Port     int
	CertDir  string
	CertName string
	KeyName  string
	TLSOpts  []func(*tls.Config)
}

type Server interface {
	Register(path string, hook http.Handler)
	StartedChecker() func(*http.Request) error
	WebhookMux() *http.ServeMux
}

type Admission = admission.Webhook

// DefaultServer is the one that NewServer makes.
type DefaultServer struct{ Options Options }

func (*DefaultServer) Register(path string, hook http.Handler)   {}
func (*DefaultServer) StartedChecker() func(*http.Request) error { return nil }

func (*DefaultServer) WebhookMux() *http.ServeMux { return nil }

func NewServer(o Options) Server { return nil }

type CustomDefaulter = admission.CustomDefaulter

type CustomValidator = admission.CustomValidator

// Until version 0.19.

type Defaulter interface {
	runtime.Object
	Default()
}

type Validator interface {
	runtime.Object
	ValidateCreate() (admission.Warnings, error)
	ValidateUpdate(old runtime.Object) (admission.Warnings, error)
	ValidateDelete() (admission.Warnings, error)
}
