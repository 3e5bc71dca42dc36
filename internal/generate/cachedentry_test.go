package generate_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

func TestDamagedEntryIsMadeAnew(t *testing.T) {
	dir := cachedProject(t)
	o := everything()
	o.Cache.Dir = t.TempDir()
	cachedRun(t, dir, o)
	for name, damage := range map[string]func([]byte) []byte{
		"empty":         func([]byte) []byte { return nil },
		"cut off":       func(text []byte) []byte { return text[:len(text)-1] },
		"longer":        func(text []byte) []byte { return append(text, 0) },
		"other format":  func(text []byte) []byte { return append([]byte("x"), text[1:]...) },
		"wrong content": func(text []byte) []byte { text[len(text)-40] ^= 1; return text },
	} {
		t.Run(name, func(t *testing.T) {
			for file := range entries(t, o.Cache) {
				text := read(t, o.Cache.Dir, file)
				write(t, o.Cache.Dir, file, string(damage([]byte(text))))
			}
			for _, want := range []bool{false, true} {
				if hit := cachedRun(t, dir, o); hit != want {
					t.Errorf("from the cache %v, want %v", hit, want)
				}
			}
		})
	}
}

// TestEntryOfAnotherProjectIsMadeAnew puts the entry of one project in the place of that of another.
func TestEntryOfAnotherProjectIsMadeAnew(t *testing.T) {
	o := everything()
	o.Cache.Dir = t.TempDir()
	cachedRun(t, cachedProject(t), o)
	var foreign string
	for name := range entries(t, o.Cache) {
		foreign = read(t, o.Cache.Dir, name)
		remove(t, o.Cache.Dir, name)
	}
	dir := cachedProject(t)
	cachedRun(t, dir, o)
	for name := range entries(t, o.Cache) {
		write(t, o.Cache.Dir, name, foreign)
	}
	if cachedRun(t, dir, o) {
		t.Error("the entry of another project was used")
	}
}

func TestErrorsAreNotCached(t *testing.T) {
	dir := cachedProject(t)
	o := everything()
	o.Cache.Dir = t.TempDir()
	edit(t, dir, "units/units.go", "string", "Nothing")
	for range 2 {
		if err := generate.Run(t.Context(), dir, plan.New(os.DirFS(dir)), nil, o); err == nil {
			t.Error("no error")
		}
	}
	if n := len(entries(t, o.Cache)); n != 0 {
		t.Errorf("%d entries", n)
	}
}

func TestWarningsAreRepeated(t *testing.T) {
	dir := cachedProject(t)
	// Nothing is made of this type.
	write(t, dir, "units/idle.go", "package units\n\n// +kubebuilder:validation:Minimun=1\ntype Idle int\n")
	o := everything()
	o.Cache.Dir = t.TempDir()
	var runs [2][]string
	for i := range runs {
		o.Warn = func(f lint.Finding) { runs[i] = append(runs[i], f.Error.Error()+"; "+f.Hint) }
		if err := generate.Run(t.Context(), dir, plan.New(os.DirFS(dir)), nil, o); err != nil {
			t.Fatal(err)
		}
	}
	if len(runs[0]) != 1 || cmp.Diff(runs[0], runs[1]) != "" {
		t.Errorf("first %q, then %q", runs[0], runs[1])
	}
}

func TestRunsAtTheSameTime(t *testing.T) {
	dir := cachedProject(t)
	o := everything()
	o.Cache.Dir = t.TempDir()
	want := run(t, dir, everything())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 3 {
				p := plan.New(os.DirFS(dir))
				if err := generate.Run(t.Context(), dir, p, nil, o); err != nil {
					t.Error(err)
				} else if diff := cmp.Diff(want, outputs(p)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	wg.Wait()
	if n := len(entries(t, o.Cache)); n != 1 {
		t.Errorf("%d files in the cache, want 1", n)
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	dir := cachedProject(t)
	file := filepath.Join(t.TempDir(), "file")
	write(t, filepath.Dir(file), "file", "in the way")
	o := everything()
	o.Cache.Dir = filepath.Join(file, "cache")
	p := plan.New(os.DirFS(dir))
	if err := generate.Run(t.Context(), dir, p, nil, o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(run(t, dir, everything()), outputs(p)); diff != "" {
		t.Error(diff)
	}
}
