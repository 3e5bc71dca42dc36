//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// slower tests run after the others, each in its own run
	slowSeconds = 3.0
	// longSeconds is the time from which the subtests of a test are recorded separately.
	longSeconds = 15.0
	// The timeout of a run with a mutant is the recorded time times timeoutFactor, plus timeoutSeconds.
	timeoutFactor, timeoutSeconds = 3, 20
	// sharedSetup limits the total time of the subtests of a test, each run separately, to a multiple of the time of the
	// test. Above the limit the subtests share a setup, so the test is recorded as a whole. A test whose subtests depend
	// on each other is also recorded as a whole.
	sharedSetup = 3.0
	// neverEnding is the time limit of a test without a mutant.
	neverEnding = time.Hour
)

// suite runs tests in the copy of the repository.
type suite struct {
	work, root string
	env        []string // for all tests
	out        io.Writer
	jobs       int
	packages   []*testPackage
	runs       atomic.Int64

	mu       sync.Mutex
	units    []*unit
	excluded []string
}

// testPackage is a package with tests. The go command never runs the tests of one package concurrently, so tests may
// share files: mu is held while the program runs.
type testPackage struct {
	path, dir, binary, skip string
	mu                      sync.Mutex
}

// unit is a test, or a subtest of a long test, and the mutants that it reaches.
type unit struct {
	pkg     *testPackage
	name    string // Test, or Test/subtest
	seconds float64
	reached map[int]bool
}

// environment returns the environment in which make test compiles and runs kctrl's own half.
func environment() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GOWORK=off")
}

func newSuite(ctx context.Context, work, root string, out io.Writer, opts options, sites []*site) (*suite, error) {
	s := &suite{work: work, root: root, out: out, jobs: opts.jobs}
	skipped, err := readSkipped(opts.skip)
	if err != nil {
		return nil, err
	}
	mutated := map[string]bool{}
	for _, st := range sites {
		mutated[st.pkg] = true
	}
	for _, dir := range opts.modules {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err != nil {
			continue
		}
		if err := s.list(ctx, filepath.Join(root, dir), opts.tests, mutated, skipped); err != nil {
			return nil, err
		}
	}
	return s, s.prepare(ctx)
}

// list adds the packages of a module whose tests can reach a mutant: they link a mutated package, or the root of the
// module. Packages that link the root write the runtime into projects, which their tests compile and run.
func (s *suite) list(
	ctx context.Context, dir string, patterns []string, mutated map[string]bool, skipped map[string][]string,
) error {
	module, err := s.output(ctx, s.root, "go", "list", "-m")
	if err != nil {
		return err
	}
	mutated[strings.TrimSpace(module)] = true
	const format = "{{.ImportPath}}\t{{.Dir}}\t{{join .Deps \" \"}}"
	list, err := s.output(ctx, dir, "go", append([]string{"list", "-test", "-f", format}, patterns...)...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(list) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		reaches := slices.ContainsFunc(strings.Fields(fields[2]), func(dep string) bool { return mutated[dep] })
		if !strings.HasSuffix(fields[0], ".test") || !reaches {
			continue
		}
		relative, err := filepath.Rel(s.root, fields[1])
		if err != nil {
			return err
		}
		binary := filepath.Join(s.work, "tests", strconv.Itoa(len(s.packages))+".test")
		skip := strings.Join(skipped[relative], "|")
		s.packages = append(s.packages, &testPackage{path: relative, dir: fields[1], binary: binary, skip: skip})
	}
	return nil
}

// prepare builds kctrl with the mutants, and sets the environment of the tests.
func (s *suite) prepare(ctx context.Context) error {
	caches, err := s.output(ctx, s.root, "go", "env", "GOCACHE", "GOMODCACHE")
	if err != nil {
		return err
	}
	values := strings.Fields(caches)
	s.env = append(environment(), "GOCACHE="+values[0], "GOMODCACHE="+values[1],
		"KCTRL="+filepath.Join(s.root, "bin", "kctrl"), "KCTRL_TEST_SERVER=in-memory", "KCTRL_TEST_SEEDS=0")
	if _, err := os.Stat(filepath.Join(s.root, "cmd", "kctrl")); err != nil {
		return nil
	}
	_, err = s.output(ctx, s.root, "go", "build", "-ldflags=-s -w", "-o", "bin/kctrl", "./cmd/kctrl")
	return err
}

func (s *suite) output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, environment()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
	}
	return string(out), nil
}

// readSkipped returns the patterns of the tests to skip, by package directory.
func readSkipped(name string) (map[string][]string, error) {
	skipped := map[string][]string{}
	if name == "" {
		return skipped, nil
	}
	text, err := os.ReadFile(name)
	for line := range strings.Lines(string(text)) {
		if pkg, pattern, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			skipped[filepath.Clean(pkg)] = append(skipped[filepath.Clean(pkg)], strings.TrimSpace(pattern))
		}
	}
	return skipped, err
}

// record compiles the tests, runs each alone, and keeps the tests that pass and reach a mutant.
func (s *suite) record(ctx context.Context) error {
	errs := make(chan error, len(s.packages))
	parallel(s.jobs, s.packages, func(p *testPackage) { errs <- s.recordPackage(ctx, p) })
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	slices.Sort(s.excluded)
	return ctx.Err()
}

