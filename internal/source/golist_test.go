package source

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// layouts are arrangements of modules. Each function writes the go.mod files of m, of lib and of nested modules, and
// further required files.
var layouts = map[string]func(t *testing.T, dir string){
	"one module": func(t *testing.T, dir string) {
		write(t, dir, "m/go.mod", "module example.com/m\n\ngo 1.26\n")
	},
	"ignored folders": func(t *testing.T, dir string) {
		write(t, dir, "m/go.mod", "module example.com/m\n\ngo 1.26\n\nignore (\n\tapi\n\t./v1/deep\n)\n")
	},
	"replaced": func(t *testing.T, dir string) {
		replaced(t, dir)
	},
	"vendored": func(t *testing.T, dir string) {
		replaced(t, dir)
		// Only imported packages are vendored.
		var imports []string
		listed, err := goList(t, filepath.Join(dir, "m"), "example.com/lib/...")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range listed {
			if name, _, _ := strings.Cut(p, " "); !strings.Contains(name, "internal") {
				imports = append(imports, fmt.Sprintf("import _ %q\n", name))
			}
		}
		write(t, dir, "m/uses.go", "package p\n\n"+strings.Join(imports, ""))
		run(t, filepath.Join(dir, "m"), "mod", "vendor")
	},
	"vendored, before Go 1.23": func(t *testing.T, dir string) {
		replaced(t, dir)
		write(t, dir, "m/go.mod", strings.Replace(mainModule, "1.26", "1.22", 1))
		write(t, dir, "lib/go.mod", "module example.com/lib\n\ngo 1.20\n")
		write(t, dir, "m/uses.go", "package p\n\nimport _ \"example.com/lib/v1\"\n")
		run(t, filepath.Join(dir, "m"), "mod", "vendor")
		write(t, dir, "m/vendor/example.com/lib/v1/deep/p.go", "package p\n")
	},
	"workspace": func(t *testing.T, dir string) {
		write(t, dir, "m/go.mod", "module example.com/m\n\ngo 1.26\n")
		write(t, dir, "lib/go.mod", "module example.com/lib\n\ngo 1.26\n")
		write(t, dir, "go.work", "go 1.26\n\nuse (\n\t./m\n\t./lib\n)\n")
	},
	"workspace of modules that disagree": func(t *testing.T, dir string) {
		threeModules(t, dir)
		write(t, dir, "go.work", "go 1.26\n\nuse (\n\t./m\n\t./lib\n)\n\nreplace (\n\texample.com/far v1.0.0 => "+
			"./m/nowhere\n\texample.com/far v1.1.0 => ./far\n)\n")
	},
	"vendored workspace": func(t *testing.T, dir string) {
		threeModules(t, dir)
		write(t, dir, "m/uses.go", "package p\n\nimport _ \"example.com/far\"\n")
		write(t, dir, "m/go.mod", strings.Replace(mainModule, "=> ../lib",
			"=> ../lib\n\nrequire example.com/far v1.1.0\n\nreplace example.com/far => ../far", 1))
		write(t, dir, "go.work", "go 1.26\n\nuse (\n\t./m\n\t./lib\n)\n")
		run(t, dir, "work", "vendor")
	},
	"requirements of requirements": threeModules,
	"before Go 1.17": func(t *testing.T, dir string) {
		threeModules(t, dir)
		write(t, dir, "m/go.mod", strings.Replace(mainModule, "1.26", "1.16", 1)+"\nreplace example.com/far => ../far\n")
		write(t, dir, "lib/go.mod", "module example.com/lib\n\ngo 1.16\n\nrequire example.com/far v1.0.0\n")
		write(t, dir, "far/go.mod", "module example.com/far\n")
	},
	"names without a dot": func(t *testing.T, dir string) {
		write(t, dir, "m/go.mod", "module guestbook\n\ngo 1.26\n\nrequire net v1.0.0\n\nreplace net => ../lib\n")
		write(t, dir, "lib/go.mod", "module net\n\ngo 1.26\n")
	},
	"nested": func(t *testing.T, dir string) {
		replaced(t, dir)
		write(t, dir, "m/api/go.mod", "module example.com/m/api\n\ngo 1.26\n")
		write(t, dir, "lib/v1/go.mod", "module example.com/other\n\ngo 1.26\n")
	},
}

