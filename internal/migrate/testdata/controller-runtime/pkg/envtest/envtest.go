package envtest

import "k8s.io/client-go/rest"

type Environment struct {
	CRDDirectoryPaths     []string
	ErrorIfCRDPathMissing bool
	BinaryAssetsDirectory string
}

func (e *Environment) Start() (*rest.Config, error) { return nil, nil }

func (e *Environment) Stop() error { return nil }
