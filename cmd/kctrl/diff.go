package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/diff"
	"github.com/kctrl-dev/kctrl/internal/diff/accept"
	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/diff/input"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
	"github.com/kctrl-dev/kctrl/internal/regular"
)

// The values of --cluster: whether the cluster is the old or the new side.
const (
	clusterOld = "old"
	clusterNew = "new"
)

type diffOptions struct {
	output   outputFormat
	counted  []string
	accepted string
	cluster  string
	confirm  string
	server   serverOptions
	names    []string
}

func newDiffCommand(s *streams) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff OLD [NEW]",
		Short: "Report breaking API changes, with example objects",
		Long: `Compare the CRDs in OLD and NEW, and report which clients and objects each change breaks:

  writers    clients that write: the new CRD rejects their objects or drops fields
  readers    clients that read: fields are missing, or have values that the clients do not know
  stored     stored objects: they change without a write, or can no longer be updated
  downgrade  a return to the old CRD, which rejects or changes objects written with the new one

OLD and NEW can each be a git revision, a path in a revision (REV:PATH), a directory or a file.
With --cluster, one of them is a cluster. NEW defaults to the working tree. In a directory or
revision, kctrl reads the CRDs from YAML files; if no YAML file contains a CRD, it generates the
CRDs from the Go packages. It does not check out revisions.

For each break, kctrl prints a witness: a small object that one CRD accepts and the other rejects
or changes. It confirms witnesses with the API server libraries of Kubernetes ` + verifiedKubernetes() + `.
If kctrl finds no witness, it prints the reason.

` + accept.File + ` lists accepted breaking changes, each with a reason and the last day on which it is valid:

  accepted:
  - {crd: widgets.example.com, field: spec.size, change: maximum, reason: no object uses more, until: 2027-01-31}

The exit code is 3 if a change breaks one of the classes of clients in --for, 1 if kctrl cannot read
a CRD, and 0 otherwise.`,
		Example: `  kctrl diff main
  kctrl diff v1.0.0 v1.1.0 -o markdown
  kctrl diff old.yaml new.yaml
  kctrl diff main:config/crd/bases config/crd/bases
  kctrl diff --cluster`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return runDiff(cmd.Context(), s, o)
		},
	}
	flags := cmd.Flags()
	addOutputFlag(flags, &o.output, outputText, outputJSON, outputMarkdown)
	flags.StringSliceVar(&o.counted, "for", []string{string(change.Writers), string(change.Readers),
		string(change.Stored)}, "`classes` of breaking changes that cause exit code 3: writers, readers, stored, downgrade")
	flags.StringVar(&o.accepted, "accepted", accept.File, "`file` with accepted breaking changes")
	flags.StringVar(&o.cluster, "cluster", "", "use the CRDs of a cluster as the `old|new` side; as the old side, "+
		"also check the cluster's objects")
	flags.Lookup("cluster").NoOptDefVal = clusterOld
	flags.StringVar(&o.confirm, "confirm", "", "confirm each witness with two API servers: `in-memory|real`")
	flags.Lookup("confirm").NoOptDefVal = confirmDefault()
	flags.StringVar(&o.server.kubeconfig, "kubeconfig", "",
		"with --cluster, use the server in this kubeconfig `file` instead of an environment")
	flags.StringVar(&o.server.name, "name", "", "with --cluster, `name` of the environment (default: the environment of "+
		"KUBECONFIG, or default)")
	return cmd
}

// confirmDefault returns the default value of --confirm: real if the tests use kube-apiserver, otherwise in-memory.
func confirmDefault() string {
	if os.Getenv("KCTRL_TEST_SERVER") == confirmReal {
		return confirmReal
	}
	return confirmInMemory
}

// The values of --confirm.
const (
	confirmInMemory = "in-memory"
	confirmReal     = "real"
)

// validate returns an error for invalid combinations of flags and arguments.
func (o *diffOptions) validate() error {
	most := 2
	switch o.cluster {
	case "":
		if o.server.kubeconfig+o.server.name != "" {
			return usageError("--kubeconfig and --name go with --cluster")
		}
	case clusterOld, clusterNew:
		most = 1
	default:
		return usageError("--cluster takes old or new")
	}
	if o.confirm != "" && o.confirm != confirmInMemory && o.confirm != confirmReal {
		return usageError("--confirm takes in-memory or real")
	}
	for _, class := range o.counted {
		if !slices.Contains(change.Classes, change.Class(class)) {
			return usageError("--for: unknown class " + diagnostic.Quote(class))
		}
	}
	if len(o.names) > most {
		return usageError("unexpected argument " + diagnostic.Quote(o.names[most]))
	}
	if len(o.names) == 0 && o.cluster != clusterOld {
		return diagnostic.Usage("nothing to compare with",
			"add a revision, a directory or a file, such as kctrl diff main, or --cluster")
	}
	return nil
}

