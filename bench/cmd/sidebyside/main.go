// Command sidebyside creates the same operator with kctrl and with kubebuilder: three kinds, one of them in two
// versions, with all webhooks and without manual edits. It prints a Markdown table of the effort, and of the parts that
// work on a real API server. Run it from bench/.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kctrl-dev/kctrl/bench/internal/apiserver"
)

// side is one of the two tools.
type side struct {
	name     string
	program  string
	commands []string                // as users type them; program replaces the first word
	skip     []string                // directories that are not part of the project
	run      func(port int) []string // flags of the manager
	env      []string                // of the manager
}

const kubebuilder, kctrl = "kubebuilder", "kctrl"

func sides(kctrlPath, kubebuilderPath string) []*side {
	return []*side{
		{
			name: kctrl, program: kctrlPath, skip: []string{"third_party", "bin"},
			commands: []string{
				"kctrl init --domain example.com --repo example.com/guestbook --project-name guestbook",
				"kctrl create api --group webapp --version v1 --kind Guestbook",
				"kctrl create api --group webapp --version v2 --kind Guestbook",
				"kctrl create api --group webapp --version v1 --kind Shelf",
				"kctrl create api --group webapp --version v1 --kind Page",
				"kctrl create webhook --group webapp --version v1 --kind Guestbook --defaulting --validation",
				"kctrl create webhook --group webapp --version v1 --kind Shelf --defaulting --validation",
				"kctrl create webhook --group webapp --version v1 --kind Page --defaulting --validation",
			},
			run: func(port int) []string {
				address := fmt.Sprintf("127.0.0.1:%d", port)
				return []string{"--health-probe-bind-address=0", "--webhook-bind-address=" + address,
					"--webhook-url=https://" + address, "--webhook-manifests=config/webhook"}
			},
		},
		{
			name: kubebuilder, program: kubebuilderPath, skip: []string{"bin"},
			commands: []string{
				"kubebuilder init --domain example.com --repo example.com/guestbook --project-name guestbook",
				"kubebuilder create api --group webapp --version v1 --kind Guestbook --resource --controller",
				"kubebuilder create api --group webapp --version v2 --kind Guestbook --resource --controller=false",
				"kubebuilder create api --group webapp --version v1 --kind Shelf --resource --controller",
				"kubebuilder create api --group webapp --version v1 --kind Page --resource --controller",
				"kubebuilder create webhook --group webapp --version v1 --kind Guestbook --defaulting --programmatic-validation " +
					"--conversion --spoke v2",
				"kubebuilder create webhook --group webapp --version v1 --kind Shelf --defaulting --programmatic-validation",
				"kubebuilder create webhook --group webapp --version v1 --kind Page --defaulting --programmatic-validation",
				"make generate manifests",
			},
			run: func(int) []string { return []string{"--health-probe-bind-address=0"} },
			env: []string{"ENABLE_WEBHOOKS=false"}, // without certificates, the manager serves no webhooks
		},
	}
}

// figures are the results of a side, in the order of rows.
type figures struct {
	commands                 int
	init, slowest, all       time.Duration
	files, lines, left       int
	builds                   bool
	objects, objectsAccepted int
	samples, samplesAccepted int
	ready                    int
	refused                  []string
}