const mainModule = "module example.com/m\n\ngo 1.26\n\nrequire example.com/lib v1.0.0\n\nreplace example.com/lib => " +
	"../lib\n"

// threeModules creates a module that requires a second one, which requires a third.
func threeModules(t *testing.T, dir string) {
	replaced(t, dir)
	write(t, dir, "m/go.mod", mainModule+"\nreplace example.com/far => ../far\n")
	write(t, dir, "lib/go.mod", "module example.com/lib\n\ngo 1.26\n\nrequire example.com/far v1.1.0\n")
	write(t, dir, "far/go.mod", "module example.com/far\n\ngo 1.26\n")
	write(t, dir, "far/far.go", "package far\n")
	write(t, dir, "far/v1/far.go", "package far\n")
}

func replaced(t *testing.T, dir string) {
	write(t, dir, "m/go.mod", mainModule)
	write(t, dir, "lib/go.mod", "module example.com/lib\n\ngo 1.26\n")
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := try(t, dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func try(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, problems.String())
	}
	return string(out), nil
}

// goList returns the sorted import paths and directories of the packages that match patterns.
func goList(t *testing.T, dir string, patterns ...string) ([]string, error) {
	t.Helper()
	out, err := try(t, dir, append([]string{"list", "-tags=ignore_autogenerated", "-f", "{{.ImportPath}} {{.Dir}}"},
		patterns...)...)
	lines := strings.FieldsFunc(out, func(r rune) bool { return r == '\n' })
	if len(lines) == 0 {
		return nil, err
	}
	slices.Sort(lines)
	return slices.Compact(lines), err
}

var folderNames = []string{"api", "v1", "v1alpha1", "deep", "internal", "vendor", "testdata", "_x", ".x", "apis"}

// randomFiles creates directories with and without packages.
func randomFiles(t *testing.T, r *rand.Rand, dir string) {
	for range 14 {
		parts := []string{"m", "lib"}[r.IntN(2)]
		for range r.IntN(4) {
			parts += "/" + folderNames[r.IntN(len(folderNames))]
		}
		if strings.HasPrefix(parts+"/", "m/vendor/") {
			continue // the vendor directory of the main module
		}
		switch r.IntN(6) {
		case 0:
			write(t, dir, parts+"/ignored.go", "//go:build ignore\n\npackage p\n")
		case 1:
			write(t, dir, parts+"/zz_generated.go", "//go:build !ignore_autogenerated\n\npackage p\n")
		default:
			write(t, dir, parts+"/p.go", "package p\n")
		}
	}
	write(t, dir, "m/m.go", "package p\n")
	write(t, dir, "lib/v1/lib.go", "package p\n")
	if r.IntN(2) == 0 {
		write(t, dir, "elsewhere/p.go", "package p\n")
		if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "m", "linked")); err != nil {
			t.Fatal(err)
		}
	}
}

// randomPattern returns a pattern of import paths.
func randomPattern(r *rand.Rand) string {
	names := []string{"example.com/m", "example.com/lib", "example.com", "example.com/far", "guestbook", "net", "fmt",
		"api", "vendor", "cmd/go", "internal"}
	text := names[r.IntN(3)]
	if r.IntN(3) == 0 {
		text = names[r.IntN(len(names))]
	}
	for range r.IntN(3) {
		text += "/" + folderNames[r.IntN(len(folderNames))]
	}
	switch r.IntN(6) {
	case 0:
		return text
	case 1:
		return text[:len(text)-r.IntN(3)] + "..."
	case 2:
		return text + "/.../" + folderNames[r.IntN(4)]
	case 3:
		return text + "/v1..."
	case 4:
		return text + "...v1..."
	}
	return text + "/..."
}

// TestImportPathsAreThoseOfTheGoCommand compares the matches of patterns with the go command, over random trees. Only
// failing patterns may be left to the go command.
func TestImportPathsAreThoseOfTheGoCommand(t *testing.T) {
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			for seed := range *seeds {
				r := rand.New(rand.NewPCG(uint64(seed), 1))
				dir, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				randomFiles(t, r, dir)
				layout(t, dir)
				for range 8 {
					samePackages(t, filepath.Join(dir, "m"), randomPattern(r))
				}
			}
		})
	}
}

