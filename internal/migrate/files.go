package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// editFiles plans what becomes of the files that are no Go code: those that name tools of kubebuilder.
func (m *migration) editFiles(context.Context) error {
	workflows, err := fs.Glob(m.plan.FS(), ".github/workflows/*.y*ml")
	if err != nil {
		return err
	}
	edits := map[string]func(string) string{
		"Makefile":      m.makefile,
		"Dockerfile":    m.dockerfile,
		".dockerignore": m.dockerignore,
	}
	for _, name := range workflows {
		edits[name] = m.workflow
	}
	var errs []error
	for name, change := range edits {
		text, err := m.plan.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if after := change(string(text)); after != string(text) {
			errs = append(errs, m.plan.WriteFile(plan.File{Path: name, Content: []byte(after), Policy: plan.Edit}))
		}
	}
	return errors.Join(errs...)
}

// makeRule is a rule of a Makefile with its recipe, or any other line.
type makeRule struct {
	target string // empty for other lines
	lines  []string
}

// makeRules splits a Makefile. What continues on the next line is one.
func makeRules(text string) []makeRule {
	var rules []makeRule
	continued := false
	for line := range strings.Lines(text) {
		switch {
		case len(rules) > 0 && (continued || strings.HasPrefix(line, "\t") && rules[len(rules)-1].target != ""):
			last := &rules[len(rules)-1]
			last.lines = append(last.lines, line)
		default:
			rules = append(rules, makeRule{target: targetOf(line), lines: []string{line}})
		}
		continued = strings.HasSuffix(strings.TrimRight(line, "\r\n"), `\`)
	}
	return rules
}

// targetOf returns the target of the first line of a rule, or "".
func targetOf(line string) string {
	before, after, found := strings.Cut(line, ":")
	if !found || strings.HasPrefix(after, "=") || strings.ContainsAny(before, "#=?+") || strings.HasPrefix(line, " ") {
		return ""
	}
	return strings.TrimSpace(before)
}

// The tools of kubebuilder that kctrl is: targets of their own, and the variables that they are described by.
var (
	toolTargets   = []string{"controller-gen", "envtest", "setup-envtest", "$(CONTROLLER_GEN)", "$(ENVTEST)"}
	toolVariables = []string{"CONTROLLER_TOOLS_VERSION", "CONTROLLER_GEN_VERSION", "ENVTEST", "ENVTEST_VERSION", "ENVTEST_K8S_VERSION", "#ENVTEST_VERSION", "#ENVTEST_K8S_VERSION"}
)

// makefile replaces controller-gen by kctrl gen, which takes the same arguments, and does without the programs of envtest.
func (m *migration) makefile(text string) string {
	var out strings.Builder
	for _, rule := range makeRules(text) {
		first := rule.lines[0]
		name := first
		if end := strings.IndexAny(first, "?:+= \n"); end >= 0 {
			name = first[:end]
		}
		switch {
		case slices.Contains(toolTargets, rule.target):
			continue
		case rule.target == ".PHONY" && slices.Contains(toolTargets, strings.TrimSpace(strings.TrimPrefix(first, ".PHONY:"))):
			continue
		case rule.target == "" && name == "CONTROLLER_GEN":
			out.WriteString("KCTRL ?= kctrl\n")
			continue
		case rule.target == "" && slices.Contains(toolVariables, name) && !m.opts.KeepRuntime:
			continue
		case rule.target == "" && strings.HasPrefix(name, "CONTROLLER_"):
			continue
		}
		for i, line := range rule.lines {
			if i == 0 && rule.target != "" {
				line = withoutPrerequisites(line)
			}
			out.WriteString(m.makeLine(line))
		}
	}
	return out.String()
}

// withoutPrerequisites takes the tools off the prerequisites of a rule.
func withoutPrerequisites(line string) string {
	head, comment, hasComment := strings.Cut(line, "#")
	for _, tool := range toolTargets {
		target, rest, _ := strings.Cut(head, ":")
		fields := strings.Fields(rest)
		if !slices.Contains(fields, tool) {
			continue
		}
		fields = slices.DeleteFunc(fields, func(field string) bool { return field == tool })
		head = strings.TrimRight(target+": "+strings.Join(fields, " "), " ")
		if hasComment {
			head += " "
		} else {
			head += "\n"
		}
	}
	if hasComment {
		return head + "#" + comment
	}
	return head
}

// makeLine replaces what a line calls.
func (m *migration) makeLine(line string) string {
	for _, call := range []string{`"$(CONTROLLER_GEN)"`, "$(CONTROLLER_GEN)", "${CONTROLLER_GEN}"} {
		line = strings.ReplaceAll(line, call, "$(KCTRL) gen")
	}
	if m.opts.KeepRuntime {
		return line
	}
	if strings.HasPrefix(line, "\t") {
		if _, after, found := strings.Cut(line, "KUBEBUILDER_ASSETS="); found {
			if end := endOfWord(after); end > 0 {
				line = "\t" + strings.TrimLeft(after[end:], " ")
			}
		}
	}
	return m.mainPath(line)
}

// endOfWord returns where the first word of a shell command ends, quotes and parentheses included.
func endOfWord(text string) int {
	depth, quoted := 0, false
	for i, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == '"' && depth == 0:
			quoted = !quoted
		case r == ' ' && depth == 0 && !quoted:
			return i
		}
	}
	return -1
}

// mainPath has the go command build a package where it built a file.
func (m *migration) mainPath(line string) string {
	if m.peer.mainFile == "" || !strings.Contains(line, "go build") && !strings.Contains(line, "go run") {
		return line
	}
	words := strings.Split(line, " ")
	for i, word := range words {
		name, end, _ := strings.Cut(word, "\n")
		if strings.TrimPrefix(name, "./") == m.peer.mainFile {
			words[i] = "./cmd"
			if end != "" || strings.HasSuffix(word, "\n") {
				words[i] += "\n" + end
			}
		}
	}
	return strings.Join(words, " ")
}

// goVersion is the oldest version of Go that compiles the runtime, as images of Go name it.
const goVersion = "1.26"

// dockerfile copies the runtime before the modules are downloaded, and has a Go that compiles it.
func (m *migration) dockerfile(text string) string {
	if m.opts.KeepRuntime {
		return text
	}
	var out strings.Builder
	copied := strings.Contains(text, "third_party")
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		command := ""
		if len(fields) > 0 {
			command = strings.ToUpper(fields[0])
		}
		switch {
		case (command == "FROM" || command == "ARG") && strings.Contains(line, "golang:"):
			line = newerGo(line)
		case command == "RUN":
			if !copied && strings.Contains(line, "go mod download") {
				copied = true
				out.WriteString("COPY third_party/kctrl/ third_party/kctrl/\n")
			}
			line = m.mainPath(line)
		case command == "COPY" && len(fields) > 1 && fields[1] == oldMainFile && m.peer.mainFile == oldMainFile:
			line = "COPY cmd/ cmd/\n"
		case command == "COPY" && len(fields) == 3 && fields[1] == mainFile:
			line = "COPY cmd/ cmd/\n"
		}
		out.WriteString(line)
	}
	return out.String()
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
	if m.opts.KeepRuntime || !strings.Contains(text, "!go.mod") || strings.Contains(text, "third_party") {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n\n# Re-include the bundled runtime\n!third_party/kctrl/**/*.go\n!third_party/kctrl/go.mod\n!third_party/kctrl/go.sum\n"
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
