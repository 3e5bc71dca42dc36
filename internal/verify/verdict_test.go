package verify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/expression"
	"github.com/kctrl-dev/kctrl/internal/verify/manifest"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// corpusVariable names the environment variable with further directories of CRDs, separated like the elements of PATH.
const corpusVariable = "KCTRL_TEST_CRDS"

// TestVerdictIsTheServers checks CRDs with kctrl, and creates them on an API server in a dry run: the CRDs of this
// repository, the CRDs of corpusVariable, and mutants of both. Both sides must accept or reject each CRD for the same
// reasons.
func TestVerdictIsTheServers(t *testing.T) {
	server := newServer(t)
	corpus := readCorpus(t)
	for _, crd := range corpus {
		server.compare(t, crd.name, crd.tree)
	}
	t.Logf("%d CRDs of the corpus", len(corpus))
	count, refused := 0, 0
	for _, m := range mutations {
		made := 0
		for seed := uint64(1); made < mutantsOfEach; seed++ {
			if seed > 50*mutantsOfEach {
				t.Errorf("%s: %d mutants, want %d", m.name, made, mutantsOfEach)
				break
			}
			random := rand.New(rand.NewPCG(seed, 40))
			base := corpus[random.IntN(len(corpus))]
			if isPartial(base.tree) || random.IntN(2) == 0 {
				base = kitchenSink(t)
			}
			tree := clone(t, base.tree)
			if !m.change(&mutant{Rand: random, tree: tree}) {
				continue
			}
			made++
			count++
			if server.compare(t, fmt.Sprintf("%s seed %d of %s", m.name, seed, base.name), tree) {
				refused++
			}
		}
	}
	t.Logf("%d mutants in %d classes, of which the server refuses %d", count, len(mutations), refused)
	if count < 300 || refused < count/2 {
		t.Errorf("%d mutants of which %d are refused, want 300 and half of them", count, refused)
	}
}

// mutantsOfEach is the number of mutants per class.
const mutantsOfEach = 10

// isPartial reports whether a CRD is a patch.
func isPartial(crd map[string]any) bool {
	spec, _ := crd["spec"].(map[string]any)
	return spec["names"] == nil || spec["versions"] == nil
}

type named struct {
	name string
	tree map[string]any
}

// readCorpus returns the CRDs of this repository and of the directories in corpusVariable.
func readCorpus(t *testing.T) []named {
	t.Helper()
	roots := []string{"../../testdata", "../../examples", "../../bench/porting"}
	roots = append(roots, filepath.SplitList(os.Getenv(corpusVariable))...)
	var all []named
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !manifest.MayHaveCRD(text) {
				return err
			}
			for i, document := range bytes.Split(text, []byte("\n---\n")) {
				var tree map[string]any
				if err := yaml.Unmarshal(document, &tree); err == nil && tree["kind"] == "CustomResourceDefinition" {
					all = append(all, named{fmt.Sprintf("%s#%d", path, i), tree})
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 10 {
		t.Fatalf("%d CRDs in %q", len(all), roots)
	}
	return all
}

func clone(t *testing.T, tree map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var copied map[string]any
	if err := json.Unmarshal(text, &copied); err != nil {
		t.Fatal(err)
	}
	return copied
}

// server is the API server that creates the CRDs.
type server struct {
	client *http.Client
	url    string
}

func newServer(t *testing.T) *server {
	t.Helper()
	config := testenv.Start(t).Config
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	url, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &server{client, strings.TrimSuffix(url.String(), "/") +
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"}
}

// create returns the reasons why the server rejects a CRD, and none if it accepts it.
func (s *server) create(t *testing.T, tree map[string]any) []string {
	t.Helper()
	body, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.client.Post(s.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return []string{""} // its validation panics
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode == http.StatusCreated {
		return nil
	}
	var status metav1.Status
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatalf("%d: %s", answer.StatusCode, text)
	}
	if answer.StatusCode != http.StatusUnprocessableEntity || status.Details == nil || len(status.Details.Causes) == 0 {
		return []string{""} // a body that cannot be decoded; the server words the error differently
	}
	var reasons []string
	for _, cause := range status.Details.Causes {
		reasons = append(reasons, cause.Message)
	}
	return reasons
}

// compare returns whether the server rejects a CRD. It fails the test if the result of kctrl differs.
func (s *server) compare(t *testing.T, name string, tree map[string]any) bool {
	t.Helper()
	reasons := s.create(t, tree)
	text, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	found := check(text)
	if len(found) > 0 != (len(reasons) > 0) {
		t.Errorf("%s: the server has %q, kctrl %q\n%s", name, reasons, found, cut(text))
		return len(reasons) > 0
	}
	all := strings.Join(texts(found), "\n")
	for _, reason := range reasons {
		if essence := essenceOf(reason); !strings.Contains(all, essence) {
			t.Errorf("%s: the server says %q, kctrl does not have %q in\n%s", name, reason, essence, all)
		}
	}
	for _, e := range found {
		if e.Pos.Line < 1 || e.Pos.Column < 1 {
			t.Errorf("%s: no position: %v", name, e)
		}
	}
	return len(reasons) > 0
}

func cut(text []byte) []byte { return text[:min(len(text), 4000)] }

// check returns the errors in the CRDs of a manifest.
func check(text []byte) []*diagnostic.Error {
	var all []error
	for _, d := range manifest.Parse("crd.yaml", text) {
		crd, err := d.Definition()
		all = append(all, err)
		if crd != nil {
			refused, _ := crd.Problems()
			all = append(all, refused)
		}
	}
	var found []*diagnostic.Error
	for _, err := range diagnostic.All(errors.Join(all...)) {
		if e, ok := errors.AsType[*diagnostic.Error](err); ok {
			found = append(found, e)
		}
	}
	return found
}

func texts(found []*diagnostic.Error) []string {
	var all []string
	for _, e := range found {
		all = append(all, e.Message)
	}
	return all
}

// essenceOf returns the part of a reason that does not repeat a value: the first message of a compiler, or the text
// after the last colon. It returns "" for reasons that only follow from other reasons.
func essenceOf(reason string) string {
	if strings.Contains(reason, "contributed to estimated rule cost total") ||
		strings.Contains(reason, "estimated rule cost total for entire") ||
		strings.Contains(reason, "must have at least one stored version") {
		return ""
	}
	if _, rest, ok := strings.Cut(reason, "ERROR: <input>:"); ok {
		line, _, _ := strings.Cut(rest, "\n")
		_, message, _ := strings.Cut(line, ": ")
		return expression.Plain(message)
	}
	return diagnostic.OneLine(strings.TrimSpace(reason[strings.LastIndex(reason, ": ")+1:]))
}
