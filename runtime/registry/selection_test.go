package registry

import (
	"slices"
	"strings"
	"testing"
)

// TestControllerIsEnabledAsInKubeControllerManager checks the rules of IsControllerEnabled.
func TestControllerIsEnabledAsInKubeControllerManager(t *testing.T) {
	for _, test := range []struct {
		list     string
		name     string
		disabled bool // by default
		want     bool
	}{
		{"*", "bravo", false, true},
		{"*", "bravo", true, false},
		{"bravo", "bravo", false, true},
		{"bravo", "bravo", true, true},
		{"bravo", "charlie", false, false},
		{"-bravo,*", "bravo", false, false},
		{"*,-bravo", "bravo", false, false},
		{"-bravo", "charlie", false, false},
		{"alpha,bravo,-charlie,*", "bravo", false, true},
		{"alpha,bravo,-charlie,*", "charlie", false, false},
		{"alpha,bravo,-charlie,*", "delta", false, true},
		{"alpha,bravo,-charlie,*", "delta", true, false},
		{"*,delta", "delta", true, true},
		{"foo,-foo", "foo", false, true},
		{"-foo,foo", "foo", false, false},
		{"-foo,foo,*", "foo", false, false},
	} {
		s, err := parseSelection(test.list)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.enabled(test.name, test.disabled); got != test.want {
			t.Errorf("%s: %s, disabled by default %v: got %v", test.list, test.name, test.disabled, got)
		}
	}
}

var letters = []Descriptor{
	{Name: "alpha-controller", Aliases: []string{"alpha", "first"}},
	{Name: "bravo-controller", DisabledByDefault: true},
	{Name: "charlie.example"},
}

func TestAliasesStandForNames(t *testing.T) {
	for list, want := range map[string]string{
		"*,-alpha": "*,-alpha-controller", "first": "alpha-controller",
		"-first,alpha,*":  "-alpha-controller,alpha-controller,*",
		"charlie.example": "charlie.example",
	} {
		s, err := parseSelection(list)
		if err != nil {
			t.Fatal(err)
		}
		got, used, err := s.resolve(letters)
		if err != nil || strings.Join(got, ",") != want || len(used) == 0 && list != want {
			t.Errorf("%s: got %v, aliases %v, %v", list, got, used, err)
		}
	}
}

func TestWrongListIsNamedWithTheNearestName(t *testing.T) {
	for list, want := range map[string]string{
		"*,-alhpa":        `controllers: unknown controller "alhpa"; did you mean "alpha"?`,
		"brav-controller": `controllers: unknown controller "brav-controller"; did you mean "bravo-controller"?`,
		"charlie":         `controllers: unknown controller "charlie"; did you mean "charlie.example"?`,
		"zzzzzzzzzzz":     `controllers: unknown controller "zzzzzzzzzzz"`,
		"*,-*":            "controllers: -* is not a name; omit * to run only the named controllers",
		"-":               `controllers: "-" is not a name; write * for all that are on by default`,
		"nix,--alpha,*,bo": "controllers: unknown controller \"nix\"\ncontrollers: unknown controller \"-alpha\"; did you " +
			"mean \"alpha\"?\ncontrollers: unknown controller \"bo\"",
	} {
		s, err := parseSelection(list)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.resolve(letters); err == nil || err.Error() != want {
			t.Errorf("%s: got\n%v\nwant\n%s", list, err, want)
		}
	}
	for _, list := range []string{"", ",", "a,,b", "a,", " ", "*, "} {
		if s, err := parseSelection(list); err == nil {
			t.Errorf("%q: got %v", list, s)
		}
	}
}

func TestHelpListsAllControllersAndTheDisabled(t *testing.T) {
	got := describe(letters, false)
	for _, want := range []string{"All controllers: alpha-controller, bravo-controller, charlie.example",
		"Disabled by default: bravo-controller"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s", got)
		}
	}
	if got := describe(nil, false); !strings.Contains(got, "All controllers: none") {
		t.Errorf("got %s", got)
	}
}

// FuzzResolve checks that any input is either an error or a list of existing names.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"*", "*,-alpha", "--", "-*", "alpha,alpha", "first,-bravo-controller"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSelection(text)
		if err != nil {
			return
		}
		resolved, _, err := s.resolve(letters)
		if err != nil {
			return
		}
		if len(resolved) != len(s) {
			t.Fatalf("%q: got %v", text, resolved)
		}
		for _, item := range resolved {
			name := strings.TrimPrefix(item, "-")
			if item != "*" && !slices.ContainsFunc(letters, func(k Descriptor) bool { return k.Name == name }) {
				t.Errorf("%q: got %q", text, item)
			}
		}
	})
}
