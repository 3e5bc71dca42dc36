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

// Key stands for everything that an entry depends on and that is known before anything is read.
type Key [sha256.Size]byte

// identity is what a key is made of. It must not say the same of two runs that may differ.
type identity struct {
	Program  program
	Dir      string
	Settings map[string]string
	Options  json.RawMessage
	Headers  []string
	// Words are the files by which plurals are made, where there are any.
	Words map[string][]byte
}

// NewKey returns the key of generating in a folder with options, which must be all there is to say in JSON, and with the
// texts of headers. It reports false if there can be no key.
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
	// Types are checked here, by these settings of this process.
	id.Settings["GODEBUG"] = os.Getenv("GODEBUG")
	return id.key()
}

func (id identity) key() (Key, bool) {
	all, err := json.Marshal(id)
	return sha256.Sum256(all), err == nil
}

// words returns the files that flect has read when the program began.
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

// program is this program: two builds of the same source with the same tools are the same one, if at all, only as long
// as nobody can tell them apart.
type program struct {
	Version  string
	File     string
	Size     int64
	Modified time.Time
}

// thisProgram finds out once who is running.
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

// NewTextKey returns the key of what this program makes of some texts and of nothing else. It reports false if there can be no key.
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
