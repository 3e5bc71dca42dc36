package source

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// Inputs are all facts that a program has read from the disk, except those in the immutable Go toolchain and module
// cache. If every question still has the same answer, the input of the program is unchanged.
type Inputs []Input

// Input is a question about a file or directory, and the answer.
type Input struct {
	Question Question
	Name     string // absolute path
	Answer   Answer
}

// Answer is a hash of the result. The zero value means no result.
type Answer [sha256.Size]byte

// Question is the kind of a question.
type Question byte

// The questions.
const (
	AskContent   Question = 'c' // the content of a file
	AskExists    Question = 'e' // whether a regular file exists
	AskFolder    Question = 'd' // whether a directory exists
	AskAnyGoFile Question = 'a' // whether a directory has a Go file
	AskGoFiles   Question = 'g' // the Go files in a directory that belong to its package
	AskPackages  Question = 't' // the same for a directory and all directories below it in its module
	AskModules   Question = 'm' // the modules that begin below a directory
	AskUsesC     Question = 'C' // whether a directory has Go files that use cgo
	AskCgoFiles  Question = 'x' // the Go files in a directory that belong to its package only with cgo
	AskLeftOut   Question = 'l' // the Go files in a directory that do not belong to its package, except tests
)

// answer answers a question from the files on disk. The tree must record nothing.
func (t *Tree) answer(question Question, name string) Answer {
	switch question {
	case AskContent:
		content, err := t.ReadFile(name)
		return answerContent(content, err)
	case AskExists:
		return answerBool(t.Exists(name))
	case AskFolder:
		return answerBool(t.IsDir(name))
	case AskGoFiles:
		return answerNames(t.GoFiles(name))
	case AskPackages:
		var found []Dir
		err := (&resolver{dir: name, tree: t}).walk(Dir{Dir: name}, true, &found)
		return answerDirs(found, err)
	case AskModules:
		return answerNames(t.modulesBelow(name))
	case AskUsesC:
		return answerBool(t.UsesC(name))
	case AskCgoFiles:
		belong, err := t.GoFiles(name)
		if err != nil {
			return Answer{}
		}
		return answerNames(t.CgoFiles(name, belong))
	case AskLeftOut:
		return answerNames(t.LeftOut(name))
	case AskAnyGoFile:
		names, err := resolveFS{t}.GoNames(name)
		return answerBool(err == nil && len(names) > 0)
	}
	return Answer{}
}

func answerContent(content []byte, err error) Answer {
	if err != nil {
		return Answer{}
	}
	return sha256.Sum256(content)
}

func answerBool(yes bool) Answer {
	if yes {
		return Answer{1}
	}
	return Answer{}
}

func answerNames(names []string, err error) Answer {
	if err != nil {
		return Answer{}
	}
	h := sha256.New()
	for _, name := range names {
		h.Write([]byte(name))
		h.Write([]byte{0})
	}
	return Answer(h.Sum(nil))
}

func answerDirs(found []Dir, err error) Answer {
	var names []string
	for _, f := range found {
		names = append(append(names, f.Dir+"/"), f.Files...)
	}
	return answerNames(names, err)
}

// note records an answer about name.
func (t *Tree) note(question Question, name string, answer Answer) {
	if t.log.includes(name) {
		t.log.note(question, name, answer)
	}
}

// noteDirs records the directories with Go files that a pattern matched.
func (t *Tree) noteDirs(dir string, below bool, found []Dir, err error) {
	if below {
		t.note(AskPackages, dir, answerDirs(found, err))
		return
	}
	var names []string
	for _, f := range found {
		names = f.Files
	}
	t.note(AskGoFiles, dir, answerNames(names, err))
}

// NoteGoFiles records the Go files of a directory that belong to its package.
func (t *Tree) NoteGoFiles(dir string) {
	if t.log.includes(dir) {
		t.log.note(AskGoFiles, dir, answerNames(t.GoFiles(dir)))
	}
}

// use makes the tree apply the settings of the go command, and record its inputs.
func (t *Tree) use(environment *resolve.Environment) {
	t.matcher = resolve.NewMatcher(resolveFS{t}, environment)
	t.log = &inputLog{environment: environment, known: map[Input]bool{}}
}

// inputLog records questions and answers. It is safe for concurrent use. A nil log records nothing.
type inputLog struct {
	environment *resolve.Environment

	mu    sync.Mutex
	known map[Input]bool
}

// Notes reports whether the tree records answers about the files of a directory.
func (t *Tree) Notes(dir string) bool { return t.log.includes(dir) }

// includes reports whether the log records answers about name.
func (l *inputLog) includes(name string) bool { return l != nil && !l.environment.Immutable(name) }

// note records an answer. If a question has two different answers, the log keeps both, so the inputs never count as
// unchanged.
func (l *inputLog) note(question Question, name string, answer Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[Input{question, name, answer}] = true
}

// Inputs returns the inputs so far, sorted. It returns false if the tree does not record them.
func (t *Tree) Inputs() (Inputs, bool) {
	if t.log == nil {
		return nil, false
	}
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	return slices.SortedFunc(maps.Keys(t.log.known), func(a, b Input) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Question, b.Question))
	}), true
}

// Unchanged reports whether all questions still have the same answers, with an overlay as in [NewTree]. If they do and
// the overlay is empty, it also returns stamps of the answers, unless some state cannot be stamped.
func (in Inputs) Unchanged(environment *resolve.Environment,
	overlay map[string][]byte) (stamps Stamps, stamped, unchanged bool) {
	t := NewTree(overlay)
	t.use(environment)
	t.log = nil
	t.seen = &sync.Map{}
	t.stamps = &stampLog{stamps: map[string]Stamp{}, unknown: len(overlay) > 0}
	// The content of files comes first, because other questions are about the same files.
	var contents, others Inputs
	for _, input := range in {
		if input.Question == AskContent {
			contents = append(contents, input)
		} else {
			others = append(others, input)
		}
	}
	if !contents.unchanged(t) || !others.unchanged(t) {
		return nil, false, false
	}
	stamps, stamped = t.stamps.all()
	return stamps, stamped, true
}

// unchanged asks all questions again, concurrently.
func (in Inputs) unchanged(t *Tree) bool {
	return every(in, 1, func(in Input) bool { return t.answerAgain(in) == in.Answer })
}

// answerAgain answers a question again. For the content of a Go file, it also keeps the verdict, which other questions
// need.
func (t *Tree) answerAgain(in Input) Answer {
	_, planned := t.overlay[in.Name]
	if in.Question != AskContent || planned {
		return t.answer(in.Question, in.Name)
	}
	content, err := t.content(in.Name)
	if dir, name := filepath.Split(in.Name); err == nil && strings.HasSuffix(name, ".go") {
		belongs, err := t.matcher.MatchContent(filepath.Clean(dir), name, content)
		t.seen.Store(in.Name, verdict{belongs: belongs || err != nil, usesC: importsCgo(content)})
	}
	return answerContent(content, err)
}

// verdict is the cached result for a Go file: whether it belongs to the package in its directory, and whether it uses
// cgo.
type verdict struct{ belongs, usesC bool }

// known returns the verdict on a Go file that has already been read.
func (t *Tree) known(name string) (verdict, bool) {
	if t.seen == nil {
		return verdict{}, false
	}
	known, ok := t.seen.Load(name)
	if !ok {
		return verdict{}, false
	}
	v, ok := known.(verdict)
	return v, ok
}
