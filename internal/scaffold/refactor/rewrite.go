package refactor

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
)

// writeOthers plans the changes of the user's files: their new paths, and the new names in Go files.
func (r *Refactoring) writeOthers() error {
	names := slices.Clone(r.others)
	done := map[string]bool{}
	for entry := range r.was.Lock.All() {
		done[entry.Path], done[r.newPath(entry.Path)] = true, true
	}
	for _, s := range r.sources {
		if !done[s.Name] {
			names = append(names, s.Name)
		}
	}
	for _, name := range names {
		if err := r.writeOther(name); err != nil {
			return err
		}
	}
	return nil
}

// writeOther plans one file of the user.
func (r *Refactoring) writeOther(name string) error {
	content, err := r.plan.Read(name)
	if err != nil {
		return err
	}
	to := r.newPath(name)
	if path.Ext(name) == ".go" && !slices.Contains(strings.Split(name, "/"), "testdata") {
		if content, err = r.Rewrite(name, content); err != nil {
			return err
		}
		r.noteRelative(name, to, content, nil)
	}
	if to != name {
		c, err := r.plan.Lookup(to)
		if err != nil {
			return err
		}
		if c.After != nil {
			return sync.Occupied(name, to)
		}
		if err := r.plan.Move(name, to); err != nil {
			return err
		}
	}
	return r.plan.Edit(to, content)
}

// Rewrite returns a Go file with the imports, names and groups of the new state. It returns a file that does not parse
// unchanged.
func (r *Refactoring) Rewrite(name string, text []byte) ([]byte, error) {
	s, ok := gosource.ParseSource(name, text)
	if !ok {
		return text, nil
	}
	if len(r.sources) > 0 {
		s.Packages = r.sources[0].Packages // which all sources share
	}
	var changes []edit.Splice
	for _, spec := range s.File.Imports {
		old, _ := strconv.Unquote(spec.Path.Value)
		now, err := r.newImport(s, old)
		if err != nil {
			return nil, err
		}
		if now != old {
			changes = append(changes, s.Replacing(spec.Path, strconv.Quote(now)))
		}
		if err := r.checkInternal(s, spec, now); err != nil {
			return nil, err
		}
	}
	changes = slices.Concat(changes, r.renames(s), r.packageNames(s), r.groupWords(s))
	if len(changes) == 0 {
		return text, nil
	}
	formatted, err := format.Source(text)
	wasFormatted := err == nil && bytes.Equal(formatted, text)
	out := edit.Apply(text, changes)
	if wasFormatted {
		if formatted, err := format.Source(out); err == nil {
			out = formatted
		}
	}
	return out, nil
}

// checkInternal rejects a move to a directory from which Go does not allow one of the file's internal imports.
func (r *Refactoring) checkInternal(s gosource.GoSource, spec *ast.ImportSpec, importPath string) error {
	from, to := path.Dir(s.Name), path.Dir(r.newPath(s.Name))
	at := strings.LastIndex("/"+importPath+"/", "/internal/")
	if from == to || at < 0 {
		return nil
	}
	above := importPath[:max(at-1, 0)]
	if inside := path.Join(r.after.Repo, to); inside == above || strings.HasPrefix(inside, above+"/") {
		return nil
	}
	return diagnostic.At(s.Position(spec.Pos()),
		fmt.Sprintf("the file goes to %s, and Go does not allow it to import %s from there", to, importPath),
		"move what it imports out of internal first, or next to where the file goes")
}

// newImport returns the new path of an import.
func (r *Refactoring) newImport(s gosource.GoSource, importPath string) (string, error) {
	folder, inside := layout.DirOf(r.before.Repo, importPath)
	if !inside {
		return importPath, nil
	}
	targets := r.dirs[folder]
	if len(targets) > 1 {
		used := map[string]bool{}
		for _, u := range s.Idents(r.before.Repo) {
			if u.Pkg.Folder == folder && !u.Pkg.External {
				used[r.dirOfName(u.GoName)] = true
			}
		}
		targets = slices.Sorted(maps.Keys(used))
		if len(targets) > 1 {
			return "", diagnostic.In(s.Name,
				fmt.Sprintf("uses declarations of %s that go to %s", folder, strings.Join(targets, " and ")),
				"use them in files of their own first")
		}
	}
	if len(targets) == 1 && targets[0] != "" {
		folder = targets[0]
	}
	return path.Join(r.after.Repo, folder), nil
}

