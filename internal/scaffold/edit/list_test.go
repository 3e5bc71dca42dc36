package edit

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// marked splits a text with «inserted» parts. It returns the text without and with them.
func marked(text string) (before, after string) {
	for {
		head, rest, ok := strings.Cut(text, "«")
		before, after = before+head, after+head
		if !ok {
			return before, after
		}
		inserted, tail, _ := strings.Cut(rest, "»")
		after += inserted
		text = tail
	}
}

// TestEnsureListItemInsertsOnlyTheItem expects that only the text between « and » is inserted.
func TestEnsureListItemInsertsOnlyTheItem(t *testing.T) {
	for _, tt := range []struct{ rule, path, value, want string }{
		{"at the end", "resources", "c.yaml", "resources:\n- a.yaml\n- b.yaml«\n- c.yaml»\n"},
		{"indented items", "resources", "c.yaml", "resources:\n  - a.yaml\n  - b.yaml«\n  - c.yaml»\npatches:\n- x\n"},
		{"items indented by four", "resources", "c.yaml", "resources:\n    - a.yaml«\n    - c.yaml»\n"},
		{"no line end", "resources", "b.yaml", "resources:\n- a.yaml«\n- b.yaml»"},
		{"before the next key", "resources", "b.yaml", "a: 1\nresources:\n- a.yaml«\n- b.yaml»\n\n# about c\nc: 2\n"},
		{"comments", "resources", "b.yaml", "# head\nresources: # all\n# one\n- a.yaml # two«\n- b.yaml»\n# " +
			"three\n\npatches: []\n"},
		{"commented items", "resources", "b.yaml", "resources:\n  - a.yaml«\n  - b.yaml»\n  # - off.yaml\n"},
		{"document markers", "resources", "b.yaml", "%YAML 1.1\n---\nresources:\n- a.yaml«\n- b.yaml»\n...\n"},
		{"empty lines between items", "resources", "c", "resources:\n\n- a\n\n- b«\n- c»\n\nx: y\n"},
		{"items of many lines", "resources", "c", "resources:\n- a\n  b\n- |\n  text\n\n  # more«\n- c»\n\nx: y\n"},
		{"mappings among the items", "items", "c", "items:\n- name: a\n  value: b\n- - nested\n  - list«\n- c»\n"},
		{"dash alone", "items", "c", "items:\n-\n  a\n-   b«\n- c»\n"},
		{"nested", "a.b", "x", "a:\n  other: 1\n  b:\n  - y«\n  - x»\n  c: 2\nb:\n- z\n"},
		{"quotes of the others", "resources", "c", "resources:\n- 'a'\n- \"b\"«\n- \"c\"»\n"},
		{"single quotes of the others", "resources", "c", "resources:\n- 'a'«\n- 'c'»\n"},
		{"value that needs quotes", "resources", "yes", "resources:\n- a«\n- \"yes\"»\n"},
		{"value with a comment sign", "resources", "a #b: c", "resources:\n- a«\n- \"a #b: c\"»\n"},
		{"value with line ends", "resources", "a\nb", "resources:\n- a«\n- \"a\\nb\"»\n"},
		{"number", "resources", "1", "resources:\n- 1«\n- \"1\"»\n"},

		{"flow", "resources", "b", "resources: [a«, b»] # c\n"},
		{"flow, empty", "resources", "b", "resources: [«b»]\n"},
		{"flow, trailing comma", "resources", "b", "resources: [a,« b»]\n"},
		{"flow, spaces", "resources", "c", "resources: [ a, b«, c» ]\n"},
		{"flow, strings", "resources", "c", "resources: [\"a]\", 'it''s, [', it's, x: {y: [z]}«, c»]\n"},
		{"flow, quotes", "resources", "c", "resources: [\"a\", \"b\"«, \"c\"»]\n"},
		{"flow, lines", "resources", "c", "resources: [\n  a,\n  b«,» # ]«\n  c»\n]\n"},
		{"flow, lines, trailing comma", "resources", "c", "resources: [\n  a,\n  b, # two«\n  c,»\n]\n"},
		{"JSON", "resources", "c", "{\"x\": {\"y\": \"z\"}, \"resources\": [\"a\"«, \"c\"»]}\n"},
		{"JSON, empty", "resources", "c", "{\"resources\":[«\"c\"»]}"},
		{"JSON, missing", "resources", "c", "{\n  \"x\": 1«,\n  \"resources\": [\"c\"]»\n}\n"},
		{"flow mapping, missing", "a.b", "c", "{x: y«, a: {b: [c]}»}\n"},
		{"flow mapping, empty", "x.a.b", "c", "x: {«a: {b: [c]}»}\n"},

		{"null", "resources", "a", "resources:«\n- a»\npatches: []\n"},
		{"null, comments", "resources", "a", "resources: # none«\n- a»\n# - b\nx: y\n"},
		{"null, style of the others", "resources", "a", "resources:«\n  - a»\npatches:\n  - b\n"},
		{"null, no line end", "resources", "a", "resources:«\n- a»"},
		{"null parent", "a.b", "c", "a:«\n  b:\n  - c»\nx: y\n"},
		{"missing", "resources", "a", "kind: Kustomization«\nresources:\n- a»\n"},
		{"missing, style of the others", "resources", "a", "patches:\n  - x«\nresources:\n  - a»\n\n# end\n"},
		{"missing parents", "a.b.c", "d", "x:\n    y: z«\na:\n    b:\n        c:\n        - d»\n"},
		{"missing in a nested mapping", "a.c", "d", "a:\n  b: 1 # one«\n  c:\n  - d»\nx: y\n"},
		{"missing behind unindented items", "resources", "a", "patches:\n- x\n- y«\nresources:\n- a»\n"},
		{"missing behind a text of many lines", "resources", "a",
			"text: |\n  # not a comment\n\n  more\nlast: >-\n  a\n  #b«\nresources:\n- a»\n"},
		{"empty file", "a.b", "c", "«a:\n  b:\n  - c\n»"},
		{"only comments", "resources", "a", "# nothing yet\n«resources:\n- a\n»"},
		{"only a document marker", "resources", "a", "---«\nresources:\n- a\n»"},
		{"beyond ASCII", "größe.日本", "ü", "größe: {日本: [ä«, ü»]}\n"},
		{"byte order mark", "resources", "b", "\ufeffresources: [a«, b»]\n"},
		{"key that needs quotes", "on", "push", "name: x«\n\"on\":\n- push»\n"},
		{"anchors elsewhere", "resources", "b", "x: &x 1\ny: *x\nresources:\n- a«\n- b»\n"},
		{"merges elsewhere", "resources", "b", "base: &b {k: v}\nmore:\n  <<: *b\nresources: &unused\n- a«\n- b»\n"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for _, eol := range []string{"\n", "\r\n"} {
				src, want := marked(strings.ReplaceAll(tt.want, "\n", eol))
				if eol == "\r\n" && !strings.Contains(src, eol) {
					continue // a file without a line end does not show which kind it uses
				}
				path := strings.Split(tt.path, ".")
				got, err := EnsureListItem([]byte(src), "k.yaml", path, tt.value)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, string(got)); diff != "" {
					t.Error(diff)
				}
				again, err := EnsureListItem(got, "k.yaml", path, tt.value)
				if err != nil || !bytes.Equal(again, got) {
					t.Errorf("a second time: %v\n%s", err, again)
				}
				if _, err := RemoveListItem(got, "k.yaml", path, tt.value); err != nil {
					t.Errorf("removed again: %v", err)
				}
			}
		})
	}
}

