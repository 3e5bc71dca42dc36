package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// serverOptions say which API server a command talks to, and in which namespace.
type serverOptions struct {
	name       string
	kubeconfig string
	namespace  string
}

func (o *serverOptions) addFlags(flags *pflag.FlagSet) {
	addNameFlag(flags, &o.name)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "talk to the server of this kubeconfig `file` instead of an environment's")
	flags.StringVarP(&o.namespace, "namespace", "n", "default", "`namespace` of objects that name none")
}

func (o *serverOptions) connect() (*controlplane.Objects, error) {
	kubeconfig := o.kubeconfig
	if kubeconfig == "" {
		env, err := openEnvironment(o.name)
		if err != nil {
			return nil, err
		}
		kubeconfig = env.Kubeconfig
	}
	objects, err := controlplane.Connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	objects.Namespace = o.namespace
	return objects, nil
}

// manifestOptions say which objects a command is about.
type manifestOptions struct {
	files         []string
	kustomization string
}

func (o *manifestOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "`file` or folder with objects, or - for standard input; may be repeated")
	flags.StringVarP(&o.kustomization, "kustomize", "k", "", "`folder` with a kustomization")
}

func (o *manifestOptions) read(s *streams) ([]controlplane.Manifest, error) {
	if (len(o.files) > 0) == (o.kustomization != "") {
		return nil, &diagnostic.Error{
			Message: "want either -f or -k",
			Hint:    "-f config/samples reads files, -k config/samples builds a kustomization",
			Class:   diagnostic.ErrUsage,
		}
	}
	if o.kustomization != "" {
		return controlplane.BuildKustomization(s.path(o.kustomization))
	}
	var all []controlplane.Manifest
	for _, file := range o.files {
		path := file
		if file != "-" {
			path = s.path(file)
		}
		manifests, err := controlplane.ReadManifests(path, s.in)
		if err != nil {
			return nil, err
		}
		all = append(all, manifests...)
	}
	return all, nil
}

// path returns a path that the user gave, seen from the folder of -C.
func (s *streams) path(given string) string {
	if filepath.IsAbs(given) {
		return given
	}
	return filepath.Join(s.dir, given)
}

func newEnvApplyCommand(s *streams) *cobra.Command {
	return newManifestCommand(s, "apply", "Apply objects on the server (server-side apply)", (*controlplane.Objects).Apply)
}

// newManifestCommand returns a command that does one thing to all objects of some manifests.
func newManifestCommand(s *streams, use, short string, do func(*controlplane.Objects, context.Context, []controlplane.Manifest) error) *cobra.Command {
	var server serverOptions
	var manifests manifestOptions
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := manifests.read(s)
			if err != nil {
				return err
			}
			objects, err := server.connect()
			if err != nil {
				return err
			}
			objects.Report = func(o *unstructured.Unstructured, what string) {
				s.printf("%s %s\n", controlplane.Describe(o), what)
			}
			return do(objects, cmd.Context(), list)
		},
	}
	server.addFlags(cmd.Flags())
	manifests.addFlags(cmd.Flags())
	return cmd
}
