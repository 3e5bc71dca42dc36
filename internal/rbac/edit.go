package rbac

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/access"
	"github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
)

// grant is a part of a marker: resources of one API group with the same verbs.
type grant struct {
	group            string
	resources, verbs []string
}

// editor changes markers, and keeps all other bytes of the files.
type editor struct {
	read    func(name string) ([]byte, error)
	markers []rule
	grants  map[*marker][]grant // contents of changed markers; empty removes the marker
	after   map[*marker][]*rule // new markers, by the marker above them
	before  map[string][]*rule  // new markers in files without markers
	sites   map[string]token.Position
}

// Edit returns the contents of the files that change by name. It adds missing permissions to the markers, and removes
// permissions in excess.
func Edit(report *Report, read func(name string) ([]byte, error)) (map[string][]byte, error) {
	e := &editor{
		read: read, markers: report.markers, grants: map[*marker][]grant{}, after: map[*marker][]*rule{},
		before: map[string][]*rule{}, sites: map[string]token.Position{},
	}
	for _, f := range report.Findings {
		if f.Class == Excess {
			e.grants[f.marker] = kept(f.keep)
		}
	}
	for _, f := range report.Findings {
		if f.Class == Missing && f.adds != nil {
			e.add(f)
		}
	}
	return e.files()
}

// kept groups the resources that remain in a marker by group and verbs.
func kept(keep map[access.Resource][]string) []grant {
	byVerbs := map[string]*grant{}
	for resource, verbs := range keep {
		key := resource.Group + " " + strings.Join(verbs, ";")
		if byVerbs[key] == nil {
			byVerbs[key] = &grant{group: resource.Group, verbs: verbs}
		}
		byVerbs[key].resources = append(byVerbs[key].resources, resource.Name)
	}
	all := []grant{}
	for _, key := range slices.Sorted(maps.Keys(byVerbs)) {
		slices.Sort(byVerbs[key].resources)
		all = append(all, *byVerbs[key])
	}
	return all
}

// add extends the marker of the resource in the file of the call, or adds a marker below the last one in that file.
func (e *editor) add(f Finding) {
	for _, file := range filesOf(f.Sites[0]) {
		var last *marker
		for _, r := range e.markers {
			if r.marker.pos.Filename != file {
				continue
			}
			last = r.marker
			if e.extends(r, f.adds) {
				return
			}
		}
		if last != nil {
			e.after[last] = append(e.after[last], f.adds)
			return
		}
	}
	file := f.Sites[0].Pos.Filename
	e.before[file] = append(e.before[file], f.adds)
	if _, known := e.sites[file]; !known {
		e.sites[file] = f.Sites[0].Pos
	}
}

// filesOf returns the files of a call chain, from the call to main.
func filesOf(site access.Site) []string {
	files := []string{site.Pos.Filename}
	for _, frame := range slices.Backward(site.Chain) {
		files = append(files, frame.Pos.Filename)
	}
	return slices.Compact(files)
}

// extends adds the verbs to a marker, and reports true, if the marker has exactly the same groups and resources.
func (e *editor) extends(r rule, adds *rule) bool {
	if len(r.names) > 0 || len(adds.names) > 0 || r.namespace != adds.namespace || !slices.Equal(r.groups, adds.groups) ||
		!slices.Equal(r.resources, adds.resources) {
		return false
	}
	current, changed := e.grants[r.marker]
	if !changed {
		current = []grant{{r.groups[0], r.resources, slices.Clone(r.verbs)}}
	}
	if len(current) != 1 {
		return false
	}
	for _, verb := range adds.verbs {
		if !slices.Contains(current[0].verbs, verb) {
			current[0].verbs = append(current[0].verbs, verb)
		}
	}
	e.grants[r.marker] = current
	return true
}

// files returns the contents of all changed files.
func (e *editor) files() (map[string][]byte, error) {
	changes := map[string][]edit.Splice{}
	for _, r := range e.markers {
		name := r.marker.pos.Filename
		grants, changed := e.grants[r.marker]
		added := e.after[r.marker]
		if !changed && len(added) == 0 {
			continue
		}
		content, err := e.read(name)
		if err != nil {
			return nil, err
		}
		changes[name] = append(changes[name], e.rewrite(content, r, grants, changed, added))
	}
	for name, rules := range e.before {
		content, err := e.read(name)
		if err != nil {
			return nil, err
		}
		changes[name] = append(changes[name], insertion(name, content, e.sites[name], rules))
	}
	files := map[string][]byte{}
	for name, all := range changes {
		content, err := e.read(name)
		if err != nil {
			return nil, err
		}
		files[name] = edit.Apply(content, all)
	}
	return files, nil
}

// rewrite returns the change to the line of one marker.
func (e *editor) rewrite(content []byte, r rule, grants []grant, changed bool, added []*rule) edit.Splice {
	m := r.marker
	start := bytes.LastIndexByte(content[:m.offset], '\n') + 1
	end := m.offset + bytes.IndexByte(append(content[m.offset:], '\n'), '\n')
	end = min(end, len(content))
	prefix := string(content[start:m.offset])
	var lines []string
	switch {
	case !changed:
		lines = append(lines, string(content[m.offset:end]))
	default:
		for _, g := range grants {
			lines = append(lines, withArguments(string(content[m.offset:end]), r, g))
		}
	}
	for _, rule := range added {
		lines = append(lines, rule.text())
	}
	if len(lines) == 0 {
		return edit.Splice{From: start, To: min(end+1, len(content))}
	}
	return edit.Splice{From: start, To: end, Text: prefix + strings.Join(lines, "\n"+prefix)}
}

// withArguments returns the text of a marker with the groups, resources and verbs of g.
func withArguments(text string, r rule, g grant) string {
	if !slices.Equal(r.groups, []string{g.group}) {
		group := g.group
		if group == "" {
			group = `""`
		}
		text = withArgument(text, "groups", group)
	}
	sorted := slices.Sorted(slices.Values(r.resources))
	if !slices.Equal(sorted, g.resources) && !slices.Equal(r.resources, g.resources) {
		text = withArgument(text, "resources", strings.Join(g.resources, ";"))
	}
	if !slices.Equal(r.verbs, g.verbs) {
		text = withArgument(text, "verbs", strings.Join(g.verbs, ";"))
	}
	return text
}

// withArgument replaces the value of an argument of a marker.
func withArgument(text, name, value string) string {
	at := markers.ArgumentValueOffset(text, name)
	if at == 0 {
		return text
	}
	rest := text[at:]
	end := len(rest)
	closing := map[byte]string{'"': `"`, '`': "`", '{': "}"}
	if close, quoted := closing[rest[0]]; quoted {
		if i := strings.Index(rest[1:], close); i >= 0 {
			end = i + 2
		}
	} else if i := strings.IndexByte(rest, ','); i >= 0 {
		end = i
	}
	return text[:at] + value + rest[end:]
}

// insertion returns the change that adds markers above the declaration that contains a position.
func insertion(name string, content []byte, at token.Position, rules []*rule) edit.Splice {
	var lines strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&lines, "// %s\n", r.text())
	}
	lines.WriteString("\n")
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return edit.Splice{From: len(content), To: len(content), Text: "\n" + lines.String()}
	}
	for _, decl := range file.Decls {
		if fset.Position(decl.End()).Line < at.Line {
			continue
		}
		pos := decl.Pos()
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Doc != nil {
			pos = fn.Doc.Pos()
		}
		at := fset.Position(pos).Offset
		return edit.Splice{From: at, To: at, Text: lines.String()}
	}
	return edit.Splice{From: len(content), To: len(content), Text: "\n" + lines.String()}
}
