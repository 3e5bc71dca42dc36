package wire

import (
	"fmt"
	"strings"
	"testing"
)

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
		for end, want := range map[string]string{`]}`: "", `,null]}`: "item 4000 is null",
			`,{"kind":7}]}`: "cannot unmarshal", `,{"apiVersion":"v1","kind":"Pod","metadata":{`: "unexpected end",
			`}]`: "want a comma"} {
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
