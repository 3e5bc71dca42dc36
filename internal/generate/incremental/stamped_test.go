package incremental

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

func TestGetStampedReturnsWhatWasPut(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	want := &Stamped{
		Entry: [32]byte{1, 2},
		Inputs: source.Stamps{
			{Name: "/a", Kind: source.StampWhole, Identity: source.Identity{Device: 1, Inode: 1 << 63, Size: 3, Modified: -4,
				Changed: 5}},
			{Name: "/b", Kind: source.StampMissing},
		},
	}
	if _, ok := store.GetStamped(Key{1}); ok {
		t.Error("an empty store has stamps")
	}
	if err := store.PutStamped(Key{1}, want); err != nil {
		t.Fatal(err)
	}
	got, ok := store.GetStamped(Key{1})
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("found %v (-want +got):\n%s", ok, diff)
	}
	if _, ok := store.GetStamped(Key{2}); ok {
		t.Error("another key has stamps")
	}
	if _, ok := store.Get(Key{1}); ok {
		t.Error("stamps are no entry")
	}
}

// TestWordsOfPluralsCount checks that the key depends on the file of plurals that flect reads when the program starts.
func TestWordsOfPluralsCount(t *testing.T) {
	environment, err := resolve.NewEnvironment(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "words.json")
	t.Setenv("INFLECT_PATH", name)
	seen := map[Key]bool{}
	for _, content := range []string{"", `{"box":"boxen"}`, `{"box":"boxes"}`} {
		if content != "" {
			if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		key, ok := NewKey(environment, "/project", nil)
		if !ok || seen[key] {
			t.Errorf("with %q: key %v is not new", content, ok)
		}
		seen[key] = true
	}
}
