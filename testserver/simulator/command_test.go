package simulator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// variantVariable makes the test binary run a variant of the copier against the API server in KUBECONFIG.
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

// programOf returns an operator that runs the copier as a process.
func programOf(t *testing.T, variant string) *Operator {
	t.Helper()
	return &Operator{
		Samples: copies(variant).Samples,
		Command: &Command{
			Context: t.Context(), Args: []string{os.Args[0]}, Env: map[string]string{variantVariable: variant},
			Quiet: 400 * time.Millisecond, Longest: 4 * time.Second,
		},
	}
}

// TestBugsOfProcessesAreFound checks that a plan that finds a bug in the simulator also finds it in a process.
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

// TestProgramsThatEndAreAnError checks that a program that does not connect to the server is an error instead of a
// failed plan.
func TestProgramsThatEndAreAnError(t *testing.T) {
	_, err := Explore(nil, programOf(t, "ends"), Options{Seed: 1})
	want := "ends before it sends a request: operator-0: exit status 1: error: no license"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

// sharedServer returns an operator whose runs share one API server, and that server.
func sharedServer(t *testing.T, variant string) (*Operator, http.RoundTripper) {
	server := apiserver.New(apiserver.Options{Isolated: true})
	t.Cleanup(server.Close)
	operator := programOf(t, variant)
	operator.Namespace = "system"
	operator.Command.Server = server.Config().Transport
	return operator, operator.Command.Server
}

// create creates an object on a server.
func create(t *testing.T, server http.RoundTripper, collection, object string) {
	t.Helper()
	if _, err := exchange(server, http.MethodPost, collection, []byte(object)); err != nil {
		t.Fatal(err)
	}
}

// contentOf returns the names and UIDs of the objects on a server.
func contentOf(t *testing.T, server http.RoundTripper) string {
	t.Helper()
	var all strings.Builder
	for _, collection := range []string{"namespaces", "configmaps", "events", "serviceaccounts"} {
		answer, err := exchange(server, http.MethodGet, "/api/v1/"+collection, nil)
		list := &unstructured.UnstructuredList{}
		if err == nil {
			err = list.UnmarshalJSON(answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			fmt.Fprintln(&all, collection, item.GetNamespace(), item.GetName(), item.GetUID())
		}
	}
	return all.String()
}

const foreign = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{
	"name":%q,"labels":{"source":"true"},"finalizers":["example.com/x"],
	"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"1"}]}}`

// The runs delete the objects that they have created, together with the namespace. They do not delete objects that the
// operator has only changed, or objects whose owners the run does not know.
func TestServersAreLeftAsTheyWere(t *testing.T) {
	operator, server := sharedServer(t, "")
	create(t, server, "/api/v1/namespaces/default/configmaps", fmt.Sprintf(foreign, "other"))
	before := contentOf(t, server)
	report, err := Explore(nil, operator, Options{Seed: 1, Only: []string{"crash"}, Plans: 2, Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	if report.Run != 2 {
		t.Errorf("%d plans", report.Run)
	}
	if after := contentOf(t, server); after != before {
		t.Errorf("the server has\n%swant\n%s", after, before)
	}
}

// After an interrupt, the objects of the current run are deleted.
func TestInterruptedRunsDeleteTheirObjects(t *testing.T) {
	operator, server := sharedServer(t, "")
	before := contentOf(t, server)
	operator.Command.lone = true // without the controller that deletes the namespace, for which the test above waits
	ctx, interrupt := context.WithCancel(t.Context())
	operator.Command.Context = ctx
	go func() {
		defer interrupt()
		for t.Context().Err() == nil {
			if _, err := exchange(server, http.MethodGet, "/api/v1/namespaces/default/configmaps/a-copy", nil); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if _, err := Explore(nil, operator, Options{Seed: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if after := contentOf(t, server); after != before {
		t.Errorf("the server has\n%swant\n%s", after, before)
	}
}

// If a sample exists before the first run, the run fails and leaves the sample unchanged.
func TestSamplesOfOthersAreAnError(t *testing.T) {
	operator, server := sharedServer(t, "")
	create(t, server, "/api/v1/namespaces/default/configmaps", fmt.Sprintf(foreign, "a"))
	before := contentOf(t, server)
	_, err := Explore(nil, operator, Options{Seed: 1})
	if e, ok := errors.AsType[*ExistsError](err); !ok || e.Sample != 0 {
		t.Errorf("got %v", err)
	}
	if after := contentOf(t, server); after != before {
		t.Errorf("the server has\n%swant\n%s", after, before)
	}
}