func TestEnsureListItemReplacesNull(t *testing.T) {
	for src, want := range map[string]string{
		"resources: null\nx: y\n":   "resources:\n- a\nx: y\n",
		"resources: ~ # none\n":     "resources: # none\n- a\n",
		"x: 1\nresources: Null":     "x: 1\nresources:\n- a",
		"{x: 1, resources: null}\n": "{x: 1, resources: [a]}\n",
		"{resources: }\n":           "{resources: [a]}\n",
	} {
		got, err := EnsureListItem([]byte(src), "k.yaml", []string{"resources"}, "a")
		if err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v", src, got, err)
		}
	}
}

func TestEnsureListItemKeepsExistingItems(t *testing.T) {
	for _, src := range []string{
		"resources:\n- a.yaml # mine\n- b\n", "resources: [b, 'a.yaml']\n", "resources:\n  -   \"a.yaml\"\n",
		"{\"resources\": [\"a.yaml\"]}", "x: &x a.yaml\nresources:\n- *x\n", "resources:\n- >-\n  a.yaml\n",
	} {
		got, err := EnsureListItem([]byte(src), "k.yaml", []string{"resources"}, "a.yaml")
		if err != nil || string(got) != src {
			t.Errorf("%q: got %q, %v", src, got, err)
		}
	}
}

