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

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

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
	token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found || token == "" {
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
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := g.live.Create(ctx, review); err != nil {
		return 0, fmt.Errorf("review token: %w", err)
	}
	if !review.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := review.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: verb, Path: path},
	}}
	if err := g.live.Create(ctx, access); err != nil {
		return 0, fmt.Errorf("review access of %s: %w", user.Username, err)
	}
	if !access.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
