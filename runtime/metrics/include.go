package metrics

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Include makes the registry also expose the metrics that h serves. h must answer a GET in the Prometheus text format,
// as the handlers of promhttp do. A program with client_golang collectors can thus expose them together with these
// metrics, while other programs need not link that library:
//
//	collectors := prometheus.NewRegistry()
//	collectors.MustRegister(requests)
//	m.Metrics().Include(promhttp.HandlerFor(collectors, promhttp.HandlerOpts{}))
//
// A metric is omitted if the registry or an earlier included handler has a metric of the same name, because a scraper
// would reject the whole answer. h is called at each scrape, concurrently, with the context of the scrape. If h fails,
// panics, or answers in another format or with more than 16 MiB, the other metrics are exposed without it. A comment in
// the output then states the reason, and metrics_include_failures_total counts the failure.
func (r *Registry) Include(h http.Handler) {
	if r == nil {
		return
	}
	r = r.root()
	r.Counter(includeFailures, includeFailuresHelp)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.included = append(r.included[:len(r.included):len(r.included)], h)
}

const (
	includeFailures     = "metrics_include_failures_total"
	includeFailuresHelp = "Scrapes that lack the metrics of an included registry."
)

// includedText returns the metrics of the included handlers, except those in names, and adds their names to names.
func (r *Registry) includedText(ctx context.Context, names map[string]bool) (text []byte) {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	included := r.included
	r.mu.RUnlock()
	for _, h := range included {
		answer, err := ask(ctx, h)
		if err != nil {
			r.Counter(includeFailures, includeFailuresHelp).Inc()
			line, _, _ := strings.Cut(err.Error(), "\n")
			text = append(text, "# included metrics are missing: "+line+"\n"...)
			continue
		}
		text = appendOthers(text, answer, names)
	}
	return text
}

// ask returns the answer of h to a scrape request.
func ask(ctx context.Context, h http.Handler) (text []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", textFormat)
	a := &answer{header: http.Header{}}
	defer func() {
		if value := recover(); value != nil {
			text, err = nil, fmt.Errorf("panic: %v", value)
		}
	}()
	h.ServeHTTP(a, req)
	format := a.header.Get("Content-Type")
	switch {
	case a.tooLong:
		return nil, errTooLong
	case cmp.Or(a.status, http.StatusOK) != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", http.StatusText(a.status), a.body.Bytes())
	case format != "" && !strings.HasPrefix(format, "text/plain"):
		return nil, fmt.Errorf("the format is %s", format)
	case a.header.Get("Content-Encoding") != "":
		return nil, fmt.Errorf("the encoding is %s", a.header.Get("Content-Encoding"))
	}
	return a.body.Bytes(), nil
}

const maxIncluded = 16 << 20

var errTooLong = errors.New("the answer has more than 16 MiB")

// answer records an answer of at most maxIncluded bytes.
type answer struct {
	header  http.Header
	status  int // zero before the first write
	body    bytes.Buffer
	tooLong bool
}

func (a *answer) Header() http.Header    { return a.header }
func (a *answer) WriteHeader(status int) { a.status = cmp.Or(a.status, status) }

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.tooLong = a.tooLong || a.body.Len()+len(p) > maxIncluded; a.tooLong {
		return 0, errTooLong
	}
	return a.body.Write(p)
}

// appendOthers appends the metrics in more whose names are not in names, and adds their names to names.
func appendOthers(text, more []byte, names map[string]bool) []byte {
	current, keep := "", false
	for line := range bytes.Lines(more) {
		if name, header := familyOf(string(line)); name != "" && !(name == current || !header && isOf(name, current)) {
			current, keep = name, !names[name]
			names[name] = true
		}
		if keep {
			text = append(append(text, bytes.TrimRight(line, "\r\n")...), '\n')
		}
	}
	return text
}

// familyOf returns the name of the metric of a line, and reports whether the line is a header: # HELP or # TYPE. The
// name is empty for other comments, and for samples that have the name as a label.
func familyOf(line string) (name string, header bool) {
	if words := strings.Fields(line); len(words) > 2 && words[0] == "#" && (words[1] == "HELP" || words[1] == "TYPE") {
		return words[2], true
	}
	if strings.HasPrefix(line, "#") {
		return "", false
	}
	end := strings.IndexAny(line, "{ \t\r\n")
	return line[:max(0, end)], false
}

// isOf reports whether a sample of that name belongs to a metric. Samples of histograms and summaries have suffixes.
func isOf(sample, metric string) bool {
	suffix, ok := strings.CutPrefix(sample, metric)
	return ok && metric != "" && (suffix == "_bucket" || suffix == "_sum" || suffix == "_count")
}
