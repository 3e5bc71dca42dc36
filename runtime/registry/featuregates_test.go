package registry

import (
	"strings"
	"testing"
)

var features = []FeatureGate{
	{"Old", []GateSpec{{Since: "1.0", Stage: Alpha}, {Since: "1.2", Stage: Beta, Default: true},
		{Since: "1.4", Stage: GA, Default: true, Locked: true}}},
	{"Young", []GateSpec{{Since: "1.4", Stage: Alpha}}},
	{"Next", []GateSpec{{Since: "2.0", Stage: Alpha, Default: true}}},
	{"Going", []GateSpec{{Since: "1.1", Stage: Deprecated, Default: true}}},
	{"Done", []GateSpec{{Since: "1.3", Stage: GA, Default: true}, {Since: "1.1", Stage: Beta}}},
}

func newGates(t *testing.T, of string) *FeatureGates {
	t.Helper()
	f, err := newFeatureGates(of, features)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func on(f *FeatureGates) string {
	var names []string
	for _, gate := range features {
		if f.Enabled(gate.Name) {
			names = append(names, gate.Name)
		}
	}
	return strings.Join(names, " ")
}

func TestGatesAreThoseOfTheVersion(t *testing.T) {
	for _, test := range []struct{ version, emulated, set, want string }{
		{"1.4", "", "", "Old Going Done"},
		{"1.4.7", "", "", "Old Going Done"},
		{"", "", "", "Old Next Going Done"},
		{"2.0", "", "", "Old Next Going Done"},
		{"1.0", "", "", ""},
		{"1.4", "1.1", "", "Going"},
		{"1.4", "1.2", "", "Old Going"},
		{"1.4", "1.3", "Old=false", "Going Done"},
		{"1.4", "", "Young=true,Going=false", "Old Young Done"},
		{"1.4", "", "AllAlpha=true", "Old Young Going Done"},
		{"1.4", "", "AllAlpha=true,Young=false", "Old Going Done"},
		{"1.4", "1.2", "AllBeta=false", "Going"},
		{"1.4", "1.2", "AllBeta=false, Old=true", "Old Going"},
		{"1.4", "1.2", "Done=true", "Old Going Done"},
		{"1.4", "", "Old=true", "Old Going Done"},
	} {
		f := newGates(t, test.version)
		set, err := f.parseGates(test.set)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.apply(set, test.emulated); err != nil {
			t.Fatal(err)
		}
		if got := on(f); got != test.want {
			t.Errorf("%+v: got %s", test, got)
		}
	}
	if f := newGates(t, ""); f.Enabled("Nothing") || new(FeatureGates).Enabled("Old") {
		t.Error("a gate that is not there is on")
	}
}

func TestWrongGatesAreErrors(t *testing.T) {
	for _, test := range []struct{ version, emulated, set, want string }{
		{"1.4", "", "Oldd=true", `unknown feature gate "Oldd"; did you mean "Old"?`},
		{"1.4", "", "young=true", `unknown feature gate "young"; did you mean "Young"?`},
		{"1.4", "", "Quite", `feature gate "Quite": want Quite=true or Quite=false`},
		{"1.4", "", "Old=maybe", `feature gate Old: want true or false, got "maybe"`},
		{"1.4", "", "Old=false", "feature gate Old cannot be false: it is GA, and locked to true"},
		{"1.4", "", "Next=true", "feature gate Next is not there before version 2.0"},
		{"1.4", "1.2", "Young=false", "feature gate Young is not there before version 1.4"},
		{"1.4", "1.5", "", "emulated version 1.5: the program is version 1.4"},
		{"1.4", "x", "", `emulated version: could not parse "x" as version`},
		{"", "1.2", "", "emulated version 1.2: the program has no version"},
		{"1.4", "", "Zzz=true,Old=1,=true", "unknown feature gate \"Zzz\"\nunknown feature gate \"\""},
	} {
		f := newGates(t, test.version)
		set, err := f.parseGates(test.set)
		if err == nil {
			_, err = f.apply(set, test.emulated)
		}
		if err == nil || err.Error() != test.want {
			t.Errorf("%+v: got %v", test, err)
		}
	}
}

func TestDeprecatedGatesAreReported(t *testing.T) {
	f := newGates(t, "1.4")
	warnings, err := f.apply(map[string]bool{"Old": true, "Going": true, "Done": false, "Young": true, "AllBeta": true},
		"")
	if err != nil || len(warnings) != 3 {
		t.Errorf("got %q, %v", warnings, err)
	}
}

func TestGatesThatCannotBeAreAllNamed(t *testing.T) {
	_, err := newFeatureGates("one", []FeatureGate{
		{"", nil}, {"A=b", nil}, {"AllAlpha", nil}, {"Twice", []GateSpec{{Since: "1.0", Stage: GA}}}, {"Twice", nil},
		{"None", nil},
		{"Bad", []GateSpec{{Since: "x", Stage: GA}}}, {"Odd", []GateSpec{{Since: "1.0", Stage: "GAMMA"}}},
		{"Same", []GateSpec{{Since: "1.0", Stage: Alpha}, {Since: "1.0.0", Stage: Beta}}},
	})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{
		"version of the program", "without a name", `"A=b" cannot be written`, "AllAlpha is reserved for",
		"Twice is duplicated", "None has no spec",
		"Bad: ", `Odd: unknown stage "GAMMA"`, "Same has two specs since 1.0",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func TestHelpListsGatesThatCanBeChanged(t *testing.T) {
	got := newGates(t, "1.4").describe()
	if strings.Contains(got, "Old") || strings.Contains(got, "Next") ||
		!strings.Contains(got, "Young=true|false (ALPHA - default=false)") {
		t.Errorf("got %s", got)
	}
}

// FuzzParseGates checks that every input is an error or sets only existing gates.
func FuzzParseGates(f *testing.F) {
	for _, seed := range []string{"Old=true", "AllAlpha=true,Young=false", "=,=", "Old=t,Old=f"} {
		f.Add(seed)
	}
	gates, _ := newFeatureGates("1.4", features)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := gates.parseGates(text)
		if err != nil {
			return
		}
		for name := range set {
			if name != allAlpha && name != allBeta && gates.known(name) != nil {
				t.Errorf("%q: sets %q", text, name)
			}
		}
	})
}
