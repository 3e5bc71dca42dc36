package metrics

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// textHandler answers with text.
func textHandler(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

func TestIncludedMetricsFollowThoseOfTheRegistry(t *testing.T) {
	r := NewRegistry()
	r.Counter("a_total", "A.").Inc()
	r.Include(textHandler("# HELP b B.\n# TYPE b histogram\nb_bucket{le=\"+Inf\"} 1\nb_sum 1\nb_count 1\n\nc 3"))
	r.Include(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet || !strings.HasPrefix(req.Header.Get("Accept"), "text/plain") {
			t.Errorf("got %s %s", req.Method, req.Header)
		}
		w.Header().Set("Content-Type", textFormat+"; charset=utf-8; escaping=underscores")
		w.WriteHeader(http.StatusOK)
		fmt.Fprint(w, "# TYPE d gauge\r\nd{x=\"a b\"} 4\r\n")
	}))
	text := r.text(context.Background())
	want := "# HELP a_total A.\n# TYPE a_total counter\na_total 1\n" +
		"# HELP " + includeFailures + " " + includeFailuresHelp + "\n# TYPE " + includeFailures + " counter\n" +
		includeFailures + " 0\n" +
		"# HELP b B.\n# TYPE b histogram\nb_bucket{le=\"+Inf\"} 1\nb_sum 1\nb_count 1\n\nc 3\n# TYPE d gauge\nd{x=\"a b\"} " +
		"4\n"
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestExistingMetricIsNotIncluded(t *testing.T) {
	r := NewRegistry()
	r.Gauge("go_goroutines", "Ours.").Set(1)
	r.Histogram("h", "Ours.", []float64{1}).Observe(1)
	r.Include(textHandler("# HELP go_goroutines Theirs.\n# TYPE go_goroutines gauge\ngo_goroutines 2\n# TYPE h " +
		"histogram\nh_bucket{le=\"1\"} 5\nh_count 5\nh_sum 5\n# TYPE new gauge\nnew 1\nnew_count 7\n# TYPE new_sum " +
		"gauge\nnew_sum 8\n"))
	r.Include(textHandler("# TYPE new gauge\nnew 3\nnew_sum 3\nlast 1\n"))
	text := string(r.text(context.Background()))
	if _, more, _ := strings.Cut(text, includeFailures+" 0\n"); more != "# TYPE new gauge\nnew 1\nnew_count 7\n# TYPE "+
		"new_sum gauge\nnew_sum 8\nlast 1\n" {
		t.Errorf("got\n%s", more)
	}
	if strings.Contains(text, "Theirs") || strings.Count(text, "h_count") != 1 {
		t.Errorf("got\n%s", text)
	}
}

func TestFailingIncludedMetricsAreReported(t *testing.T) {
	for name, r := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"an error": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no idea\nfake 1", http.StatusInternalServerError)
		}, "# included metrics are missing: Internal Server Error: no idea\n"},
		"a panic": {func(http.ResponseWriter, *http.Request) { panic("oh\nno") },
			"# included metrics are missing: panic: oh\n"},
		"another format": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/openmetrics-text")
		}, "the format is application/openmetrics-text\n"},
		"compressed text": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "gzip") },
			"the encoding is gzip\n"},
		"too much": {func(w http.ResponseWriter, _ *http.Request) {
			line := bytes.Repeat([]byte("x"), 1<<20)
			for range 17 {
				_, _ = w.Write(line)
			}
		}, errTooLong.Error() + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			registry := NewRegistry()
			registry.Gauge("a", "A.").Set(1)
			registry.Include(r.h)
			registry.Include(textHandler("b 2\n"))
			w := httptest.NewRecorder()
			registry.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			for _, part := range []string{r.want, "\na 1\n", "\nb 2\n", includeFailures + " 1\n"} {
				if got := w.Body.String(); !strings.Contains(got, part) || strings.Contains(got, "\nfake") {
					t.Errorf("no %q in\n%s", part, got)
				}
			}
		})
	}
}

func TestIncludeIsSafeWhileMetricsAreRead(t *testing.T) {
	r := NewRegistry()
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() { r.Include(textHandler(fmt.Sprintf("m%d 1\n", n))) })
		all.Go(func() { r.text(context.Background()) })
	}
	all.Wait()
	if got := strings.Count(string(r.text(context.Background())), "\nm"); got != 11 { // ten included, one own
		t.Errorf("%d of them", got)
	}
	(*Registry)(nil).Include(textHandler(""))
}
