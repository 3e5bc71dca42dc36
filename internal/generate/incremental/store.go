// Package incremental caches the output of generators, so that they run only if their inputs change.
//
// A [Store] is a directory with one file for each [Key], which identifies a set of generators and a directory. An
// [Entry] has the inputs of a run, as queries of the disk with their results, and the output. [Store.Current] repeats
// the queries, and returns the entry if all results are the same.
//
// # Guarantees
//
//   - An entry is complete or absent: it is written to a temporary file and renamed. Any number of processes may
//     read and write concurrently, and may be killed at any time.
//   - An entry that is damaged, has another key or another format counts as absent.
//   - The size of the directory is limited: the least recently used entries are removed first, and files of killed
//     processes after an hour.
//   - A directory that cannot be read or written causes more work, but no error.
package incremental

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
)

const (
	// maxBytes is the maximum size of the directory, and maxAge the time after which an unused entry is removed.
	maxBytes = 256 << 20
	maxAge   = 30 * 24 * time.Hour
	// leftoverAge is the age from which a temporary file belongs to a killed process.
	leftoverAge = time.Hour
	// touchAge is the minimum age of the time of last use before it is updated, so that reads seldom write.
	touchAge = 24 * time.Hour
)

// The suffixes of files: entries, their stamps, and temporary files.
const (
	entrySuffix   = ".entry"
	stampedSuffix = ".stamps"
	freshSuffix   = ".fresh"
)

// Store is a directory of entries. A store without a directory, such as the zero value, is always empty.
type Store struct {
	// Dir is the directory. It is created by the first Put.
	Dir string
	// MaxBytes limits the size of the entries; 0 means 256 MiB.
	MaxBytes int64
}

// UserStore returns the store in the cache directory of the user.
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

// Get returns the entry of a key, if it exists and is valid.
func (s Store) Get(key Key) (*Entry, bool) {
	content, ok := s.read(key, entrySuffix)
	if !ok {
		return nil, false
	}
	entry := &Entry{}
	if err := decode(entryFormat, key, content, entry); err != nil {
		return nil, false
	}
	entry.Sum = sumIn(content)
	return entry, true
}

// GetValue decodes the value that PutValue stored for a key, and reports whether there is one.
func (s Store) GetValue(key Key, value any) bool {
	entry, ok := s.Get(key)
	return ok && len(entry.Files) == 1 && json.Unmarshal(entry.Files[0].Content, value) == nil
}

// PutValue stores a value in JSON. It ignores errors, which only cause the value to be computed again.
func (s Store) PutValue(key Key, value any) {
	if content, err := json.Marshal(value); err == nil {
		_ = s.Put(key, &Entry{Files: []artifact.File{{Content: content}}})
	}
}

// read returns the content of a file, and records the use.
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
		// Only the order of removal depends on it.
		_ = os.Chtimes(name, now, now)
	}
	return content, true
}

// Put stores the entry of a key, replacing an earlier one, and sets its sum.
func (s Store) Put(key Key, entry *Entry) error {
	content, err := encode(entryFormat, key, entry.plain())
	if err != nil {
		return err
	}
	entry.Sum = sumIn(content)
	if err := s.write(key, entrySuffix, content); err != nil {
		return err
	}
	// The stamps belong to the previous entry.
	_ = os.Remove(s.file(key, stampedSuffix))
	s.prune(time.Now())
	return nil
}

func (s Store) write(key Key, suffix string, content []byte) error {
	if s.Dir == "" {
		return errors.New("there is no cache directory")
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	// Replace the file by renaming, because another run may be reading it.
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

// prune removes old entries, and then the least recently used ones until the size is below the limit. Other processes
// may do the same concurrently.
func (s Store) prune(now time.Time) {
	limit := s.MaxBytes
	if limit == 0 {
		limit = maxBytes
	}
	kept, total := s.removeOld(now)
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	// The newest entry stays, whatever its size.
	for len(kept) > 1 && total > limit {
		_ = os.Remove(filepath.Join(s.Dir, kept[0].Name()))
		total -= kept[0].Size()
		kept = kept[1:]
	}
}

// removeOld removes entries and temporary files by age. It returns the remaining entries and their size.
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
