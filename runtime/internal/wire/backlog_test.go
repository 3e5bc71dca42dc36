package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// manyEvents are events of pods named 0 to n-1, with ending behind each, of more than a backlog.
func manyEvents(n int, ending string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(podEvent("ADDED", fmt.Sprint(i)) + ending)
	}
	return b.String()
}

func TestBacklogIsDecodedInOrder(t *testing.T) {
	const n = 5000
	for _, ending := range []string{"\n", "\r\n", "", "\n\n"} {
		for _, size := range []int{0, 777} {
			stream := watchOf(t, &chunks{[]byte(manyEvents(n, ending)), size})
			for i := range n {
				event, err := stream.Next()
				if err != nil || event.Type != watch.Added || event.Object.GetName() != fmt.Sprint(i) || event.ResourceVersion != "1" {
					t.Fatalf("%q: event %d: got %v, %v", ending, i, event, err)
				}
			}
			if _, err := stream.Next(); err != io.EOF {
				t.Errorf("got %v", err)
			}
		}
	}
}

func TestBadEventInABacklogComesWhereItIs(t *testing.T) {
	const n = 3000
	for want, bad := range map[string]string{
		"want a colon":       `{"type"}` + "\n",
		"Kind=Secret, not":   `{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1"}}` + "\n",
		"too old":            `{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410,"message":"too old"}}` + "\n",
		"it begins with 'x'": "x\n",
		"unexpected EOF":     "{\n",
		"no object":          podEvent("ADDED", "more") + `{"type":"ADDED"}` + "\n",
	} {
		for _, at := range []int{0, 1, n / 2, n - 1} {
			body := manyEvents(at, "\n") + bad
			if want != "unexpected EOF" {
				body += manyEvents(n-at, "\n")
			}
			stream := watchOf(t, strings.NewReader(body))
			count := 0
			_, err := stream.Next()
			for ; err == nil; count++ {
				_, err = stream.Next()
			}
			if strings.HasPrefix(bad, podEvent("ADDED", "more")) {
				count--
			}
			if count != at || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v after %d events, want it after %d", want, err, count, at)
			}
			if _, again := stream.Next(); again != err {
				t.Errorf("got %v", again)
			}
		}
	}
}

func TestLinesOfABacklogAreSharedEvenly(t *testing.T) {
	lines := bytes.Repeat([]byte("123456789\n"), 100)
	for workers := 1; workers <= maxWorkers; workers++ {
		parts := split(append(bytes.Clone(lines), "rest"...), workers)
		if len(parts) != workers || !bytes.Equal(bytes.Join(parts, nil), lines) {
			t.Fatalf("%d: got %q", workers, parts)
		}
		for _, part := range parts {
			if len(part)%10 != 0 || len(part) < len(lines)/workers-30 || len(part) > len(lines)/workers+30 {
				t.Errorf("%d: a part has %d bytes", workers, len(part))
			}
		}
	}
}

func TestKnownObjectsOfABacklogAreReused(t *testing.T) {
	have := object.Object(random(prototypes()[0], 1))
	known := func(id Identity) (object.Object, bool) { return have, string(id.Name)[0] == '1' }
	body := strings.ReplaceAll(manyEvents(2000, "\n"), `"resourceVersion"`, `"uid":"u","resourceVersion"`)
	stream := decoderOf(t, prototypes()[0], Options{GVK: podKind}).Watch(strings.NewReader(body), jsonType, known)
	for i := range 2000 {
		event, err := stream.Next()
		if err != nil || (event.Object == have) != (fmt.Sprint(i)[0] == '1') {
			t.Fatalf("event %d: got %v, %v", i, event.Object == have, err)
		}
	}
	if _, err := stream.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestBacklogOfAListIsDecodedInOrder(t *testing.T) {
	const n = 4000
	item := func(i int, more string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%d"%s},"spec":{"hostname":",{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"}}`, i, more)
	}
	for form, text := range map[string]func(i int) string{
		"alike":       func(i int) string { return item(i, "") },
		"not alike":   func(i int) string { return strings.Replace(item(i, ""), `"apiVersion":"v1","kind":"Pod",`, "", i%3) },
		"with spaces": func(i int) string { return " " + item(i, " ") + "\n" },
		"nested":      func(i int) string { return item(i, `,"ignored":[{},`+item(7, "")+","+item(8, "")+`]`) },
	} {
		var body strings.Builder
		body.WriteString(`{"kind":"PodList","apiVersion":"v1","items":[`)
		for i := range n {
			if i > 0 {
				body.WriteByte(',')
			}
			body.WriteString(text(i))
		}
		for end, want := range map[string]string{`]}`: "", `,null]}`: "item 4000 is null", `,{"kind":7}]}`: "cannot unmarshal", `,{"apiVersion":"v1","kind":"Pod","metadata":{`: "unexpected end", `}]`: "want a comma"} {
			for _, size := range []int{0, 5000} {
				d := decoderOf(t, prototypes()[0], Options{GVK: podKind})
				page, err := d.List(&chunks{[]byte(body.String() + end), size}, jsonType, nil)
				if want != "" {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: got %v, want %s", form, err, want)
					}
					continue
				}
				if err != nil || len(page.Items) != n {
					t.Fatalf("%s: got %v", form, err)
				}
				for i, item := range page.Items {
					if item.GetName() != fmt.Sprint(i) {
						t.Fatalf("%s: item %d is %s", form, i, item.GetName())
					}
				}
			}
		}
	}
}
