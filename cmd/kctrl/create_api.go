package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

func newCreateAPICommand(s *streams) *cobra.Command {
	var opts scaffold.APIOptions
	var foreign scaffold.ControllerOptions
	var operand operandFlags
	conversion := true
	write := writeOptions{command: "kctrl create api"}
	cmd := &cobra.Command{
		Use:   "api --group webapp --version v1 --kind Guestbook",
		Short: "Add a kind with CRD, controller and tests",
		Long: `Add a kind with its Go type, its CRD, a controller, a test, a sample, and roles for its users. The
command also generates code and manifests, so that the project builds, passes its tests and deploys.

--field and --status-field add a field with a path, a type and constraints:

  --field size:int32,min=1,default=3           also int64, bool, string, quantity, duration, time, int-or-string
  --field mode:string,enum=Fast|Safe           also minLength, maxLength, pattern, format
  --field template.image:string,optional       nested field; for the items of a list, template[].image
  --field 'tags:[]string,maxItems=5,unique'    list; for objects with a key, ports:[]object,key=name
  --field 'labels:map[string]string'           map
  --field configRef:ref=ConfigMap              reference to an object; for a key of the object, ref=Secret/key
  --field 'size:int32,rule="self >= oldSelf",message="may only grow"'

A field is required unless it has a default or the option optional. The option immutable rejects
changes of the field, and doc="..." sets its documentation.

With --from deployment, the controller creates a Deployment that runs an image for each object. With
--port, it also creates a Service.

If the kind exists in another version, the new version starts as a copy of the first version's Go
types and sample. The command then also writes conversion functions, a round-trip test and the
conversion webhook. API servers store objects in the first version unless --storage-version is set.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Kctrl, opts.NoConversion = kctrlBuild(), !conversion
			var err error
			if opts.Operand, err = operand.read(cmd); err != nil {
				return err
			}
			if named := foreign.Name + foreign.Path; opts.Resource && named != "" {
				return diagnostic.Usage("--controller-name and --external-api-path need --resource=false",
					"kctrl create controller takes these flags")
			}
			return runCreateAPI(cmd.Context(), s, write, opts, foreign)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Group, "group", "",
		"API group, without the project's domain (default: the domain itself is the group)")
	flags.StringVar(&opts.Version, "version", "", "API version, such as v1 or v1alpha1 (required)")
	flags.StringVar(&opts.Kind, "kind", "", "name of the kind, such as Guestbook (required)")
	flags.StringVar(&opts.Plural, "plural", "", "name of the resource (default: the English plural of the kind)")
	flags.BoolVar(&opts.Resource, "resource", true, "write the Go type, the CRD and a sample")
	flags.BoolVar(&opts.Controller, "controller", true, "write a controller and its test")
	flags.StringVar(&foreign.Name, "controller-name", "",
		"with --resource=false, name of the controller (default: the name of the kind)")
	addShapeFlags(flags, &opts.Shape)
	operand.addFlags(flags)
	addExternalFlags(flags, &foreign.Path, &foreign.Domain, &foreign.Module)
	flags.BoolVar(&opts.Namespaced, "namespaced", true, "make the kind namespaced; false for a cluster-scoped kind")
	flags.BoolVar(&conversion, "conversion", true,
		"write conversion functions for a second or later version; if false, API servers only change apiVersion")
	flags.BoolVar(&opts.StorageVersion, "storage-version", false, "use this version as the storage version")
	flags.BoolVar(&opts.Force, "force", false, "overwrite the files of an existing kind")
	write.addFlags(flags)
	return cmd
}

func runCreateAPI(
	ctx context.Context, s *streams, write writeOptions, opts scaffold.APIOptions, foreign scaffold.ControllerOptions,
) error {
	return s.change(ctx, write, project.Load, func(p *openedProject) (err error) {
		p.next = []string{"make generate manifests", "make test"}
		if opts.Resource || !opts.Controller || opts.Operand != nil || !opts.Shape.IsZero() {
			p.plan, err = scaffold.PlanAPI(p.fsys, p.Project, opts)
		} else {
			foreign.Types = typesOf(ctx, p.dir)
			p.plan, err = scaffold.PlanController(p.fsys, p.Project, controllerAlone(opts, foreign))
		}
		if err != nil {
			return err
		}
		// CheckRules compiles the rules of the kind itself, because it reports better positions.
		if err := p.generate(ctx, generate.Options{Generators: generate.Named(follows), LeaveRules: true}); err != nil {
			return err
		}
		return opts.CheckRules(p.plan, p.Project)
	})
}

// operandFlags are the flags for the Deployments that a controller creates.
type operandFlags struct {
	from string
	render.Operand
}

func (o *operandFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.from, "from", "", "initial code of the controller: `deployment` runs an image for each object")
	flags.StringVar(&o.Image, "image", "", "with --from deployment, default `image` of the containers")
	flags.IntVar(&o.Port, "port", 0, "with --from deployment, `port` of the containers, for which to create a Service")
	flags.BoolVar(&o.Finalizer, "finalizer", false,
		"with --from deployment, add a finalizer for cleanup before an object is deleted")
}

// read returns the options of the Deployments that the controller creates, or nil without --from.
func (o *operandFlags) read(cmd *cobra.Command) (*render.Operand, error) {
	switch o.from {
	case "deployment":
		if err := validateImage(cmd); err != nil {
			return nil, err
		}
		if cmd.Flags().Changed("port") && o.Port == 0 {
			return nil, diagnostic.Usage("invalid value 0 for --port; use 1 to 65535", "write --port=8080")
		}
		return &o.Operand, nil
	case "":
	default:
		return nil, diagnostic.Usage("unknown value "+diagnostic.Quote(o.from)+" for --from", "use --from deployment")
	}
	for _, name := range []string{"image", "port", "finalizer"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed {
			given := "--" + name
			if flag.Value.Type() != "bool" {
				given += " " + flag.Value.String()
			}
			return nil, diagnostic.Usage("--"+name+" needs --from deployment",
				"add --from deployment: "+diagnostic.OneLine("kctrl create api --from deployment "+given))
		}
	}
	return nil, nil
}

// addShapeFlags adds the flags that define the fields of a kind and how kubectl shows them.
func addShapeFlags(flags *pflag.FlagSet, shape *render.Shape) {
	flags.StringArrayVar(&shape.Fields, "field", nil,
		"`field` of the spec, such as size:int32,min=1,default=3 or template.image:string; repeatable")
	flags.StringArrayVar(&shape.StatusFields, "status-field", nil,
		"`field` of the status, such as readyReplicas:int32; repeatable")
	flags.StringSliceVar(&shape.ShortNames, "short-name", nil,
		"short `name` of the resource for kubectl, such as gb; repeatable")
	flags.StringSliceVar(&shape.Categories, "category", nil,
		"`name` of a kubectl category that includes the kind, such as all; repeatable")
	flags.StringArrayVar(&shape.Columns, "print-column", nil,
		"`column` that kubectl get prints, such as Size:integer:.spec.size; repeatable")
	flags.StringVar(&shape.Scale, "scale", "",
		"add a scale subresource with new fields, or with `paths` .spec.replicas,.status.replicas[,.status.selector]")
	flags.Lookup("scale").NoOptDefVal = "default"
}

// controllerAlone converts the options to the options of kctrl create controller for the same kind.
func controllerAlone(opts scaffold.APIOptions, foreign scaffold.ControllerOptions) scaffold.ControllerOptions {
	foreign.Group, foreign.Version, foreign.Kind, foreign.Plural = opts.Group, opts.Version, opts.Kind, opts.Plural
	foreign.Namespaced, foreign.Force, foreign.Kctrl = opts.Namespaced, opts.Force, opts.Kctrl
	return foreign
}
