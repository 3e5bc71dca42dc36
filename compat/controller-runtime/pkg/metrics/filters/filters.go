// Package filters provides filters for the metrics server.
package filters

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"

	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// decisionLifetime is how long a decision of the server is cached.
	decisionLifetime = 10 * time.Second
	// maxDecisions is the maximum number of cached decisions.
	maxDecisions = 256
	askTimeout   = 10 * time.Second
)

// WithAuthenticationAndAuthorization returns a filter for requests with a bearer token. A request passes, without its
// token, if the API server accepts the token and its user may access the path with the verb. It needs permissions to
// create TokenReviews and SubjectAccessReviews.
//
// As in controller-runtime, the filter answers 401 without a token, 500 for a token that the server rejects, and 403 if
// the user may not access the path.
func WithAuthenticationAndAuthorization(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
	scheme := runtime.NewScheme()
	if err := authenticationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := authorizationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	live, err := kclient.New(config, kclient.Options{Scheme: scheme, HTTPClient: httpClient})
	if err != nil {
		return nil, err
	}
	authorizer := &authorizer{live: live, decisions: map[[sha256.Size]byte]decision{}}
	return func(log logr.Logger, handler http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			decided, err := authorizer.decide(r)
			switch {
			case err != nil:
				log.Error(err, decided.text)
				http.Error(w, decided.text, http.StatusInternalServerError)
			case decided.code != http.StatusOK:
				log.V(4).Info(decided.text)
				http.Error(w, decided.text, decided.code)
			default:
				r.Header.Del("Authorization")
				handler.ServeHTTP(w, r)
			}
		}), nil
	}, nil
}

// authorizer asks the API server whether a user may access a path.
type authorizer struct {
	live *kclient.REST

	mu        sync.Mutex
	decisions map[[sha256.Size]byte]decision // by token, path and verb; at most maxDecisions
}

// decision is the API server's decision.
type decision struct {
	code int    // HTTP status code
	text string // text of the answer
	err  error  // error for the log; nil unless the server rejected the token
	made time.Time
}

const unauthenticated = "Authentication failed"

// token returns the bearer token of r, or "".
func token(r *http.Request) string {
	words := strings.Fields(r.Header.Get("Authorization"))
	if len(words) < 2 || !strings.EqualFold(words[0], "Bearer") {
		return ""
	}
	return words[1]
}

// decide returns the decision for r. With an error, only the text of the decision is set.
func (a *authorizer) decide(r *http.Request) (decision, error) {
	bearer := token(r)
	if bearer == "" {
		return decision{code: http.StatusUnauthorized, text: "Unauthorized"}, nil
	}
	verb := strings.ToLower(r.Method)
	key := sha256.Sum256([]byte(bearer + "\x00" + r.URL.Path + "\x00" + verb))
	a.mu.Lock()
	known, ok := a.decisions[key]
	a.mu.Unlock()
	if ok && time.Since(known.made) < decisionLifetime {
		return known, known.err
	}
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	asked, err := a.ask(ctx, bearer, r.URL.Path, verb)
	if err != nil {
		return asked, err
	}
	asked.made = time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.decisions) >= maxDecisions {
		clear(a.decisions)
	}
	a.decisions[key] = asked
	return asked, asked.err
}

// ask requests a decision from the API server.
func (a *authorizer) ask(ctx context.Context, token, path, verb string) (decision, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := a.live.Create(ctx, review); err != nil {
		return decision{text: unauthenticated}, err
	}
	if !review.Status.Authenticated {
		err := errors.New(cmp.Or(review.Status.Error, "invalid bearer token"))
		return decision{code: http.StatusInternalServerError, text: unauthenticated, err: err}, nil
	}
	user := review.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
		User:                  user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
	}}
	if err := a.live.Create(ctx, access); err != nil {
		return decision{text: fmt.Sprintf("Authorization for user %s failed", user.Username)}, err
	}
	if !access.Status.Allowed || access.Status.Denied {
		text := fmt.Sprintf("Authorization denied for user %s", user.Username)
		return decision{code: http.StatusForbidden, text: text}, nil
	}
	return decision{code: http.StatusOK}, nil
}