func runDiff(ctx context.Context, s *streams, o diffOptions) error {
	if err := o.validate(); err != nil {
		return err
	}
	dir, err := s.absolute()
	if err != nil {
		return err
	}
	accepted, err := readAccepted(s, o)
	if err != nil {
		return err
	}
	sides := &diffSides{options: input.Options{Dir: dir, Cache: incremental.UserStore()}}
	defer sides.close()
	stop := showProgress(s)
	report, err := sides.compare(ctx, s, o, diff.Options{Accepted: accepted, Now: time.Now()})
	stop()
	if err != nil {
		return err
	}
	if o.confirm != "" {
		if err := confirmWitnesses(ctx, s, o.confirm, sides, report); err != nil {
			return err
		}
	}
	return printDiff(s, o, report)
}

// readAccepted reads the accepted changes. A missing file is an error only if the user named it.
func readAccepted(s *streams, o diffOptions) ([]accept.Entry, error) {
	text, err := regular.ReadFile(s.path(o.accepted))
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.accepted == accept.File:
		return nil, nil
	case err != nil:
		e := diagnostic.AtFile(o.accepted, "cannot read", err)
		e.Class = diagnostic.ErrUsage
		return nil, e
	}
	return accept.Parse(o.accepted, text)
}

// diffSides are the two sides of a comparison. The owner must close them.
type diffSides struct {
	options     input.Options
	old, new    *input.Side
	temporaries []string
}

func (d *diffSides) close() {
	for _, dir := range d.temporaries {
		_ = os.RemoveAll(dir) // the system removes remaining temporary files eventually
	}
}

func (d *diffSides) temporary() (string, error) {
	dir, err := os.MkdirTemp("", "kctrl-diff-")
	if err == nil {
		d.temporaries = append(d.temporaries, dir)
	}
	return dir, err
}

func (d *diffSides) compare(ctx context.Context, s *streams, o diffOptions,
	options diff.Options) (*diff.Report, error) {
	d.options.Temporary = d.temporary
	names := append(slices.Clone(o.names), "", "")
	var err error
	if d.old, err = input.Load(ctx, d.options, names[0]); err != nil {
		return nil, err
	}
	if o.cluster == "" {
		if d.new, err = input.Load(ctx, d.options, names[1]); err != nil {
			return nil, err
		}
		return diff.Compare(ctx, d.old, d.new, options)
	}
	o.server.namespace, o.server.timeout = "default", kubectl.DefaultTimeout
	client, err := o.server.connect(ctx, s)
	if err != nil {
		return nil, err
	}
	if d.new, err = clusterDefinitions(ctx, client, d.old); err != nil {
		return nil, err
	}
	if o.cluster == clusterOld {
		d.old, d.new = d.new, d.old
	}
	report, err := diff.Compare(ctx, d.old, d.new, options)
	if err == nil && o.cluster == clusterOld {
		err = checkObjects(ctx, client, d, report)
	}
	return report, err
}

// printDiff prints a report. It returns the report's errors, or else an error if the report has breaking changes.
func printDiff(s *streams, o diffOptions, r *diff.Report) error {
	var classes []change.Class // that count
	for _, name := range o.counted {
		classes = append(classes, change.Class(name))
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Expired != nil && f.Accepted == nil {
			s.problem("warning: ", &diagnostic.Error{
				Pos: f.Expired.Pos, Message: fmt.Sprintf("%s was accepted until %s: it counts again", f.Title(),
					f.Expired.Until.Format(time.DateOnly)),
			})
		}
	}
	for _, entry := range r.Unused {
		s.problem("warning: ", diagnostic.At(entry.Pos, "no change matches this entry", "remove it, or correct it"))
	}
	var err error
	switch o.output {
	case outputJSON:
		err = encodeJSON(s.out, newDiffJSON(r, classes))
	case outputMarkdown:
		printDiffMarkdown(s, r, classes)
	default:
		printDiffText(s, r, classes)
	}
	if failed := errors.Join(r.Err(), err); failed != nil {
		return failed
	}
	if n := r.Breaking(classes); n > 0 {
		return &diagnostic.Error{
			Message: fmt.Sprintf("%s from %s to %s", plural(n, "breaking change"), r.Old, r.New),
			Hint:    "undo them, serve them in a new version, or accept them in " + accept.File, Class: diagnostic.ErrDrift,
		}
	}
	return nil
}

// countedDiff summarizes a comparison in one line.
func countedDiff(r *diff.Report, classes []change.Class) string {
	accepted, others := 0, 0
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case f.Accepted != nil:
			accepted++
		case !f.Counts(classes):
			others++
		}
	}
	parts := []string{plural(r.Breaking(classes), "breaking change")}
	if accepted > 0 {
		parts = append(parts, fmt.Sprintf("%d accepted", accepted))
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("%d that break only %s", others, othersOf(classes)))
	}
	return plural(r.CRDs, "CRD") + " compared: " + strings.Join(parts, ", ")
}

// othersOf returns the names of the classes that do not count.
func othersOf(classes []change.Class) string {
	var names []string
	for _, c := range change.Classes {
		switch {
		case slices.Contains(classes, c):
		case c == change.Downgrade:
			names = append(names, "a downgrade")
		default:
			names = append(names, string(c))
		}
	}
	return strings.Join(names, " or ")
}
