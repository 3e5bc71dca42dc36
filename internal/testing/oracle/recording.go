package oracle

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/txtar"
)

// directory contains the recordings of a package: one archive for each run of controller-gen, in a directory with the
// name of the test. The name of the archive is a hash of all inputs, so a changed input has no recording.
const directory = "testdata/oracle"

const (
	// readable is the maximum size in bytes of an uncompressed archive.
	readable   = 32 << 10
	compressed = ".gz"
)

// used are the recordings that tests have used.
var used sync.Map

// recording returns the file name of the result of a command.
func (c Command) recording(t testing.TB, module string) string {
	t.Helper()
	dir, err := filepath.Rel(module, c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %q %q\n", Version, filepath.ToSlash(dir), slices.Concat(c.Env, c.Args))
	files := Files(t, module)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		switch filepath.Base(name) {
		case "go.sum":
			continue // depends only on go.mod
		case "go.mod":
			content = requirements(t, name, content)
		}
		fmt.Fprintf(hash, "%q %d\n%s", name, len(content), content)
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	return filepath.Join(directory, test, hex.EncodeToString(hash.Sum(nil))[:16]+".txtar")
}

// imported are the modules of Kubernetes that input files import.
var imported = []string{
	"k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/utils",
}

// requirements returns the part of a go.mod that affects controller-gen: the versions of modules that input files
// import.
func requirements(t testing.TB, name, content string) string {
	t.Helper()
	file, err := modfile.Parse(name, []byte(content), nil)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintln("module", file.Module.Mod.Path)
	slices.SortFunc(file.Require, func(a, b *modfile.Require) int { return strings.Compare(a.Mod.Path, b.Mod.Path) })
	for _, require := range file.Require {
		if slices.Contains(imported, require.Mod.Path) || strings.HasPrefix(require.Mod.Path, "example.com/") {
			text += fmt.Sprintln(require.Mod)
		}
	}
	for _, replace := range file.Replace {
		text += fmt.Sprintln(replace.Old, "=>", replace.New)
	}
	return text
}

func thisYear() string { return strconv.Itoa(time.Now().Year()) }

const failed = "It failed.\n"

// write records a result.
func (c Command) write(t testing.TB, name string, r Result) {
	t.Helper()
	archive := &txtar.Archive{Comment: fmt.Appendf(nil, "controller-gen %s %s\n", Version,
		strings.Join(slices.Concat(c.Env, c.Args), " "))}
	if r.Failed {
		archive.Comment = append(archive.Comment, failed...)
	}
	add := func(name, content string) {
		if c.Dated {
			content = strings.ReplaceAll(content, thisYear(), "$YEAR")
		}
		if content != "" {
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(content)})
		}
	}
	add("stdout", r.Stdout)
	add("stderr", r.Stderr)
	for _, path := range slices.Sorted(maps.Keys(r.Files)) {
		add("module/"+path, r.Files[path])
	}
	save(t, name, txtar.Format(archive))
	if again := c.read(t, name); !maps.Equal(again.Files, r.Files) || again.Stdout != r.Stdout ||
		again.Stderr != r.Stderr {
		t.Fatalf("%s cannot hold the result: each file needs content that ends with a line", name)
	}
}

// read returns a recorded result.
func (c Command) read(t testing.TB, name string) Result {
	t.Helper()
	text := open(t, name)
	if c.Dated {
		text = bytes.ReplaceAll(text, []byte("$YEAR"), []byte(thisYear()))
	}
	archive := txtar.Parse(text)
	r := Result{Files: map[string]string{}, Failed: strings.HasSuffix(string(archive.Comment), failed)}
	for _, file := range archive.Files {
		switch path, written := strings.CutPrefix(file.Name, "module/"); {
		case written:
			r.Files[path] = string(file.Data)
		case file.Name == "stdout":
			r.Stdout = string(file.Data)
		case file.Name == "stderr":
			r.Stderr = string(file.Data)
		default:
			t.Fatalf("%s: unknown file %s", name, file.Name)
		}
	}
	return r
}

// save writes an archive and removes the previous one.
func save(t testing.TB, name string, text []byte) {
	t.Helper()
	content, as, other := text, name, name+compressed
	if len(text) > readable {
		var buffer bytes.Buffer
		to := gzip.NewWriter(&buffer)
		if _, err := to.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		content, as, other = buffer.Bytes(), name+compressed, name
	}
	Write(t, ".", as, string(content))
	if err := os.Remove(other); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// open returns the text of an archive.
func open(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		return text
	}
	file, err := os.Open(name + compressed)
	if os.IsNotExist(err) {
		t.Fatalf("no recording of controller-gen for this input: %s is missing\nhint: %s", name, hint())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	from, err := gzip.NewReader(file)
	if err == nil {
		text, err = io.ReadAll(from)
	}
	if err != nil {
		t.Fatalf("%s: %v", file.Name(), err)
	}
	return text
}

// hint returns the command that records the results for the tests of this package.
func hint() string {
	at := "."
	if root, err := repository(); err == nil {
		if dir, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(root, dir); err == nil {
				at = "./" + filepath.ToSlash(rel)
			}
		}
	}
	return fmt.Sprintf("run %s=record go test %s in the repository's root", Variable, at)
}

// Main runs the tests of a package and returns the exit code. After all tests have passed, an unused recording is an
// error; the mode "record" removes it.
func Main(m *testing.M) int {
	if code := m.Run(); code != 0 || filtered() {
		return code
	}
	if err := unused(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// filtered reports whether only some of the tests, or of their seeds, run.
func filtered() bool {
	isSet := func(name string) bool { return flag.Lookup(name).Value.String() != "" }
	return os.Getenv("KCTRL_TEST_SEED") != "" ||
		slices.ContainsFunc([]string{"test.run", "test.skip", "test.list", "test.bench", "test.fuzz"}, isSet)
}

func unused() error {
	names, err := filepath.Glob(filepath.Join(directory, "*", "*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := used.Load(strings.TrimSuffix(name, compressed)); ok {
			continue
		}
		if os.Getenv(Variable) != "record" {
			return fmt.Errorf("%s: no test uses this recording\nhint: %s", name, hint())
		}
		if err := os.Remove(name); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(name)) // fails if other recordings are in it
	}
	return nil
}