func (s *suite) recordPackage(ctx context.Context, p *testPackage) error {
	if _, err := s.output(ctx, p.dir, "go", "test", "-c", "-vet=off", "-o", p.binary, "."); err != nil {
		return err
	}
	list := exec.CommandContext(ctx, p.binary, "-test.list", "^(Test|Example|Fuzz)")
	list.Dir, list.Env = p.dir, s.env
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("%s: list tests: %w", p.path, err)
	}
	var units []*unit
	var excluded []string
	start, reached := time.Now(), map[int]bool{}
	for name := range strings.FieldsSeq(string(names)) {
		u, x := s.recordTest(ctx, p, name)
		units, excluded = append(units, u...), append(excluded, x...)
	}
	for _, u := range units {
		maps.Copy(reached, u.reached)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.units, s.excluded = append(s.units, units...), append(s.excluded, excluded...)
	seconds := time.Since(start).Seconds()
	fmt.Fprintf(s.out, "%s: %d tests reach %d mutants (%.0fs)\n", p.path, len(units), len(reached), seconds)
	return nil
}

// recordTest returns the unit of a test, or the units of its subtests if the test is long or fails. A test that reaches
// no mutant has no unit. A test that fails twice is excluded.
func (s *suite) recordTest(ctx context.Context, p *testPackage, name string) (units []*unit, excluded []string) {
	o := s.run(ctx, neverEnding, p, pattern(name), 0)
	failed := o.failed != ""
	if len(o.subtests) > 1 && !strings.Contains(name, "/") && (failed || o.seconds > longSeconds) {
		sum := 0.0
		for _, sub := range o.subtests {
			u, x := s.recordTest(ctx, p, sub)
			units, excluded = append(units, u...), append(excluded, x...)
			for _, u := range u {
				sum += u.seconds
			}
			if !failed && (len(excluded) > 0 || sum > sharedSetup*o.seconds) {
				return []*unit{{p, name, o.seconds, o.reached}}, nil
			}
		}
		return units, excluded
	}
	if failed {
		o = s.run(ctx, neverEnding, p, pattern(name), 0)
	}
	if o.failed != "" {
		if ctx.Err() == nil {
			fmt.Fprintf(s.out, "excluded: %s %s fails without a mutant:\n%s", p.path, name, strings.Join(o.output, ""))
		}
		return nil, []string{p.path + " " + name}
	}
	if len(o.reached) == 0 {
		return nil, nil
	}
	return []*unit{{p, name, o.seconds, o.reached}}, nil
}

// pattern returns the -test.run pattern of tests with the same parent.
func pattern(names ...string) string {
	var last []string
	parent := ""
	for _, name := range names {
		if above, sub, ok := strings.Cut(name, "/"); ok {
			parent, name = "^"+regexp.QuoteMeta(above)+"$/", sub
		}
		last = append(last, regexp.QuoteMeta(name))
	}
	return parent + "^(" + strings.Join(last, "|") + ")$"
}

// try runs the tests that reach a mutant until one fails.
func (s *suite) try(ctx context.Context, st *site) {
	st.Result = "unreached"
	for _, group := range s.groups(st) {
		st.Result = "survived"
		seconds, names := 0.0, []string{}
		for _, u := range group {
			seconds += u.seconds
			names = append(names, u.name)
		}
		timeout := time.Duration((seconds*timeoutFactor + timeoutSeconds) * float64(time.Second))
		run := func() outcome { return s.run(ctx, timeout, group[0].pkg, pattern(names...), st.number) }
		o := run()
		if o.failed != "" && !o.timedOut && ctx.Err() == nil {
			o = run() // a test that fails only sometimes does not catch a mutant
		}
		if o.failed != "" {
			st.Result, st.By = "caught", group[0].pkg.path+" "+o.failed
			return
		}
	}
}

// groups returns the tests that reach a mutant in run order. The quick tests of a package are one group, the subtests
// of a long test are one group, and each slow test is one group.
func (s *suite) groups(st *site) [][]*unit {
	type key struct {
		pkg  *testPackage
		name string // of a slow test, or of the parent of subtests
		slow bool
	}
	groups, seconds := map[key][]*unit{}, map[key]float64{}
	for _, u := range s.units {
		if !u.reached[st.number] {
			continue
		}
		k := key{pkg: u.pkg, slow: u.seconds > slowSeconds}
		if parent, _, isSubtest := strings.Cut(u.name, "/"); isSubtest || k.slow {
			k.name = parent
		}
		groups[k], seconds[k] = append(groups[k], u), seconds[k]+u.seconds
	}
	order := func(k key) int { // quick tests first, starting with the package of the mutant, then slow ones
		n := 0
		if k.pkg.path != filepath.Dir(st.File) {
			n++
		}
		if k.slow {
			n += 2
		}
		return n
	}
	var ordered [][]*unit
	for _, k := range slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(seconds[a], seconds[b]))
	}) {
		ordered = append(ordered, groups[k])
	}
	return ordered
}
