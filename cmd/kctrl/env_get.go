package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

type envGetOptions struct {
	server        serverOptions
	allNamespaces bool
	managedFields bool
	waitFor       string
	output        string
	resource      string
	object        string
}

func newEnvGetCommand(s *streams) *cobra.Command {
	var o envGetOptions
	cmd := &cobra.Command{
		Use:   "get RESOURCE [NAME]",
		Short: "Show objects, such as guestbooks",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return usageError("want a resource, and at most one name")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.resource = args[0]
			if len(args) == 2 {
				o.object = args[1]
			}
			return runEnvGet(cmd.Context(), s, o)
		},
	}
	flags := cmd.Flags()
	o.server.addFlags(flags)
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "show the objects of all namespaces")
	flags.StringVarP(&o.output, "output", "o", "table", "output format: `table|yaml|json`")
	flags.StringVar(&o.waitFor, "wait-for", "", "wait up to a minute until this `condition` of the named object is True, such as Ready")
	flags.BoolVar(&o.managedFields, "show-managed-fields", false, "keep metadata.managedFields in yaml and json")
	return cmd
}

// printers print objects in each format of -o.
var printers = map[string]func(io.Writer, []unstructured.Unstructured) error{
	"table": printTable,
	"yaml":  printYAML,
	"json":  printJSON,
}

func runEnvGet(ctx context.Context, s *streams, o envGetOptions) error {
	printObjects, ok := printers[o.output]
	if !ok {
		return &diagnostic.Error{Message: fmt.Sprintf("unknown output format %q", o.output), Hint: "-o table, yaml or json", Class: diagnostic.ErrUsage}
	}
	if o.waitFor != "" && o.object == "" {
		return usageError("--wait-for wants the name of an object")
	}
	objects, err := o.server.connect()
	if err != nil {
		return err
	}
	namespace := o.server.namespace
	if o.allNamespaces {
		namespace = ""
	}
	if o.waitFor != "" {
		if err := objects.WaitFor(ctx, o.resource, o.object, namespace, o.waitFor); err != nil {
			return err
		}
	}
	found, err := objects.Find(ctx, o.resource, o.object, namespace)
	if err != nil {
		return err
	}
	if !o.managedFields {
		for _, object := range found {
			object.SetManagedFields(nil)
		}
	}
	return printObjects(s.out, found)
}

func printTable(w io.Writer, objects []unstructured.Unstructured) error {
	if len(objects) == 0 {
		_, err := fmt.Fprintln(w, "none found")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tNAME\tREADY\tAGE")
	for _, o := range objects {
		age := duration.HumanDuration(time.Since(o.GetCreationTimestamp().Time))
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", o.GetNamespace(), o.GetName(), controlplane.ConditionStatus(o, "Ready"), age)
	}
	return table.Flush()
}

func printYAML(w io.Writer, objects []unstructured.Unstructured) error {
	for i, o := range objects {
		if i > 0 {
			fmt.Fprintln(w, "---")
		}
		content, err := yaml.Marshal(o.Object)
		if err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return nil
}

func printJSON(w io.Writer, objects []unstructured.Unstructured) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	for _, o := range objects {
		if err := encoder.Encode(o.Object); err != nil {
			return err
		}
	}
	return nil
}
