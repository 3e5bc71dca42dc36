package source

import (
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kctrl-dev/kctrl/internal/regular"
)

// Stamps record the state of the files and directories on which answers depend. As long as all of them hold, the
// answers are unchanged and no file has to be read.
type Stamps []Stamp

// Stamp identifies one state of a file or directory.
type Stamp struct {
	Name string // absolute path
	Kind StampKind
	Identity
	// Sum is the hash of the content of a file or directory that changed so recently that its time may not show the
	// next change.
	Sum Answer
}

// StampKind selects the properties of a file or directory that a stamp compares.
type StampKind byte

// The kinds of stamps.
const (
	StampMissing StampKind = 'm' // it does not exist
	StampFolder  StampKind = 'd' // it is a directory
	StampWhole   StampKind = 'w' // all metadata in Identity
	StampFresh   StampKind = 'f' // all metadata in Identity, and the content
)

// Identity is the metadata of a file that changes with its content. Programs can set Modified, but not Changed.
type Identity struct {
	Device, Inode     uint64
	Size              int64
	Modified, Changed int64 // in nanoseconds since 1970
}

// racyTime is the minimum age of a change after which the next change certainly gets a different time. The resolution
// of file systems is up to two seconds.
const racyTime = 2 * time.Second

// Hold reports whether all stamps still hold.
func (s Stamps) Hold() bool {
	return every(s, stampsAtOnce, Stamp.holds)
}

// stampsAtOnce is the number of stamps that a goroutine of Hold takes at a time.
const stampsAtOnce = 64

// every reports whether all items pass a check. Up to four goroutines take a batch of items at a time.
func every[T any](items []T, batch int, check func(T) bool) bool {
	var next atomic.Int64
	var failed atomic.Bool
	run := func() {
		for !failed.Load() {
			first := int(next.Add(int64(batch))) - batch
			if first >= len(items) {
				return
			}
			for _, item := range items[first:min(first+batch, len(items))] {
				if !check(item) {
					failed.Store(true)
				}
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(items)/batch, 4) - 1 {
		wg.Go(run)
	}
	run()
	wg.Wait()
	return !failed.Load()
}

func (s Stamp) holds() bool {
	info, err := os.Stat(s.Name)
	switch s.Kind {
	case StampMissing:
		return regular.IsMissing(err)
	case StampFolder:
		return err == nil && info.IsDir()
	}
	if err != nil {
		return false
	}
	if identity, ok := identityOf(info); !ok || identity != s.Identity {
		return false
	}
	return s.Kind == StampWhole || sumOf(s.Name, info) == s.Sum
}

// sumOf returns the hash of the content of a file, or of the names and types in a directory.
func sumOf(name string, info fs.FileInfo) Answer {
	if !info.IsDir() {
		content, err := os.ReadFile(name)
		return answerContent(content, err)
	}
	entries, err := os.ReadDir(name)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Type().String()+" "+entry.Name())
	}
	return answerNames(names, err)
}

// Trust returns the stamps, which held at the given time, without the hash for files whose time shows every change
// since then. It reports whether any stamp differs from the original.
func (s Stamps) Trust(at time.Time) (Stamps, bool) {
	trusted := slices.Clone(s)
	changed := false
	for i, stamp := range trusted {
		if stamp.Kind == StampFresh && !stamp.isRacy(at) {
			trusted[i].Kind, trusted[i].Sum = StampWhole, Answer{}
			changed = true
		}
	}
	return trusted, changed
}

// isRacy reports whether the file may have changed again by the given time without a change of its metadata.
func (s Stamp) isRacy(at time.Time) bool { return at.Sub(time.Unix(0, s.Changed)) <= racyTime }

// StampFile returns the stamp of a file or directory with the given info. Call it before reading the content. It
// returns false if the metadata does not show every change.
func StampFile(name string, info fs.FileInfo) (Stamp, bool) {
	identity, ok := identityOf(info)
	stamp := Stamp{Name: name, Kind: StampWhole, Identity: identity}
	if !ok || !stamp.isRacy(time.Now()) {
		return stamp, ok
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return stamp, false // the content of a pipe or device can change without a change of its metadata
	}
	stamp.Kind, stamp.Sum = StampFresh, sumOf(name, info)
	return stamp, true
}

// stampLog collects stamps. It is safe for concurrent use. A nil log collects nothing.
type stampLog struct {
	mu      sync.Mutex
	stamps  map[string]Stamp // by name
	unknown bool             // the state of some file cannot be stamped
}

// found records the result of os.Stat for name.
func (l *stampLog) found(name string, info fs.FileInfo, err error) {
	if l == nil {
		return
	}
	stamp, ok := Stamp{Name: name, Kind: StampMissing}, regular.IsMissing(err)
	if err == nil {
		stamp, ok = StampFile(name, info)
	}
	l.add(stamp, ok)
}

// dir records whether name is a directory.
func (l *stampLog) dir(name string, info fs.FileInfo, err error) {
	if l == nil {
		return
	}
	if err == nil && info.IsDir() {
		l.add(Stamp{Name: name, Kind: StampFolder}, true)
		return
	}
	l.found(name, info, err)
}

func (l *stampLog) add(stamp Stamp, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, isKnown := l.stamps[stamp.Name]
	switch {
	case !ok || isKnown && known.Kind == stamp.Kind && known != stamp:
		l.unknown = true
	case isKnown && known.Kind != stamp.Kind && (known.Kind == StampMissing || stamp.Kind == StampMissing):
		l.unknown = true
	case isKnown && known.Kind != StampFolder && stamp.Kind != StampFolder && known.Identity != stamp.Identity:
		l.unknown = true
	case !isKnown || known.Kind == StampFolder:
		l.stamps[stamp.Name] = stamp
	}
}

// all returns the stamps. It returns false if they do not show every change.
func (l *stampLog) all() (Stamps, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unknown {
		return nil, false
	}
	stamps := make(Stamps, 0, len(l.stamps))
	for _, stamp := range l.stamps {
		stamps = append(stamps, stamp)
	}
	return stamps, true
}
