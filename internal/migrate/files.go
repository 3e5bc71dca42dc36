package migrate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// editFiles plans what becomes of the files that are no Go code: those that name tools of kubebuilder.
func (m *migration) editFiles(context.Context) error {
	return errors.Join(m.editMakefiles(), m.editEach(isDockerfile, m.dockerfile), m.editEach(isDockerignore, m.dockerignore), m.editEach(isWorkflow, m.workflow), m.mention())
}

// editEach plans what change makes of each file with a name that is looked for.
func (m *migration) editEach(is func(name string) bool, change func(string) string) error {
	names, err := m.named(is)
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := m.plan.Read(name)
		if err != nil {
			return err
		}
		plain, crlf := withoutCarriageReturns(string(text))
		if after := change(plain); after != plain {
			if err := m.plan.Edit(name, []byte(withCarriageReturns(after, crlf))); err != nil {
				return err
			}
		}
	}
	return nil
}

func isDockerfile(name string) bool {
	base := path.Base(name)
	return base == "Dockerfile" || base == "Containerfile" || strings.HasPrefix(base, "Dockerfile.") || path.Ext(base) == ".Dockerfile"
}

func isDockerignore(name string) bool { return strings.HasSuffix(path.Base(name), ".dockerignore") }

func isWorkflow(name string) bool {
	return path.Dir(name) == ".github/workflows" && (path.Ext(name) == ".yaml" || path.Ext(name) == ".yml")
}

// mainPath has the go command build a package where it built a file, or the folder that this was in.
func (m *migration) mainPath(line string) string {
	if m.peer.mainFile == "" || !strings.Contains(line, "go build") && !strings.Contains(line, "go run") {
		return line
	}
	moved := m.peer.mainFile == oldMainFile && !strings.Contains(line, "cd ")
	return mapWords(line, func(word string) string {
		if strings.TrimPrefix(word, "./") == m.peer.mainFile || moved && (word == "." || word == "./") {
			return "./cmd"
		}
		return word
	})
}

// goVersion is the oldest version of Go that compiles the runtime, as images of Go name it.
const goVersion = "1.26"

// dockerfile copies the runtime before the modules are downloaded, and has a Go that compiles it.
func (m *migration) dockerfile(text string) string {
	if m.opts.KeepRuntime {
		return text
	}
	var out strings.Builder
	// modules says that go.mod is copied in this stage, copied that the runtime is.
	modules, copied := false, strings.Contains(text, "third_party")
	for line := range logicalLines(text) {
		fields := strings.Fields(line)
		command := ""
		if len(fields) > 0 {
			command = strings.ToUpper(fields[0])
		}
		switch command {
		case "FROM", "ARG":
			if strings.Contains(line, "golang:") {
				line = newerGo(line)
			}
			if command == "FROM" {
				modules = false
			}
		case "COPY", "ADD":
			sources := fields[1:max(1, len(fields)-1)]
			modules = modules || slices.Contains(sources, "go.mod") || slices.Contains(sources, "./go.mod")
			copied = copied || slices.Contains(sources, ".") || slices.Contains(sources, "./")
			if i := slices.IndexFunc(sources, func(name string) bool { return strings.TrimPrefix(name, "./") == m.peer.mainFile }); i >= 0 && len(sources) == 1 {
				line = command + " cmd/ cmd/\n"
			}
		case "RUN":
			if modules && !copied && (strings.Contains(line, "go mod download") || strings.Contains(line, "go build")) {
				copied = true
				out.WriteString("COPY third_party/kctrl/ third_party/kctrl/\n")
			}
			line = m.mainPath(line)
		}
		out.WriteString(line)
	}
	return out.String()
}

