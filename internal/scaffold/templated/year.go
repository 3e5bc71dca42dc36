package templated

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// placeholder is the text in a header that a year replaces.
const placeholder = " YEAR"

// deepCopies is the name of a generated file that contains the header.
const deepCopies = "zz_generated.deepcopy.go"

// Dated returns the header for new files of a project, with the year filled in.
func Dated(p *plan.Plan, header []byte) ([]byte, error) {
	year, err := YearOf(p, header)
	if year == "" {
		return header, err
	}
	return bytes.ReplaceAll(header, []byte(placeholder), []byte(" "+year)), err
}

// YearOf returns the year that replaces YEAR in the header of Go files if no flag sets it. It is the year in existing
// generated code, which a Makefile may set, or else the current year. It is empty if the header has no placeholder.
func YearOf(p *plan.Plan, header []byte) (string, error) {
	before, after, found := lineAround(header)
	if !found {
		return "", nil
	}
	year := strconv.Itoa(time.Now().UTC().Year())
	err := fs.WalkDir(p.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "vendor" || base == "third_party" ||
			base == "node_modules"):
			return fs.SkipDir
		case base != deepCopies || !entry.Type().IsRegular():
			return nil
		}
		text, err := p.Read(name)
		if err != nil {
			return nil // the plan may delete the file
		}
		for line := range bytes.Lines(text) {
			line, begins := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), before)
			there, ends := bytes.CutSuffix(line, after)
			if n, err := strconv.Atoi(string(bytes.TrimSpace(there))); begins && ends && err == nil && n > 0 {
				year = strconv.Itoa(n)
				return fs.SkipAll
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return year, err
}

// lineAround returns the text before and after the year in the header's line with the placeholder.
func lineAround(header []byte) (before, after []byte, found bool) {
	for line := range bytes.Lines(header) {
		if before, after, found = bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(placeholder)); found {
			return before, after, true
		}
	}
	return nil, nil, false
}

// YearIn returns the copyright year in a header, or 0.
func YearIn(header []byte) int {
	_, rest, _ := bytes.Cut(header, []byte("Copyright "))
	if len(rest) < 4 {
		return 0
	}
	year, _ := strconv.Atoi(string(rest[:4]))
	return year
}
