package migrate

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
)

// The tools of kubebuilder that kctrl is, as targets of their own and as the variables that describe them. Those of the second kind are
// only for tests on an API server, which a project that keeps its runtime goes on with.
var (
	generatorTargets   = []string{"controller-gen", "$(CONTROLLER_GEN)", "${CONTROLLER_GEN}"}
	generatorVariables = []string{"CONTROLLER_GEN", "CONTROLLER_GEN_VERSION", "CONTROLLER_TOOLS_VERSION"}
	serverTargets      = []string{"envtest", "setup-envtest", "$(ENVTEST)", "${ENVTEST}"}
	serverVariables    = []string{"ENVTEST", "ENVTEST_VERSION", "ENVTEST_K8S_VERSION", assetsVariable}
)

// assetsVariable names the folder of an API server's programs. One that is empty asks for none.
const assetsVariable = "KUBEBUILDER_ASSETS"

// kctrlVariable is the line that says which kctrl a Makefile calls.
const kctrlVariable = "KCTRL ?= kctrl\n"

// makefile is a Makefile, or a part of one that is included.
type makefile struct {
	name  string
	crlf  bool
	lines []makeLine
}

// makeLine is a line of a Makefile with those that it continues on.
type makeLine struct {
	kind makeKind
	text string
	// name is that of a variable, targets those of a rule.
	name    string
	targets []string
	// rule is the line that a line of a recipe belongs to.
	rule int
	// gone says that the line goes away, and kctrl that the variable for kctrl takes its place.
	gone, kctrl bool
}

type makeKind int

const (
	makeOther makeKind = iota // comments, blank lines, and what else there is
	makeRule
	makeRecipe
	makeVariable
	makeConditional
	makeDefine
)

// editMakefiles has all Makefiles call kctrl gen where they called controller-gen, which takes the same arguments, and do without the
// programs of envtest.
func (m *migration) editMakefiles() error {
	names, err := m.named(func(name string) bool {
		base := path.Base(name)
		return base == "Makefile" || base == "makefile" || base == "GNUmakefile" || path.Ext(name) == ".mk"
	})
	if err != nil {
		return err
	}
	var all []*makefile
	for _, name := range names {
		text, err := m.plan.Read(name)
		if err != nil {
			return err
		}
		plain, crlf := withoutCarriageReturns(string(text))
		file := &makefile{name: name, crlf: crlf, lines: makeLines(plain)}
		file.discard(m.makeTools())
		for i := range file.lines {
			if l := &file.lines[i]; !l.gone {
				l.text = m.makeText(l)
			}
		}
		all = append(all, file)
	}
	keepReferred(all)
	defined := false
	for _, f := range all {
		f.discardAround()
		defined = f.placeKctrl(defined) || defined
	}
	for _, f := range all {
		text := f.text()
		if !defined && strings.Contains(text, "$(KCTRL)") {
			text, defined = kctrlVariable+"\n"+text, true
		}
		if err := m.plan.Edit(f.name, []byte(withCarriageReturns(text, f.crlf))); err != nil {
			return err
		}
	}
	return nil
}

