package main

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// genOptions are controller-gen's flags and kctrl's additional flags.
type genOptions struct {
	markers      int
	help         int
	version      bool
	buildTags    []string
	allowUnknown []string
	postprocess  string
	write        writeOptions
	watch        bool
}

func newGenCommand(s *streams) *cobra.Command {
	var opts genOptions
	cmd := &cobra.Command{
		Use:   "gen generator[:option=value,...]... [paths=directory;...] [output:[generator:]rule]...",
		Short: "Generate with the arguments of controller-gen " + peerVersion,
		Long: `Accept the arguments of controller-gen ` + peerVersion + ` and write the same files, in any Go module.
In a Makefile, replace "controller-gen" with "kctrl gen", or install a copy of kctrl that is named
controller-gen. The command writes only files that change, and writes nothing if an error occurs.
It reports unknown and misplaced markers as warnings.`,
		Example: `  kctrl gen object paths=./...
  kctrl gen rbac:roleName=manager-role crd:maxDescLen=0 webhook paths=./... output:crd:dir=config/crd/bases
  kctrl gen crd paths=./... output:crd:dir=config/crd/bases --check
  kctrl gen crd -ww`,
		RunE: func(cmd *cobra.Command, args []string) error { return runGen(cmd.Context(), s, cmd, opts, args) },
	}
	flags := cmd.Flags()
	flags.CountVarP(&opts.markers, "which-markers", "w",
		"print the markers of the given generators; -ww and -www add details, -wwww prints JSON")
	flags.CountVarP(&opts.help, "detailed-help", "h", "print the options; -hh and -hhh add details, -hhhh prints JSON")
	flags.BoolVar(&opts.version, "version", false, "print the version of controller-gen that kctrl replaces")
	flags.StringSliceVar(&opts.buildTags, "load-build-tags", []string{compat.DefaultBuildTag},
		"build `tags` of the files to read")
	flags.StringSliceVar(&opts.allowUnknown, "allow-unknown", nil, "accept unknown markers with this `prefix`")
	flags.StringVar(&opts.postprocess, "postprocess", "", postprocessUsage)
	opts.write.addCheckFlag(flags)
	flags.BoolVar(&opts.watch, "watch", false, watchUsage)
	opts.write.addFlags(flags)
	flags.Bool("help", false, "print this help")
	return cmd
}

// commandLine returns the arguments of a program. If the program is named controller-gen, possibly with a version, it
// inserts the command gen, because tools run controller-gen by its path, which may be a link to kctrl or a copy.
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

// peerVersion is the version of controller-gen whose output kctrl reproduces.
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
	dir, err := s.absolute()
	if err != nil {
		return err
	}
	g := gen{command: command, dir: dir, root: moduleRoot(dir), genOptions: o}
	g.write.command = "kctrl gen " + shellWords(args)
	if !o.watch {
		return g.run(ctx, s, incremental.UserStore(), nil)
	}
	if o.write.check {
		return usageError("--check and --watch cannot be combined")
	}
	g.write.quiet = true
	store := incremental.Store{} // the first run reads everything, which determines the files to watch
	return watchDir(ctx, s, g.root, func(ctx context.Context, s *streams, inputs func(source.Inputs)) error {
		err := g.run(ctx, s, store, inputs)
		store = incremental.UserStore()
		return err
	})
}

// gen is a controller-gen command line that runs in a directory.
type gen struct {
	command *compat.Command
	dir     string // absolute path
	root    string // absolute path of the directory that is locked and that contains the journal
	genOptions
}

func (g gen) run(ctx context.Context, s *streams, store incremental.Store, inputs func(source.Inputs)) error {
	release, err := begin(ctx, s, g.root, g.write.access())
	if err != nil {
		return err
	}
	defer release()
	result, err := g.command.Run(ctx, compat.Options{
		Dir: g.dir, BuildTags: g.buildTags, AllowUnknown: g.allowUnknown, Postprocess: g.postprocess, Cache: store,
		Inputs: inputs,
	})
	if err != nil {
		return err
	}
	for _, warning := range result.Warnings {
		s.problem("warning: ", warning)
	}
	switch {
	case len(result.Stdout()) == 0:
	case g.watch:
		return usageError("output:stdout and --watch both use standard output")
	case g.write.output == outputJSON:
		return usageError("output:stdout and -o json both use standard output")
	}
	return g.finish(ctx, s, result)
}

// finish writes the generated files, or compares them. Like controller-gen, it does not list files.
func (g gen) finish(ctx context.Context, s *streams, result *compat.Result) error {
	asked := g.write.check || g.watch || g.write.dryRun || g.write.diff || g.write.output != outputText
	var found generated
	if asked {
		var err error
		if found, err = result.Changes(g.root); err != nil {
			return err
		}
	}
	if !g.write.check && !g.write.dryRun {
		if err := result.Write(ctx, g.root); err != nil {
			return err
		}
	}
	s.printf("%s", result.Stdout())
	switch {
	case g.write.check:
		return checkDrift(s, g.write, found)
	case asked:
		return printDone(s, g.write, found)
	}
	return nil
}

// generated are the files of kctrl gen.
type generated []transaction.Change

// Changes returns the changes ordered by path.
func (g generated) Changes() iter.Seq[plan.Change] {
	return func(yield func(plan.Change) bool) {
		for _, c := range g {
			change := plan.Change{Path: c.Path, Op: plan.Update, Before: c.Before, After: c.After, Mode: c.Mode}
			if c.Before == nil {
				change.Op = plan.Create
			}
			if !yield(change) {
				return
			}
		}
	}
}

// Len returns the number of changes.
func (g generated) Len() int { return len(g) }

// Diff returns the changes as one unified diff.
func (g generated) Diff() string {
	var out strings.Builder
	for c := range g.Changes() {
		out.WriteString(c.Diff())
	}
	return out.String()
}

// shellWords quotes arguments for a shell.
func shellWords(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if strings.ContainsAny(arg, " \t\n;&|<>(){}$`\"'\\*?[]#~!") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// moduleRoot returns the directory to lock for a command in dir: the directory of its project or Go module, or dir.
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
