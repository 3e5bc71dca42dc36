package manager_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// trusting returns a transport that does not verify the certificates of servers.
func trusting() *http.Transport {
	return &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
}

// scrape gets /metrics over TLS and also returns the server's certificate.
func scrape(t *testing.T, url, authorization string) (code int, body string, certificate *x509.Certificate) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			certificate = state.PeerCertificates[0]
			return nil
		},
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(url, "http:", "https:", 1)+
		"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", authorization)
	code, body = send(t, transport, req)
	return code, body, certificate
}

func TestMetricsRequirePermissionOfTheAPIServer(t *testing.T) {
	s := newAPIServer()
	s.users = map[string]string{"good": "prometheus", "poor": "somebody"}
	s.allowed = []string{"prometheus get /metrics"}
	m, log := newManager(t, s, manager.Options{Metrics: manager.MetricsOptions{BindAddress: loopback}})
	start(t, m)
	url := log.url(t, "metrics")
	for authorization, want := range map[string]int{
		"":                   http.StatusUnauthorized,
		"Bearer":             http.StatusUnauthorized,
		"Bearer ":            http.StatusUnauthorized,
		"Basic good":         http.StatusUnauthorized,
		"Bearer unknown":     http.StatusUnauthorized,
		"Bearer poor":        http.StatusForbidden,
		"Bearer good":        http.StatusOK,
		"bearer good":        http.StatusOK,
		"Bearer  good":       http.StatusOK,
		"Bearergood":         http.StatusUnauthorized,
		"Bearer good please": http.StatusUnauthorized,
	} {
		code, body, certificate := scrape(t, url, authorization)
		if code != want {
			t.Errorf("%q: got %d, want %d", authorization, code, want)
		}
		if got := strings.Contains(body, "process_start_time_seconds"); got != (want == http.StatusOK) {
			t.Errorf("%q: the metrics are there: %v", authorization, got)
		}
		if certificate.Subject.CommonName != "manager" || time.Until(certificate.NotAfter) < 24*time.Hour {
			t.Errorf("the certificate is for %s until %s", certificate.Subject, certificate.NotAfter)
		}
	}
}

// newAuthorizer returns a handler that lets s authorize requests, in front of an empty handler.
func newAuthorizer(t *testing.T, s *apiServer, log *journal) http.Handler {
	t.Helper()
	live, err := client.New(s.config(), client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return manager.NewGate(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), live, log.logger())
}

func knock(guarded http.Handler, token, path string) int {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	guarded.ServeHTTP(w, r)
	return w.Code
}

func TestDecisionsAreRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		s.users = map[string]string{"good": "prometheus"}
		s.allowed = []string{"prometheus get /metrics"}
		guarded := newAuthorizer(t, s, newJournal())
		for range 3 {
			if code := knock(guarded, "good", "/metrics"); code != http.StatusOK {
				t.Errorf("got %d", code)
			}
		}
		if s.asked() != 2 {
			t.Errorf("the API server was asked %d times, want 2", s.asked())
		}
		if code := knock(guarded, "good", "/debug"); code != http.StatusForbidden {
			t.Errorf("another path: got %d", code)
		}
		s.allowed = nil
		time.Sleep(9 * time.Second)
		if code := knock(guarded, "good", "/metrics"); code != http.StatusOK {
			t.Errorf("after 9 s: got %d", code)
		}
		time.Sleep(2 * time.Second)
		if code := knock(guarded, "good", "/metrics"); code != http.StatusForbidden {
			t.Errorf("after 11 s: got %d", code)
		}
	})
}

func TestStrangersAreAskedAboutAtALimitedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		s.users = map[string]string{"good": "prometheus"}
		s.allowed = []string{"prometheus get /metrics"}
		guarded := newAuthorizer(t, s, newJournal())
		if code := knock(guarded, "good", "/metrics"); code != http.StatusOK {
			t.Fatalf("got %d", code)
		}
		codes := map[int]int{}
		before := s.asked()
		for round := range 6 {
			for n := range 1000 {
				codes[knock(guarded, fmt.Sprint("stranger ", round, " ", n), "/metrics")]++
			}
			time.Sleep(2 * time.Second)
		}
		if asked := s.asked() - before; asked < 20 || asked > 20+6*10 {
			t.Errorf("the API server was asked %d times", asked)
		}
		if len(codes) != 2 || codes[http.StatusTooManyRequests] < 5900 || codes[http.StatusUnauthorized] < 20 {
			t.Errorf("got %v", codes)
		}
		for n := range 100 { // by strangers, after the cached decision for the valid user has expired
			knock(guarded, fmt.Sprint("last ", n), "/metrics")
		}
		if code := knock(guarded, "good", "/metrics"); code != http.StatusOK {
			t.Errorf("one who was let through before: got %d", code)
		}
		if decisions := manager.DecisionsOf(guarded); decisions > 2*256 {
			t.Errorf("%d decisions are remembered", decisions)
		}
	})
}

func TestOneQuestionIsAskedOnceAtATime(t *testing.T) {
	s := newAPIServer()
	s.users = map[string]string{"good": "prometheus"}
	s.allowed = []string{"prometheus get /metrics"}
	guarded := newAuthorizer(t, s, newJournal())
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if code := knock(guarded, "good", "/metrics"); code != http.StatusOK {
				t.Errorf("got %d", code)
			}
		})
	}
	all.Wait()
	if s.asked() != 2 {
		t.Errorf("the API server was asked %d times, want 2", s.asked())
	}
}

func TestGateIsClosedWhenTheAPIServerCannotBeAsked(t *testing.T) {
	for name, fails := range map[string]func(s *apiServer){
		"token":  func(s *apiServer) { s.set(errBroken) },
		"access": func(s *apiServer) { s.failAccess = true },
	} {
		s := newAPIServer()
		s.users = map[string]string{"good": "prometheus"}
		fails(s)
		log := newJournal()
		if code := knock(newAuthorizer(t, s, log), "good", "/metrics"); code != http.StatusInternalServerError {
			t.Errorf("got %d", code)
		}
		contains(t, log.String(), "review "+name)
		if strings.Contains(log.String(), "good") {
			t.Error("the log has the token")
		}
	}
}
