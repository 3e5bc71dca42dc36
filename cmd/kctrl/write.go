package main

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

// writeOptions are the flags that every command which writes to the project has.
type writeOptions struct {
	dryRun bool
	diff   bool
	output outputFormat
	quiet  bool // say nothing if nothing changes
}

func (o *writeOptions) addFlags(flags *pflag.FlagSet) {
	o.output = outputText
	flags.BoolVar(&o.dryRun, "dry-run", false, "say what would be written, and write nothing")
	flags.BoolVar(&o.diff, "diff", false, "print the changes as a unified diff")
	flags.VarP(&o.output, "output", "o", "output format: `text|json`")
}

// result is what a writing command prints with -o json.
type result struct {
	DryRun  bool           `json:"dryRun"`
	Changes []resultChange `json:"changes"`
	Next    []string       `json:"next,omitempty"`
}

type resultChange struct {
	Op       string `json:"op"`
	Path     string `json:"path"`
	Template string `json:"template,omitempty"`
}

// finishPlan ends a writing command: it applies plan to the project folder, unless this is a dry run, and prints what
// was done. next are the commands to type now.
func finishPlan(s *streams, o writeOptions, plan *scaffold.Plan, next ...string) error {
	if !o.dryRun {
		if err := applyPlan(s.dir, plan); err != nil {
			return err
		}
	}
	if o.quiet && plan.Len() == 0 {
		return nil
	}
	if o.output == outputJSON {
		return printResult(s, o, plan, next)
	}
	if o.diff {
		s.printf("%s", plan.Diff())
	} else {
		printChanges(s, o.dryRun, plan)
	}
	if !o.dryRun {
		printNext(s, next)
	}
	return nil
}

func applyPlan(dir string, plan *scaffold.Plan) error {
	root, closer, err := scaffold.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer closer.Close()
	return plan.Apply(root)
}

func printResult(s *streams, o writeOptions, plan *scaffold.Plan, next []string) error {
	r := result{DryRun: o.dryRun, Changes: []resultChange{}, Next: next}
	for change := range plan.Changes() {
		r.Changes = append(r.Changes, resultChange{Op: change.Op.String(), Path: change.Path, Template: change.Template})
	}
	encoder := json.NewEncoder(s.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// bundleFolder is printed as one line: its files are nobody's to read after every command.
const bundleFolder = "third_party/kctrl"

func printChanges(s *streams, dryRun bool, plan *scaffold.Plan) {
	verb := ""
	if dryRun {
		verb = "would "
	}
	bundled := 0
	for change := range plan.Changes() {
		if strings.HasPrefix(change.Path, bundleFolder+"/") {
			bundled++
			continue
		}
		s.printf("%s%s %s\n", verb, change.Op, path.Clean(change.Path))
	}
	switch {
	case bundled > 0:
		s.printf("%swrite %s (%d files)\n", verb, bundleFolder, bundled)
	case plan.Len() == 0:
		s.printf("nothing to do\n")
	}
}

func printNext(s *streams, next []string) {
	if len(next) == 0 {
		return
	}
	s.printf("\nNext:\n")
	for _, command := range next {
		s.printf("  %s\n", command)
	}
}
