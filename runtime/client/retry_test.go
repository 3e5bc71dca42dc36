package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// busy is an answer that asks to wait.
func busy(code int, after string) answer {
	return answer{code: code, header: map[string]string{"Retry-After": after}, body: status(code, metav1.StatusReasonTooManyRequests, "busy")}
}

const (
	putA   = "PUT /api/v1/namespaces/default/configmaps/a"
	foundA = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default"}}`
)

func TestRefusedRequestIsSentAgainAfterTheTimeTheServerAsksFor(t *testing.T) {
	for name, test := range map[string]struct {
		code   int
		after  string
		get    bool // whether a read is sent again
		update bool // whether a write is
	}{
		"too many requests":     {429, "3", true, true},
		"at once":               {429, "0", true, true},
		"longest wait":          {429, "30", true, true},
		"longer wait":           {429, "31", false, false},
		"no time":               {429, "", false, false},
		"a date":                {429, "Fri, 31 Dec 1999 23:59:59 GMT", false, false},
		"negative":              {429, "-1", false, false},
		"unavailable":           {503, "3", true, false},
		"gateway timeout":       {504, "3", true, false},
		"internal error":        {500, "3", true, false},
		"unavailable, no time":  {503, "", false, false},
		"not found with a time": {404, "3", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				c := connect(t, s, client.Options{})
				route := func(n int) answer {
					if n == 0 {
						return busy(test.code, test.after)
					}
					return answer{body: foundA}
				}
				s.on(getA, route)
				s.on(putA, route)
				wait, _ := time.ParseDuration(test.after + "s")
				check := func(what string, err error, again bool, took time.Duration) {
					if (err == nil) != again || again && took != wait || !again && took != 0 {
						t.Errorf("%s: %v after %s", what, err, took)
					}
				}
				start := time.Now()
				err := c.Get(t.Context(), keyA, configMap(""))
				check("get", err, test.get, time.Since(start))
				cm := configMap("a")
				cm.Data = map[string]string{"x": "y"}
				start = time.Now()
				err = c.Update(t.Context(), cm)
				check("update", err, test.update, time.Since(start))
				for _, r := range s.took() {
					if strings.HasPrefix(r.what, "PUT") && !strings.Contains(r.body, `"x":"y"`) {
						t.Errorf("the body is %q", r.body)
					}
				}
			})
		})
	}
}

func TestRequestIsSentTenTimesAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		c := connect(t, s, client.Options{})
		s.on(getA, func(int) answer { return busy(429, "1") })
		start := time.Now()
		err := c.Get(t.Context(), keyA, configMap(""))
		if !apierrors.IsTooManyRequests(err) || len(s.took()) != 10 || time.Since(start) != 9*time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

func TestEndOfTheContextEndsTheWaitForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		c := connect(t, s, client.Options{})
		s.on(getA, func(int) answer { return busy(429, "20") })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		err := c.Get(ctx, keyA, configMap(""))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the last answer was: busy") || time.Since(start) != 5*time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

func TestWarningsAreLoggedOnce(t *testing.T) {
	logger, out := logs()
	s := newServer()
	c := connect(t, s, client.Options{Logger: logger})
	s.on(getA, func(n int) answer {
		return answer{body: foundA, header: map[string]string{"Warning": []string{`299 - "v1 is old", 299 - "field x"`, `199 - "chatter"`, `nonsense`}[n%3]}}
	})
	for range 6 {
		if err := c.Get(t.Context(), keyA, configMap("")); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Count(out.String(), "v1 is old") != 1 || strings.Count(out.String(), "field x") != 1 || strings.Contains(out.String(), "chatter") {
		t.Errorf("got %s", out)
	}
}

func TestWarningsThatAreForgottenAreLoggedAgain(t *testing.T) {
	logger, out := logs()
	s := newServer()
	c := connect(t, s, client.Options{Logger: logger})
	s.on(getA, func(n int) answer {
		return answer{body: foundA, header: map[string]string{"Warning": `299 - "number ` + strings.Repeat("i", n%300) + `"`}}
	})
	for range 600 {
		if err := c.Get(t.Context(), keyA, configMap("")); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(out.String(), "number"); got != 600 {
		t.Errorf("got %d lines", got)
	}
}

// handler collects what a rest.WarningHandler is told.
type handler struct{ told []string }

func (h *handler) HandleWarningHeader(_ int, _, text string) { h.told = append(h.told, text) }

func (h *handler) HandleWarningHeaderWithContext(_ context.Context, code int, agent, text string) {
	h.HandleWarningHeader(code, agent, "with context: "+text)
}

func TestWarningsGoToTheHandlerOfTheConfigEachTime(t *testing.T) {
	s := newServer()
	s.on(getA, func(int) answer {
		return answer{code: 403, body: status(403, metav1.StatusReasonForbidden, "no"), header: map[string]string{"Warning": `299 - "old"`}}
	})
	var plain, contextual handler
	for _, config := range []*rest.Config{
		{Host: "http://server", WarningHandler: &plain},
		{Host: "http://server", WarningHandler: &plain, WarningHandlerWithContext: &contextual},
	} {
		c, err := client.New(config, client.Options{Scheme: newScheme(t), HTTPClient: &http.Client{Transport: s}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := c.Get(t.Context(), keyA, configMap("")); !apierrors.IsForbidden(err) {
				t.Fatal(err)
			}
		}
	}
	if len(plain.told) != 2 || plain.told[0] != "old" || len(contextual.told) != 2 || contextual.told[0] != "with context: old" {
		t.Errorf("got %q and %q", plain.told, contextual.told)
	}
}
