package kubectl

import (
	"errors"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

func show(t *testing.T, p *printer, answers ...string) string {
	t.Helper()
	var out strings.Builder
	p.out = &out
	p.begin(Resource{Kind: "Shelf", Namespaced: true})
	for _, text := range answers {
		a, err := parseAnswer([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.page(a); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func rowsOf(cells string) string {
	return `{"kind":"Table","rows":[{"cells":[` + cells + `],"object":{"metadata":{"name":"x","namespace":"n"}}}]}`
}

const twoColumns = `{"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"Books","priority":0}],"rows":[]}`

func TestCellsAreOneLineThatSteersNoTerminal(t *testing.T) {
	for cell, want := range map[string]string{
		`"a\nb"`: "a...", `"\u001b[2Jx"`: "\uFFFD[2Jx", `"\u009b2Jx"`: "\uFFFD2Jx", `12345678`: "12345678", `1e3`: "1e3",
		`null`: "", `"ü"`: "ü", `true`: "true",
	} {
		if got := show(t, &printer{}, twoColumns, rowsOf(cell+`,1`)); !strings.Contains(got, "\n"+want+" ") {
			t.Errorf("%s is shown as %q, want %q", cell, got, want)
		}
	}
}

func TestRowsWithTooFewOrTooManyCellsAreShown(t *testing.T) {
	if got := show(t, &printer{}, twoColumns, rowsOf(`"a"`),
		rowsOf(`"b",2,3`)); got != "NAME   BOOKS\na      \nb      2\n" {
		t.Errorf("%q", got)
	}
}

func TestColumnsOfAWatchStayInLine(t *testing.T) {
	p := &printer{o: GetOptions{Watch: true}, spread: true}
	got := show(t, p, twoColumns, rowsOf(`"a-long-name",1`), rowsOf(`"b",2`), rowsOf(`"a-longer-name-yet",3`),
		rowsOf(`"c",4`))
	want := "NAMESPACE   NAME          BOOKS\nn           a-long-name   1\nn           b             2\n" +
		"n           a-longer-name-yet   3\nn           c                   4\n"
	if got != want {
		t.Errorf("%s", got)
	}
}

func TestServersWithoutTablesAreShownByNameAndAge(t *testing.T) {
	got := show(t, &printer{},
		`{"apiVersion":"v1","kind":"ShelfList","items":[{"apiVersion":"v1","kind":"Shelf","metadata":{"name":"a"}}]}`)
	if !strings.HasPrefix(got, "NAME   AGE\na      ") {
		t.Errorf("%q", got)
	}
}

func TestWatchedObjectsAreDocuments(t *testing.T) {
	one := `{"apiVersion":"v1","kind":"Shelf","metadata":{"name":"a","managedFields":[{}]}}`
	got := show(t, &printer{o: GetOptions{Output: "yaml", Watch: true}}, one, one)
	if want := "---\napiVersion: v1\nkind: Shelf\nmetadata:\n  name: a\n"; got != want+want {
		t.Errorf("%q", got)
	}
	if got := show(t, &printer{o: GetOptions{Output: "json"}}); got != "{\n  \"apiVersion\": \"v1\",\n  \"items\": "+
		"[],\n  \"kind\": \"List\"\n}\n" {
		t.Errorf("%q", got)
	}
}

func TestInvalidSelectionsAreUsageErrors(t *testing.T) {
	for _, args := range [][]string{{}, {""}, {"a", ""}, {"/"}, {"a/"}, {"/b"}, {"a/b/c"}, {"a/b", "c"}, {"a,b/c"}, {"a,"},
		{",a"}, {"a,b", "c"}, {"a", "b/c"}} {
		if s, err := Select(args); !errors.Is(err, diagnostic.ErrUsage) {
			t.Errorf("Select(%q) = %+v, %v", args, s, err)
		}
	}
}
