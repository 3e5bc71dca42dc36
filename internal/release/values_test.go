package release

import (
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: guestbook-controller-manager
  namespace: guestbook-system
  labels:
    control-plane: controller-manager
spec:
  template:
    spec:
      serviceAccountName: guestbook-controller-manager
      containers:
      - name: manager
        image: controller:latest
        resources:
          limits: {memory: 64Mi}
`

func sectionsOf(t *testing.T) []section {
	t.Helper()
	objects, err := parseObjects([]byte(deployment))
	if err != nil {
		t.Fatal(err)
	}
	return (&released{objects: objects, prefix: "guestbook-"}).values()
}

// TestMergedValuesKeepWhatTheyWere removes random keys and lines from a values.yaml, adds others, and merges the file.
// The result must contain the file, and a second merge must not change it.
func TestMergedValuesKeepWhatTheyWere(t *testing.T) {
	sections := sectionsOf(t)
	full, err := renderValues("guestbook", sections)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	parsed := 0
	for range 2000 {
		var kept []string
		for _, line := range strings.SplitAfter(string(full), "\n") {
			switch n := random.IntN(12); {
			case n < 3:
			case n == 3 && strings.HasSuffix(line, ":\n"):
				kept = append(kept, strings.TrimSuffix(line, "\n")+" {}\n")
			case n == 4 && strings.HasSuffix(line, ":\n"):
				kept = append(kept, strings.TrimSuffix(line, "\n")+" {a: 1, \"b\": [ä]}\n")
			case n == 5:
				kept = append(kept, "# mine: ä\n", line)
			default:
				kept = append(kept, line)
			}
		}
		src := []byte(strings.Join(kept, ""))
		var any map[string]any
		if yaml.Unmarshal(src, &any) != nil {
			continue
		}
		parsed++
		merged, missing, err := mergeValues(src, sections)
		if err != nil {
			t.Fatalf("%v of\n%s", err, src)
		}
		if !keeps(merged, src) {
			t.Fatalf("merged\n%s\ndoes not contain\n%s", merged, src)
		}
		again, missingAgain, err := mergeValues(merged, sections)
		if err != nil || string(again) != string(merged) || len(missingAgain) != len(missing) {
			t.Fatalf("%v: merged again\n%s\nis not\n%s", err, again, merged)
		}
	}
	if parsed < 200 {
		t.Errorf("only %d of the files were YAML", parsed)
	}
}

// TestBracesStayBraces checks that a sheet keeps text that looks like a template.
func TestBracesStayBraces(t *testing.T) {
	objects,
		err := parseObjects([]byte("kind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{{ .x }} }}', KCTRLMARK0K: b}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := &released{objects: objects}
	content, err := newAuthor("guestbook", r).template(objects[0])
	if err != nil {
		t.Fatal(err)
	}
	want := "kind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{{ `{{` }} .x }} }}', KCTRLMARK0K: b}\n"
	if content != want {
		t.Errorf("template is\n%s\nwant\n%s", content, want)
	}
}
