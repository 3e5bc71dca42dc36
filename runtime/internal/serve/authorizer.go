package serve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

const (
	decisionLifetime = 10 * time.Second
	// maxDecisions is the maximum number of refusals, and of permissions, that are cached.
	maxDecisions = 256
	// askTimeout is the timeout for a decision of the API server.
	askTimeout = 10 * time.Second
	// askBurst and askEvery limit the requests for unknown clients: askBurst requests at once, and one more each askEvery.
	askBurst = 20
	askEvery = 200 * time.Millisecond
)

// authorizer passes a request on if the API server authenticates its bearer token and authorizes its verb and path, by
// a TokenReview and a SubjectAccessReview. It caches decisions for a few seconds, combines concurrent equal questions,
// and limits questions about unknown clients. A client that was authorized before is not unknown.
type authorizer struct {
	next   http.Handler
	live   *client.REST
	logger *slog.Logger

	mu sync.Mutex
	// refused and allowed have at most maxDecisions each, by hashed token. Expired permissions stay in allowed.
	refused, allowed map[question]decision
	asking           map[question]*asked
	// free is the number of unknown clients that could be checked at the time refilled.
	free     int
	refilled time.Time
}

// ServeHTTP passes the request on, or answers with 401, 403, 429 (too many unknown clients), or 500 (no answer).
func (z *authorizer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		http.Error(w, "a bearer token is required", http.StatusUnauthorized)
		return
	}
	status, err := z.decide(r.Context(), token, strings.ToLower(r.Method), r.URL.Path)
	if err != nil {
		z.logger.Error("cannot authorize a request", "path", r.URL.Path, "err", err)
		http.Error(w, "authorization is not available", http.StatusInternalServerError)
		return
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	z.next.ServeHTTP(w, r)
}

func (z *authorizer) decide(ctx context.Context, token, verb, path string) (int, error) {
	q := question{token: sha256.Sum256([]byte(token)), verb: verb, path: path}
	status, a, mine := z.begin(q)
	if a == nil {
		return status, nil
	}
	if mine {
		// Other requests wait for the result, so a disconnect of the first client must not cancel the review.
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		status, err := z.ask(asking, token, verb, path)
		z.end(q, a, status, err)
		return status, err
	}
	select {
	case <-a.done:
		return a.status, a.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// begin returns the cached decision, or the question in progress. If mine is true, the caller must send the question.
func (z *authorizer) begin(q question) (status int, a *asked, mine bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	now := time.Now()
	allowed, known := z.allowed[q]
	for _, d := range []decision{allowed, z.refused[q]} {
		if now.Before(d.expires) {
			return d.status, nil, false
		}
	}
	if a := z.asking[q]; a != nil {
		return 0, a, false
	}
	if !known && !z.mayAskLocked(now) {
		return http.StatusTooManyRequests, nil, false
	}
	a = &asked{done: make(chan struct{})}
	z.asking[q] = a
	return 0, a, true
}

// mayAskLocked reports whether a question about another unknown client is permitted.
func (z *authorizer) mayAskLocked(now time.Time) bool {
	if n := int(now.Sub(z.refilled) / askEvery); n > 0 {
		z.refilled = z.refilled.Add(time.Duration(n) * askEvery)
		z.free = min(askBurst, z.free+n)
	}
	if z.free == 0 {
		return false
	}
	z.free--
	return true
}

// end records a decision. A question that failed will be sent again.
func (z *authorizer) end(q question, a *asked, status int, err error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	a.status, a.err = status, err
	close(a.done)
	delete(z.asking, q)
	if err != nil {
		return
	}
	delete(z.refused, q)
	delete(z.allowed, q)
	into := z.refused
	if status == http.StatusOK {
		into = z.allowed
	}
	if len(into) >= maxDecisions {
		byExpiry := func(a, b question) int { return into[a].expires.Compare(into[b].expires) }
		delete(into, slices.MinFunc(slices.Collect(maps.Keys(into)), byExpiry))
	}
	into[q] = decision{status: status, expires: time.Now().Add(decisionLifetime)}
}

// ask asks the API server for the user of the token, and whether that user is authorized.
func (z *authorizer) ask(ctx context.Context, token, verb, path string) (int, error) {
	review, err := z.review(ctx, "authentication.k8s.io/v1", "TokenReview", map[string]any{"token": token})
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
	access, err := z.review(ctx, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
	if err != nil {
		return 0, fmt.Errorf("review access of %v: %w", user["username"], err)
	}
	if allowed, _ := access["allowed"].(bool); !allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// review creates a review object and returns its status, which contains the decision. The objects are unstructured,
// because the Go types of these two groups would add a fifth of a megabyte to every operator.
func (z *authorizer) review(ctx context.Context, apiVersion, kind string, spec map[string]any) (map[string]any, error) {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	if err := z.live.Create(ctx, o); err != nil {
		return nil, err
	}
	status, _ := o.Object["status"].(map[string]any)
	return status, nil
}

type question struct {
	token      [sha256.Size]byte
	verb, path string
}

type decision struct {
	status  int // http.StatusOK, or the code of the refusal
	expires time.Time
}

// asked is a question in progress.
type asked struct {
	done   chan struct{} // closed when the fields below are set
	status int
	err    error
}

// NewAuthorizer returns a handler that passes requests to next if the API server authorizes them.
func NewAuthorizer(next http.Handler, live *client.REST, logger *slog.Logger) http.Handler {
	return &authorizer{
		next: next, live: live, logger: logger, refused: map[question]decision{}, allowed: map[question]decision{},
		asking: map[question]*asked{}, free: askBurst, refilled: time.Now(),
	}
}

// Decisions returns the number of decisions that a handler of [NewAuthorizer] has cached.
func Decisions(h http.Handler) int {
	z := h.(*authorizer)
	z.mu.Lock()
	defer z.mu.Unlock()
	return len(z.refused) + len(z.allowed) + len(z.asking)
}
