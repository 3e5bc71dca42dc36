package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/internal/source"
)

// TestStampsShowEveryChange changes a file, a directory and a file that does not exist, one at a time, and checks that
// the stamps no longer hold.
func TestStampsShowEveryChange(t *testing.T) {
	for name, change := range map[string]func(file, folder, missing string) error{
		"content in place":  func(file, _, _ string) error { return os.WriteFile(file, []byte("other"), 0o644) },
		"a file that grows": func(file, _, _ string) error { return os.WriteFile(file, []byte("content and more"), 0o644) },
		"a file like it": func(file, _, _ string) error {
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(file+".new", []byte("tnetnoc"), info.Mode()); err != nil {
				return err
			}
			if err := os.Chtimes(file+".new", info.ModTime(), info.ModTime()); err != nil {
				return err
			}
			return os.Rename(file+".new", file)
		},
		"a time": func(file, _, _ string) error {
			return os.Chtimes(file, time.Unix(1, 0),
				time.Unix(1, 0))
		},
		"a file that is gone": func(file, _, _ string) error { return os.Remove(file) },
		"a file that comes":   func(_, _, missing string) error { return os.WriteFile(missing, nil, 0o644) },
		"a file in a folder": func(_, folder, _ string) error {
			return os.WriteFile(filepath.Join(folder, "a"), nil,
				0o644)
		},
		"a folder that is a file": func(_, folder, _ string) error { return replace(folder) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, folder, missing := filepath.Join(dir, "file"), filepath.Join(dir, "folder"),
				filepath.Join(dir, "none", "missing")
			if err := os.WriteFile(file, []byte("content"), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, made := range []string{folder, filepath.Dir(missing)} {
				if err := os.Mkdir(made, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			stamps := source.Stamps{{Name: missing, Kind: source.StampMissing}, {Name: folder, Kind: source.StampFolder}}
			for _, name := range []string{file, folder} {
				info, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				stamp, _ := source.StampFile(name, info)
				stamps = append(stamps, stamp)
			}
			if !stamps.Hold() {
				t.Fatal("the stamps do not hold")
			}
			if err := change(file, folder, missing); err != nil {
				t.Fatal(err)
			}
			if stamps.Hold() {
				t.Error("the change does not show")
			}
		})
	}
}

func replace(folder string) error {
	if err := os.Remove(folder); err != nil {
		return err
	}
	return os.WriteFile(folder, nil, 0o644)
}

// TestFreshStampsShowWhatTheFileSystemDoesNot changes files and directories within one step of the file system's clock,
// so that only their content shows the change.
func TestFreshStampsShowWhatTheFileSystemDoesNot(t *testing.T) {
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "file"), filepath.Join(dir, "folder")
	if err := errors.Join(os.WriteFile(file, []byte("content"), 0o644), os.Mkdir(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		file:   func() error { return os.WriteFile(file, []byte("another"), 0o644) },
		folder: func() error { return os.WriteFile(filepath.Join(folder, "a"), nil, 0o644) },
	} {
		stamp := stampOf(t, name)
		if stamp.Kind != source.StampFresh || !(source.Stamps{stamp}).Hold() {
			t.Fatalf("%s: %c does not hold", name, stamp.Kind)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		stamp.Identity = stampOf(t, name).Identity
		if (source.Stamps{stamp}).Hold() {
			t.Errorf("%s: the change does not show", name)
		}
	}
}

func stampOf(t *testing.T, name string) source.Stamp {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	stamp, ok := source.StampFile(name, info)
	if !ok {
		t.Fatalf("%s has no stamp", name)
	}
	return stamp
}

// TestOldStampsAreTrusted checks a file immediately after a change, and again when its time is old enough to be
// trusted.
func TestOldStampsAreTrusted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(info.ModTime()))
		fresh := source.Stamps{stampOf(t, name)}
		if _, changed := fresh.Trust(time.Now()); changed || fresh[0].Kind != source.StampFresh {
			t.Error("the next change might not show")
		}
		held := time.Now()
		time.Sleep(3 * time.Second)
		if _, changed := fresh.Trust(held); changed {
			t.Error("a change since it held might not show")
		}
		trusted, changed := fresh.Trust(time.Now())
		if later := stampOf(t, name); !changed || trusted[0] != later || later.Kind != source.StampWhole {
			t.Errorf("not trusted after three seconds: %v", trusted)
		}
	})
}
