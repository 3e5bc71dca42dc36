package markers

import (
	"strings"
	"testing"
)

func TestCorrection(t *testing.T) {
	registry, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"+kubebuilder:validation:MinLenght=1":        "write // +kubebuilder:validation:MinLength=1",
		"+kubebuilder:validation:minlength=1":        "write // +kubebuilder:validation:MinLength=1",
		"+kubebuilder:validation:MaxLenght:=5":       "write // +kubebuilder:validation:MaxLength:=5",
		"+kubebuilder:MaxItems=5":                    "write // +kubebuilder:validation:MaxItems=5",
		"+kubebuilder:validation:item:MaxLength=5":   "write // +kubebuilder:validation:items:MaxLength=5",
		"+kubebuilder:Optional":                      "write // +kubebuilder:validation:Optional",
		"+kubebuilder:validation:Required by law":    "write // +kubebuilder:validation:Required",
		"+kubebuilder:subresources:status":           "write // +kubebuilder:subresource:status",
		"+kubebuilder:resource:":                     "write // +kubebuilder:resource",
		"+kubebuilder:resourse:path=a,scope=Cluster": "write // +kubebuilder:resource:path=a,scope=Cluster",
		"+kubebuilder:printcolum:name=A,type=string": "for example " +
			"+kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp",
		"+kubebuilder:printcolum:name=A,type=string,JSONPath=.a": "write // " +
			"+kubebuilder:printcolumn:name=A,type=string,JSONPath=.a",
		"+kubebuilder:rbca:groups=a,resources=b,verbs=": "write // +kubebuilder:rbac:groups=a,resources=b,verbs=",
		"+kubebuilder:object:rot=true":                  "write // +kubebuilder:object:root=true",
		"+kubebuilder:storageVersion":                   "write // +kubebuilder:storageversion",
		"+kubebuilder:ac:generat=true":                  "write // +kubebuilder:ac:generate=true",
		"+kubebuilder:singular=foo":                     "write // +kubebuilder:resource:singular=foo",
		"+kubebuilder:validation:nullable":              "write // +nullable",
		"+kubebuilder:subresource:images": "the subresources are +kubebuilder:subresource:status and " +
			"+kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector",
		"+kubebuilder:resource:path:=a,scope=Cluster":       "write // +kubebuilder:resource:path=a,scope=Cluster",
		"+kubebuilder:rbac:groups:=a,resources=b,verbs=get": "write // +kubebuilder:rbac:groups=a,resources=b,verbs=get",
		"+kctrl:something:else=1": "remove it, or allow it with --allow-unknown " +
			"+kctrl:something:else",
	}
	for text, want := range tests {
		if registry.Definition(text) != nil {
			t.Errorf("%s is known", text)
		}
		if got := registry.Correction(text, func(fixed string) bool {
			definition := registry.Definition(fixed)
			_, err := definition.Parse(fixed)
			return err == nil
		}); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestCorrectionsOfAnyTextAreMarkers puts colons and equals signs into unusual places of markers. Each text must have a
// correction, and a correction that is certain must be a marker.
func TestCorrectionsOfAnyTextAreMarkers(t *testing.T) {
	registry, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"default", "kubebuilder:validation:items:Pattern", "kubebuilder:resource",
		"kubebuilder:storageversion"} {
		for _, ending := range []string{":", "::", ":a", ":a:b", "a:", ": ", ":a :b", ":a:=", ":a:=b", ":a:b:=c", ":a:=:b"} {
			text := "+" + name + ending
			if registry.Definition(text) != nil {
				continue
			}
			if registry.Correction(text, func(string) bool { return false }) == "" {
				t.Errorf("%s: no hint", text)
			}
			if fixed, ok := registry.Certain(Marker{Text: text}); ok && registry.Definition(fixed) == nil {
				t.Errorf("%s is to be %s, which is no marker", text, fixed)
			}
		}
	}
}

func TestKnown(t *testing.T) {
	registry, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"+kubebuilder:validation:MinLength=1", "+kubebuilder:validation:MinLength:=1", "+kubebuilder:resource",
		"+kubebuilder:resource:path=x",
		"+kubebuilder:scaffold:imports", "+kubebuilder:rbac:groups=a,verbs=b", "+kubebuilder:webhook:path=/x",
		"+kubebuilder:skip",
		"+kubebuilder:webhookconfiguration:mutating=true", "+kubebuilder:ac:output:package=x",
		"+kubebuilder:validation:items:Pattern=`a=b`",
		"+kubebuilder:default={a: 1}", "+kubebuilder:storageversion", "+kubebuilder:validation:XValidation:rule=\"a == b\"",
	} {
		if !IsInsertionPoint(text) && registry.Definition(text) == nil {
			t.Errorf("%s is not known", text)
		}
	}
}

// TestLongValuesAreCutAndReadOnce counts comparisons instead of measuring time: a long marker is compared with as many
// names as a short one, up to the length of the name.
func TestLongValuesAreCutAndReadOnce(t *testing.T) {
	registry, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, text := range []string{"+kubebuilder:" + strings.Repeat("x", 1<<20),
		"+kubebuilder:" + strings.Repeat("x", 1<<20) + "=1", "+kubebuilder:x=" + strings.Repeat("1", 1<<20)} {
		hint := registry.Correction(text, func(string) bool { asked++; return false })
		if len(hint) > 400 {
			t.Errorf("a hint of %d bytes", len(hint))
		}
	}
	if asked > 100 {
		t.Errorf("asked for %d texts", asked)
	}
}

func TestArgumentsAreFoundOutsideOfQuotes(t *testing.T) {
	tests := []struct {
		text, name string
		want       int
	}{
		{"+a:rule=1,message=2", "rule", 3},
		{"+a:rule=1,message=2", "message", 10},
		{"+a:rule=\"x,message=\",message=2", "message", 21},
		{"+a:rule=`x\\`,message=2", "message", 13},
		{"+a:rule=\"\\\",message=\", message = 2", "message", 23},
		{"+a:rule=1", "message", -1},
	}
	for _, test := range tests {
		if got := ArgumentOffset(test.text, test.name); got != test.want {
			t.Errorf("ArgumentOffset(%q, %q) = %d, want %d", test.text, test.name, got, test.want)
		}
	}
}
