package simulate

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

// ChaosOptions are the parameters of [Chaos].
type ChaosOptions struct {
	Options
	// Args are the program and its arguments.
	Args []string
	// Kubeconfig selects an API server. Empty means a new in-memory API server for each plan.
	Kubeconfig string
	// Controlled means that controllers of a cluster run on this server, so that Chaos starts no fake controllers.
	Controlled bool
	// Quiet is the time without requests after which the operator is at rest. Longest is the time in which it must come to
	// rest.
	Quiet, Longest time.Duration
	// Parallel is the number of plans that run at a time.
	Parallel int
}

// Chaos runs plans against a program in real time, through a proxy in front of an API server, and returns the report.
// It prints steps to progress, and calls plans with the number of completed and planned plans.
func Chaos(
	ctx context.Context, dir string, opts ChaosOptions, progress controlplane.Progress, plans func(done, planned int),
) (*Report, error) {
	p := &project{dir: dir}
	if err := p.readManifests(opts.Options); err != nil {
		return nil, err
	}
	if err := p.checkKinds(); err != nil {
		return nil, err
	}
	if err := findProgram(dir, opts.Args); err != nil {
		return nil, err
	}
	if opts.Kubeconfig != "" {
		if _, err := kubectl.LoadConfig(opts.Kubeconfig); err != nil {
			return nil, err
		}
	}
	source, err := controlplane.Source(ctx)
	if err != nil {
		return nil, err
	}
	work, release, err := lockWorkDir(ctx, dir, progress.Step)
	if err != nil {
		return nil, err
	}
	defer release()
	progress.Step("compiling the API server and the proxy; the first time takes about a minute")
	program := filepath.Join(work, "chaos")
	if err := goBuild(ctx, progress, source, "-o", program, "./testserver/program/chaos"); err != nil {
		return nil, err
	}
	progress.Step("running the operator without faults")
	report, err := p.execute(ctx, program, work, request{Options: opts.Options, Command: &command{
		Args: opts.Args, Dir: dir, Kubeconfig: opts.Kubeconfig, Controlled: opts.Controlled,
		Quiet: opts.Quiet, Longest: opts.Longest, Parallel: opts.Parallel,
	}}, plans)
	if report != nil && report.Exists > 0 {
		return nil, p.exists(cmp.Or(opts.Samples, filepath.Join("config", "samples")), report.Exists-1)
	}
	return report, err
}

// exists returns the error for a sample that already exists on the API server. name is the file or directory of the
// samples.
func (p *project) exists(name string, sample int) error {
	u := p.samples[sample]
	key := strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/")
	e := &diagnostic.Error{
		Pos:     token.Position{Filename: name},
		Message: fmt.Sprintf("%s %s already exists on the API server", u.GetKind(), key),
		Hint:    "delete it there, or use another environment",
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	manifests, _ := kubectl.ReadManifests(path, nil) // other files of a kustomization may not be manifests
	for _, m := range manifests {
		if m.Object.GetKind() == u.GetKind() && m.Object.GetName() == u.GetName() {
			e.Pos = m.Pos
			if relative, err := filepath.Rel(p.dir, m.Pos.Filename); err == nil && !filepath.IsAbs(name) {
				e.Pos.Filename = relative
			}
			break
		}
	}
	return e
}

// findProgram makes the path of the program in args absolute. It returns an error if the program does not exist.
func findProgram(dir string, args []string) error {
	name := args[0]
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return &diagnostic.Error{
			Message: "cannot run " + args[0] + ": " + err.Error(),
			Hint:    "build the operator first, for example with make build", Cause: err,
		}
	}
	args[0] = path
	return nil
}

// goBuild runs go build in the directory of a module.
func goBuild(ctx context.Context, progress controlplane.Progress, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-v", "-trimpath", "-buildvcs=false"}, args)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	if output, err := progress.GoBuild(cmd); err != nil {
		return compileError(ctx, err, output)
	}
	return nil
}
