// Package incremental keeps what generators made, so that they need not run again while nothing changes that they read.
//
// A [Store] is a folder with one file for each [Key]: who generates what, where. An [Entry] in it says which questions
// were asked of the disk, with their answers, and what came out. The caller asks again, by markers.Inputs.Unchanged, and
// uses the entry if all answers are the same.
//
// # Guarantees
//
//   - An entry is complete or absent: it is written beside its place and renamed. Any number of processes may read and
//     write at once, and may be killed at any time.
//   - An entry that is damaged, is of another key or has another format is absent.
//   - The folder stays below a size: the entries that were used longest ago go first, and what killed processes left
//     goes after an hour.
//   - A folder that cannot be written or read means work, never failure.
package incremental

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// maxBytes is how large the folder may become, and maxAge how long an entry stays that nobody uses.
	maxBytes = 256 << 20
	maxAge   = 30 * 24 * time.Hour
	// leftoverAge is when a file that is not in place yet cannot be one that is being written.
	leftoverAge = time.Hour
	// touchAge is how old the time of last use may be, so that reading seldom writes.
	touchAge = 24 * time.Hour
)

// The names of files: of entries, of their stamps, and of those that are being written.
const (
	entrySuffix   = ".entry"
	stampedSuffix = ".stamps"
	freshSuffix   = ".fresh"
)

// Store is a folder of entries. The zero value, and one without a folder, is always empty.
type Store struct {
	// Dir is the folder. It is made when something is put in.
	Dir string
	// MaxBytes bounds the size of the entries; 0 means 256 MiB.
	MaxBytes int64
}

// UserStore returns the store in the cache folder of the user.
func UserStore() Store {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Store{}
	}
	return Store{Dir: filepath.Join(cache, "kctrl", "generate")}
}

func (s Store) file(key Key, suffix string) string {
	return filepath.Join(s.Dir, hex.EncodeToString(key[:16])+suffix)
}

// Get returns the entry of a key, if there is one that can be trusted.
func (s Store) Get(key Key) (*Entry, bool) {
	content, ok := s.read(key, entrySuffix)
	if !ok {
		return nil, false
	}
	entry, err := decode(key, content)
	return entry, err == nil
}

// read returns the content of a file, which is in use from now on.
func (s Store) read(key Key, suffix string) ([]byte, bool) {
	if s.Dir == "" {
		return nil, false
	}
	name := s.file(key, suffix)
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	now := time.Now()
	if info, err := os.Stat(name); err == nil && now.Sub(info.ModTime()) > touchAge {
		// The order in which entries go is all that depends on it.
		_ = os.Chtimes(name, now, now)
	}
	return content, true
}

// Put keeps an entry in the place of the one that the key has, and sets its sum. An error says why it could not.
func (s Store) Put(key Key, entry *Entry) error {
	content := encode(key, entry)
	entry.Sum = sumIn(content)
	if err := s.write(key, entrySuffix, content); err != nil {
		return err
	}
	// The stamps of the entry before say nothing of this one.
	_ = os.Remove(s.file(key, stampedSuffix))
	s.prune(time.Now())
	return nil
}

// write replaces a file.
func (s Store) write(key Key, suffix string, content []byte) error {
	if s.Dir == "" {
		return errors.New("there is no cache folder")
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	// By a rename, since another run may read it at this moment.
	file, err := os.CreateTemp(s.Dir, "*"+freshSuffix)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), s.file(key, suffix))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// prune removes what is too old, and then the oldest until the rest is small enough. Another process may do the same.
func (s Store) prune(now time.Time) {
	limit := s.MaxBytes
	if limit == 0 {
		limit = maxBytes
	}
	kept, total := s.removeOld(now)
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	// The newest stays, however large it is.
	for len(kept) > 1 && total > limit {
		_ = os.Remove(filepath.Join(s.Dir, kept[0].Name()))
		total -= kept[0].Size()
		kept = kept[1:]
	}
}

// removeOld removes entries and leftovers by age, and returns the entries that stay and their size.
func (s Store) removeOld(now time.Time) (kept []fs.FileInfo, total int64) {
	files, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, 0
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		age := now.Sub(info.ModTime())
		isEntry := strings.HasSuffix(file.Name(), entrySuffix) || strings.HasSuffix(file.Name(), stampedSuffix)
		switch {
		case isEntry && age > maxAge, strings.HasSuffix(file.Name(), freshSuffix) && age > leftoverAge:
			_ = os.Remove(filepath.Join(s.Dir, file.Name()))
		case isEntry:
			kept = append(kept, info)
			total += info.Size()
		}
	}
	return kept, total
}
