package simulator

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// variantVariable makes the test program run a variant of the copier, on the API server of KUBECONFIG.
const variantVariable = "KCTRL_TEST_COPIER"

func TestMain(m *testing.M) {
	if variant, set := os.LookupEnv(variantVariable); set {
		fmt.Fprintln(os.Stderr, "error:", runCopier(variant))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func runCopier(variant string) error {
	if variant == "ends" {
		return fmt.Errorf("no license")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	m, err := manager.New(config, manager.Options{
		Metrics:                manager.MetricsOptions{BindAddress: manager.Off},
		HealthProbeBindAddress: manager.Off, PprofBindAddress: manager.Off,
		Webhook: manager.WebhookOptions{BindAddress: manager.Off},
	})
	if err != nil {
		return err
	}
	if err := copies(variant).Setup(context.Background(), m); err != nil {
		return err
	}
	return m.Run(context.Background())
}

// programOf returns the copier as a process.
func programOf(t *testing.T, variant string) *Operator {
	t.Helper()
	t.Setenv(variantVariable, variant)
	return &Operator{
		Samples: copies(variant).Samples,
		Command: &Command{
			Context: t.Context(), Args: []string{os.Args[0]}, Quiet: 400 * time.Millisecond, Longest: 4 * time.Second,
		},
	}
}

// The plans that find a bug in the simulator find it in a process, too.
func TestBugsOfProcessesAreFound(t *testing.T) {
	for variant, want := range map[string]string{"": "", "notes before it copies": "state"} {
		t.Run(variant, func(t *testing.T) {
			operator := programOf(t, variant)
			report, err := Explore(nil, operator, Options{Seed: 1, Only: []string{"crash", "lost"}, Plans: 6, Parallel: 2})
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, f := range report.Failures {
				var story strings.Builder
				f.WriteStory(&story, "1")
				t.Log(story.String())
				for _, v := range f.Violations {
					found[v.Invariant] = true
				}
			}
			if report.Run != 6 || want == "" && len(found) > 0 || want != "" && !found[want] {
				t.Errorf("%d plans violate %v, want %q", report.Run, found, want)
			}
		})
	}
}

// A program that does not reach the server is an error and not a failed plan.
func TestProgramsThatEndAreAnError(t *testing.T) {
	_, err := Explore(nil, programOf(t, "ends"), Options{Seed: 1})
	want := "ends before it sends a request: operator-0: exit status 1: error: no license"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}