func main() {
	kctrlPath := flag.String("kctrl", "../bin/kctrl", "path of kctrl")
	kubebuilderPath := flag.String("kubebuilder", "", "path of kubebuilder")
	wait := flag.Duration("wait", 30*time.Second, "maximum wait for Ready objects")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kctrlPath, *kubebuilderPath, *wait); err != nil {
		fmt.Fprintln(os.Stderr, "sidebyside:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kctrlPath, kubebuilderPath string, wait time.Duration) error {
	kctrlPath, err := filepath.Abs(kctrlPath)
	if err == nil {
		kubebuilderPath, err = filepath.Abs(kubebuilderPath)
	}
	if err != nil {
		return err
	}
	var found []figures
	for _, s := range sides(kctrlPath, kubebuilderPath) {
		f, err := s.measure(ctx, kctrlPath, wait)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		found = append(found, f)
	}
	printTable(found[0], found[1])
	return nil
}

func printTable(a, b figures) {
	of := func(n, m int) string { return fmt.Sprintf("%d of %d", n, m) }
	fmt.Print("| | kctrl | kubebuilder |\n|---|---:|---:|\n")
	for _, row := range [][3]any{
		{"commands", a.commands, b.commands},
		{"time of `init`", seconds(a.init), seconds(b.init)},
		{"time of the slowest `create`", seconds(a.slowest), seconds(b.slowest)},
		{"time of all commands", seconds(a.all), seconds(b.all)},
		{"files", a.files, b.files},
		{"lines of Go and YAML", a.lines, b.lines},
		{"files with `TODO(user)`", a.left, b.left},
		{"the code builds and passes `go vet`", a.builds, b.builds},
		{"objects of `config/default` that the API server accepts", of(a.objectsAccepted, a.objects),
			of(b.objectsAccepted, b.objects)},
		{"samples that the API server accepts", of(a.samplesAccepted, a.samples), of(b.samplesAccepted, b.samples)},
		{"objects that the manager makes Ready", a.ready, b.ready},
	} {
		fmt.Printf("| %v | %v | %v |\n", row[0], row[1], row[2])
	}
	for _, f := range []figures{a, b} {
		for _, line := range f.refused {
			fmt.Fprintln(os.Stderr, line)
		}
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// measure creates the operator in its own directory and runs it.
func (s *side) measure(ctx context.Context, kctrlPath string, wait time.Duration) (f figures, err error) {
	dir, err := os.MkdirTemp("", "sidebyside-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	dir = filepath.Join(dir, "guestbook")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return f, err
	}
	if err := s.scaffold(ctx, dir, &f); err != nil {
		return f, err
	}
	if err := s.count(dir, &f); err != nil {
		return f, err
	}
	f.builds = s.command(ctx, dir, "go", "build", "./...").Run() == nil &&
		s.command(ctx, dir, "go", "vet", "./...").Run() == nil
	if err := s.deploy(ctx, dir, kctrlPath, &f); err != nil {
		return f, err
	}
	return f, s.reconcile(ctx, dir, kctrlPath, wait, &f)
}

func (s *side) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	return cmd
}

func (s *side) scaffold(ctx context.Context, dir string, f *figures) error {
	for _, line := range s.commands {
		words := strings.Fields(line)
		if words[0] == s.name {
			words[0] = s.program
		}
		start := time.Now()
		if out, err := s.command(ctx, dir, words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", line, err, out)
		}
		took := time.Since(start)
		f.commands, f.all = f.commands+1, f.all+took
		switch {
		case words[1] == "init":
			f.init = took
		case words[1] == "create":
			f.slowest = max(f.slowest, took)
		}
	}
	return nil
}

// count counts the files and lines of the project.
func (s *side) count(dir string, f *figures) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		for _, skip := range s.skip {
			if relative == skip {
				return fs.SkipDir
			}
		}
		if !entry.Type().IsRegular() || filepath.Ext(path) == ".sum" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f.files++
		if extension := filepath.Ext(path); extension == ".go" || extension == ".yaml" || extension == ".yml" {
			f.lines += bytes.Count(content, []byte("\n"))
		}
		if bytes.Contains(content, []byte("TODO(user)")) {
			f.left++
		}
		return nil
	})
}

// apply applies one file and reports whether the API server accepted it.
func (s *side) apply(ctx context.Context, dir, kctrlPath string, server *apiserver.Server, f *figures, what string,
	args ...string) bool {
	args = append([]string{"env", "apply", "--kubeconfig", server.Kubeconfig, "--timeout", "5s"}, args...)
	out, err := s.command(ctx, dir, kctrlPath, args...).CombinedOutput()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		f.refused = append(f.refused, s.name+": "+what+": "+first)
	}
	return err == nil
}

