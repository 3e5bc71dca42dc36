package edit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestMergeTakesBothSides(t *testing.T) {
	for _, tt := range []struct{ rule, base, ours, theirs, want string }{
		{"nothing", "a\nb\n", "a\nb\n", "a\nb\n", "a\nb\n"},
		{"theirs alone", "a\nb\nc\n", "a\nb\nc\n", "a\nx\nc\n", "a\nx\nc\n"},
		{"ours alone", "a\nb\nc\n", "a\nb\nc\nmine\n", "a\nb\nc\n", "a\nb\nc\nmine\n"},
		{"both, apart", "a\nb\nc\nd\ne\n", "a\nb\nc\nd\nmine\n", "x\nb\nc\nd\ne\n", "x\nb\nc\nd\nmine\n"},
		{"both the same", "a\n", "b\n", "b\n", "b\n"},
		{"deleted and kept", "a\nb\nc\n", "a\nc\n", "a\nb\nc\nd\n", "a\nc\nd\n"},
		{"no base", "", "mine\n", "mine\n", "mine\n"},
		{"a line replaced before an added one", "a\nb\n", "a\nb\nmine\n", "a\nnew\n", "a\nnew\nmine\n"},
		{"a line replaced between changed ones", "a\nb\nc\n", "x\nb\ny\nz\n", "a\nnew\nc\n", "x\nnew\ny\nz\n"},
		{"a line replaced after a deleted one", "a\nb\nc\n", "b\nc\n", "a\nnew\nc\n", "new\nc\n"},
		{"conflict of added lines", "a\n", "a\nmine\n", "a\nnew\n",
			"a\n<<<<<<< ours\nmine\n||||||| base\n=======\nnew\n>>>>>>> theirs\n"},
		{"conflict", "a\nb\nc\n", "a\nmine\nc\n", "a\nnew\nc\n",
			"a\n<<<<<<< ours\nmine\n||||||| base\nb\n=======\nnew\n>>>>>>> theirs\nc\n"},
		{"conflict without line end", "a", "b", "c", "<<<<<<< ours\nb\n||||||| base\na\n=======\nc\n>>>>>>> theirs\n"},
	} {
		got, conflicts := Merge([]byte(tt.base), []byte(tt.ours), []byte(tt.theirs), Labels{"ours", "base", "theirs"})
		if string(got) != tt.want || (len(conflicts) > 0) != strings.HasPrefix(tt.rule, "conflict") {
			t.Errorf("%s: %q with conflicts %v", tt.rule, got, conflicts)
		}
	}
}

// TestMergeKeepsWhatOneSideChanged merges random texts. If one side is unchanged, the result is the other side; changes
// of distant lines are both in the result.
func TestMergeKeepsWhatOneSideChanged(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		var base []string
		for i := range 3 + r.IntN(40) {
			base = append(base, fmt.Sprintf("line %d %d\n", i, r.IntN(3)))
		}
		change := func(from, to int) []string {
			lines := slices.Clone(base)
			for i := from; i < to; i++ {
				switch r.IntN(3) {
				case 0:
					lines[i] = fmt.Sprintf("changed %d\n", r.Int())
				case 1:
					lines[i] = ""
				}
			}
			return lines
		}
		half := len(base) / 2
		ours, theirs := change(0, half), change(half+1, len(base))
		join := func(lines []string) []byte { return []byte(strings.Join(lines, "")) }
		if got, _ := Merge(join(base), join(ours), join(base), Labels{}); !bytes.Equal(got, join(ours)) {
			t.Fatalf("seed %d: ours alone gives %q", seed, got)
		}
		if got, _ := Merge(join(base), join(base), join(theirs), Labels{}); !bytes.Equal(got, join(theirs)) {
			t.Fatalf("seed %d: theirs alone gives %q", seed, got)
		}
		want := join(slices.Concat(ours[:half+1], theirs[half+1:]))
		if got, conflicts := Merge(join(base), join(ours), join(theirs), Labels{}); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %q with conflicts %v, want %q", seed, got, conflicts, want)
		}
	}
}

func TestConflictsAreBetweenMarkers(t *testing.T) {
	for text, want := range map[string][]int{
		"a\n": nil, "a\n<<<<<<< yours\nb\n": nil, "a\n>>>>>>> b\n<<<<<<< c\n": nil,
		"a\n<<<<<<< yours\nb\n=======\nc\n>>>>>>> d\n": {2}, "<<<<<<< a\n>>>>>>> b\n<<<<<<< c\n>>>>>>> d": {1, 3},
	} {
		if got := Conflicts([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q has conflicts in the lines %v, want %v", text, got, want)
		}
	}
}

func TestEndedAsMostLines(t *testing.T) {
	for file, want := range map[string]string{"": "x\ny", "a\nb\n": "x\ny", "a\r\nb\r\nc\n": "x\r\ny",
		"a\r\nb\n": "x\ny", "\ufeffa\r\n": "\ufeffx\r\ny"} {
		if got := EndedAs([]byte(file), []byte("x\ny")); string(got) != want {
			t.Errorf("as %q: %q, want %q", file, got, want)
		}
	}
}
