package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/kctrl-dev/kctrl/bench/corpus"
)

// table counts files by project and generator.
type table struct {
	rows        []*row
	differences []string
}

// row counts the files of one generator in one project. A file that several calls write is counted once for each call.
type row struct {
	project, generator   string
	files, bytes         int // written by controller-gen
	identical, different int // comparisons; repeated runs compare a file several times
}

// count adds a file that controller-gen wrote.
func (t *table) count(project, name, content string) {
	r := t.row(project, generatorOf(name, content))
	r.files++
	r.bytes += len(content)
}

// add compares a file that both tools wrote. Nil means that the tool did not write it.
func (t *table) add(project, name string, want, got *string) {
	content := got
	if want != nil {
		content = want
	}
	r := t.row(project, generatorOf(name, *content))
	if want != nil && got != nil && *want == *got {
		r.identical++
		return
	}
	r.different++
	switch {
	case got == nil:
		t.differ(project, name, "written by controller-gen only")
	case want == nil:
		t.differ(project, name, "written by kctrl only")
	default:
		t.differ(project, name, firstDifference(*want, *got))
	}
}

// exit records that one or both tools failed.
func (t *table) exit(project string, call []string, failed, refused *corpus.Failed) {
	arguments := strings.Join(call, " ")
	switch {
	case failed != nil && refused != nil:
		t.differ(project, arguments, "both fail: "+failed.Error())
	case failed != nil:
		t.differ(project, arguments, "only controller-gen fails: "+failed.Error())
	case refused != nil:
		t.differ(project, arguments, "only kctrl fails: "+refused.Error())
	}
}

// differ records a difference once.
func (t *table) differ(project, name, what string) {
	text := fmt.Sprintf("%s: %s: %s", project, name, what)
	for _, known := range t.differences {
		if known == text {
			return
		}
	}
	t.differences = append(t.differences, text)
}

func (t *table) row(project, generator string) *row {
	for _, r := range t.rows {
		if r.project == project && r.generator == generator {
			return r
		}
	}
	r := &row{project: project, generator: generator}
	t.rows = append(t.rows, r)
	return r
}

// same reports whether at least one file was compared and all were identical.
func (t *table) same() bool { return len(t.rows) > 0 && len(t.differences) == 0 }

func (t *table) print(out io.Writer) {
	fmt.Fprintf(out, "| project | generator | files | bytes | compared | identical |\n|---|---|---:|---:|---:|---:|\n")
	var all row
	for _, r := range t.rows {
		r.print(out, r.project)
		all.files += r.files
		all.bytes += r.bytes
		all.identical += r.identical
		all.different += r.different
	}
	all.print(out, "all")
	for i, text := range t.differences {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, "-", text)
	}
}

func (r *row) print(out io.Writer, project string) {
	fmt.Fprintf(out, "| %s | %s | %d | %d | %d | %d |\n", project, r.generator, r.files, r.bytes, r.identical+r.different,
		r.identical)
}

// generatorOf returns the generator that writes such a file.
func generatorOf(name, content string) string {
	switch {
	case strings.HasSuffix(name, ".go") && strings.Contains(name, "applyconfiguration/"):
		return "applyconfiguration"
	case strings.HasSuffix(name, ".go"):
		return "object"
	case strings.Contains(name, "out/patched/"):
		return "schemapatch"
	case strings.Contains(content, "\nkind: CustomResourceDefinition\n"):
		return "crd"
	case strings.Contains(content, "\nkind: ClusterRole\n"), strings.Contains(content, "\nkind: Role\n"):
		return "rbac"
	case strings.Contains(content, "WebhookConfiguration\n"):
		return "webhook"
	default:
		return "other"
	}
}

// firstDifference describes the first line that differs.
func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		left, right := line(a, i), line(b, i)
		if left != right {
			return fmt.Sprintf("line %d: controller-gen has %s, kctrl has %s", i+1, left, right)
		}
	}
	return "no difference"
}

func line(lines []string, i int) string {
	if i >= len(lines) {
		return "no such line"
	}
	return fmt.Sprintf("%q", lines[i])
}
