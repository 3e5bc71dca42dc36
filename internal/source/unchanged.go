package source

import (
	"crypto/sha256"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kctrl-dev/kctrl/internal/regular"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

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
	return every(in, 1, func() func(Input) bool {
		r := rereader{tree: t}
		return func(in Input) bool { return r.answer(in) == in.Answer }
	})
}

// rereader reads files one at a time into the same buffer.
type rereader struct {
	tree   *Tree
	buffer []byte
}

// answer answers a question again. For the content of a Go file, it also keeps the verdict, which other questions need.
func (r *rereader) answer(in Input) Answer {
	_, planned := r.tree.overlay[in.Name]
	if in.Question != AskContent || planned {
		return r.tree.answer(in.Question, in.Name)
	}
	r.tree.stamp(in.Name)
	content, err := r.read(in.Name)
	if err != nil {
		return Answer{}
	}
	if dir, name := filepath.Split(in.Name); strings.HasSuffix(name, ".go") {
		belongs, err := r.tree.matcher.MatchContent(filepath.Clean(dir), name, content)
		r.tree.seen.Store(in.Name, verdict{belongs: belongs || err != nil, usesC: importsCgo(content)})
	}
	return sha256.Sum256(content)
}

// read returns the content of a file, which is valid until the next call.
func (r *rereader) read(name string) ([]byte, error) {
	file, err := regular.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r.buffer = r.buffer[:0]
	for {
		if len(r.buffer) == cap(r.buffer) {
			r.buffer = append(r.buffer, make([]byte, max(cap(r.buffer), firstBuffer))...)[:len(r.buffer)]
		}
		n, err := file.Read(r.buffer[len(r.buffer):cap(r.buffer)])
		r.buffer = r.buffer[:len(r.buffer)+n]
		if err == io.EOF {
			return r.buffer, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// firstBuffer is the initial size of the buffer, larger than nearly every source file.
const firstBuffer = 64 << 10

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
