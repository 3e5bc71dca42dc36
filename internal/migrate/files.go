package migrate

import (
	"fmt"
	"go/token"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// editFiles plans the changes to Makefiles, Dockerfiles and workflows that call controller-gen or build the modules.
func (a *adoption) editFiles() error {
	for _, kind := range []struct {
		is   func(name string) bool
		edit func(text string) string
	}{
		{isMakefile, func(text string) string { return makefile(text, a.modules[0].version) }},
		{isDockerfile, func(text string) string { return dockerfile(text, a.goVersion) }},
		{isDockerignore, dockerignore},
		{isWorkflow, a.workflow},
	} {
		if err := a.editEach(kind.is, kind.edit); err != nil {
			return err
		}
	}
	return nil
}

// editEach plans the result of edit for each file of the project whose name satisfies is.
func (a *adoption) editEach(is func(name string) bool, edit func(string) string) error {
	names, err := filesNamed(a.plan.FS(), is)
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := a.plan.Read(name)
		if err != nil {
			return err
		}
		plain := strings.ReplaceAll(string(text), "\r\n", "\n")
		if after := edit(plain); after != plain {
			if err := a.plan.Edit(name, []byte(after)); err != nil {
				return err
			}
		}
	}
	return nil
}

func isDockerfile(name string) bool {
	base := path.Base(name)
	return base == "Dockerfile" || base == "Containerfile" || strings.HasPrefix(base, "Dockerfile.") ||
		path.Ext(base) == ".Dockerfile"
}

func isDockerignore(name string) bool { return strings.HasSuffix(path.Base(name), ".dockerignore") }

func isWorkflow(name string) bool {
	return path.Dir(name) == ".github/workflows" && (path.Ext(name) == ".yaml" || path.Ext(name) == ".yml")
}

// dockerfile copies third_party before the first command that needs its modules, and raises the version of golang
// images to goVersion.
func dockerfile(text, goVersion string) string {
	var out strings.Builder
	// modules is set if this stage has copied go.mod, and copied is set if it has third_party.
	modules, copied := false, strings.Contains(text, "third_party")
	for _, line := range logicalLines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			out.WriteString(line)
			continue
		}
		switch strings.ToUpper(fields[0]) {
		case "FROM":
			line, modules = newerGo(line, goVersion), false
		case "ARG":
			line = newerGo(line, goVersion)
		case "COPY", "ADD":
			sources := fields[1:max(1, len(fields)-1)]
			has := func(name string) bool {
				return slices.Contains(sources, name) || slices.Contains(sources, "./"+name)
			}
			modules = modules || has(goMod)
			copied = copied || has(".") || has("")
		case "RUN":
			if modules && !copied && (strings.Contains(line, "go mod download") || strings.Contains(line, "go build")) {
				copied = true
				out.WriteString("COPY third_party/ third_party/\n")
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// newerGo raises the version of a golang image in a line.
func newerGo(line, goVersion string) string {
	before, after, found := strings.Cut(line, "golang:")
	end := strings.IndexFunc(after, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(after)
	}
	var major, minor, wantMajor, wantMinor int
	_, err := fmt.Sscanf(after[:end], "%d.%d", &major, &minor)
	_, wantErr := fmt.Sscanf(goVersion, "%d.%d", &wantMajor, &wantMinor)
	if !found || err != nil || wantErr != nil || major != wantMajor || minor >= wantMinor {
		return line
	}
	return fmt.Sprintf("%sgolang:%d.%d%s", before, wantMajor, wantMinor, after[end:])
}

// dockerignore includes third_party if the file includes only selected files in the build.
func dockerignore(text string) string {
	named := strings.Contains(text, "!go.mod") || strings.Contains(text, "!**/go.mod")
	if !named || strings.Contains(text, "third_party") {
		return text
	}
	return strings.TrimRight(text, "\n") + `

# Re-include the modules in third_party
!third_party/**/*.go
!third_party/**/go.mod
!third_party/**/go.sum
`
}

// workflow adds a step that installs kctrl before the first step of each job that calls make.
func (a *adoption) workflow(text string) string {
	var doc yaml.Node
	const command = "github.com/kctrl-dev/kctrl/cmd/kctrl@"
	err := yaml.Unmarshal([]byte(text), &doc)
	if err != nil || len(doc.Content) == 0 || strings.Contains(text, command) {
		return text
	}
	jobs := yamlnode.Value(doc.Content[0], "jobs")
	if jobs == nil || jobs.Kind != yaml.MappingNode {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	for i := len(jobs.Content) - 1; i > 0; i -= 2 {
		step := firstMake(yamlnode.Value(jobs.Content[i], "steps"))
		if step == nil {
			continue
		}
		indent := strings.Repeat(" ", max(0, step.Column-3))
		install := indent + "- name: Install kctrl\n" +
			indent + "  run: go install " + command + a.installable() + "\n\n"
		lines = slices.Insert(lines, step.Line-1, install)
	}
	return strings.Join(lines, "")
}

// firstMake returns the first step of a job that calls make, or nil.
func firstMake(steps *yaml.Node) *yaml.Node {
	if steps == nil || steps.Kind != yaml.SequenceNode {
		return nil
	}
	for _, step := range steps.Content {
		run := yamlnode.Value(step, "run")
		if run != nil && slices.ContainsFunc(strings.Split(run.Value, "\n"), func(line string) bool {
			return strings.HasPrefix(strings.TrimSpace(line), "make")
		}) {
			return step
		}
	}
	return nil
}

// installable returns the version of kctrl that workflows install. A development build has no such version, so the
// workflow reads the version from a repository variable.
func (a *adoption) installable() string {
	if v := a.kctrl.Version; v != "" && v != "(devel)" {
		return v
	}
	note := &diagnostic.Error{
		Pos:     token.Position{Filename: ".github/workflows"},
		Message: "this kctrl is a development build, which workflows cannot install by its version",
		Hint:    "set the variable KCTRL_VERSION of the repository to a version, branch or commit of kctrl",
	}
	if !slices.ContainsFunc(a.plan.Notes(), func(e *diagnostic.Error) bool { return e.Message == note.Message }) {
		a.plan.Note(note)
	}
	return "${{ vars.KCTRL_VERSION }}"
}
