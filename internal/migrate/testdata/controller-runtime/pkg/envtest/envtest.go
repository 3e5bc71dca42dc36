package envtest

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
)

type CRDInstallOptions struct {
	Paths              []string
	ErrorIfPathMissing bool
	MaxTime            time.Duration
	CleanUpAfterUse    bool
}

func InstallCRDs(config *rest.Config, options CRDInstallOptions) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return nil, nil
}

type User struct {
	Name   string
	Groups []string
}

type AuthenticatedUser struct{}

func (*AuthenticatedUser) Config() *rest.Config { return nil }

func (*ControlPlane) AddUser(user User, base *rest.Config) (*AuthenticatedUser, error) {
	return nil, nil
}

func (*Environment) AddUser(user User, base *rest.Config) (*AuthenticatedUser, error) {
	return nil, nil
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
