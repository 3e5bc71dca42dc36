package main

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

// serverOptions select the API server, the namespace and the timeout of a command.
type serverOptions struct {
	name       string
	kubeconfig string
	namespace  string
	timeout    time.Duration
}

func (o *serverOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.name, "name", "",
		"`name` of the environment (default: the environment that KUBECONFIG selects, or \"default\")")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"use the server in this kubeconfig `file` instead of an environment")
	flags.StringVarP(&o.namespace, "namespace", "n", "default", "`namespace` of objects that do not set one")
	flags.DurationVar(&o.timeout, "timeout", kubectl.DefaultTimeout,
		"maximum `duration` to wait, such as 90s or 5m; 0 means no limit")
}

func (o *serverOptions) validate() error {
	if o.timeout < 0 {
		return usageError("--timeout needs a duration such as 90s, or 0 for no limit")
	}
	if err := kubectl.CheckNamespace(o.namespace); err != nil {
		return usageError("--namespace: " + err.Error())
	}
	return nil
}

func (o *serverOptions) connect(ctx context.Context, s *streams) (*kubectl.Client, error) {
	kubeconfig, err := o.server(ctx, s)
	if err != nil {
		return nil, err
	}
	client, err := kubectl.Connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	client.Namespace, client.Timeout = o.namespace, o.timeout
	client.Report = func(object, what string) { s.printf("%s %s\n", object, what) }
	client.Notice = s.notice
	return client, nil
}

// server returns the path of the kubeconfig of the selected server.
func (o *serverOptions) server(ctx context.Context, s *streams) (string, error) {
	switch {
	case o.kubeconfig != "":
		return s.path(o.kubeconfig), nil
	case o.name != "":
		return kubeconfigOf(ctx, s, o.name)
	}
	return kubeconfigOfCurrent(ctx, s)
}

// manifestOptions select objects in manifests.
type manifestOptions struct {
	files         []string
	kustomization string
}

func (o *manifestOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&o.files, "filename", "f", nil,
		"`file` or directory with objects, or - for standard input; repeatable")
	flags.StringVarP(&o.kustomization, "kustomize", "k", "", "`directory` with a kustomization")
}

func (o *manifestOptions) given() bool { return len(o.files) > 0 || o.kustomization != "" }

func (o *manifestOptions) read(s *streams) ([]kubectl.Manifest, error) {
	if (len(o.files) > 0) == (o.kustomization != "") {
		return nil, diagnostic.Usage("use either -f or -k",
			"-f config/samples reads files, -k config/samples builds a kustomization")
	}
	if o.kustomization != "" {
		return kubectl.BuildKustomization(s.path(o.kustomization),
			"-k takes a directory with a kustomization that kustomize can build, -f takes files")
	}
	var all []kubectl.Manifest
	for _, file := range o.files {
		path := file
		if file != "-" {
			path = s.path(file)
		}
		manifests, err := kubectl.ReadManifests(path, s.in)
		if err != nil {
			return nil, err
		}
		all = append(all, manifests...)
	}
	return all, nil
}

// path resolves a path of the command line, which is relative to the directory of -C.
func (s *streams) path(given string) string {
	if filepath.IsAbs(given) {
		return given
	}
	return filepath.Join(s.dir, given)
}

func newEnvApplyCommand(s *streams) *cobra.Command {
	var server serverOptions
	var manifests manifestOptions
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Apply objects with server-side apply",
		Long: `Apply objects as kubectl apply --server-side --force-conflicts does, with the same field manager.
The command applies namespaces and CRDs first, and waits until the API server serves a CRD before it
applies objects of that kind.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := server.validate(); err != nil {
				return err
			}
			list, err := manifests.read(s)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return diagnostic.New("no objects to apply", "use -f with files of objects, or -k with a kustomization")
			}
			client, err := server.connect(cmd.Context(), s)
			if err != nil {
				return err
			}
			return client.Apply(cmd.Context(), list)
		},
	}
	server.addFlags(cmd.Flags())
	manifests.addFlags(cmd.Flags())
	return cmd
}

// selectionOptions select objects of a resource.
type selectionOptions struct {
	labels, fields string
	allNamespaces  bool
}

func (o *selectionOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&o.labels, "selector", "l", "",
		"select objects whose labels match this `selector`, such as app=web,tier!=cache")
	flags.StringVar(&o.fields, "field-selector", "",
		"select objects whose fields match this `selector`, such as metadata.name=a")
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "select objects in all namespaces")
}

// selection returns the objects that the arguments and flags select.
func (o *selectionOptions) selection(args []string) (kubectl.Selection, error) {
	s, err := kubectl.Select(args)
	if err != nil {
		return s, err
	}
	// API servers ignore commas between field selectors, so commas alone would select everything.
	s.Labels, s.Fields, s.AllNamespaces = strings.TrimSpace(o.labels), strings.Trim(strings.TrimSpace(o.fields), ", "),
		o.allNamespaces
	return s, s.Validate()
}