// renames returns the replacements for package-level names that a file declares or uses.
func (r *Refactoring) renames(s gosource.GoSource) []edit.Splice {
	var changes []edit.Splice
	_, scaffolded := r.was.Lock.Entry(s.Name)
	_, same := r.same(s.Name)
	var locals map[*ast.Ident]bool
	for _, ident := range s.Idents(r.before.Repo) {
		now, found := r.renamed[ident.GoName]
		for _, pkg := range s.DotImports(r.before.Repo) {
			if !found && ident.Pkg == s.Pkg() {
				now, found = r.renamed[gosource.GoName{Pkg: pkg, Name: ident.Name}]
			}
		}
		if found && locals == nil {
			locals = s.Locals()
		}
		found = found && !locals[ident.Node]
		if !found && scaffolded && !same && ident.Pkg == s.Pkg() {
			now, found = r.locals[ident.Name]
		}
		if found {
			changes = append(changes, s.Replacing(ident.Node, now))
		}
	}
	ast.Inspect(s.File, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok {
			field, ok := r.fields[s.Name][s.Offset(ident.Pos())]
			if now, found := r.renamed[field]; ok && found && field.Name == ident.Name {
				changes = append(changes, s.Replacing(ident, now))
			}
		}
		return true
	})
	return changes
}

// same returns the content that kctrl writes to a file, and whether it is the same in both states. If it is the same,
// the names in the file belong to kinds whose names do not change, such as a kind of another group with the same name
// as the renamed kind.
func (r *Refactoring) same(name string) (text []byte, same bool) {
	text = r.was.Contents[name]
	return text, text != nil && bytes.Equal(text, r.becomes.Contents[r.newPath(name)])
}

// packageNames returns the replacements for the name of an API package, and for the local names of its imports.
func (r *Refactoring) packageNames(s gosource.GoSource) []edit.Splice {
	var changes []edit.Splice
	replace := func(ident *ast.Ident, now string) {
		changes = append(changes, s.Replacing(ident, now))
	}
	if names := r.packages[path.Dir(s.Name)]; names[0] != names[1] {
		for _, test := range []string{"", "_test"} {
			if s.File.Name.Name == names[0]+test {
				replace(s.File.Name, names[1]+test)
			}
		}
	}
	renamed := map[string]string{}
	for _, spec := range s.File.Imports {
		folder, inside := layout.DirOf(r.before.Repo, strings.Trim(spec.Path.Value, "\"`"))
		alias, names := r.aliases[folder], r.packages[folder]
		switch {
		case inside && spec.Name != nil && alias[0] == spec.Name.Name && alias[0] != alias[1] && !s.Mentions(alias[1]):
			renamed[alias[0]] = alias[1]
			replace(spec.Name, alias[1])
		case inside && spec.Name == nil && names[0] != names[1] && !s.Mentions(names[1]):
			renamed[names[0]] = names[1]
		case inside && spec.Name == nil && names[0] != names[1]:
			at := s.Offset(spec.Pos()) // the file continues to use the old name
			changes = append(changes, edit.Splice{From: at, To: at, Text: names[0] + " "})
		}
	}
	if len(renamed) == 0 {
		return changes
	}
	locals := s.Locals()
	ast.Inspect(s.File, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && renamed[x.Name] != "" && !locals[x] {
				replace(x, renamed[x.Name])
			}
		}
		return true
	})
	return changes
}

