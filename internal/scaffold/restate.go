package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// restatement brings a project from one state to another that has the same kinds, in the same order, under other names or in other
// places. What kctrl writes for both states says what changes; in files that the user has edited it is merged.
type restatement struct {
	plan          *plan.Plan
	before, after *project.Project
	// was and becomes are the project as kctrl would write it, in both states.
	was, becomes replayedProject
	// moved has the new paths of files, folders those of packages: several if the files of one go to different ones.
	moved   map[string]string
	folders map[string][]string
	// renamed has new names of what packages declare, by folder and old name; aliases those that files import packages under, by the
	// folder; packages those of packages themselves; locals those of variables in what kctrl writes.
	renamed           map[goName]string
	aliases, packages map[string][2]string
	locals            map[string]string
	// words has what replaces whole words in markers and, as a whole, string literals: API groups and the like.
	words map[string]string
	// namespace is what RBAC markers name: "" for none, of both states.
	namespace [2]string
	force     bool
}

// restate plans that a project comes from one state into another. header is what Go files begin with then.
func restate(p *plan.Plan, before, after *project.Project, kctrl Build, header []byte, force bool) error {
	old, err := p.Read(boilerplateFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r := &restatement{
		plan: p, before: before, after: after, moved: map[string]string{}, folders: map[string][]string{}, renamed: map[goName]string{},
		aliases: map[string][2]string{}, packages: map[string][2]string{}, locals: map[string]string{},
		words: map[string]string{}, force: force,
	}
	if err := r.replay(kctrl, old, header); err != nil {
		return err
	}
	for i, proj := range []*project.Project{before, after} {
		if proj.Namespaced {
			r.namespace[i] = templates.Namespace(proj.Name)
		}
	}
	r.findNames()
	if err := p.WriteFile(plan.File{Path: boilerplateFile, Content: header, Policy: plan.Edit}); err != nil {
		return err
	}
	for _, step := range []func() error{
		r.findMoves, r.findRenamed, r.moveOthers, r.writeScaffolded, r.writeOthers, r.writeModule, r.rewriteManifests,
		func() error { return deployWebhooks(p, after) },
		func() error { return writeRegistration(p, after) },
		func() error { return writeProject(p, after) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// replay makes the project in both states. What kctrl cannot make again in the first is the user's, in both; what it could there, and
// not in the second, would be lost. Flags by which a part cannot be made again are not counted, so that what follows from them is the
// user's too.
func (r *restatement) replay(kctrl Build, old, header []byte) error {
	before, after := r.before.Blank(), r.after.Blank()
	before.Resources, after.Resources = slices.Clone(r.before.Resources), slices.Clone(r.after.Resources)
	for {
		var err error
		if r.was, err = replay(r.plan, before, kctrl, old, nil); err != nil {
			return err
		}
		forgotten := false
		for _, f := range r.was.failed {
			flags := f.flags(&before.Resources[f.resource])
			forgotten = forgotten || flags != nil && len(*flags) > 0
			if flags != nil {
				*flags, *f.flags(&after.Resources[f.resource]) = nil, nil
			}
		}
		if forgotten {
			continue
		}
		if r.becomes, err = replay(r.plan, after, kctrl, header, r.was.failed); err != nil {
			return err
		}
		var errs []error
		for _, f := range r.becomes.failed {
			errs = append(errs, f.err)
		}
		return errors.Join(errs...)
	}
}

// findNames says what is called otherwise: groups, kinds and versions, and what Go files call these.
func (r *restatement) findNames() {
	for i, old := range r.before.Resources {
		now := r.after.Resources[i]
		if old.Path != "" {
			continue
		}
		for from, to := range map[string]string{old.APIGroup(): now.APIGroup(), old.Plural: now.Plural, old.Kind: now.Kind} {
			if from != to {
				r.words[from] = to
			}
		}
		was, becomes := templates.NewKind(kindNames(r.before, old, "")), templates.NewKind(kindNames(r.after, now, ""))
		r.aliases[was.Folder] = [2]string{was.Alias, becomes.Alias}
		r.packages[was.Folder] = [2]string{was.Package, becomes.Package}
		if was.Variable != becomes.Variable {
			r.locals[was.Variable] = becomes.Variable
		}
	}
}

// findRenamed says which names that kctrl's files declare become others: those at the same place of the same file.
func (r *restatement) findRenamed() error {
	for entry := range r.was.lock.All() {
		if path.Ext(entry.Path) != ".go" || isFollowing(entry.Path, entry.Template) {
			continue
		}
		was, err := fs.ReadFile(r.was.FS, entry.Path)
		if err != nil {
			return err
		}
		becomes, err := fs.ReadFile(r.becomes.FS, r.newPath(entry.Path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		old, ok := parseSource(entry.Path, was)
		now, parsed := parseSource(entry.Path, becomes)
		if !ok || !parsed {
			continue
		}
		from, to := old.declares(), now.declares()
		for i := range min(len(from), len(to)) {
			if from[i].name != to[i].name {
				r.renamed[from[i]] = to[i].name
			}
		}
	}
	return nil
}

// findMoves says where the parts of the project go.
func (r *restatement) findMoves() error {
	target := map[string]string{}
	for _, part := range partsOf(r.after) {
		target[part.id] = part.path
	}
	taken := map[string]string{}
	for _, part := range partsOf(r.before) {
		to, found := target[part.id]
		if !found || part.kustomization {
			continue
		}
		if path.Ext(part.path) == ".go" && !slices.Contains(r.folders[path.Dir(part.path)], path.Dir(to)) {
			r.folders[path.Dir(part.path)] = append(r.folders[path.Dir(part.path)], path.Dir(to))
		}
		if to == part.path {
			continue
		}
		if other := taken[to]; other != "" {
			return &diagnostic.Error{
				Pos: token.Position{Filename: part.path}, Message: fmt.Sprintf("and %s would both become %s", other, to), Hint: "rename or delete one of the two first",
			}
		}
		taken[to], r.moved[part.path] = part.path, to
		if part.generated {
			if err := r.plan.Delete(part.path, plan.Own); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveOthers moves what a user has beside the parts of a package that moves, with those that use it.
func (r *restatement) moveOthers() error {
	sources, err := goSources(r.plan)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range sources {
		folder := path.Dir(s.name)
		targets := r.folders[folder]
		_, scaffolded := r.was.lock.Entry(s.name)
		if scaffolded || len(targets) == 0 || r.moved[s.name] != "" {
			continue
		}
		if len(targets) > 1 {
			if targets = r.targetsOf(s, sources); len(targets) != 1 {
				errs = append(errs, &diagnostic.Error{
					Pos:     token.Position{Filename: s.name},
					Message: fmt.Sprintf("belongs to a package whose files go to %s", strings.Join(r.folders[folder], " and ")),
					Hint:    "move it to a package of its own first",
				})
				continue
			}
		}
		if targets[0] != folder {
			r.moved[s.name] = path.Join(targets[0], path.Base(s.name))
		}
	}
	return errors.Join(errs...)
}

// targetsOf returns the folders to which files go that a file of the same package uses, or is used by.
func (r *restatement) targetsOf(s goSource, sources []goSource) []string {
	declared := map[goName]string{}
	for _, o := range sources {
		for _, name := range o.declares() {
			declared[name] = o.name
		}
	}
	found := map[string]bool{}
	note := func(name string) {
		if to := r.moved[name]; to != "" && path.Dir(name) == path.Dir(s.name) {
			found[path.Dir(to)] = true
		}
	}
	for _, o := range sources {
		for _, u := range o.uses(r.before.Repo) {
			switch owner := declared[u.goName]; {
			case o.name == s.name:
				note(owner)
			case owner == s.name:
				note(o.name)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// newPath returns where a file goes.
func (r *restatement) newPath(name string) string {
	if to := r.moved[name]; to != "" {
		return to
	}
	return name
}

// isFollowing reports whether a file is made anew from others, or by a step of its own.
func isFollowing(name, template string) bool {
	return slices.Contains([]string{project.File, project.LockFile, goModFile, "go.sum", boilerplateFile}, name) || strings.HasPrefix(name, bundleFolder+"/") ||
		strings.HasPrefix(path.Base(name), "zz_generated.") || strings.HasPrefix(template, "generate/") || strings.HasPrefix(template, "certificates/")
}

// writeScaffolded plans the files that kctrl writes: as they are to be, with what the user has changed.
func (r *restatement) writeScaffolded() error {
	var errs []error
	seen := map[string]bool{}
	for entry := range r.was.lock.All() {
		if isFollowing(entry.Path, entry.Template) {
			if entry.Template == "generate/rbac" {
				errs = append(errs, r.writeEmptyRole(entry))
			}
			continue
		}
		to := r.newPath(entry.Path)
		seen[to] = true
		base, err := fs.ReadFile(r.was.FS, entry.Path)
		if err != nil {
			return err
		}
		theirs, err := fs.ReadFile(r.becomes.FS, to)
		if errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, r.dropScaffolded(entry.Path))
			continue
		}
		if err != nil {
			return err
		}
		errs = append(errs, r.writeMerged(entry, to, base, theirs))
	}
	err := fs.WalkDir(r.becomes.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || seen[name] || isFollowing(name, "") {
			return err
		}
		if _, was := r.was.lock.Entry(name); was {
			return nil
		}
		text, err := fs.ReadFile(r.becomes.FS, name)
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, componentFolder+"/") {
			return nil
		}
		written, _ := r.becomes.lock.Entry(name)
		return r.plan.WriteFile(plan.File{Path: name, Content: text, Template: written.Template, Policy: plan.Guarded})
	})
	return errors.Join(append(errs, err)...)
}

// writeEmptyRole plans the role of a project without markers, of which generators keep what is there.
func (r *restatement) writeEmptyRole(entry project.LockEntry) error {
	base, err := fs.ReadFile(r.was.FS, entry.Path)
	theirs, failure := fs.ReadFile(r.becomes.FS, entry.Path)
	ours, missing := r.plan.Read(entry.Path)
	if err := errors.Join(err, failure); err != nil || missing != nil || !bytes.Equal(base, ours) {
		return err
	}
	return r.plan.WriteFile(plan.File{Path: entry.Path, Content: theirs, Template: entry.Template, Policy: plan.Own})
}

// dropScaffolded plans that a file goes away that the project has no more, unless the user has edited it.
func (r *restatement) dropScaffolded(name string) error {
	text, err := r.plan.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lock, _, err := r.plan.Lock()
	if err != nil {
		return err
	}
	if lock.Touched(name, text) && !r.force {
		r.plan.Note(&diagnostic.Error{
			Pos: token.Position{Filename: name}, Message: "has been edited since kctrl wrote it, so it is kept; the project has no use for it any more", Hint: "delete it by hand, or with --force",
		})
		return nil
	}
	return r.plan.Delete(name, plan.Own)
}

// writeMerged plans one file that kctrl writes in both states. One that the user has deleted stays deleted.
func (r *restatement) writeMerged(entry project.LockEntry, to string, base, theirs []byte) error {
	ours, err := r.plan.Read(entry.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lock, _, err := r.plan.Lock()
	if err != nil {
		return err
	}
	touched := lock.Touched(entry.Path, ours)
	known := lock.Entries(entry.Path)
	content, err := r.merged(entry.Path, to, base, ours, theirs)
	if err != nil {
		return err
	}
	if to != entry.Path {
		if err := r.plan.Delete(entry.Path, plan.Own); err != nil {
			return err
		}
	}
	template := ""
	if len(known) > 0 {
		template = known[0].Template
	}
	if err := r.plan.WriteFile(plan.File{Path: to, Content: content, Template: template, Policy: plan.Own}); err != nil {
		return err
	}
	switch {
	case len(known) == 0:
		lock.Forget(to)
	case touched:
		recordEdited(lock, to, known, base, theirs)
	}
	return nil
}

// recordEdited has the lock know of an edited file what it knew of it, under its new path: it is edited still. What kctrl would have
// written in the old state becomes what it would write in the new one, so that upgrades have nothing to say of it; but what it wrote
// first stays known, for git has that.
func recordEdited(lock *project.Lock, to string, known []project.LockEntry, was, becomes []byte) {
	lock.Forget(to)
	at := slices.IndexFunc(known, func(e project.LockEntry) bool { return e.IsOf(was) })
	if at >= 0 {
		lock.Offer(to, becomes, known[at].Template)
	}
	if at >= 0 && len(known) > 1 {
		known = slices.Delete(known, at, at+1)
	}
	for _, e := range known {
		e.Path = to
		lock.Add(e)
	}
}

// merged returns what becomes of a file.
func (r *restatement) merged(from, to string, base, ours, theirs []byte) ([]byte, error) {
	if bytes.Equal(base, ours) {
		return theirs, nil
	}
	crlf := bytes.Contains(ours, []byte("\r\n"))
	if path.Base(to) == "kustomization.yaml" {
		return r.mergedLists(to, base, ours, theirs)
	}
	base, ours, theirs = plain(base), plain(ours), plain(theirs)
	if path.Ext(from) == ".go" {
		var err error
		if base, err = r.rewriteGo(from, base); err != nil {
			return nil, err
		}
		if ours, err = r.rewriteGo(from, ours); err != nil {
			return nil, err
		}
	}
	content, conflicts := edit.Merge(base, ours, theirs, edit.Labels{Ours: "yours", Base: "kctrl, before", Theirs: "kctrl"})
	if len(conflicts) > 0 && !r.force {
		return nil, &diagnostic.Error{
			Pos:     token.Position{Filename: from, Line: conflicts[0]},
			Message: "has been edited where kctrl has to change it",
			Hint:    "--force writes both between the markers of git, for you to choose",
		}
	}
	if crlf {
		content = bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n"))
	}
	return content, nil
}

// mergedLists merges a kustomization: its lists by their items, the rest by lines.
func (r *restatement) mergedLists(name string, base, ours, theirs []byte) ([]byte, error) {
	target := map[string]part{}
	for _, p := range partsOf(r.after) {
		target[p.id] = p
	}
	var err error
	for _, p := range partsOf(r.before) {
		now := target[p.id]
		for i, l := range p.listings {
			if i >= len(now.listings) || path.Join(l.folder, path.Base(name)) != name || now.listings[i].item == l.item {
				continue
			}
			if base, err = edit.ReplaceListItem(base, name, []string{l.list}, l.item, now.listings[i].item); err != nil {
				return nil, err
			}
			if ours, err = edit.ReplaceListItem(ours, name, []string{l.list}, l.item, now.listings[i].item); err != nil {
				return nil, err
			}
		}
	}
	if bytes.Equal(base, theirs) {
		return ours, nil
	}
	content, conflicts := edit.Merge(base, ours, theirs, edit.Labels{Ours: "yours", Base: "kctrl, before", Theirs: "kctrl"})
	if len(conflicts) > 0 && !r.force {
		return nil, &diagnostic.Error{
			Pos: token.Position{Filename: name, Line: conflicts[0]}, Message: "has been edited where kctrl has to change it",
			Hint: "--force writes both between the markers of git, for you to choose",
		}
	}
	return content, nil
}

// writeOthers plans the user's own Go files: where they go, with what they name by its new name.
func (r *restatement) writeOthers() error {
	sources, err := goSources(r.plan)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for entry := range r.was.lock.All() {
		done[r.newPath(entry.Path)] = true
	}
	for _, s := range sources {
		if done[s.name] {
			continue
		}
		text, err := r.plan.Read(s.name)
		if err != nil {
			return err
		}
		content, err := r.rewriteGo(s.name, text)
		if err != nil {
			return err
		}
		to := r.newPath(s.name)
		lock, _, err := r.plan.Lock()
		if err != nil {
			return err
		}
		entry, known := lock.Entry(s.name)
		if to != s.name {
			if c, err := r.plan.Lookup(to); err != nil || c.After != nil {
				return errors.Join(err, &diagnostic.Error{
					Pos: token.Position{Filename: s.name}, Message: "would become " + to + ", which is there", Hint: "rename one of the two first",
				})
			}
			if err := r.plan.Delete(s.name, plan.Own); err != nil {
				return err
			}
		}
		if err := r.plan.WriteFile(plan.File{Path: to, Content: content, Policy: plan.Edit}); err != nil {
			return err
		}
		if known && to != s.name {
			entry.Path = to
			lock.Add(entry)
		}
	}
	return nil
}

// splice is a change of a text.
type splice struct {
	from, to int
	text     string
}

// rewriteGo returns a Go file as it has to be in the new state: with the imports, the names and the groups of then. One that does not
// parse stays as it is.
func (r *restatement) rewriteGo(name string, text []byte) ([]byte, error) {
	s, ok := parseSource(name, text)
	if !ok {
		return text, nil
	}
	var changes []splice
	replace := func(node ast.Node, with string) {
		from, to := s.set.PositionFor(node.Pos(), false).Offset, s.set.PositionFor(node.End(), false).Offset
		changes = append(changes, splice{from, to, with})
	}
	for _, spec := range s.file.Imports {
		old, _ := strconv.Unquote(spec.Path.Value)
		now, err := r.newImport(s, old)
		if err != nil {
			return nil, err
		}
		if now != old {
			replace(spec.Path, strconv.Quote(now))
		}
	}
	changes = append(changes, r.renames(s)...)
	changes = append(changes, r.packageNames(s)...)
	changes = append(changes, r.groupWords(s)...)
	if len(changes) == 0 {
		return text, nil
	}
	formatted, err := format.Source(text)
	wasFormatted := err == nil && bytes.Equal(formatted, text)
	out := spliced(text, changes)
	if wasFormatted {
		if formatted, err := format.Source(out); err == nil {
			out = formatted
		}
	}
	return out, nil
}

// spliced returns a text with changes that do not overlap.
func spliced(text []byte, changes []splice) []byte {
	slices.SortFunc(changes, func(a, b splice) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, c := range changes {
		if c.from < at {
			continue
		}
		out = append(append(out, text[at:c.from]...), c.text...)
		at = c.to
	}
	return append(out, text[at:]...)
}

// newImport returns what a file has to import instead.
func (r *restatement) newImport(s goSource, importPath string) (string, error) {
	folder, inside := folderOf(r.before.Repo, importPath)
	if !inside {
		return importPath, nil
	}
	targets := r.folders[folder]
	if len(targets) > 1 {
		used := map[string]bool{}
		for _, u := range s.uses(r.before.Repo) {
			if u.pkg.folder == folder && !u.pkg.external {
				used[r.folderOfName(u.goName)] = true
			}
		}
		targets = slices.Sorted(maps.Keys(used))
		if len(targets) > 1 {
			return "", &diagnostic.Error{
				Pos:     token.Position{Filename: s.name},
				Message: fmt.Sprintf("uses what of %s goes to %s", folder, strings.Join(targets, " and ")),
				Hint:    "use them in files of their own first",
			}
		}
	}
	if len(targets) == 1 && targets[0] != "" {
		folder = targets[0]
	}
	return path.Join(r.after.Repo, folder), nil
}

// folderOfName returns the folder that the file goes to which declares a name.
func (r *restatement) folderOfName(name goName) string {
	for old, to := range r.moved {
		if path.Dir(old) != name.pkg.folder || path.Ext(old) != ".go" {
			continue
		}
		text, err := fs.ReadFile(r.plan.FS(), old)
		if err != nil {
			continue
		}
		if s, ok := parseSource(old, text); ok && slices.Contains(s.declares(), name) {
			return path.Dir(to)
		}
	}
	return name.pkg.folder
}

// renames returns the changes of names of packages that a file declares or uses.
func (r *restatement) renames(s goSource) []splice {
	var changes []splice
	_, scaffolded := r.was.lock.Entry(s.name)
	for _, ident := range s.idents(r.before.Repo) {
		now, found := r.renamed[ident.goName]
		if !found && scaffolded && ident.pkg == s.pkg() {
			now, found = r.locals[ident.name]
		}
		if found {
			from := s.set.PositionFor(ident.node.Pos(), false).Offset
			changes = append(changes, splice{from, from + len(ident.node.Name), now})
		}
	}
	return changes
}

// packageNames returns the changes of the name of a package of the API, and of those that a file imports such packages under.
func (r *restatement) packageNames(s goSource) []splice {
	var changes []splice
	replace := func(ident *ast.Ident, now string) {
		from := s.set.PositionFor(ident.Pos(), false).Offset
		changes = append(changes, splice{from, from + len(ident.Name), now})
	}
	if names := r.packages[path.Dir(s.name)]; names[0] != names[1] && s.file.Name.Name == names[0] {
		replace(s.file.Name, names[1])
	}
	renamed := map[string]string{}
	for _, spec := range s.file.Imports {
		folder, inside := folderOf(r.before.Repo, strings.Trim(spec.Path.Value, "\"`"))
		if alias := r.aliases[folder]; inside && spec.Name != nil && alias[0] == spec.Name.Name && alias[0] != alias[1] {
			renamed[alias[0]] = alias[1]
			replace(spec.Name, alias[1])
		}
		if names := r.packages[folder]; inside && spec.Name == nil && names[0] != names[1] {
			renamed[names[0]] = names[1]
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && renamed[x.Name] != "" {
				replace(x, renamed[x.Name])
			}
		}
		return true
	})
	return changes
}

// groupWords returns the changes of markers and string literals that name an API group or a kind, and of RBAC markers that name a
// namespace; in what kctrl writes, of all comments.
func (r *restatement) groupWords(s goSource) []splice {
	var changes []splice
	_, scaffolded := r.was.lock.Entry(s.name)
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			text := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
			if !strings.HasPrefix(c.Text, "//") || !scaffolded && !strings.HasPrefix(text, "+kubebuilder:") && !strings.HasPrefix(text, "+groupName=") {
				continue
			}
			now := replaceWords(c.Text, r.words)
			now = r.inNamespace(now)
			if now != c.Text {
				from := s.set.PositionFor(c.Pos(), false).Offset
				changes = append(changes, splice{from, from + len(c.Text), now})
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				if now, found := r.words[text]; found {
					from := s.set.PositionFor(lit.Pos(), false).Offset
					changes = append(changes, splice{from, from + len(lit.Value), strconv.Quote(now)})
				}
			}
		}
		_, isImport := n.(*ast.ImportSpec)
		return !isImport
	})
	return changes
}

const rbacMarker = "+kubebuilder:rbac:"

// inNamespace returns an RBAC marker with the namespace of the new state.
func (r *restatement) inNamespace(comment string) string {
	before, args, found := strings.Cut(comment, rbacMarker)
	if !found || r.namespace[0] == r.namespace[1] {
		return comment
	}
	if old := r.namespace[0]; old != "" {
		rest, had := strings.CutPrefix(args, "namespace="+old+",")
		if !had {
			return comment
		}
		args = rest
	} else if strings.Contains(args, "namespace=") {
		return comment
	}
	if now := r.namespace[1]; now != "" {
		args = "namespace=" + now + "," + args
	}
	return before + rbacMarker + args
}

// replaceWords replaces words of a text, which are what DNS names are made of.
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

// writeModule plans the module path that go.mod says.
func (r *restatement) writeModule() error {
	if r.before.Repo == r.after.Repo {
		return nil
	}
	text, err := r.plan.Read(goModFile)
	if err != nil {
		return missingFile(goModFile, err, "kctrl works on Go modules: restore it")
	}
	file, err := parseGoMod(text)
	if err != nil {
		return err
	}
	if err := file.AddModuleStmt(r.after.Repo); err != nil {
		return err
	}
	return r.plan.WriteFile(plan.File{Path: goModFile, Content: modfile.Format(file.Syntax), Policy: plan.Edit})
}

// rewriteManifests plans the user's own manifests below config, with objects of the project's kinds: samples above all.
func (r *restatement) rewriteManifests() error {
	renames := map[[2]string][2]string{}
	for i, o := range r.before.Resources {
		now := r.after.Resources[i]
		from, to := [2]string{o.APIGroup() + "/" + o.Version, o.Kind}, [2]string{now.APIGroup() + "/" + now.Version, now.Kind}
		if o.API && from != to {
			renames[from] = to
		}
	}
	if len(renames) == 0 {
		return nil
	}
	return fs.WalkDir(r.plan.FS(), "config", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return diagnostic.AtFile(name, "cannot read", err)
		case !entry.Type().IsRegular() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml":
			return nil
		}
		to := r.newPath(name)
		text, err := r.plan.Read(to)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		edited, err := edit.ReplaceKinds(text, to, renames)
		if err != nil || bytes.Equal(edited, text) {
			return nil // which is left as it is
		}
		return r.plan.WriteFile(plan.File{Path: to, Content: edited, Policy: plan.Edit})
	})
}
