package manager

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

const (
	decisionLifetime = 10 * time.Second
	maxDecisions     = 256
)

// gate lets through the requests of those whom the API server knows by their bearer token, and whom it allows the
// verb and the path (TokenReview and SubjectAccessReview). Decisions are remembered for a few seconds.
type gate struct {
	next   http.Handler
	live   *client.REST
	logger *slog.Logger

	mu        sync.Mutex
	decisions map[question]decision // at most maxDecisions; tokens are hashed
}

type question struct {
	token      [sha256.Size]byte
	verb, path string
}

type decision struct {
	status  int // http.StatusOK, or with what the request is refused
	expires time.Time
}

func newGate(next http.Handler, live *client.REST, logger *slog.Logger) *gate {
	return &gate{next: next, live: live, logger: logger, decisions: map[question]decision{}}
}

// ServeHTTP passes the request on, or answers 401, 403, or 500 when the API server could not be asked.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		http.Error(w, "a bearer token is required", http.StatusUnauthorized)
		return
	}
	status, err := g.decide(r.Context(), token, strings.ToLower(r.Method), r.URL.Path)
	if err != nil {
		g.logger.Error("cannot authorize a request", "path", r.URL.Path, "err", err)
		http.Error(w, "authorization is not available", http.StatusInternalServerError)
		return
	}
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	g.next.ServeHTTP(w, r)
}

func (g *gate) decide(ctx context.Context, token, verb, path string) (int, error) {
	q := question{token: sha256.Sum256([]byte(token)), verb: verb, path: path}
	if status, ok := g.remembered(q); ok {
		return status, nil
	}
	status, err := g.ask(ctx, token, verb, path)
	if err == nil {
		g.remember(q, status)
	}
	return status, err
}

func (g *gate) remembered(q question) (int, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d, ok := g.decisions[q]
	return d.status, ok && time.Now().Before(d.expires)
}

func (g *gate) remember(q question, status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.decisions) >= maxDecisions {
		clear(g.decisions)
	}
	g.decisions[q] = decision{status: status, expires: time.Now().Add(decisionLifetime)}
}

// ask asks the API server who the token belongs to, and whether that user may.
func (g *gate) ask(ctx context.Context, token, verb, path string) (int, error) {
	review, err := g.review(ctx, "authentication.k8s.io/v1", "TokenReview", map[string]any{"token": token})
	if err != nil {
		return 0, fmt.Errorf("review token: %w", err)
	}
	if authenticated, _ := review["authenticated"].(bool); !authenticated {
		return http.StatusUnauthorized, nil
	}
	user, _ := review["user"].(map[string]any)
	spec := map[string]any{"nonResourceAttributes": map[string]any{"verb": verb, "path": path}}
	for of, is := range map[string]string{"username": "user", "uid": "uid", "groups": "groups", "extra": "extra"} {
		if value, ok := user[of]; ok {
			spec[is] = value
		}
	}
	access, err := g.review(ctx, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
	if err != nil {
		return 0, fmt.Errorf("review access of %v: %w", user["username"], err)
	}
	if allowed, _ := access["allowed"].(bool); !allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// review creates an object that only asks, and returns the status that is the answer. The objects are unstructured
// because the Go types of these two groups would be a fifth of a megabyte of every operator.
func (g *gate) review(ctx context.Context, apiVersion, kind string, spec map[string]any) (map[string]any, error) {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	if err := g.live.Create(ctx, o); err != nil {
		return nil, err
	}
	status, _ := o.Object["status"].(map[string]any)
	return status, nil
}