// logicalLines yields the lines of a text, each with those that it continues on.
func logicalLines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		whole := ""
		for line := range strings.Lines(text) {
			whole += line
			if strings.HasSuffix(strings.TrimRight(line, "\n"), `\`) {
				continue
			}
			if !yield(whole) {
				return
			}
			whole = ""
		}
		if whole != "" {
			yield(whole)
		}
	}
}

// newerGo raises the version of an image of Go.
func newerGo(line string) string {
	before, after, _ := strings.Cut(line, "golang:")
	end := strings.IndexFunc(after, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(after)
	}
	var major, minor int
	if _, err := fmt.Sscanf(after[:end], "%d.%d", &major, &minor); err != nil || major > 1 || minor >= 26 {
		return line
	}
	return before + "golang:" + goVersion + after[end:]
}

// dockerignore lets the modules of the runtime into the build where only what is named comes in.
func (m *migration) dockerignore(text string) string {
	if m.opts.KeepRuntime || !strings.Contains(text, "!go.mod") && !strings.Contains(text, "!**/go.mod") || strings.Contains(text, "third_party") {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if m.peer.mainFile == oldMainFile && strings.TrimSpace(line) == "!"+oldMainFile {
			line = "!cmd/\n"
		}
		out.WriteString(line)
	}
	return strings.TrimRight(out.String(), "\n") + "\n\n# Re-include the bundled runtime\n!third_party/kctrl/**/*.go\n!third_party/kctrl/go.mod\n!third_party/kctrl/go.sum\n"
}

// workflow installs kctrl before the first step of each job that calls make.
func (m *migration) workflow(text string) string {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 || strings.Contains(text, "cmd/kctrl@") {
		return text
	}
	jobs := yamlnode.Value(doc.Content[0], "jobs")
	if jobs == nil || jobs.Kind != yaml.MappingNode {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	var at []*yaml.Node
	for i := 1; i < len(jobs.Content); i += 2 {
		steps := yamlnode.Value(jobs.Content[i], "steps")
		if steps == nil || steps.Kind != yaml.SequenceNode {
			continue
		}
		for _, step := range steps.Content {
			if run := yamlnode.Value(step, "run"); run != nil && callsMake(run.Value) {
				at = append(at, step)
				break
			}
		}
	}
	for _, step := range slices.Backward(at) {
		indent := strings.Repeat(" ", max(0, step.Column-3))
		lines = slices.Insert(lines, step.Line-1, indent+"- name: Install kctrl\n"+indent+"  run: go install github.com/kctrl-dev/kctrl/cmd/kctrl@"+m.installable()+"\n\n")
	}
	return strings.Join(lines, "")
}

func callsMake(script string) bool {
	return slices.ContainsFunc(strings.Split(script, "\n"), func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "make")
	})
}

// installable is the version of kctrl that a workflow installs.
func (m *migration) installable() string {
	if v := m.opts.Kctrl.Version; v != "" && v != "(devel)" {
		return v
	}
	return "latest"
}

// mention is what files have that kctrl does not change, and that means something else after the migration.
type mention struct {
	found  func(line string) bool
	reason string
	// look says that the project may well be as it should be.
	look bool
}

// mentions returns what is looked for in this project.
func (m *migration) mentions() []mention {
	if m.opts.KeepRuntime {
		return nil
	}
	all := []mention{{
		found: func(line string) bool {
			_, after, found := strings.Cut(strings.ReplaceAll(line, "$(OPERATOR_SDK)", "operator-sdk"), "operator-sdk ")
			return found && strings.HasPrefix(strings.TrimLeft(after, " "), "generate ")
		},
		reason: "operator-sdk generate reads PROJECT, which is kctrl's now: call it in a folder with the PROJECT of before, or migrate with --keep-runtime",
	}}
	if m.peer.mainFile == oldMainFile {
		all = append(all, mention{
			found: func(line string) bool {
				return slices.ContainsFunc(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n\"'=,:`()", r) }), func(word string) bool {
					return word == oldMainFile || word == "./"+oldMainFile
				})
			},
			reason: "main.go is cmd/main.go now",
			look:   true,
		})
	}
	return all
}

// isText reports whether a file is one in which commands and flags are named.
func isText(name string) bool {
	base := path.Base(name)
	return slices.Contains([]string{".yaml", ".yml", ".sh", ".mk"}, path.Ext(base)) || slices.Contains([]string{"Makefile", "makefile", "GNUmakefile", "Tiltfile"}, base) || isDockerfile(name)
}

// mention reports the lines that mean something else now.
func (m *migration) mention() error {
	all := m.mentions()
	if len(all) == 0 {
		return nil
	}
	names, err := m.named(isText)
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := m.plan.Read(name)
		if err != nil {
			return err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for _, at := range all {
				if at.found(line) {
					m.report.Left = append(m.report.Left, Left{File: name, Line: n, Code: oneLine(line), Reason: at.reason, Rewritten: at.look})
				}
			}
		}
	}
	return nil
}
