package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// genOptions are the flags of controller-gen, and those that kctrl adds.
type genOptions struct {
	markers      int
	help         int
	version      bool
	buildTags    []string
	allowUnknown []string
}

func newGenCommand(s *streams) *cobra.Command {
	var opts genOptions
	cmd := &cobra.Command{
		Use:   "gen generator[:option=value,...]... [paths=folder;...] [output:[generator:]rule]...",
		Short: "Generate as controller-gen " + peerVersion + " does, from its own arguments",
		Long: `Take the arguments of controller-gen ` + peerVersion + ` and write the same files, in any Go module. In a Makefile, write "kctrl gen"
where "controller-gen" stands, or call kctrl by the name controller-gen. Files whose content would not change are not touched, and nothing is written if anything
is wrong. What kctrl would refuse and controller-gen does not, such as an unknown marker, is a warning.`,
		Example: `  kctrl gen object paths=./...
  kctrl gen rbac:roleName=manager-role crd:maxDescLen=0 webhook paths=./... output:crd:dir=config/crd/bases
  kctrl gen crd -ww`,
		RunE: func(cmd *cobra.Command, args []string) error { return runGen(cmd.Context(), s, cmd, opts, args) },
	}
	flags := cmd.Flags()
	flags.CountVarP(&opts.markers, "which-markers", "w", "print the markers of the named generators; -ww and -www say more, -wwww prints JSON")
	flags.CountVarP(&opts.help, "detailed-help", "h", "print the options; -hh and -hhh say more, -hhhh prints JSON")
	flags.BoolVar(&opts.version, "version", false, "print the version of controller-gen whose output this is")
	flags.StringSliceVar(&opts.buildTags, "load-build-tags", []string{compat.DefaultBuildTag}, "build `tags` by which files are chosen")
	flags.StringSliceVar(&opts.allowUnknown, "allow-unknown", nil, "do not warn of unknown markers that begin with `prefix`")
	flags.Bool("help", false, "print this help")
	return cmd
}

// commandLine returns the arguments that a program was given. By the name of controller-gen, which tools call by its path
// alone, kctrl is kctrl gen: a link or a copy, also one with a version in its name.
func commandLine(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	name := strings.ToLower(args[0][strings.LastIndexAny(args[0], `/\`)+1:])
	name = strings.TrimSuffix(name, ".exe")
	if name == peerName || strings.HasPrefix(name, peerName+"-v") {
		return append([]string{"gen"}, args[1:]...)
	}
	return args[1:]
}

// peerName is the name of the program that kctrl gen replaces.
const peerName = "controller-gen"

// peerVersion is the version of controller-gen whose output that of kctrl equals.
const peerVersion = "v0.23.0"

func runGen(ctx context.Context, s *streams, cmd *cobra.Command, o genOptions, args []string) error {
	switch {
	case o.version:
		s.printf("Version: %s\n", peerVersion)
		return nil
	case o.help > 0:
		return printOptionHelp(s, o.help)
	case o.markers > 0:
		return printMarkerHelp(s, o.markers, args)
	}
	command, err := compat.Parse(args)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	root := moduleRoot(dir)
	release, err := begin(ctx, s, root, writes)
	if err != nil {
		return err
	}
	defer release()
	boundMemory()
	result, err := command.Run(ctx, compat.Options{
		Dir: dir, BuildTags: o.buildTags, AllowUnknown: o.allowUnknown, Cache: incremental.UserStore(),
	})
	if err != nil {
		return err
	}
	for _, warning := range result.Warnings {
		s.problem("warning: ", warning)
	}
	if err := result.Write(ctx, root); err != nil {
		return err
	}
	s.printf("%s", result.Stdout())
	return nil
}

// moduleRoot returns the folder that is locked for a command in dir: that of the project or the Go module which dir is in,
// or dir itself.
func moduleRoot(dir string) string {
	for folder := dir; ; folder = filepath.Dir(folder) {
		for _, name := range []string{project.File, "go.mod"} {
			if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() {
				return folder
			}
		}
		if folder == filepath.Dir(folder) {
			return dir
		}
	}
}
