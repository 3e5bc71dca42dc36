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

// Stamps are the files and folders that answers were taken from, as they were then. As long as all are like that, the
// answers are the same, and nothing has to be read to know it.
type Stamps []Stamp

// Stamp is what tells one state of a file or folder from all others.
type Stamp struct {
	Name string // absolute
	Kind StampKind
	Identity
	// Sum is the hash of what is in a file or folder that changed so shortly ago that the next change might not show.
	Sum Answer
}

// StampKind says how much of a file or folder counts.
type StampKind byte

// The kinds of stamps.
const (
	StampMissing StampKind = 'm' // that it does not exist
	StampFolder  StampKind = 'd' // that it is a folder
	StampWhole   StampKind = 'w' // everything that the file system says of it
	StampFresh   StampKind = 'f' // the same, and what is in it
)

// Identity is what a file system says of a file, and changes with its content: Changed whatever else is set to look the
// same.
type Identity struct {
	Device, Inode     uint64
	Size              int64
	Modified, Changed int64 // nanoseconds since 1970
}

// racyTime is how long ago a file must have changed, so that changing it again is certain to show: file systems count
// time in steps of up to two seconds.
const racyTime = 2 * time.Second

// Hold reports whether everything is as it was.
func (s Stamps) Hold() bool {
	if len(s) == 0 {
		return true
	}
	var next atomic.Int64
	var changed atomic.Bool
	check := func() {
		for !changed.Load() {
			first := int(next.Add(stampsAtOnce)) - stampsAtOnce
			if first >= len(s) {
				return
			}
			for _, stamp := range s[first:min(first+stampsAtOnce, len(s))] {
				if !stamp.holds() {
					changed.Store(true)
				}
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(s)/stampsAtOnce, 4) - 1 {
		wg.Go(check)
	}
	check()
	wg.Wait()
	return !changed.Load()
}

// stampsAtOnce is how many files are looked at before another goroutine may look at more.
const stampsAtOnce = 64

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

// sumOf returns the hash of the content of a file, or of the names in a folder and what they are.
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

// Trust returns stamps that held at a time, without the content where a change since then is certain to show. It reports
// whether these are other ones.
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

// isRacy reports whether a file may have changed once more without its time showing it.
func (s Stamp) isRacy(at time.Time) bool { return at.Sub(time.Unix(0, s.Changed)) <= racyTime }

// StampFile stamps a file or folder of which info tells, before anything is read from it. It reports false if the file
// system does not say enough.
func StampFile(name string, info fs.FileInfo) (Stamp, bool) {
	identity, ok := identityOf(info)
	stamp := Stamp{Name: name, Kind: StampWhole, Identity: identity}
	if !ok || !stamp.isRacy(time.Now()) {
		return stamp, ok
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return stamp, false // Nobody knows what a pipe has to say, or when.
	}
	stamp.Kind, stamp.Sum = StampFresh, sumOf(name, info)
	return stamp, true
}

// stampLog collects stamps. It is safe for concurrent use; a nil log collects nothing.
type stampLog struct {
	mu      sync.Mutex
	stamps  map[string]Stamp // by name
	unknown bool             // of something there is no stamp to rely on
}

// found notes what os.Stat has said of name.
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

// folder notes that name is a folder, or is not.
func (l *stampLog) folder(name string, info fs.FileInfo, err error) {
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

// all returns the stamps. It reports false if they do not tell of every change.
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
