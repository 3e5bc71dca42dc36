//go:build linux || darwin

package measure

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// operatorVariable makes the test binary an operator that sends this number of requests, and then idles or exits.
const operatorVariable = "KCTRL_MEASURED_OPERATOR"

func TestMain(m *testing.M) {
	if plan := os.Getenv(operatorVariable); plan != "" {
		os.Exit(operate(plan))
	}
	os.Exit(m.Run())
}

func operate(plan string) int {
	config, err := kubectl.LoadConfig(os.Getenv("KUBECONFIG"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, path := range []string{"/api", "/apis/example.com/v1/orders", "/apis/coordination.k8s.io/v1/leases"} {
		answer, err := client.Get(config.Host + path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_ = answer.Body.Close()
	}
	fmt.Fprintln(os.Stderr, "ERROR the cache is empty\n\tgoroutine 1\nINFO waiting")
	if plan == "ends" {
		return 3
	}
	select {} // until it is killed
}

// options returns the options for a server that answers each request.
func options(t *testing.T) (o Options, p *proxy, kubeconfig string) {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(upstream.Close)
	given := filepath.Join(t.TempDir(), "given")
	if err := writeKubeconfig(given, upstream.URL, nil); err != nil {
		t.Fatal(err)
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	p, err := startProxy(given, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	o = Options{Dir: t.TempDir(), Quiet: 200 * time.Millisecond, Longest: time.Minute, Step: func(string) {}}
	return o, p, kubeconfig
}

func TestProcessIsMeasuredUntilItRests(t *testing.T) {
	t.Setenv(operatorVariable, "rests")
	o, p, kubeconfig := options(t)
	var steps []string
	o.Step = func(text string) { steps = append(steps, text) }
	s := &side{name: "kctrl's runtime", program: os.Args[0]}
	figures, err := s.run(t.Context(), o, p, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	const said = "ERROR the cache is empty"
	const want = "the operator on kctrl's runtime may not have reconciled all objects, because it wrote: " + said
	if !slices.Equal(steps, []string{want}) {
		t.Errorf("reported %q, want %q", steps, want)
	}
	if figures.Requests != 2 {
		t.Errorf("%d requests, want 2: renewals of leases do not count", figures.Requests)
	}
	if figures.Start <= 0 || figures.CPU <= 0 || figures.Memory < 1<<20 || figures.PeakMemory < figures.Memory {
		t.Errorf("got %+v, want the time, the CPU and the memory of a process", figures)
	}
}

func TestProcessThatEndsIsAnError(t *testing.T) {
	t.Setenv(operatorVariable, "ends")
	o, p, kubeconfig := options(t)
	s := &side{name: "kctrl's runtime", program: os.Args[0]}
	_, err := s.run(t.Context(), o, p, kubeconfig)
	const want = "the operator on kctrl's runtime: it ends before it is at rest: exit status 3: ERROR the cache is empty"
	if e, ok := errors.AsType[*diagnostic.Error](err); !ok || e.Message != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestInterruptedMeasurementEndsTheProcess(t *testing.T) {
	t.Setenv(operatorVariable, "rests")
	o, p, kubeconfig := options(t)
	o.Quiet = time.Minute
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	s := &side{name: "kctrl's runtime", program: os.Args[0]}
	if _, err := s.run(ctx, o, p, kubeconfig); err == nil {
		t.Error("the measurement ended without an error")
	}
}

func TestReportHasRatios(t *testing.T) {
	r := Report{
		Objects: 20, Kinds: 2,
		Original: Figures{Start: 2 * time.Second, CPU: time.Second, PeakMemory: 2e8, Memory: 1e8, Requests: 8, Binary: 5e7},
		Kctrl:    Figures{Start: time.Second, CPU: time.Second / 4, PeakMemory: 5e7, Memory: 4e7, Requests: 4, Binary: 3e7},
	}
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"20 objects, kinds: 2; from the start",
		"| time | 2.00 s | 1.00 s | 0.50 |",
		"| CPU | 1.00 s | 0.25 s | 0.25 |",
		"| memory at rest (RSS) | 100.0 MB | 40.0 MB | 0.40 |",
		"| API requests | 8 | 4 | 0.50 |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// TestBuildsUseCopies checks that neither build runs in the project, and that packages with the name bin are copied.
func TestBuildsUseCopies(t *testing.T) {
	project := t.TempDir()
	const mod = "module example.com/p\n"
	const replaced = mod + "\nreplace sigs.k8s.io/controller-runtime => ./third_party/controller-runtime\n"
	step, err := json.Marshal(map[string]any{"step": "modules", "files": []map[string]any{{
		"path": "go.mod", "before": []byte(mod), "after": fmt.Sprintf("%x", sha256.Sum256([]byte(replaced))),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod": replaced, ".kctrl/migrate/0001.json": string(step), "internal/bin/bin.go": "package bin\n",
	} {
		target := filepath.Join(project, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, []byte(content), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	sides, err := prepare(t.Context(), Options{Dir: project}, t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{mod, replaced} {
		if got, err := os.ReadFile(filepath.Join(sides[i].dir, "go.mod")); string(got) != want || sides[i].dir == project {
			t.Errorf("%s: got %q, %v", sides[i].dir, got, err)
		}
		if _, err := os.Stat(filepath.Join(sides[i].dir, "internal", "bin", "bin.go")); err != nil {
			t.Error(err)
		}
	}
}

// TestCopyDoesNotWriteToTargetsOfLinks checks that a link in the copy of a project does not change the project.
func TestCopyDoesNotWriteToTargetsOfLinks(t *testing.T) {
	original, copied := t.TempDir(), t.TempDir()
	target := filepath.Join(original, "PROJECT")
	if err := os.WriteFile(target, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(copied, "PROJECT")); err != nil {
		t.Fatal(err)
	}
	p := plan.New(afero.NewIOFS(afero.NewMemMapFs()))
	if err := p.Edit("PROJECT", []byte("after")); err != nil {
		t.Fatal(err)
	}
	if err := write(copied, p); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{target: "before", filepath.Join(copied, "PROJECT"): "after"} {
		if got, err := os.ReadFile(name); string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}
