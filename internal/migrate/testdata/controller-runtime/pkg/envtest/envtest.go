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

type Environment struct {
	CRDDirectoryPaths     []string
	ErrorIfCRDPathMissing bool
	BinaryAssetsDirectory string
	CRDInstallOptions     CRDInstallOptions
}

func (e *Environment) Start() (*rest.Config, error) { return nil, nil }

func (e *Environment) Stop() error { return nil }
