package manager_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// apiServer is an in-memory API server without sockets that serves what a manager itself needs: Leases and reviews.
type apiServer struct {
	mu      sync.Mutex
	leases  map[string]*coordinationv1.Lease // by name
	version int                              // last resourceVersion
	users   map[string]string                // by bearer token
	allowed []string                         // entries such as "user verb path"
	reviews int                              // number of requested reviews
	down    error                            // if set, every request fails with it

	failAccess bool // whether access reviews fail
}

func newAPIServer() *apiServer {
	return &apiServer{leases: map[string]*coordinationv1.Lease{}, users: map[string]string{}}
}

// config connects to s.
func (s *apiServer) config() *rest.Config {
	return &rest.Config{Host: "http://apiserver", Transport: s}
}

// set makes s answer every request with err, or answer normally again when err is nil.
func (s *apiServer) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

// asked returns the number of requested reviews.
func (s *apiServer) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reviews
}

// holder returns the holder of a Lease, or an empty string if it has none.
func (s *apiServer) holder(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lease := s.leases[name]; lease != nil && lease.Spec.HolderIdentity != nil {
		return *lease.Spec.HolderIdentity
	}
	return ""
}

// give sets the holder of a Lease, as a user does with kubectl.
func (s *apiServer) give(name, holder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lease := s.leases[name].DeepCopy()
	lease.Spec.HolderIdentity = &holder
	s.store(lease)
}

func (s *apiServer) store(lease *coordinationv1.Lease) {
	s.version++
	lease.ResourceVersion = strconv.Itoa(s.version)
	s.leases[lease.Name] = lease
}

var documents = map[string]metav1.APIResourceList{
	"/apis/coordination.k8s.io/v1": {GroupVersion: "coordination.k8s.io/v1", APIResources: []metav1.APIResource{
		{Kind: "Lease", Name: "leases", Namespaced: true},
	}},
	"/apis/authentication.k8s.io/v1": {GroupVersion: "authentication.k8s.io/v1", APIResources: []metav1.APIResource{
		{Kind: "TokenReview", Name: "tokenreviews"},
	}},
	"/apis/authorization.k8s.io/v1": {GroupVersion: "authorization.k8s.io/v1", APIResources: []metav1.APIResource{
		{Kind: "SubjectAccessReview", Name: "subjectaccessreviews"},
	}},
}

// RoundTrip implements http.RoundTripper.
func (s *apiServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return nil, s.down
	}
	document, ok := documents[req.URL.Path]
	if ok {
		return answer(http.StatusOK, document), nil
	}
	switch path.Base(req.URL.Path) {
	case "tokenreviews":
		return s.reviewToken(req.Body)
	case "subjectaccessreviews":
		return s.reviewAccess(req.Body)
	}
	return s.lease(req)
}

func (s *apiServer) reviewToken(body io.Reader) (*http.Response, error) {
	s.reviews++
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(body).Decode(&review); err != nil {
		return nil, err
	}
	user, known := s.users[review.Spec.Token]
	review.Status = authenticationv1.TokenReviewStatus{Authenticated: known, User: authenticationv1.UserInfo{
		Username: user, Groups: []string{"scrapers"}, Extra: map[string]authenticationv1.ExtraValue{"pod": {"prometheus-0"}},
	}}
	return answer(http.StatusCreated, review), nil
}

func (s *apiServer) reviewAccess(body io.Reader) (*http.Response, error) {
	s.reviews++
	if s.failAccess {
		return failure(http.StatusForbidden, metav1.StatusReasonForbidden), nil
	}
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(body).Decode(&review); err != nil {
		return nil, err
	}
	spec := review.Spec
	if len(spec.Groups) != 1 || spec.Groups[0] != "scrapers" || len(spec.Extra["pod"]) != 1 ||
		spec.NonResourceAttributes == nil {
		return nil, fmt.Errorf("incomplete review: %+v", spec)
	}
	asked := spec.User + " " + spec.NonResourceAttributes.Verb + " " + spec.NonResourceAttributes.Path
	review.Status.Allowed = slices.Contains(s.allowed, asked)
	return answer(http.StatusCreated, review), nil
}

func (s *apiServer) lease(req *http.Request) (*http.Response, error) {
	name := path.Base(req.URL.Path)
	if req.Method == http.MethodGet {
		if stored := s.leases[name]; stored != nil {
			return answer(http.StatusOK, stored), nil
		}
		return failure(http.StatusNotFound, metav1.StatusReasonNotFound), nil
	}
	lease := &coordinationv1.Lease{}
	if err := json.NewDecoder(req.Body).Decode(lease); err != nil {
		return nil, err
	}
	stored := s.leases[lease.Name]
	switch {
	case req.Method == http.MethodPost && stored != nil:
		return failure(http.StatusConflict, metav1.StatusReasonAlreadyExists), nil
	case req.Method == http.MethodPut && (stored == nil || stored.ResourceVersion != lease.ResourceVersion):
		return failure(http.StatusConflict, metav1.StatusReasonConflict), nil
	}
	s.store(lease)
	return answer(http.StatusOK, lease), nil
}

func failure(code int32, reason metav1.StatusReason) *http.Response {
	return answer(int(code), metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: string(reason),
	})
}

func answer(code int, body any) *http.Response {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(bytes.NewReader(text))}
}
