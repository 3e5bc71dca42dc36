package webhook

import (
	"crypto/tls"
	"net/http"
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
}

func NewServer(o Options) Server { return nil }
