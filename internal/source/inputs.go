package source

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// Inputs is everything that a program learnt from the disk, save what never changes: the Go toolchain and the module
// cache. A program that asks the same questions and gets the same answers is the same.
type Inputs []Input

// Input is a question about a file or folder, and the answer.
type Input struct {
	Question Question
	Name     string // absolute
	Answer   Answer
}

// Answer is the hash of what was found. Nothing has an answer of its own.
type Answer [sha256.Size]byte

// Question says what was asked.
type Question byte

// The questions.
const (
	AskContent   Question = 'c' // what is in a file
	AskExists    Question = 'e' // whether there is a regular file
	AskFolder    Question = 'd' // whether there is a folder
	AskAnyGoFile Question = 'a' // whether a folder has a Go file
	AskGoFiles   Question = 'g' // which Go files in a folder belong to its package
	AskPackages  Question = 't' // the same of the folder and all below, as far as its module goes
	AskModules   Question = 'm' // which modules begin below a folder
	AskUsesC     Question = 'C' // whether a folder has Go files that use cgo
	AskCgoFiles  Question = 'x' // which Go files in a folder belong to its package with cgo alone
	AskLeftOut   Question = 'l' // which Go files in a folder do not belong to its package, save tests
)

// answer asks the disk again.
func (t *Tree) answer(question Question, name string) Answer {
	switch question {
	case AskContent:
		content, err := t.ReadFile(name)
		return answerContent(content, err)
	case AskExists:
		return answerBool(t.Exists(name))
	case AskFolder:
		return answerBool(t.IsFolder(name))
	case AskGoFiles:
		return answerNames(t.GoFiles(name))
	case AskPackages:
		var found []Folder
		err := (&resolver{dir: name, tree: t}).walk(Folder{Dir: name}, true, &found)
		return answerFolders(found, err)
	case AskModules:
		return answerNames(t.modulesBelow(name))
	case AskUsesC:
		return answerBool(t.usesC(name))
	case AskCgoFiles:
		belong, err := t.GoFiles(name)
		if err != nil {
			return Answer{}
		}
		return answerNames(t.cgoFiles(name, belong))
	case AskLeftOut:
		return answerNames(t.leftOut(name))
	case AskAnyGoFile:
		names, err := resolveFS{t}.goNames(name)
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

func answerFolders(found []Folder, err error) Answer {
	var names []string
	for _, f := range found {
		names = append(append(names, f.Dir+"/"), f.Files...)
	}
	return answerNames(names, err)
}

// noteFolders notes which folders with Go files a pattern matched.
func (t *Tree) noteFolders(dir string, below bool, found []Folder, err error) {
	switch {
	case !t.log.wants(dir):
	case below:
		t.log.note(AskPackages, dir, answerFolders(found, err))
	default:
		var names []string
		for _, f := range found {
			names = f.Files
		}
		t.log.note(AskGoFiles, dir, answerNames(names, err))
	}
}

// noteModules notes which modules begin below a folder.
func (t *Tree) noteModules(dir string, modules []string, err error) {
	if t.log.wants(dir) {
		t.log.note(AskModules, dir, answerNames(modules, err))
	}
}

// NoteGoFiles notes which Go files of a folder belong to its package.
func (t *Tree) NoteGoFiles(dir string) {
	if t.log.wants(dir) {
		t.log.note(AskGoFiles, dir, answerNames(t.GoFiles(dir)))
	}
}

// use makes the tree decide by the settings of the go command, and note what it learns.
func (t *Tree) use(environment *resolve.Environment) {
	t.matcher = resolve.NewMatcher(resolveFS{t}, environment)
	t.log = newInputLog(environment)
}

// inputLog notes questions and answers. It is safe for concurrent use; a nil log notes nothing.
type inputLog struct {
	environment *resolve.Environment

	mu    sync.Mutex
	known map[Input]bool
}

func newInputLog(environment *resolve.Environment) *inputLog {
	return &inputLog{environment: environment, known: map[Input]bool{}}
}

// Notes reports whether answers about the files of a folder are noted.
func (t *Tree) Notes(dir string) bool { return t.log.wants(filepath.Join(dir, "x.go")) }

// wants reports whether an answer about name would be noted.
func (l *inputLog) wants(name string) bool { return l != nil && !l.environment.Immutable(name) }

// note notes an answer. Two answers to one question are both noted, so that they are never taken for unchanged.
func (l *inputLog) note(question Question, name string, answer Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[Input{question, name, answer}] = true
}

// Inputs returns what was learnt so far, sorted. It reports false if the tree notes nothing.
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