// groupWords returns the replacements in comments and string literals. In markers and string literals it replaces API
// groups, kinds and the namespace. In kctrl's files it also replaces names in other comments and
// words in string literals. It keeps the literals of a user's file that imports no Kubernetes API, because there a word
// can have any meaning, such as the name of a table.
func (r *Refactoring) groupWords(s gosource.GoSource) []edit.Splice {
	var changes []edit.Splice
	_, scaffolded := r.was.Lock.Entry(s.Name)
	aboutAPIs := scaffolded || r.importsAPIs(s)
	noted := false
	words := r.words
	if text, same := r.same(s.Name); same {
		scaffolded, words = false, maps.Clone(r.words)
		maps.DeleteFunc(words, func(from, _ string) bool { return bytes.Contains(text, []byte(from)) })
	}
	comments := words
	if scaffolded {
		comments = maps.Clone(words)
		for name, now := range r.renamed {
			if name.Pkg == s.Pkg() {
				comments[name.Name] = now
			}
		}
	}
	for _, group := range s.File.Comments {
		for _, c := range group.List {
			text := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
			if !strings.HasPrefix(c.Text, "//") || !scaffolded && !strings.HasPrefix(text, "+kubebuilder:") &&
				!strings.HasPrefix(text, "+groupName=") {
				continue
			}
			now := replaceWords(r.inNamespace(c.Text), comments)
			if now != c.Text {
				changes = append(changes, s.Replacing(c, now))
			}
		}
	}
	named := map[ast.Node]bool{}
	ast.Inspect(s.File, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 {
			method, ok := call.Fun.(*ast.SelectorExpr)
			named[call.Args[0]] = ok && method.Sel.Name == "Named"
		}
		if composite, ok := n.(*ast.CompositeLit); ok && aboutAPIs {
			changes = append(changes, r.versionOf(s, composite)...)
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			now := wholeWord(lit.Value, words)
			if !aboutAPIs && now != lit.Value {
				if !noted {
					r.plan.Note(diagnostic.At(s.Position(lit.Pos()),
						lit.Value+" is unchanged, because the file imports no Kubernetes API",
						"change it to "+now+" if it has the same meaning, and check the other strings of this file"))
				}
				noted = true
				return true
			}
			if scaffolded && now == lit.Value {
				now = replaceWords(lit.Value, r.literals)
			}
			if scaffolded && named[lit] {
				now = wholeWord(lit.Value, r.controllers)
			}
			if now != lit.Value {
				changes = append(changes, s.Replacing(lit, now))
			}
		}
		_, isImport := n.(*ast.ImportSpec)
		return !isImport
	})
	return changes
}

// importsAPIs reports whether a file imports a package of the project's API, or a Kubernetes library.
func (r *Refactoring) importsAPIs(s gosource.GoSource) bool {
	if _, found := r.packages[path.Dir(s.Name)]; found {
		return true
	}
	for _, importPath := range s.Imports() {
		folder, inside := layout.DirOf(r.before.Repo, importPath)
		_, found := r.packages[folder]
		root, _, _ := strings.Cut(importPath, "/")
		if inside && found || strings.HasPrefix(importPath, layout.RuntimeModule+"/") ||
			slices.Contains([]string{"k8s.io", "sigs.k8s.io"}, root) {
			return true
		}
	}
	return false
}

// versionOf returns the replacement for the version in a literal such as schema.GroupVersionKind{Group: "webapp.x.io",
// Version: "v1"}.
func (r *Refactoring) versionOf(s gosource.GoSource, composite *ast.CompositeLit) []edit.Splice {
	fields := map[string]*ast.BasicLit{"Group": {}, "Version": {}}
	for _, element := range composite.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			key, _ := pair.Key.(*ast.Ident)
			if lit, ok := pair.Value.(*ast.BasicLit); ok && key != nil {
				fields[key.Name] = lit
			}
		}
	}
	group, _ := strconv.Unquote(fields["Group"].Value)
	version, _ := strconv.Unquote(fields["Version"].Value)
	if now, found := r.versions[[2]string{group, version}]; found {
		return []edit.Splice{s.Replacing(fields["Version"], strconv.Quote(now))}
	}
	return nil
}

// wholeWord returns a string literal, or its replacement if the whole string is one of the words.
func wholeWord(literal string, words map[string]string) string {
	if text, err := strconv.Unquote(literal); err == nil {
		if now, found := words[text]; found {
			return strconv.Quote(now)
		}
	}
	return literal
}

const rbacMarker = "+kubebuilder:rbac:"

// inNamespace returns an RBAC marker with the namespace of the new state after the groups.
func (r *Refactoring) inNamespace(comment string) string {
	before, text, found := strings.Cut(comment, rbacMarker)
	if !found || r.namespace[0] == r.namespace[1] {
		return comment
	}
	args := strings.Split(text, ",")
	at := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "namespace=") })
	old := ""
	if at >= 0 {
		old = strings.TrimPrefix(args[at], "namespace=")
		args = slices.Delete(args, at, at+1)
	}
	if old != r.namespace[0] {
		return comment
	}
	if now := r.namespace[1]; now != "" {
		args = slices.Insert(args, 1, "namespace="+now)
	}
	return before + rbacMarker + strings.Join(args, ",")
}

// replaceWords replaces words in a text. A word consists of characters that DNS names allow.
func replaceWords(text string, words map[string]string) string {
	var out strings.Builder
	isWord := func(c byte) bool {
		return c == '.' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && isWord(text[end]) {
			end++
		}
		if end == at {
			out.WriteByte(text[at])
			at++
			continue
		}
		word := text[at:end]
		name := strings.TrimRight(word, ".-")
		if now, found := words[name]; found {
			word = now + word[len(name):]
		}
		out.WriteString(word)
		at = end
	}
	return out.String()
}