// TestAddedItemsAreIndentedLikeTheOthers checks that added items have the indentation of existing ones.
func TestAddedItemsAreIndentedLikeTheOthers(t *testing.T) {
	src := []byte("apiVersion: kustomize.config.k8s.io/v1beta1\nresources:\n- ../crd\n- ../rbac\n#- ../webhook\n")
	for _, item := range []string{"../a", "../b", "../a"} {
		var err error
		if src, err = EnsureListItem(src, "k.yaml", []string{"resources"}, item); err != nil {
			t.Fatal(err)
		}
	}
	want := "apiVersion: kustomize.config.k8s.io/v1beta1\nresources:\n- ../crd\n- ../rbac\n- ../a\n- ../b\n#- ../webhook\n"
	if diff := cmp.Diff(want, string(src)); diff != "" {
		t.Error(diff)
	}
}

func TestRemoveListItem(t *testing.T) {
	for _, tt := range []struct{ rule, src, want string }{
		{"first", "resources:\n- x\n- a # one\n", "resources:\n- a # one\n"},
		{"last with its comment", "resources:\n- a\n- x # gone\n# kept\nb: c\n", "resources:\n- a\n# kept\nb: c\n"},
		{"no line end", "resources:\n  - a\n  - x", "resources:\n  - a\n"},
		{"only", "a: b\nresources: # all\n- x\nc: d\n", "a: b\nresources: [] # all\nc: d\n"},
		{"only, indented", "resources:\n  # about x\n  - x\n", "resources: []\n  # about x\n"},
		{"every occurrence", "resources:\n- x\n- a\n- x\n", "resources:\n- a\n"},
		{"of many lines", "resources:\n- >-\n  x\n- a\n", "resources:\n- a\n"},
		{"dash alone", "resources:\n-\n  x\n- a\n", "resources:\n- a\n"},
		{"flow", "resources: [a, x, b]\n", "resources: [a, b]\n"},
		{"flow, first", "resources: [x, a]\n", "resources: [a]\n"},
		{"flow, last", "resources: [a, x] # c\n", "resources: [a] # c\n"},
		{"flow, only", "resources: [x]\n", "resources: []\n"},
		{"flow, every occurrence", "resources: [x, 'x', a, \"x\"]\n", "resources: [a]\n"},
		{"flow, lines", "resources: [\n  a,\n  x, # gone\n  b\n]\n", "resources: [\n  a,\n  b\n]\n"},
		{"flow, last line", "resources: [\n  a, # kept\n  x\n]\n", "resources: [\n  a # kept\n]\n"},
		{"absent", "resources:\n- a\n", "resources:\n- a\n"},
		{"absent list", "a: b\n", "a: b\n"},
		{"null", "resources:\n", "resources:\n"},
		{"empty file", "", ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for _, eol := range []string{"\n", "\r\n"} {
				src, want := strings.ReplaceAll(tt.src, "\n", eol), strings.ReplaceAll(tt.want, "\n", eol)
				got, err := RemoveListItem([]byte(src), "k.yaml", []string{"resources"}, "x")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, string(got)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestYAMLEditsRefuseWithPositionAndSnippet(t *testing.T) {
	for _, tt := range []struct{ rule, src, want string }{
		{"not YAML", "resources: [\n", "k.yaml:1: not valid YAML: "},
		{"not UTF-8", "resources: \xff\n", "k.yaml:1: not valid YAML: not UTF-8"},
		{"several documents", "a: b\n---\nresources: []\n", "k.yaml:2:1: the file has several documents"},
		{"list as file", "- a\n", "k.yaml:1:1: the file: want a mapping, got a list"},
		{"text as file", "a\n", `k.yaml:1:1: the file: want a mapping, got "a"`},
		{"text as list", "x: y\nresources: a\n", `k.yaml:2:12: resources: want a list, got "a"`},
		{"mapping as list", "resources:\n  a: b\n", "k.yaml:2:3: resources: want a list, got a mapping"},
		{"alias as list", "x: &x [a]\nresources: *x\n", "k.yaml:2:12: resources: want a list, got the alias *x"},
		{"list with aliases", "resources: &x\n- a\ny: *x\n",
			"k.yaml:1:12: resources is used in other places through the anchor &x"},
		{"mapping with aliases", "a: &m\n  b: c\nd: *m\n", ""},
		{"merged mapping", "x: &x {resources: [a]}\n<<: *x\n", "k.yaml:1:1: resources may come from the mapping merged here"},
		{"key twice", "resources: [a]\nresources: [b]\n", "k.yaml:2:1: resources is given twice"},
		{"null as file", "null\n", "k.yaml:1:1: no place in this layout"},
		{"tagged null", "resources: !!null\n", "k.yaml:1:12: no place in this layout"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got, err := EnsureListItem([]byte(tt.src), "k.yaml", []string{"resources"}, "x.yaml")
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := errors.AsType[*diagnostic.Error](err)
			if !ok || got != nil || !strings.HasPrefix(e.Error(), tt.want) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(e.Hint, `add the item "- x.yaml" to the list resources by hand`) {
				t.Errorf("hint %q", e.Hint)
			}
		})
	}
}

// FuzzListItem checks that an edit is rejected, or adds the value once, changes nothing else, and can be reverted.
func FuzzListItem(f *testing.F) {
	for _, src := range []string{
		"", "resources:\n- a\n", "resources:\n  - a # c\n\n# x\nb: |+\n  text\n\n", "resources: [a, 'b', \"c\"]\r\nx: y\r\n",
		"{resources: {}}",
		"a: &a\n- b\nresources: *a\n", "---\nresources: ~\n...\n", "resources:\n- - x\n  - y: z\n? q\n: r\n",
		"resources: [\n a, # b\n]\n",
	} {
		f.Add(src, "resources", "x.yaml")
		f.Add(src, "a.resources", "yes # no")
	}
	f.Fuzz(func(t *testing.T, src, dotted, value string) {
		path := strings.Split(dotted, ".")
		out, err := EnsureListItem([]byte(src), "k.yaml", path, value)
		if err != nil {
			if e, ok := errors.AsType[*diagnostic.Error](err); !ok || strings.Contains(e.Message, "\n") {
				t.Fatalf("%T %q", err, err)
			}
			return
		}
		if string(out) == src {
			return
		}
		before, err := parseYAML([]byte(src), "k.yaml", "")
		if err != nil {
			t.Fatal(err)
		}
		after, err := parseYAML(out, "k.yaml", "")
		if err != nil {
			t.Fatal(err)
		}
		place, err := after.find(path)
		if err != nil || len(place.rest) > 0 {
			t.Fatalf("%v: no list in\n%s", err, out)
		}
		count := 0
		for _, item := range place.value.Content {
			if item.Value == value && item.ShortTag() == "!!str" {
				count++
			}
		}
		if count != 1 {
			t.Fatalf("%d times in\n%s", count, out)
		}
		again, err := EnsureListItem(out, "k.yaml", path, value)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%v, a second time\n%s", err, again)
		}
		removed, err := RemoveListItem(out, "k.yaml", path, value)
		if err != nil {
			return
		}
		back, err := parseYAML(removed, "k.yaml", "")
		if err != nil {
			t.Fatal(err)
		}
		if was, err := before.find(path); err == nil && len(was.rest) == 0 && len(was.value.Content) > 0 &&
			!sameNode(back.doc, before.doc) {
			t.Fatalf("from\n%s\nto\n%s\nback to\n%s", src, out, removed)
		}
	})
}
