package envtest

import (
	"time"

	"k8s.io/client-go/rest"
)

type CRDInstallOptions struct {
	Paths              []string
	ErrorIfPathMissing bool
	MaxTime            time.Duration
}

type ControlPlane struct{}

func (*ControlPlane) GetAPIServer() *APIServer { return nil }

type APIServer struct{ Path string }

func (*APIServer) Configure() *Arguments { return nil }

type Arguments struct{}

func (*Arguments) Set(name string, values ...string) *Arguments { return nil }

func (*Arguments) Append(name string, values ...string) *Arguments { return nil }

type Environment struct {
	CRDDirectoryPaths     []string
	ErrorIfCRDPathMissing bool
	BinaryAssetsDirectory string
	CRDInstallOptions     CRDInstallOptions
	UseExistingCluster    *bool
	ControlPlane          ControlPlane
}

func (e *Environment) Start() (*rest.Config, error) { return nil, nil }

func (e *Environment) Stop() error { return nil }
