// Command dropin runs kctrl migrate on public operators and compares the result with the original: the versions of
// Kubernetes in go.mod, and the packages that compile, including tests. It prints the rows of the table in
// docs/drop-in.md as tab-separated values, and fails if a package compiles only in the original. With -test, it also
// runs the tests of both, and fails if the tests of a package pass only in the original. Run it from bench/.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"
)

type options struct {
	kctrl, repositories, only string
	test                      bool
}

func main() {
	var o options
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "path of kctrl")
	flag.StringVar(&o.repositories, "repositories", "", "directory with clones, as OWNER/NAME")
	flag.StringVar(&o.only, "only", "", "only operators whose name contains this text")
	flag.BoolVar(&o.test, "test", false, "run the tests before and after the migration; takes an hour or more")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "dropin:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) error {
	kctrl, err := filepath.Abs(o.kctrl)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "dropin-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	header := "operator\tcommit\tcontroller-runtime\tKubernetes\tcompiles before\tcompiles after"
	assets := ""
	if o.test {
		header += "\tsuites before\tsuites after\tseconds"
		assets = filepath.Join(work, "assets")
		if text, err := command(ctx, ".", kctrl, "env", "assets", "--in-memory", assets); err != nil {
			return fmt.Errorf("kctrl env assets: %w\n%s", err, text)
		}
	}
	fmt.Fprintln(out, header)
	var errs []error
	for _, op := range operators {
		if !strings.Contains(op.repository, o.only) || ctx.Err() != nil {
			continue
		}
		c := comparison{
			operator: op, clone: filepath.Join(o.repositories, op.repository), dir: work, kctrl: kctrl, assets: assets,
		}
		if err := c.run(ctx, out); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", op.repository, err))
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// comparison compares one operator before and after kctrl migrate.
type comparison struct {
	operator
	clone, dir, kctrl string
	assets            string // directory with the executables that envtest runs in the original; empty: run no tests
}

func (c comparison) run(ctx context.Context, out io.Writer) error {
	original, migrated := filepath.Join(c.dir, "original"), filepath.Join(c.dir, "migrated")
	defer os.RemoveAll(original)
	defer os.RemoveAll(migrated)
	for _, dir := range []string{original, migrated} {
		if err := c.checkOut(ctx, dir); err != nil {
			return fmt.Errorf("%w\nclone https://github.com/%s into %s", err, c.repository, c.clone)
		}
	}
	if text, err := command(ctx, migrated, c.kctrl, "migrate"); err != nil {
		return fmt.Errorf("kctrl migrate: %w\n%s", err, text)
	}
	before, err := readVersions(original)
	if err != nil {
		return err
	}
	after, err := readVersions(migrated)
	if err != nil {
		return err
	}
	if before != after {
		return fmt.Errorf("go.mod had %v and has %v", before, after)
	}
	broken, text := failures(ctx, original)
	brokenAfter, textAfter := failures(ctx, migrated)
	row := fmt.Sprintf("%s\t%.8s\t%s\t%s\t%s\t%s", c.repository, c.commit, before.controllerRuntime, before.kubernetes,
		yes(broken), yes(brokenAfter))
	var lost error
	if c.assets != "" {
		var cells string
		cells, lost = c.compareTests(ctx, original, migrated)
		row += cells
	}
	fmt.Fprintln(out, row)
	if len(broken) > 0 {
		fmt.Fprintf(os.Stderr, "%s: in the original these do not compile: %s\n%s", c.repository, broken, text)
	}
	added := slices.DeleteFunc(brokenAfter, func(pkg string) bool { return slices.Contains(broken, pkg) })
	if len(added) > 0 {
		return errors.Join(fmt.Errorf("these no longer compile: %s\n%s", added, textAfter), lost)
	}
	return lost
}

func yes(broken []string) string {
	if len(broken) == 0 {
		return "yes"
	}
	return fmt.Sprintf("without %d packages", len(broken))
}

// checkOut writes the files of the commit to dir.
func (c comparison) checkOut(ctx context.Context, dir string) error {
	archive := dir + ".tar"
	defer os.Remove(archive)
	text, err := command(ctx, ".", "git", "-C", c.clone, "archive", "--output="+archive, c.commit)
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err == nil {
		text, err = command(ctx, ".", "tar", "-xf", archive, "-C", dir)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

// versions are requirements of a go.mod.
type versions struct{ controllerRuntime, kubernetes string }

func readVersions(dir string) (versions, error) {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return versions{}, err
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return versions{}, err
	}
	var v versions
	for _, r := range file.Require {
		switch r.Mod.Path {
		case "sigs.k8s.io/controller-runtime":
			v.controllerRuntime = r.Mod.Version
		case "k8s.io/apimachinery":
			v.kubernetes = r.Mod.Version
		}
	}
	return v, nil
}

// failures checks the types of all packages and tests of a module as the compiler does, dependencies included, and
// returns the packages with errors, and the errors. It reads source, so it takes a tenth of the CPU time of a build.
func failures(ctx context.Context, dir string) ([]string, string) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
		Context: ctx, Dir: dir, Tests: true,
	}, "./...")
	if err == nil && len(loaded) == 0 {
		err = errors.New("no packages")
	}
	if err != nil {
		return []string{"all"}, err.Error() // the go command cannot load the packages
	}
	var broken []string
	var text strings.Builder
	for _, pkg := range loaded {
		for _, e := range pkg.Errors {
			broken = append(broken, strings.TrimSuffix(pkg.PkgPath, "_test"))
			fmt.Fprintln(&text, e)
		}
	}
	slices.Sort(broken)
	return slices.Compact(broken), text.String()
}

// command runs a program and returns its output.
func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}
