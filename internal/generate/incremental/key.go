package incremental

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// Key identifies the inputs of an entry that are known before any file is read.
type Key [sha256.Size]byte

// identity has the fields that a key hashes. Two runs with equal identities must have equal results.
type identity struct {
	Program  program
	Dir      string
	Settings map[string]string
	Options  json.RawMessage
	Headers  []string
	// Words has the contents of flect's files of irregular plurals and acronyms, by default file name.
	Words map[string][]byte
}

// NewKey returns the key of a run of the generators in a directory. options must contain every option, and headers the
// texts of all headers. NewKey reports false if the run cannot be cached.
func NewKey(environment *resolve.Environment, dir string, options any, headers ...string) (Key, bool) {
	self, ok := thisProgram()
	if !ok {
		return Key{}, false
	}
	text, err := json.Marshal(options)
	if err != nil {
		return Key{}, false
	}
	id := identity{Program: self, Dir: dir, Settings: map[string]string{}, Options: text, Headers: headers, Words: words()}
	for _, name := range resolve.Settings {
		if value := environment.Get(name); value != "" {
			id.Settings[name] = value
		}
	}
	id.Settings["version"], id.Settings["root"] = environment.Version, environment.Root
	id.Settings["cache"] = environment.ModuleCache
	// The type checker runs in this process with these settings.
	id.Settings["GODEBUG"] = os.Getenv("GODEBUG")
	return id.key()
}

func (id identity) key() (Key, bool) {
	all, err := json.Marshal(id)
	return sha256.Sum256(all), err == nil
}

// words returns the files that flect read at the start of the program.
func words() map[string][]byte {
	found := map[string][]byte{}
	for variable, usual := range map[string]string{"INFLECT_PATH": "inflections.json", "ACRONYMS_PATH": "acronyms.json"} {
		name, ok := os.LookupEnv(variable)
		if !ok {
			name = usual
		}
		if content, err := os.ReadFile(name); err == nil {
			found[usual] = content
		}
	}
	return found
}

// program identifies the running build of kctrl. Two builds of the same source with the same toolchain are equal only
// if their contents are equal.
type program struct {
	Version  string
	File     string
	Size     int64
	Modified time.Time
}

// thisProgram identifies the running program. It is computed once.
var thisProgram = sync.OnceValues(func() (program, bool) {
	file, err := os.Executable()
	if err != nil {
		return program{}, false
	}
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return program{}, false
	}
	info, err := os.Stat(file)
	if err != nil {
		return program{}, false
	}
	self := program{File: file, Size: info.Size(), Modified: info.ModTime().UTC()}
	if build, ok := debug.ReadBuildInfo(); ok {
		self.Version = build.Main.Version
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" {
				self.Version += " " + setting.Value
			}
		}
	}
	return self, true
})

// NewTextKey returns the key of a result that depends only on this program and on texts. It returns false if the result
// cannot be cached.
func NewTextKey(texts ...[]byte) (Key, bool) {
	self, ok := thisProgram()
	if !ok {
		return Key{}, false
	}
	all, err := json.Marshal(struct {
		Program program
		Texts   [][]byte
	}{self, texts})
	return sha256.Sum256(all), err == nil
}
