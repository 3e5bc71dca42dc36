package migrate

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// generatorTargets are prerequisites of rules that call controller-gen.
var generatorTargets = []string{"controller-gen", "$(CONTROLLER_GEN)", "${CONTROLLER_GEN}"}

// generatorCall matches controller-gen in a recipe: by its variable, by go run or go tool, or by its path.
var generatorCall = regexp.MustCompile(
	`"?\$[({]CONTROLLER_GEN[)}]"?|go (?:run|tool) \S*controller-gen(?:@\S+)?|[\w./$()]*\bcontroller-gen\b`)

// envtestVersion matches a setup-envtest version that the Makefile derives from go.mod. A replaced module has no
// version.
var envtestVersion = regexp.MustCompile(`(?m)^ENVTEST_VERSION \?= .*gomodver,sigs\.k8s\.io/controller-runtime\b`)

func isMakefile(name string) bool {
	base := path.Base(name)
	return base == "Makefile" || base == "makefile" || base == "GNUmakefile" || path.Ext(name) == ".mk"
}

// makefile returns the text of a Makefile that calls kctrl gen instead of controller-gen, with the same arguments. It
// keeps the rules that install controller-gen. version is the version of controller-runtime.
func makefile(text, version string) string {
	lines := logicalLines(text)
	rule, called := -1, false
	for i, line := range lines {
		switch {
		case !strings.HasPrefix(line, "\t"):
			if targetsOf(line) != "" {
				rule = i
			}
		case strings.Contains(line, "paths=") && generatorCall.MatchString(line):
			lines[i] = replaceCalls(line)
			called = true
			if rule >= 0 {
				lines[rule] = withoutPrerequisites(lines[rule], generatorTargets)
			}
		}
	}
	var header string
	if called && !strings.Contains(text, "KCTRL ?=") {
		header += "# kctrl generates code and manifests, and starts API servers for tests.\nKCTRL ?= kctrl\nexport KCTRL\n"
	}
	if envtestVersion.MatchString(text) && !strings.Contains("\n"+text, "\nENVTEST_VERSION ?= v") {
		header += "ENVTEST_VERSION ?= " + version + "\n"
	}
	if header != "" {
		header += "\n"
	}
	return header + strings.Join(lines, "")
}

// replaceCalls replaces controller-gen in a recipe if arguments follow it.
func replaceCalls(line string) string {
	var out strings.Builder
	for {
		at := generatorCall.FindStringIndex(line)
		if at == nil {
			return out.String() + line
		}
		out.WriteString(line[:at[0]])
		if rest := line[at[1]:]; strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, " ]") {
			out.WriteString("$(KCTRL) gen")
		} else {
			out.WriteString(line[at[0]:at[1]])
		}
		line = line[at[1]:]
	}
}

// targetsOf returns the targets if line is the first line of a rule, and "" otherwise.
func targetsOf(line string) string {
	targets, rest, found := strings.Cut(line, ":")
	if !found || strings.HasPrefix(rest, "=") || strings.ContainsAny(targets, "=#") {
		return ""
	}
	return strings.TrimSpace(targets)
}

// withoutPrerequisites removes prerequisites from the first line of a rule.
func withoutPrerequisites(line string, names []string) string {
	targets, rest, _ := strings.Cut(line, ":")
	prerequisites, comment, hasComment := strings.Cut(rest, "#")
	words := strings.Fields(prerequisites)
	kept := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(names, word) })
	if len(kept) == len(words) {
		return line
	}
	line = strings.TrimRight(targets+": "+strings.Join(kept, " "), " ")
	if hasComment {
		return line + " #" + comment
	}
	return line + "\n"
}

// logicalLines splits a text into lines. It joins each line with the lines that continue it after a backslash.
func logicalLines(text string) []string {
	var lines []string
	continued := false
	for line := range strings.Lines(text) {
		if continued {
			lines[len(lines)-1] += line
		} else {
			lines = append(lines, line)
		}
		continued = strings.HasSuffix(strings.TrimRight(line, "\r\n"), `\`)
	}
	return lines
}
