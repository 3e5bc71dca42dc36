package kctrl_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is the part of a workflow of GitHub Actions that the rules here concern.
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

// TestWorkflowsUsePinnedActionsAndReadOnly allows the actions of scaffolded projects, which are pinned by commit, and
// jobs that read the repository.
func TestWorkflowsUsePinnedActionsAndReadOnly(t *testing.T) {
	template, err := os.ReadFile("internal/templates/files/project/.github/workflows/test.yml.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("found the workflows %q (%v)", files, err)
	}
	pinned := regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40}$`)
	for _, file := range files {
		w := readWorkflow(t, file)
		if w.Permissions == nil || len(*w.Permissions) > 0 {
			t.Errorf("%s: want no permissions but those of a job", file)
		}
		for name, job := range w.Jobs {
			if len(job.Permissions) != 1 || job.Permissions["contents"] != "read" {
				t.Errorf("%s: job %s has the permissions %v, want contents: read", file, name, job.Permissions)
			}
			for _, step := range job.Steps {
				known := pinned.MatchString(step.Uses) && strings.Contains(string(template), step.Uses+" ")
				if step.Uses != "" && !known {
					t.Errorf("%s: job %s uses %s, which scaffolded projects do not use", file, name, step.Uses)
				}
			}
		}
	}
}

// TestEveryCommitIsTestedAndEveryReleaseRunsAllTests checks the commands of the workflows and of .ci/run.
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