// named returns the files of the project, in order, whose names are ones that are looked for: none of what is of others.
func (m *migration) named(is func(name string) bool) ([]string, error) {
	var names []string
	err := fs.WalkDir(m.plan.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (slices.Contains([]string{"vendor", "third_party", "node_modules", "testdata", "bin"}, base) || base[0] == '.' && base != ".github"):
			return fs.SkipDir
		case entry.Type().IsRegular() && is(name):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// makeTools returns the targets and variables that a project does without.
func (m *migration) makeTools() (targets, variables []string) {
	if m.opts.KeepRuntime {
		return generatorTargets, generatorVariables
	}
	return slices.Concat(generatorTargets, serverTargets), slices.Concat(generatorVariables, serverVariables)
}

// makeLines splits a Makefile.
func makeLines(text string) []makeLine {
	var lines []makeLine
	rule, defines, continued := -1, 0, false
	for text := range strings.Lines(text) {
		if continued {
			lines[len(lines)-1].text += text
		} else {
			l := makeLine{text: text}
			switch word := firstWord(text); {
			case word == "define":
				l.kind, rule = makeDefine, -1
				defines++
			case defines > 0:
				l.kind = makeDefine
				if word == "endef" {
					defines--
				}
			case strings.HasPrefix(text, "\t") && rule >= 0:
				l.kind, l.rule = makeRecipe, rule
			case slices.Contains([]string{"ifeq", "ifneq", "ifdef", "ifndef", "else", "endif"}, word):
				l.kind = makeConditional
			case word == "" || word[0] == '#':
			case variableOf(text) != "":
				l.kind, l.name, rule = makeVariable, variableOf(text), -1
			default:
				if l.targets = targetsOf(text); len(l.targets) > 0 {
					l.kind, rule = makeRule, len(lines)
				}
			}
			lines = append(lines, l)
		}
		continued = strings.HasSuffix(strings.TrimRight(text, "\n"), `\`)
	}
	return lines
}

// firstWord returns the first word of a line, which an opening parenthesis ends too.
func firstWord(text string) string {
	text = strings.TrimLeft(text, " \t")
	if end := strings.IndexAny(text, " \t\n("); end >= 0 {
		return text[:end]
	}
	return text
}

// variableOf returns the name of the variable that a line sets, or "".
func variableOf(text string) string {
	before, _, found := strings.Cut(text, "=")
	if !found {
		return ""
	}
	words := strings.Fields(strings.TrimRight(before, "?:+!"))
	for len(words) > 1 && (words[0] == "export" || words[0] == "override" || words[0] == "private") {
		words = words[1:]
	}
	if len(words) != 1 || strings.ContainsAny(words[0], ":$#") {
		return ""
	}
	return words[0]
}

// targetsOf returns the targets of the first line of a rule, or nil.
func targetsOf(text string) []string {
	before, after, found := strings.Cut(text, ":")
	if !found || strings.HasPrefix(after, "=") || strings.ContainsAny(before, "#=") {
		return nil
	}
	return strings.Fields(before)
}

// prerequisitesOf returns what a rule needs.
func prerequisitesOf(text string) []string {
	_, after, _ := strings.Cut(text, ":")
	after, _, _ = strings.Cut(after, "#")
	return strings.Fields(strings.ReplaceAll(after, "\\\n", " "))
}

// discard marks what goes away: the rules of tools, what says that these are no files, and the variables that tools have.
func (f *makefile) discard(targets, variables []string) {
	isTool := func(name string) bool { return slices.Contains(targets, name) }
	all := func(names []string) bool {
		return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !isTool(name) })
	}
	for i := range f.lines {
		l := &f.lines[i]
		switch l.kind {
		case makeRule:
			needs := prerequisitesOf(l.text)
			if l.gone = all(l.targets) || slices.Equal(l.targets, []string{".PHONY"}) && all(needs); !l.gone && slices.ContainsFunc(needs, isTool) {
				l.text = withoutPrerequisites(l.text, isTool)
			}
		case makeRecipe:
			l.gone = f.lines[l.rule].gone
		case makeVariable:
			l.gone = slices.Contains(variables, l.name)
		}
	}
}

// withoutPrerequisites takes prerequisites off a rule.
func withoutPrerequisites(text string, is func(string) bool) string {
	targets, needs, _ := strings.Cut(text, ":")
	needs, comment, hasComment := strings.Cut(needs, "#")
	var kept []string
	isJoint := func(part string) bool { return strings.TrimSpace(part) == `\` }
	for part := range words(needs) {
		if n := len(kept); is(strings.TrimSpace(part)) || isJoint(part) && n > 0 && isJoint(kept[n-1]) {
			continue
		}
		kept = append(kept, part)
	}
	for n := len(kept); n > 0 && strings.Trim(kept[n-1], " \t\n\\") == ""; n-- {
		kept = kept[:n-1]
	}
	text = targets + ":" + strings.Join(kept, "")
	switch {
	case hasComment:
		return strings.TrimRight(text, " ") + " #" + comment
	case !strings.HasSuffix(text, "\n"):
		text += "\n"
	}
	return text
}

// words yields the words of a text, each with the blanks before it; the last one may be blanks alone.
func words(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			begin := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) })
			if begin < 0 {
				yield(text)
				return
			}
			end := strings.IndexFunc(text[begin:], unicode.IsSpace)
			if end < 0 {
				end = len(text) - begin
			}
			if !yield(text[:begin+end]) {
				return
			}
			text = text[begin+end:]
		}
	}
}

// mapWords replaces words of a text, and keeps the blanks between them.
func mapWords(text string, change func(word string) string) string {
	var out strings.Builder
	for part := range words(text) {
		word := strings.TrimSpace(part)
		blanks := part[:strings.Index(part, word)]
		if word == "" {
			blanks = part
		}
		out.WriteString(blanks)
		if word != "" {
			out.WriteString(change(word))
		}
	}
	return out.String()
}

// generatorCalls are the ways to call controller-gen, the longer ones first.
var generatorCalls = []string{`"$(CONTROLLER_GEN)"`, "$(CONTROLLER_GEN)", "${CONTROLLER_GEN}"}

// makeText returns what becomes of a line that stays.
func (m *migration) makeText(l *makeLine) string {
	text := l.text
	for _, call := range generatorCalls {
		text = strings.ReplaceAll(text, call, "$(KCTRL) gen")
	}
	if l.kind == makeRecipe || l.kind == makeDefine {
		text = generatorByName(text)
	}
	text = withoutOldOptions(text)
	if m.opts.KeepRuntime || l.kind != makeRecipe {
		return text
	}
	if before, after, found := strings.Cut(text, assetsVariable+"="); found {
		if end := endOfWord(after); end > 0 {
			text = before + strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(after[end:], " "), "\\\n"), " \t")
		}
	}
	return m.mainPath(text)
}

// generatorByName replaces a controller-gen that a recipe calls by its path, or by the go command.
func generatorByName(text string) string {
	if strings.Contains(text, "go install") || strings.Contains(text, "go get") {
		return text
	}
	for _, call := range []string{"go tool controller-gen ", "go run sigs.k8s.io/controller-tools/cmd/controller-gen "} {
		text = strings.ReplaceAll(text, call, "$(KCTRL) gen ")
	}
	if !strings.Contains(text, "paths=") {
		return text
	}
	return mapWords(text, func(word string) string {
		prefix := word[:len(word)-len(strings.TrimLeft(word, "@-+"))]
		if path.Base(strings.Trim(word[len(prefix):], `"'`)) != "controller-gen" {
			return word
		}
		return prefix + "$(KCTRL) gen"
	})
}

// withoutOldOptions takes the options away that controller-gen had once: CRDs are as these asked for, or cannot be any more.
func withoutOldOptions(text string) string {
	if !strings.Contains(text, "trivialVersions=") && !strings.Contains(text, "preserveUnknownFields=") {
		return text
	}
	return mapWords(text, func(word string) string {
		head, options, found := strings.Cut(word, "crd:")
		if !found {
			return word
		}
		quote := ""
		if strings.HasSuffix(options, `"`) {
			options, quote = strings.TrimSuffix(options, `"`), `"`
		}
		kept := slices.DeleteFunc(strings.Split(options, ","), func(option string) bool {
			name, _, _ := strings.Cut(option, "=")
			return name == "trivialVersions" || name == "preserveUnknownFields"
		})
		if len(kept) == 0 {
			return head + "crd" + quote
		}
		return head + "crd:" + strings.Join(kept, ",") + quote
	})
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
		case unicode.IsSpace(r) && depth == 0 && !quoted:
			return i
		}
	}
	return -1
}

