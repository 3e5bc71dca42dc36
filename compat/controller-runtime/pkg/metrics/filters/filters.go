// Package filters provides filters for the metrics server.
package filters

import (
	"context"
	"crypto/sha256"
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

// WithAuthenticationAndAuthorization returns a filter for requests with a bearer token. A request passes if the API
// server accepts the token and its user may access the path with the verb. It needs permissions to create TokenReviews
// and SubjectAccessReviews.
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
			code, err := authorizer.decide(r)
			switch {
			case err != nil:
				log.Error(err, "Authentication or authorization failed")
				http.Error(w, "Internal Server Error", http.StatusInternalServerError)
			case code != http.StatusOK:
				log.V(4).Info("Request rejected", "code", code)
				http.Error(w, http.StatusText(code), code)
			default:
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

// decision is the API server's decision as an HTTP status code.
type decision struct {
	code int
	made time.Time
}

// decide returns the status code for r.
func (a *authorizer) decide(r *http.Request) (code int, err error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	token = strings.TrimSpace(token)
	if !ok || token == "" {
		return http.StatusUnauthorized, nil
	}
	verb := strings.ToLower(r.Method)
	key := sha256.Sum256([]byte(token + "\x00" + r.URL.Path + "\x00" + verb))
	a.mu.Lock()
	known, ok := a.decisions[key]
	a.mu.Unlock()
	if ok && time.Since(known.made) < decisionLifetime {
		return known.code, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	if code, err = a.ask(ctx, token, r.URL.Path, verb); err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.decisions) >= maxDecisions {
		clear(a.decisions)
	}
	a.decisions[key] = decision{code, time.Now()}
	return code, nil
}

func (a *authorizer) ask(ctx context.Context, token, path, verb string) (int, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := a.live.Create(ctx, review); err != nil {
		return 0, err
	}
	if !review.Status.Authenticated {
		return http.StatusUnauthorized, nil
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
		return 0, err
	}
	if !access.Status.Allowed || access.Status.Denied {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
