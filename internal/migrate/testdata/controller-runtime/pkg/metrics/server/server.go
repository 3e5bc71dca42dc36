package server

import (
	"crypto/tls"
	"net/http"

	"k8s.io/client-go/rest"
)

type Filter func(http.Handler) http.Handler

type Options struct {
	BindAddress    string
	SecureServing  bool
	CertDir        string
	CertName       string
	KeyName        string
	TLSOpts        []func(*tls.Config)
	ExtraHandlers  map[string]http.Handler
	FilterProvider func(c *rest.Config, httpClient *http.Client) (Filter, error)
}
