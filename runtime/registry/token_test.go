package registry

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// account launches a controller that uses the credentials of its service account, and returns the controller's context.
func account(t *testing.T, s *apiServer, opts manager.Options) *Context {
	t.Helper()
	m, _ := newManager(t, s, opts)
	var own *Context
	launched(t, m, Options{UseServiceAccountCredentials: true, ServiceAccountNamespace: "system"}, Descriptor{
		Name: "configmaps", New: func(_ context.Context, c *Context) (Controller, error) {
			own = c
			return &fake{}, nil
		},
	})
	return own
}

const somewhere = "/api/v1/namespaces/ns/configmaps/a"

// users returns the users who have requested the ConfigMap since the last call.
func (s *apiServer) users() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	users := s.seen[somewhere]
	delete(s.seen, somewhere)
	return users
}

func (s *apiServer) tokensIssued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issued
}

func TestControllerIsItsServiceAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		c := account(t, s, manager.Options{})
		read := func() { _ = c.Live().Get(t.Context(), corev1Key("a"), &corev1.ConfigMap{}) }
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(read)
		}
		readers.Wait()
		if users := s.users(); len(users) != 20 || slices.ContainsFunc(users,
			func(user string) bool { return user != "system/configmaps" }) || s.tokensIssued() != 1 {
			t.Errorf("asked by %v, with %d tokens", users, s.tokensIssued())
		}
		if !s.accounts["system/configmaps"] {
			t.Error("the service account was not made")
		}
		time.Sleep(47 * time.Minute)
		read()
		if s.tokensIssued() != 1 {
			t.Errorf("%d tokens after 47 minutes", s.tokensIssued())
		}
		time.Sleep(2 * time.Minute)
		read()
		if s.tokensIssued() != 2 {
			t.Errorf("%d tokens after 49 minutes", s.tokensIssued())
		}
	})
}

func TestTokenThatIsStillGoodStandsInForOneThatCannotBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		c := account(t, s, manager.Options{})
		read := func() error {
			return client.IgnoreNotFound(c.Live().Get(t.Context(), corev1Key("a"), &corev1.ConfigMap{}))
		}
		ok(t, read())
		s.mu.Lock()
		s.down = errBroken
		s.mu.Unlock()
		time.Sleep(50 * time.Minute)
		ok(t, read())
		time.Sleep(11 * time.Minute)
		if err := read(); err == nil || !strings.Contains(err.Error(), "token of service account system/configmaps: ") {
			t.Errorf("got %v", err)
		}
		s.mu.Lock()
		s.down = nil
		s.mu.Unlock()
		ok(t, read())
	})
}

func TestTokenThatIsRefusedIsReplaced(t *testing.T) {
	s := newAPIServer()
	c := account(t, s, manager.Options{})
	ok(t, client.IgnoreNotFound(c.Live().Get(t.Context(), corev1Key("a"), &corev1.ConfigMap{})))
	s.mu.Lock()
	clear(s.tokens) // as if the service account had been recreated
	s.mu.Unlock()
	ok(t, c.Live().Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metaOf("x")})) // a request with a body
	s.mu.Lock()
	clear(s.tokens)
	s.mu.Unlock()
	ok(t, client.IgnoreNotFound(c.Live().Get(t.Context(), corev1Key("a"), &corev1.ConfigMap{})))
	if s.tokensIssued() != 3 {
		t.Errorf("got %d tokens", s.tokensIssued())
	}
}

func TestCredentialsOfTheProcessAreNotTheController(t *testing.T) {
	config := asServiceAccount(newAPIServer().config(), nil)
	if config.BearerToken != "" || config.Username != "" || config.CertFile != "" || config.WrapTransport == nil {
		t.Errorf("got %v", config)
	}
	if _, wraps := any(bearer{}).(interface{ WrappedRoundTripper() http.RoundTripper }); !wraps {
		t.Error("its connections cannot be closed")
	}
}

func TestServiceAccountsNeedANamespace(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{})
	r := New(Options{UseServiceAccountCredentials: true})
	r.Register(Descriptor{Name: "a", New: building(&fake{})})
	if err := r.AddTo(t.Context(), m); err == nil || !strings.Contains(err.Error(), "need --service-account-namespace") {
		t.Errorf("got %v", err)
	}
}

func TestClockThatIsAheadDoesNotAskForATokenEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		s.lifetime = -time.Hour
		c := account(t, s, manager.Options{})
		for range 20 {
			ok(t, client.IgnoreNotFound(c.Live().Get(t.Context(), corev1Key("a"), &corev1.ConfigMap{})))
		}
		if s.tokensIssued() != 1 {
			t.Errorf("got %d tokens", s.tokensIssued())
		}
	})
}

func TestPreflightAsksWithTheIdentityThatWillBeUsed(t *testing.T) {
	s := newAPIServer()
	s.refused = []string{"root update configmaps", "system/configmaps list configmaps",
		"system/configmaps create configmaps", "root watch configmaps"}
	m, _ := newManager(t, s, manager.Options{})
	r := New(Options{UseServiceAccountCredentials: true, ServiceAccountNamespace: "system", Preflight: PreflightFail})
	r.Register(Descriptor{Name: "configmaps", New: building(&fake{}), Needs: []Need{
		{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Verbs: []string{"list", "watch", "update", "create"}},
	}})
	want := "controller configmaps: may not watch configmaps; the marker // " +
		"+kubebuilder:rbac:groups=\"\",resources=configmaps,verbs=watch would allow it\n" +
		"controller configmaps: may not create configmaps; a role that is bound to its service account would allow it"
	if err := r.AddTo(t.Context(), m); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
