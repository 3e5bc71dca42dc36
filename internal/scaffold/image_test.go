package scaffold_test

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

// TestDockerfileCopiesWhatItBuilds follows the Dockerfile of a project that contains all of its modules. The first
// copied files must suffice to resolve the modules, and the next ones to build the program.
func TestDockerfileCopiesWhatItBuilds(t *testing.T) {
	p := newProject(t)
	p.initialize(t, scaffold.InitOptions{Domain: "example.com", Repo: "example.com/guestbook", License: "none",
		APIModule: true})
	p.createAPI(t, guestbook)
	image, tree := t.TempDir(), readTree(t, p.dir)
	first, rest, found := strings.Cut(string(tree["Dockerfile"]), "RUN go mod download\n")
	if !found {
		t.Fatal("the Dockerfile downloads no modules")
	}
	sources := func(text string) []string {
		var all []string
		for line := range strings.Lines(text) {
			if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "COPY" && !strings.HasPrefix(fields[1], "-") {
				all = append(all, fields[1:len(fields)-1]...)
			}
		}
		return all
	}
	ignored := strings.Fields(string(tree[".dockerignore"]))
	copyInto := func(sources []string) {
		for name, content := range tree {
			folder, _, _ := strings.Cut(name, "/")
			matches := func(source string) bool {
				return source == "." || source == name || strings.HasSuffix(source, "/") && strings.HasPrefix(name, source)
			}
			if slices.Contains(ignored, folder) || strings.HasSuffix(name, "_test.go") || path.Ext(name) == ".md" ||
				!slices.ContainsFunc(sources, matches) {
				continue
			}
			writeFile(t, filepath.Join(image, filepath.FromSlash(name)), content)
		}
	}
	copyInto(sources(first))
	goCommand(t, image, cacheEnv(), "list", "-m", "example.com/guestbook/api", "k8s.io/apimachinery")
	copyInto(sources(rest))
	goCommand(t, image, cacheEnv(), "build", "-o", filepath.Join(t.TempDir(), "manager"), "./cmd")
}
