package source

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Stamps are the files and folders that answers were taken from, as they were then. As long as all are like that, the
// answers are the same, and nothing has to be read to know it.
type Stamps []Stamp

// Stamp is what tells one state of a file or folder from all others.
type Stamp struct {
	Name string // absolute
	Kind StampKind
	Identity
}

// StampKind says how much of a file or folder counts.
type StampKind byte

// The kinds of stamps.
const (
	StampMissing StampKind = 'm' // that it does not exist
	StampFolder  StampKind = 'd' // that it is a folder
	StampWhole   StampKind = 'w' // everything
)

// Identity is what a file system says of a file, and changes with its content: Changed whatever else is set to look the
// same.
type Identity struct {
	Device, Inode     uint64
	Size              int64
	Modified, Changed int64 // nanoseconds since 1970
}

// settleTime is how long ago a file must have changed, so that changing it again is certain to show: file systems count
// time in steps of up to two seconds.
const settleTime = 2 * time.Second

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
		return isMissing(err)
	case StampFolder:
		return err == nil && info.IsDir()
	}
	if err != nil {
		return false
	}
	identity, ok := identityOf(info)
	return ok && identity == s.Identity
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// StampFile stamps a file or folder by what its file system says. It reports false if the next change might not show.
func StampFile(name string, info fs.FileInfo) (Stamp, bool) {
	identity, ok := identityOf(info)
	settled := ok && time.Since(time.Unix(0, identity.Changed)) > settleTime
	return Stamp{Name: name, Kind: StampWhole, Identity: identity}, settled
}

// stampLog collects stamps. It is safe for concurrent use; a nil log collects nothing.
type stampLog struct {
	mu        sync.Mutex
	stamps    map[string]Stamp // by name
	unsettled bool             // of something there is no stamp to rely on
}

// found notes what os.Stat has said of name.
func (l *stampLog) found(name string, info fs.FileInfo, err error) {
	if l == nil {
		return
	}
	stamp, settled := Stamp{Name: name, Kind: StampMissing}, isMissing(err)
	if err == nil {
		stamp, settled = StampFile(name, info)
	}
	l.add(stamp, settled)
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

func (l *stampLog) add(stamp Stamp, settled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, isKnown := l.stamps[stamp.Name]
	switch {
	case !settled || isKnown && known.Kind == stamp.Kind && known != stamp:
		l.unsettled = true
	case isKnown && known.Kind != stamp.Kind && (known.Kind == StampMissing || stamp.Kind == StampMissing):
		l.unsettled = true
	case !isKnown || known.Kind == StampFolder:
		l.stamps[stamp.Name] = stamp
	}
}

// all returns the stamps. It reports false if they do not tell of every change.
func (l *stampLog) all() (Stamps, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unsettled {
		return nil, false
	}
	stamps := make(Stamps, 0, len(l.stamps))
	for _, stamp := range l.stamps {
		stamps = append(stamps, stamp)
	}
	return stamps, true
}
