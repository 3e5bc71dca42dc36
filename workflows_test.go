package kctrl_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow contains the parts of a GitHub Actions workflow that these tests check.
type workflow struct {
	Permissions *map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Permissions map[string]string `json:"permissions"`
		Needs       string            `json:"needs"`
		Uses        string            `json:"uses"`
		Steps       []struct {
			Uses string `json:"uses"`
			Run  string `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

func readWorkflow(t *testing.T, file string) (w workflow) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &w)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return w
}

// otherActions are actions that scaffolded projects do not use.
var otherActions = []string{
	"github/codeql-action/init@8aad20d150bbac5944a9f9d289da16a4b0d87c1e",
	"github/codeql-action/analyze@8aad20d150bbac5944a9f9d289da16a4b0d87c1e",
	"actions/attest@59d89421af93a897026c735860bf21b6eb4f7b26",
}

// permissions are the permissions of jobs that do not only read the repository.
var permissions = map[string]map[string]string{
	"codeql.yml/analyze": {"contents": "read", "security-events": "write"}, // to report findings
	// to draft a release and sign its provenance
	"release.yml/release": {"contents": "write", "id-token": "write", "attestations": "write"},
}

// TestWorkflowsUsePinnedActionsAndFewPermissions accepts the actions of scaffolded projects and otherActions, if they
// are pinned by commit. Jobs may only read the repository, except those in permissions.
func TestWorkflowsUsePinnedActionsAndFewPermissions(t *testing.T) {
	template, err := os.ReadFile("internal/templates/files/project/.github/workflows/test.yml.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`^[a-z-]+/[a-z/-]+@[0-9a-f]{40}$`)
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("found the workflows %q (%v)", files, err)
	}
	for _, file := range files {
		w := readWorkflow(t, file)
		if w.Permissions == nil || len(*w.Permissions) > 0 {
			t.Errorf("%s: want no permissions but those of a job", file)
		}
		for name, job := range w.Jobs {
			want := permissions[filepath.Base(file)+"/"+name]
			if want == nil {
				want = map[string]string{"contents": "read"}
			}
			if !maps.Equal(job.Permissions, want) {
				t.Errorf("%s: job %s has the permissions %v, want %v", file, name, job.Permissions, want)
			}
			for _, step := range job.Steps {
				known := slices.Contains(otherActions, step.Uses) || strings.Contains(string(template), step.Uses+" ")
				if step.Uses != "" && !(known && pinned.MatchString(step.Uses)) {
					t.Errorf("%s: job %s uses %s, which is not a known action, pinned by commit", file, name, step.Uses)
				}
			}
		}
	}
}

// TestEveryCommitIsTestedAndEveryReleaseRunsAllTests checks the commands of the workflows and of .ci/run. Workflows run
// all commands of the README.
func TestEveryCommitIsTestedAndEveryReleaseRunsAllTests(t *testing.T) {
	runs := func(file string) string {
		commands := "\n"
		for _, job := range readWorkflow(t, ".github/workflows/"+file).Jobs {
			for _, step := range job.Steps {
				commands += step.Run + "\n"
			}
		}
		return commands
	}
	ci, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	// The README has these commands in a block, or in the text.
	var all []string
	command := regexp.MustCompile("(?m)(?:^|`)(make [^#`\n]*?) *(?:`|#|$)")
	for _, match := range command.FindAllStringSubmatch(read(t, "README.md"), -1) {
		all = append(all, match[1])
	}
	if len(all) < 4 {
		t.Errorf("the README has the commands %q, want at least 4", all)
	}
	for _, command := range all {
		if !strings.Contains(runs("test.yml")+runs("nightly.yml"), "\n"+command+"\n") {
			t.Errorf("the README has the command %q, which no workflow runs", command)
		}
	}
	for place, want := range map[string][]string{
		runs("test.yml"):    {"make check", "make test"},
		string(ci):          {"make check", "make test"},
		runs("nightly.yml"): {"make check", "make test-all"},
	} {
		for _, command := range want {
			if !strings.Contains(place, "\n"+command+"\n") {
				t.Errorf("want the command %q, got:\n%s", command, place)
			}
		}
	}
	for name, job := range readWorkflow(t, ".github/workflows/release.yml").Jobs {
		if job.Uses != "./.github/workflows/nightly.yml" && job.Needs != "test-all" {
			t.Errorf("job %s of a release does not need the job test-all", name)
		}
	}
}