// TestSettingsAreThoseOfTheGoCommand is like TestImportPathsAreThoseOfTheGoCommand, with settings of the go command.
func TestSettingsAreThoseOfTheGoCommand(t *testing.T) {
	for _, settings := range []string{
		"GOFLAGS=-mod=mod", "GOFLAGS=-mod=readonly", "GOFLAGS=-mod=vendor", "GOFLAGS=-mod=other",
		"GOFLAGS=-v '-ldflags=-X a=b c' \"-mod=mod\"",
		"GOFLAGS='-v", "GOFLAGS=-mod=mod -mod=readonly", "GOFLAGS=-modcacherw", "GOFLAGS=-nonsense",
		"GOFLAGS=-modfile=alt.mod",
		"GOFLAGS=-modfile=none.mod", "GOFLAGS=-modfile=go.sum", "GOFLAGS=-modfile=ABSOLUTE/alt.mod", "GOEXPERIMENT=jsonv2",
		"GOEXPERIMENT=nojsonv2,none",
		"GOEXPERIMENT=nonsense", "GOFIPS140=off", "GOFIPS140=latest", "GOFIPS140=nonsense", "GOWORK=off", "GOWORK=go.work",
		"GOWORK=ABSOLUTE/none.work",
		"GOTOOLCHAIN=local", "GO111MODULE=on",
	} {
		t.Run(settings, func(t *testing.T) {
			for _, layout := range []string{"replaced", "vendored", "workspace"} {
				dir, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				r := rand.New(rand.NewPCG(uint64(len(settings)), 4))
				randomFiles(t, r, dir)
				layouts[layout](t, dir)
				write(t, dir, "m/alt.mod", strings.ReplaceAll(mainModule, "lib", "other"))
				write(t, dir, "other/go.mod", "module example.com/other\n")
				write(t, dir, "other/p.go", "package p\n")
				name, value, _ := strings.Cut(strings.ReplaceAll(settings, "ABSOLUTE", filepath.Join(dir, "m")), "=")
				t.Setenv(name, value)
				for _, pattern := range []string{"example.com/m/...", "example.com/lib/v1", "example.com/other",
					"example.com/..."} {
					samePackages(t, filepath.Join(dir, "m"), pattern)
				}
				for _, folder := range []string{".", "api", "v1"} {
					_, failure := goList(t, filepath.Join(dir, "m", folder), "./...")
					if failure == nil {
						sameDirs(t, filepath.Join(dir, "m"), folder, "/...")
					}
				}
				t.Setenv(name, "")
			}
		})
	}
}

// TestUnknownTagsAreLeftToTheGoCommand checks a tag that is set only in some builds.
func TestUnknownTagsAreLeftToTheGoCommand(t *testing.T) {
	t.Setenv("GOFLAGS", "-race")
	for content, served := range map[string]bool{"package p\n": true, "//go:build race\n\npackage p\n": false,
		"// +build !race\n\npackage p\n": false} {
		dir := t.TempDir()
		write(t, dir, "go.mod", "module example.com/m\n\ngo 1.26\n")
		write(t, dir, "p.go", content)
		tree := opened(t, dir)
		packages, err := tree.Resolver(dir)
		if err != nil {
			t.Fatal(err)
		}
		found, err := packages.Find("example.com/m")
		if err == nil {
			_, err = found.Files()
		}
		if (err == nil) != served {
			t.Errorf("%q: %v", content, err)
		}
	}
}

var seeds = flag.Int("seeds", 3, "how many random trees each layout has")

