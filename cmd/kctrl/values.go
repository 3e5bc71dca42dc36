package main

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/kubectl"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// offer is a function that returns the completions of a flag or an argument. It returns no completions if it cannot
// read the project.
type offer func(s *streams) []string

// flagValues are the completions of flags by name. A flag whose usage lists its values, such as `apache2|none`, needs
// no row here.
var flagValues = map[string]offer{
	"name":       environmentNames,
	"kubernetes": kubernetesVersions,
	"group":      fromProject(func(r project.Resource) string { return r.Group }),
	"version":    fromProject(func(r project.Resource) string { return r.Version }),
	"kind":       fromProject(func(r project.Resource) string { return r.Kind }),
}

// folderFlags are the flags whose values are directories. Flags whose values are files need no row.
var folderFlags = []string{"directory", "kustomize", "output-crd-dir", "output-rbac-dir", "output-webhook-dir", "paths",
	"data-dir"}

// offerValues adds completions for the flags of a command and its subcommands.
func offerValues(s *streams, cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if complete := completeFlag(s, flag); complete != nil {
			// The error means that the flag already has its own completion, which it keeps.
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete)
		}
	})
	for _, sub := range cmd.Commands() {
		offerValues(s, sub)
	}
}

func completeFlag(s *streams, flag *pflag.Flag) cobra.CompletionFunc {
	words, _ := pflag.UnquoteUsage(flag)
	values, ok := flagValues[flag.Name]
	switch {
	case flag.Value.Type() == "bool":
		values = func(*streams) []string { return []string{"true", "false"} }
	case ok:
	case strings.Contains(words, "|"):
		values = func(*streams) []string { return strings.Split(words, "|") }
	case slices.Contains(folderFlags, flag.Name):
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	case words == "file":
		return nil // shells complete the names of files by default
	default:
		return cobra.NoFileCompletions
	}
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return beginning(begun, values(s)), cobra.ShellCompDirectiveNoFileComp
	}
}

// beginning returns the values that have the prefix begun, sorted and without duplicates.
func beginning(begun string, values []string) []string {
	values = slices.DeleteFunc(slices.Clone(values),
		func(v string) bool { return v == "" || !strings.HasPrefix(v, begun) })
	slices.Sort(values)
	return slices.Compact(values)
}

// fromProject returns an offer with one value of each kind of the project.
func fromProject(value func(project.Resource) string) offer {
	return func(s *streams) []string {
		root, err := transaction.Open(s.dir)
		if err != nil {
			return nil
		}
		defer root.Close()
		proj, err := project.Load(afero.NewIOFS(root))
		if err != nil {
			return nil
		}
		var values []string
		for _, resource := range proj.Resources {
			values = append(values, value(resource))
		}
		return values
	}
}

// resourceNames offers the resource names of the project.
var resourceNames = fromProject(func(r project.Resource) string { return r.Plural })

// completeObjects completes the first argument with the resources of the project, and the second one with the names of
// this resource's objects on the selected server.
func completeObjects(s *streams, server *serverOptions) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		var values []string
		switch len(args) {
		case 0:
			values = resourceNames(s)
		case 1:
			values = objectNames(cmd, s, server, args[0])
		}
		return beginning(begun, values), cobra.ShellCompDirectiveNoFileComp
	}
}

// objectNames returns the names of the objects of a resource.
func objectNames(cmd *cobra.Command, s *streams, server *serverOptions, resource string) []string {
	quiet := newStreams(s.in, io.Discard, io.Discard)
	quiet.dir = s.dir
	client, err := server.connect(cmd.Context(), quiet)
	if err != nil {
		return nil
	}
	client.Notice = nil
	var out bytes.Buffer
	selection := kubectl.Selection{Resources: []string{resource}}
	if err := client.Get(cmd.Context(), &out, selection, kubectl.GetOptions{Output: "name"}); err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(out.String()) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "/")
		names = append(names, name)
	}
	return names
}