// deploy applies each object of config/default.
func (s *side) deploy(ctx context.Context, dir, kctrlPath string, f *figures) (err error) {
	server, err := apiserver.Start(kctrlPath, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	objects, err := s.command(ctx, dir, kctrlPath, "build", "installer", "--file", "-").Output()
	if err != nil {
		return fmt.Errorf("config/default does not build: %w", err)
	}
	file := filepath.Join(filepath.Dir(dir), "object.yaml")
	for object := range strings.SplitSeq(string(objects), "\n---\n") {
		if err := os.WriteFile(file, []byte(object), 0o644); err != nil {
			return err
		}
		f.objects++
		if s.apply(ctx, dir, kctrlPath, server, f, named(object), "-f", file) {
			f.objectsAccepted++
		}
	}
	return nil
}

// named returns the kind and name of an object.
func named(object string) string {
	kind, name := "", ""
	for line := range strings.Lines(object) {
		if rest, ok := strings.CutPrefix(line, "kind: "); ok && kind == "" {
			kind = strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutPrefix(line, "  name: "); ok && name == "" {
			name = strings.TrimSpace(rest)
		}
	}
	return kind + " " + name
}

// reconcile runs the manager locally, applies the samples, and waits until their objects are Ready.
func (s *side) reconcile(ctx context.Context, dir, kctrlPath string, wait time.Duration, f *figures) (err error) {
	server, err := apiserver.Start(kctrlPath, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	bases := filepath.Join("config", "crd", "bases")
	if !s.apply(ctx, dir, kctrlPath, server, f, bases, "-f", bases) {
		return errors.New("the API server rejects the CRDs")
	}
	if out, err := s.command(ctx, dir, "go", "build", "-o", filepath.Join("bin", "manager"),
		"./cmd").CombinedOutput(); err != nil {
		return fmt.Errorf("build the manager: %w\n%s", err, out)
	}
	stop, err := s.start(ctx, dir, server)
	if err != nil {
		return err
	}
	defer stop()
	samples, err := filepath.Glob(filepath.Join(dir, "config", "samples", "*_*.yaml"))
	if err != nil {
		return err
	}
	deadline := time.Now().Add(wait)
	f.samples = len(samples)
	for _, sample := range samples {
		if s.accepted(ctx, dir, kctrlPath, server, f, sample, deadline) {
			f.samplesAccepted++
		}
	}
	f.ready, err = ready(ctx, server, deadline)
	return err
}

// accepted applies a sample. It retries while the webhooks of the manager are starting.
func (s *side) accepted(ctx context.Context, dir, kctrlPath string, server *apiserver.Server, f *figures, sample string,
	deadline time.Time) bool {
	before := len(f.refused)
	for {
		f.refused = f.refused[:before]
		if s.apply(ctx, dir, kctrlPath, server, f, filepath.Base(sample), "-f", sample) {
			return true
		}
		if ctx.Err() != nil || time.Now().After(deadline) || !strings.Contains(f.refused[before], "webhook") {
			return false
		}
	}
}

// start runs the manager until stop is called.
func (s *side) start(ctx context.Context, dir string, server *apiserver.Server) (stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	cmd := s.command(ctx, dir, filepath.Join(dir, "bin", "manager"), s.run(port)...)
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+server.Kubeconfig), s.env...)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}, nil
}

// ready returns the number of Ready objects, as soon as all are Ready or at the deadline.
func ready(ctx context.Context, server *apiserver.Server, deadline time.Time) (int, error) {
	config, err := server.Config()
	if err != nil {
		return 0, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return 0, err
	}
	for {
		all, done := 0, 0
		for _, resource := range []string{"guestbooks", "shelves", "pages"} {
			list, err := client.Resource(schema.GroupVersionResource{Group: "webapp.example.com", Version: "v1",
				Resource: resource}).List(ctx, metav1.ListOptions{})
			if err != nil {
				return 0, err
			}
			for _, object := range list.Items {
				all++
				if isReady(object) {
					done++
				}
			}
		}
		if done == all && all > 0 || time.Now().After(deadline) || ctx.Err() != nil {
			return done, ctx.Err()
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func isReady(object unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		if c, ok := condition.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
			return true
		}
	}
	return false
}
