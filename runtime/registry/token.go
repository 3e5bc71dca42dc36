package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

const (
	// tokenLifetime is the requested lifetime of a token. The API server may choose another.
	tokenLifetime = time.Hour
	// tokenShare is the fraction of its lifetime after which a token is replaced.
	tokenShare = 0.8
	// tokenRetry is how long a token that is still valid is used after a failed replacement, before the next attempt.
	tokenRetry = 10 * time.Second
)

// tokens holds the current token of a service account. It requests a token when the first request is sent, and replaces
// the token before it expires. It creates the service account if necessary.
type tokens struct {
	live            *client.REST // of the process, which may create tokens
	namespace, name string
	turn            chan struct{} // of size one; holds a value while a goroutine requests a token

	mu      sync.Mutex
	token   string
	refresh time.Time // time of the replacement
	expires time.Time
}

func newTokens(live *client.REST, namespace, name string) *tokens {
	return &tokens{live: live, namespace: namespace, name: name, turn: make(chan struct{}, 1)}
}

func (t *tokens) get(ctx context.Context) (string, error) {
	if token, fresh := t.cached(); fresh {
		return token, nil
	}
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-t.turn }()
	token, fresh := t.cached() // another goroutine may have requested one during the wait
	if fresh {
		return token, nil
	}
	asked := time.Now()
	renewed, expires, err := t.ask(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		// If the local clock is ahead of the API server's clock, every token appears to be expired, and without this each
		// request would request a new token.
		t.token = renewed
		t.refresh = asked.Add(max(tokenRetry, time.Duration(tokenShare*float64(expires.Sub(asked)))))
		t.expires = expires
		return renewed, nil
	case token != "" && time.Now().Before(t.expires):
		t.refresh = time.Now().Add(tokenRetry)
		return token, nil
	}
	return "", fmt.Errorf("token of service account %s/%s: %w", t.namespace, t.name, err)
}

func (t *tokens) cached() (token string, fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token, t.token != "" && time.Now().Before(t.refresh)
}

// refused drops a token that the API server rejects, for example because the service account was recreated.
func (t *tokens) refused(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}

func (t *tokens) ask(ctx context.Context) (string, time.Time, error) {
	token, expires, err := t.request(ctx)
	if !apierrors.IsNotFound(err) {
		return token, expires, err
	}
	if err := t.live.Create(ctx, t.account()); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", time.Time{}, err
	}
	return t.request(ctx)
}

func (t *tokens) account() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"namespace": t.namespace, "name": t.name},
	}}
}

// request creates a TokenRequest. It is unstructured because the Go types of its group would be linked into every
// operator.
func (t *tokens) request(ctx context.Context) (string, time.Time, error) {
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": map[string]any{"expirationSeconds": int64(tokenLifetime / time.Second)},
	}}
	if err := t.live.SubResource("token").Create(ctx, t.account(), review); err != nil {
		return "", time.Time{}, err
	}
	token, _, _ := unstructured.NestedString(review.Object, "status", "token")
	until, _, _ := unstructured.NestedString(review.Object, "status", "expirationTimestamp")
	expires, err := time.Parse(time.RFC3339, until)
	if token == "" || err != nil {
		return "", time.Time{}, errors.New("the API server has answered without a token, or without its end")
	}
	return token, expires, nil
}

// asServiceAccount returns config with the tokens of t instead of its credentials.
func asServiceAccount(config *rest.Config, t *tokens) *rest.Config {
	config = rest.CopyConfig(config)
	config.Username, config.Password, config.BearerToken, config.BearerTokenFile = "", "", "", ""
	config.CertData, config.CertFile, config.KeyData, config.KeyFile = nil, "", nil, ""
	config.Impersonate, config.AuthProvider, config.AuthConfigPersister, config.ExecProvider = rest.ImpersonationConfig{},
		nil, nil, nil
	// This wrapper is the outermost, so that the fence of leader election checks the term after the wait for a token.
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bearer{t, next} })
	return config
}

// bearer sends requests with a token.
type bearer struct {
	tokens *tokens
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper. If the server rejects the token of a request, RoundTrip sends the request
// again with another token, if possible.
func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, token, err := b.send(req, req.Body)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	b.tokens.refused(token)
	body := req.Body
	switch {
	case body == nil:
	case req.GetBody == nil:
		return resp, nil
	default:
		if body, err = req.GetBody(); err != nil {
			return resp, nil // this answer has the same information
		}
	}
	resp.Body.Close()
	resp, _, err = b.send(req, body)
	return resp, err
}

func (b bearer) send(req *http.Request, body io.ReadCloser) (resp *http.Response, token string, err error) {
	if token, err = b.tokens.get(req.Context()); err != nil {
		if body != nil {
			body.Close()
		}
		return nil, "", err
	}
	req = req.Clone(req.Context())
	req.Body = body
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err = b.next.RoundTrip(req)
	return resp, token, err
}

func (b bearer) WrappedRoundTripper() http.RoundTripper { return b.next }