// keepReferred keeps variables that would go away, but that something refers to which stays.
func keepReferred(all []*makefile) {
	for again := true; again; {
		again = false
		var kept strings.Builder
		for _, f := range all {
			for _, l := range f.lines {
				if !l.gone {
					kept.WriteString(l.text)
				}
			}
		}
		for _, f := range all {
			for i := range f.lines {
				l := &f.lines[i]
				if l.gone && l.kind == makeVariable && l.name != assetsVariable && refersTo(kept.String(), l.name) {
					l.gone, again = false, true
				}
			}
		}
	}
}

func refersTo(text, variable string) bool {
	return strings.Contains(text, "$("+variable+")") || strings.Contains(text, "${"+variable+"}") || strings.Contains(text, "$("+variable+":")
}

// discardAround marks what is left for nothing: conditionals with nothing in them any more, and comments on what goes away.
func (f *makefile) discardAround() {
	type block struct {
		from     int
		had, has bool
	}
	var open []block
	for i := range f.lines {
		l := &f.lines[i]
		switch word := firstWord(l.text); {
		case l.kind == makeConditional && strings.HasPrefix(word, "if"):
			open = append(open, block{from: i})
		case l.kind == makeConditional && word == "endif" && len(open) > 0:
			b := open[len(open)-1]
			open = open[:len(open)-1]
			if gone := b.had && !b.has; gone {
				for j := b.from; j <= i; j++ {
					f.lines[j].gone = true
				}
			}
			if len(open) > 0 {
				around := &open[len(open)-1]
				around.had, around.has = around.had || b.had, around.has || b.has
			}
		case l.kind != makeConditional && len(open) > 0:
			around := &open[len(open)-1]
			around.had = around.had || l.gone
			around.has = around.has || !l.gone && l.kind != makeOther
		}
	}
	for i := len(f.lines) - 2; i >= 0; i-- {
		l := &f.lines[i]
		if l.kind == makeOther && f.lines[i+1].gone && isToolComment(l.text) {
			l.gone = true
		}
	}
}