// samePackages compares one pattern.
func samePackages(t *testing.T, dir, pattern string) {
	t.Helper()
	want, failure := goList(t, dir, pattern)
	dirs, passed, err := opened(t, dir).Dirs(dir, []string{pattern}, true)
	_, unusual := errors.AsType[*resolve.UnusualError](err)
	switch {
	case failure != nil && err == nil:
		t.Errorf("%s in %s: %v, %v, but %v", pattern, dir, dirs, err, failure)
	case failure != nil:
		return
	case unusual:
		t.Errorf("%s in %s is left to the go command: %v", pattern, dir, err)
	}
	var got []string
	for _, f := range dirs {
		got = append(got, f.ImportPath()+" "+f.Dir)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s in %s (-go list +kctrl), %v, %v:\n%s", pattern, dir, passed, err, diff)
	}
}

// TestDirectoryPatternsMatchTheGoCommand compares patterns for the directories of a project with the go command.
func TestDirectoryPatternsMatchTheGoCommand(t *testing.T) {
	for _, name := range []string{"one module", "ignored folders", "nested", "vendored"} {
		t.Run(name, func(t *testing.T) {
			for seed := range *seeds {
				r := rand.New(rand.NewPCG(uint64(seed), 2))
				dir, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				randomFiles(t, r, dir)
				layouts[name](t, dir)
				m := filepath.Join(dir, "m")
				for _, pattern := range []string{"./...", "./api...", "./v1...", "./.../v1", "./...v1...", "./api/.../deep",
					"./v1alpha1/...", "./...deep", "./.../vendor"} {
					if !NewTree(nil).IsDir(filepath.Join(m, resolve.NewPattern(pattern).Base())) {
						continue
					}
					dirs, _, err := opened(t, m).Dirs(m, []string{pattern}, false)
					var got []string
					for _, f := range dirs {
						got = append(got, f.ImportPath()+" "+f.Dir)
					}
					slices.Sort(got)
					want, failure := goList(t, m, pattern)
					if diff := cmp.Diff(want, got); diff != "" || failure != nil && err == nil {
						t.Errorf("%s in %s (-go list +kctrl), error %v, %v:\n%s", pattern, m, err, failure, diff)
					}
				}
			}
		})
	}
}

// TestDirectoriesOfControllerGenMatchTheGoCommand compares directories and trees in the syntax of controller-gen, which
// runs the go command in them.
func TestDirectoriesOfControllerGenMatchTheGoCommand(t *testing.T) {
	for _, name := range []string{"one module", "ignored folders", "replaced", "vendored", "vendored, before Go 1.23",
		"workspace", "before Go 1.17", "names without a dot"} {
		t.Run(name, func(t *testing.T) {
			for seed := range *seeds {
				r := rand.New(rand.NewPCG(uint64(seed), 3))
				dir, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				randomFiles(t, r, dir)
				layouts[name](t, dir)
				m := filepath.Join(dir, "m")
				for _, folder := range []string{".", "api", "v1", "_x", ".x", "testdata", "testdata/v1", "_x/api", "api/internal",
					"vendor", "vendor/example.com", "vendor/example.com/lib", "vendor/example.com/lib/v1", "api/vendor"} {
					if !NewTree(nil).IsDir(filepath.Join(m, folder)) {
						continue
					}
					sameDirs(t, m, folder, "")
					sameDirs(t, m, folder, "/...")
				}
			}
		})
	}
}

func sameDirs(t *testing.T, m, folder, below string) {
	t.Helper()
	want, failure := goList(t, filepath.Join(m, folder), "."+below)
	dirs, _, err := opened(t, m).Dirs(m, []string{"./" + folder + below}, true)
	if failure != nil {
		if err == nil {
			t.Errorf("./%s%s in %s: %v, but %v", folder, below, m, dirs, failure)
		}
		return
	}
	if _, unusual := errors.AsType[*resolve.UnusualError](err); unusual {
		t.Errorf("./%s%s in %s is left to the go command: %v", folder, below, m, err)
	}
	var got []string
	for _, f := range dirs {
		got = append(got, f.ImportPath()+" "+f.Dir)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("./%s%s in %s (-go list +kctrl), error %v:\n%s", folder, below, m, err, diff)
	}
}

// opened returns the tree on disk with the settings of the go command.
func opened(t *testing.T, dir string) *Tree {
	t.Helper()
	environment, unusual := resolve.NewEnvironment(t.Context(), dir)
	return Open(environment, unusual, nil, nil)
}
