package metrics

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ServeHTTP answers with all metrics in the Prometheus text format 0.0.4.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	text := r.text(req.Context())
	w.Header().Set("Content-Type", textFormat+"; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // The only possible error is that the scraper has disconnected.
}

// WriteTo writes all metrics to w in the Prometheus text format 0.0.4.
func (r *Registry) WriteTo(w io.Writer) (int64, error) {
	return bytes.NewReader(r.text(context.Background())).WriteTo(w)
}

// textFormat is the content type of the Prometheus text format.
const textFormat = "text/plain; version=0.0.4"

func (r *Registry) text(ctx context.Context) []byte {
	var text []byte
	names := map[string]bool{}
	byName := map[string][]*family{} // of r and its subs, r's own first
	r.collect(byName)
	all := slices.SortedFunc(maps.Values(byName), func(a, b []*family) int {
		return strings.Compare(a[0].name, b[0].name)
	})
	for _, same := range all {
		names[same[0].name] = true
	}
	more := r.includedText(ctx, names) // increments the counter of failures
	for _, same := range all {
		text = appendText(text, same)
	}
	return append(text, more...)
}

func (r *Registry) collect(byName map[string][]*family) {
	if r == nil {
		return
	}
	r.mu.RLock()
	for name, f := range r.families {
		byName[name] = append(byName[name], f)
	}
	subs := slices.Clone(r.subs)
	r.mu.RUnlock()
	for _, sub := range subs {
		sub.collect(byName)
	}
}

// appendText appends the header and all series of metrics with one name, or nothing if they have no series yet.
func appendText(text []byte, same []*family) []byte {
	all := map[string]*series{}
	for _, f := range slices.Backward(same) { // so that the first of two series with the same labels is kept
		f.mu.RLock()
		maps.Copy(all, f.series)
		f.mu.RUnlock()
	}
	if len(all) == 0 {
		return text
	}
	f := same[0]
	text = append(text, "# HELP "+f.name+" "...)
	text = appendEscaped(text, f.help, false)
	text = append(text, "\n# TYPE "+f.name+" "+string(f.kind)+"\n"...)
	for _, labels := range slices.Sorted(maps.Keys(all)) {
		if s := all[labels]; s.distribution != nil {
			text = f.appendDistribution(text, labels, s.distribution)
		} else {
			text = appendSample(text, f.name, "", labels, "", s.read())
		}
	}
	return text
}

// appendDistribution appends the cumulative buckets, the sum and the count.
func (f *family) appendDistribution(text []byte, labels string, d *distribution) []byte {
	counts, sum := d.snapshot()
	var total uint64
	for i, count := range counts {
		bound := math.Inf(+1)
		if i < len(f.buckets) {
			bound = f.buckets[i]
		}
		total += count
		le := `le="` + string(appendFloat(nil, bound)) + `"`
		text = appendSample(text, f.name, "_bucket", labels, le, float64(total))
	}
	text = appendSample(text, f.name, "_sum", labels, "", sum)
	return appendSample(text, f.name, "_count", labels, "", float64(total))
}

// appendSample appends one line. labels and extra have the form of the text between the braces.
func appendSample(text []byte, name, suffix, labels, extra string, value float64) []byte {
	text = append(append(text, name...), suffix...)
	if labels != "" || extra != "" {
		text = append(append(text, '{'), labels...)
		if labels != "" && extra != "" {
			text = append(text, ',')
		}
		text = append(append(text, extra...), '}')
	}
	text = appendFloat(append(text, ' '), value)
	return append(text, '\n')
}

// appendLabels appends the labels in the form of the text between the braces.
func appendLabels(text []byte, names, values []string) []byte {
	for i, name := range names {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, name...), '=', '"')
		text = appendEscaped(text, values[i], true)
		text = append(text, '"')
	}
	return text
}

// appendEscaped appends value as valid UTF-8, with backslashes, line feeds and, if quoted, double quotes escaped.
func appendEscaped(text []byte, value string, quoted bool) []byte {
	for _, c := range []byte(strings.ToValidUTF8(value, "\uFFFD")) {
		switch {
		case c == '\\':
			text = append(text, `\\`...)
		case c == '\n':
			text = append(text, `\n`...)
		case c == '"' && quoted:
			text = append(text, `\"`...)
		default:
			text = append(text, c)
		}
	}
	return text
}

// appendFloat appends value in the text format: exact integers without an exponent.
func appendFloat(text []byte, value float64) []byte {
	switch {
	case math.IsInf(value, +1):
		return append(text, "+Inf"...)
	case math.IsInf(value, -1):
		return append(text, "-Inf"...)
	case math.IsNaN(value):
		return append(text, "NaN"...)
	case value == math.Trunc(value) && math.Abs(value) < 1<<53:
		return strconv.AppendInt(text, int64(value), 10)
	}
	return strconv.AppendFloat(text, value, 'g', -1, 64)
}