// isToolComment reports whether a line is a comment on a tool, and no heading.
func isToolComment(text string) bool {
	if !strings.HasPrefix(text, "#") || strings.HasPrefix(text, "##@") {
		return false
	}
	return slices.ContainsFunc([]string{"controller-gen", "controller-tools", "envtest", "ENVTEST"}, func(tool string) bool { return strings.Contains(text, tool) })
}

// placeKctrl puts the variable for kctrl in the place of the first one for controller-gen, before the conditional that this is in, and
// reports whether the file has one now.
func (f *makefile) placeKctrl(defined bool) bool {
	var open []int
	for i := range f.lines {
		l := &f.lines[i]
		switch word := firstWord(l.text); {
		case l.kind == makeConditional && strings.HasPrefix(word, "if"):
			open = append(open, i)
		case l.kind == makeConditional && word == "endif":
			open = open[:max(0, len(open)-1)]
		case l.kind == makeVariable && l.name == "KCTRL":
			return true
		case l.kind == makeVariable && l.name == "CONTROLLER_GEN" && l.gone && !defined:
			f.lines[append(open, i)[0]].kctrl = true
			return true
		}
	}
	return false
}

// text returns the file as it will be. Where something went there are not more blank lines than before.
func (f *makefile) text() string {
	var out strings.Builder
	blank, went := true, false
	for _, l := range f.lines {
		if l.kctrl {
			out.WriteString(kctrlVariable)
			blank, went = false, false
		}
		if l.gone {
			went = true
			continue
		}
		if isBlank := strings.TrimSpace(l.text) == ""; !isBlank || !blank || !went {
			out.WriteString(l.text)
			blank, went = isBlank, went && isBlank
		}
	}
	if went && blank && out.Len() > 0 {
		return strings.TrimRight(out.String(), "\n") + "\n"
	}
	return out.String()
}

// withoutCarriageReturns returns a text with the line ends of Unix, and whether all of its own are those of Windows.
func withoutCarriageReturns(text string) (plain string, crlf bool) {
	n := strings.Count(text, "\r\n")
	if n == 0 || n != strings.Count(text, "\n") {
		return text, false
	}
	return strings.ReplaceAll(text, "\r\n", "\n"), true
}

func withCarriageReturns(text string, crlf bool) string {
	if crlf {
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}
