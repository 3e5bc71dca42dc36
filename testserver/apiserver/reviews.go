package apiserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/registry/authentication/selfsubjectreview"
	"k8s.io/kubernetes/pkg/registry/authorization/localsubjectaccessreview"
	"k8s.io/kubernetes/pkg/registry/authorization/selfsubjectaccessreview"
	"k8s.io/kubernetes/pkg/registry/authorization/selfsubjectrulesreview"
	"k8s.io/kubernetes/pkg/registry/authorization/subjectaccessreview"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// This file has the kinds of authentication.k8s.io/v1 and authorization.k8s.io/v1, which are not stored, and the tokens
// of service accounts.

var (
	authenticationV1 = authenticationv1.SchemeGroupVersion
	authorizationV1  = authorizationv1.SchemeGroupVersion
)

func authenticationKinds() []kind {
	return []kind{
		reviewKind(authenticationV1.WithKind("SelfSubjectReview"), "selfsubjectreviews", func(*Server) rest.Creater {
			return selfsubjectreview.NewREST()
		}),
		answeredKind(authenticationV1.WithKind("TokenReview"), "tokenreviews", tokenReviewer),
	}
}

func authorizationKinds() []kind {
	local := reviewKind(authorizationV1.WithKind("LocalSubjectAccessReview"), "localsubjectaccessreviews",
		func(s *Server) rest.Creater { return localsubjectaccessreview.NewREST(s.authorizer, builtin.Scheme()) })
	local.Namespaced = true
	return []kind{
		local,
		reviewKind(authorizationV1.WithKind("SelfSubjectAccessReview"), "selfsubjectaccessreviews",
			func(s *Server) rest.Creater { return selfsubjectaccessreview.NewREST(s.authorizer, builtin.Scheme()) }),
		reviewKind(authorizationV1.WithKind("SelfSubjectRulesReview"), "selfsubjectrulesreviews",
			func(s *Server) rest.Creater { return selfsubjectrulesreview.NewREST(s.roles) }),
		reviewKind(authorizationV1.WithKind("SubjectAccessReview"), "subjectaccessreviews",
			func(s *Server) rest.Creater { return subjectaccessreview.NewREST(s.authorizer, builtin.Scheme()) }),
	}
}

// reviewKind returns a kind that can only be created. Upstream's storage of the internal version answers its requests.
func reviewKind(gvk schema.GroupVersionKind, resource string, storage func(s *Server) rest.Creater) kind {
	return answeredKind(gvk, resource, func(s *Server) createFunc {
		answers := storage(s)
		return func(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc,
			options *metav1.CreateOptions) (runtime.Object, error) {
			return builtin.ByInternal(object, func(internal runtime.Object) (runtime.Object, error) {
				return answers.Create(ctx, internal, func(ctx context.Context, _ runtime.Object) error {
					if validate == nil {
						return nil
					}
					return validate(ctx, object.DeepCopyObject())
				}, options)
			})
		}
	})
}

// answeredKind returns a kind whose objects are not stored. A creation returns the answer.
func answeredKind(gvk schema.GroupVersionKind, resource string, answer func(s *Server) createFunc) kind {
	return kind{
		Kind: builtin.Kind{GVK: gvk, Resource: resource, Verbs: []string{"create"}},
		complete: func(s *Server, r *registry, e *endpoint) {
			e.scope.TableConvertor = nil // an answer has no table
			e.review = &answerer{r, answer(s)}
		},
	}
}

// answerer answers creations of a kind whose objects are not stored.
type answerer struct {
	*registry
	create createFunc
}

type createFunc = func(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error)

func (a *answerer) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	return a.create(ctx, object, validate, options)
}

func infoOf(who user.Info) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(),
		Extra: map[string]authenticationv1.ExtraValue{}}
	for key, value := range who.GetExtra() {
		info.Extra[key] = value
	}
	return info
}

// tokenReviewer answers reviews of tokens.
func tokenReviewer(s *Server) createFunc {
	return func(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc,
		_ *metav1.CreateOptions) (runtime.Object, error) {
		answer, err := s.reviewToken(object.(*authenticationv1.TokenReview))
		if err == nil && validate != nil {
			err = validate(ctx, object.DeepCopyObject())
		}
		return answer, err
	}
}

func (s *Server) reviewToken(review *authenticationv1.TokenReview) (runtime.Object, error) {
	if review.Spec.Token == "" {
		return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	wanted := review.Spec.Audiences
	if len(wanted) == 0 {
		wanted = []string{issuer}
	}
	token := bearer(review.Spec.Token)
	if token == "" { // the client is anonymous
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: wanted, Error: review.Status.Error,
			User: authenticationv1.UserInfo{
				Username: user.Anonymous, Groups: []string{user.AllUnauthenticated},
				Extra: map[string]authenticationv1.ExtraValue{}}}
		return review, nil
	}
	who, audiences, err := s.authenticate(token, wanted)
	review.Status.Authenticated = err == nil
	if err != nil {
		review.Status.Error = err.Error()
		return review, nil
	}
	review.Status.User, review.Status.Audiences = infoOf(who), audiences
	return review, nil
}

// bearer returns the token in a header, which ends with a space.
func bearer(token string) string {
	words := strings.Split(strings.TrimSpace("Bearer "+token), " ")
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

// issuer is the issuer of tokens, and their default audience.
const issuer = "https://kubernetes.default.svc"

// claims are the claims of a token.
type claims struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audiences []string `json:"aud"`
	Expires   int64    `json:"exp"`
	NotBefore int64    `json:"nbf"`
	IssuedAt  int64    `json:"iat"`
	ID        string   `json:"jti"`
	Private   struct {
		Namespace      string      `json:"namespace"`
		ServiceAccount objectClaim `json:"serviceaccount"`

		// Pod, Secret and Node identify the object to which the token is bound; Node is also the node of a bound pod.
		Pod    *objectClaim `json:"pod,omitempty"`
		Secret *objectClaim `json:"secret,omitempty"`
		Node   *objectClaim `json:"node,omitempty"`
	} `json:"kubernetes.io"`
}

type objectClaim struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

const tokenHeader = `{"alg":"HS256","typ":"JWT"}`

func (s *Server) signed(c claims) string {
	data, err := json.Marshal(c)
	must.Do(err)
	text := base64.RawURLEncoding.EncodeToString([]byte(tokenHeader)) + "." + base64.RawURLEncoding.EncodeToString(data)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.signature(text))
}

func (s *Server) signature(text string) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

var errInvalidToken = errors.New("invalid bearer token")

// authenticate returns the service account of a token that is valid for one of the wanted audiences. It also returns
// the wanted audiences that the token has.
func (s *Server) authenticate(token string, wanted []string) (user.Info, []string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, nil, errInvalidToken
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	data, dataErr := base64.RawURLEncoding.DecodeString(parts[1])
	var c claims
	if err != nil || !hmac.Equal(signature, s.signature(parts[0]+"."+parts[1])) || dataErr != nil ||
		json.Unmarshal(data, &c) != nil {
		return nil, nil, errInvalidToken
	}
	audiences := slices.DeleteFunc(slices.Clone(wanted),
		func(audience string) bool { return !slices.Contains(c.Audiences, audience) })
	switch now := time.Now().Unix(); {
	case len(audiences) == 0:
		return nil, nil, fmt.Errorf("[invalid bearer token, token audiences %q is invalid for the target audiences %q]",
			c.Audiences, wanted)
	case now >= c.Expires:
		return nil, nil, errors.New("[invalid bearer token, service account token has expired]")
	case now < c.NotBefore:
		return nil, nil, errors.New("[invalid bearer token, service account token is not valid yet]")
	}
	account := s.serviceAccount(c.Private.Namespace, c.Private.ServiceAccount.Name)
	if account == nil || string(account.UID) != c.Private.ServiceAccount.UID || !s.boundObjectsExist(&c) {
		return nil, nil, errors.New("[invalid bearer token, service account token has been invalidated]")
	}
	pod, node := builtin.Deref(c.Private.Pod), builtin.Deref(c.Private.Node)
	who := (&serviceaccount.ServiceAccountInfo{Namespace: account.Namespace, Name: account.Name,
		UID: string(account.UID), CredentialID: "JTI=" + c.ID, PodName: pod.Name, PodUID: pod.UID, NodeName: node.Name,
		NodeUID: node.UID}).UserInfo().(*user.DefaultInfo)
	who.Groups = append(who.Groups, user.AllAuthenticated)
	return who, audiences, nil
}

// bindable maps the kinds of the core group to which tokens can be bound to their resources.
var bindable = map[string]string{"Pod": "pods", "Secret": "secrets", "Node": "nodes"}

// boundObject returns the object to which a token will be bound.
func (s *Server) boundObject(kind, namespace, name string) (metav1.Object, error) {
	if kind == "Node" {
		namespace = ""
	}
	object, err := s.readObject("", "v1", bindable[kind], namespace, name)
	if err != nil {
		return nil, err
	}
	return must.Access(object), nil
}

// bind adds the object to which a request binds a token to the token's claims. The token is valid as long as the object
// exists.
func (s *Server) bind(c *claims, to *authenticationv1.BoundObjectReference, account, namespace string) error {
	kind := schema.FromAPIVersionAndKind(to.APIVersion, to.Kind)
	if _, known := bindable[kind.Kind]; !known || kind.Group != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", kind))
	}
	object, err := s.boundObject(kind.Kind, namespace, to.Name)
	if err != nil {
		return err
	}
	claim := &objectClaim{object.GetName(), string(object.GetUID())}
	switch of := object.(type) {
	case *corev1.Pod:
		if of.Spec.ServiceAccountName != account {
			return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different "+
				"serviceaccount name.", account))
		}
		c.Private.Pod = claim
		if name := of.Spec.NodeName; name != "" {
			c.Private.Node = &objectClaim{Name: name}
			if node, err := s.boundObject("Node", "", name); err == nil {
				c.Private.Node.UID = string(node.GetUID())
			}
		}
	case *corev1.Secret:
		c.Private.Secret = claim
	case *corev1.Node:
		c.Private.Node = claim
	}
	if to.UID != "" && to.UID != object.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, to.Name,
			fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have "+
				"been deleted and then recreated", to.UID))
	}
	return nil
}

// boundObjectsExist reports whether all objects to which a token is bound still exist. It does not check the node of a
// pod.
func (s *Server) boundObjectsExist(c *claims) bool {
	for kind, claim := range map[string]*objectClaim{"Pod": c.Private.Pod, "Secret": c.Private.Secret,
		"Node": c.Private.Node} {
		if claim == nil || kind == "Node" && c.Private.Pod != nil {
			continue
		}
		object, err := s.boundObject(kind, c.Private.Namespace, claim.Name)
		if err != nil || string(object.GetUID()) != claim.UID {
			return false
		}
	}
	return true
}

func (s *Server) serviceAccount(namespace, name string) *corev1.ServiceAccount {
	record := s.store.Table(schema.GroupResource{Resource: "serviceaccounts"}).Get("/registry/serviceaccounts/" +
		namespace + "/" + name)
	if record == nil {
		return nil
	}
	return record.Object.(*corev1.ServiceAccount)
}

// tokens creates tokens of service accounts.
type tokens struct{ server *Server }

func (tokens) New() runtime.Object { return &authenticationv1.TokenRequest{} }
func (tokens) Destroy()            {}
func (tokens) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return authenticationV1.WithKind("TokenRequest")
}

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate keeps the requested UID.
func (tokens) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

func (t tokens) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc,
	_ *metav1.CreateOptions) (runtime.Object, error) {
	asked, namespace, kind := object.(*authenticationv1.TokenRequest), request.NamespaceValue(ctx),
		authenticationV1.WithKind("TokenRequest").GroupKind()
	mismatch := func(member, given, what string) error {
		return apierrors.NewInvalid(kind, name, field.ErrorList{field.Invalid(field.NewPath("metadata", member), given,
			"must match the service account "+what+" if specified")})
	}
	if asked.Name != "" && asked.Name != name {
		return nil, mismatch("name", asked.Name, "name")
	}
	if asked.Namespace != "" && asked.Namespace != namespace {
		return nil, mismatch("namespace", asked.Namespace, "namespace")
	}
	account := t.server.serviceAccount(namespace, name)
	if account == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccounts"}, name)
	}
	if asked.UID != "" && asked.UID != account.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", asked.UID,
				account.UID))
	}
	if len(asked.Spec.Audiences) == 0 {
		asked.Spec.Audiences = []string{issuer}
	}
	if asked.Spec.ExpirationSeconds == nil { // if the server sets no defaults
		asked.Spec.ExpirationSeconds = new(int64(3600))
	}
	now := time.Now()
	asked.Name, asked.Namespace, asked.UID, asked.CreationTimestamp, asked.Status = name, namespace, account.UID,
		metav1.NewTime(now), authenticationv1.TokenRequestStatus{}
	path, seconds := field.NewPath("spec", "expirationSeconds"), *asked.Spec.ExpirationSeconds
	var problems field.ErrorList
	if seconds < 600 {
		problems = append(problems, field.Invalid(path, seconds, "may not specify a duration less than 10 minutes"))
	}
	if seconds > 1<<32 {
		problems = append(problems, field.Invalid(path, seconds, "may not specify a duration larger than 2^32 seconds"))
	}
	if len(asked.Spec.Attestations) > 0 { // attestations are for webhooks
		problems = field.ErrorList{field.Invalid(field.NewPath("spec", "attestations"), asked.Spec.Attestations,
			"attestations may only be specified with a webhook bound object reference")}
	}
	if len(problems) > 0 {
		return nil, apierrors.NewInvalid(kind, "", problems)
	}
	if validate != nil {
		if err := validate(ctx, asked.DeepCopy()); err != nil {
			return nil, err
		}
	}
	c := claims{
		Issuer: issuer, Subject: serviceaccount.MakeUsername(namespace, name), Audiences: asked.Spec.Audiences,
		ID:       string(t.server.names.uid()),
		IssuedAt: now.Unix(), NotBefore: now.Unix(), Expires: now.Unix() + seconds,
	}
	c.Private.Namespace, c.Private.ServiceAccount = namespace, objectClaim{name, string(account.UID)}
	if to := asked.Spec.BoundObjectRef; to != nil {
		if err := t.server.bind(&c, to, name, namespace); err != nil {
			return nil, err
		}
	}
	asked.Status = authenticationv1.TokenRequestStatus{Token: t.server.signed(c),
		ExpirationTimestamp: metav1.NewTime(now.Add(time.Duration(seconds) * time.Second))}
	return asked, nil
}

// identify returns the user whose permissions a request has. This is the user of its token or of its connection, or
// else the administrator. If the request impersonates a user, it is the impersonated user instead.
func (s *Server) identify(ctx context.Context, r *http.Request) (
	who user.Info, denied *authorizer.AttributesRecord, reason string, err error) {
	who, named := request.UserFrom(ctx)
	if !named {
		who = administrator
	}
	if token, ok := bearerToken(r); ok {
		if who, _, err = s.authenticate(strings.TrimSpace(token), []string{issuer}); err != nil {
			return nil, nil, "", apierrors.NewUnauthorized("Unauthorized")
		}
	}
	return s.impersonated(ctx, r.Header, who)
}

// bearerToken returns the token of a request.
func bearerToken(r *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return token, ok && strings.EqualFold(scheme, "Bearer")
}

// tokenPart is the subresource of service accounts that creates their tokens.
func tokenPart() extraPart {
	return extraPart{
		name: "token", kind: authenticationV1.WithKind("TokenRequest"), verbs: []string{"create"},
		part: func(s *Server, r *registry, k *kind, f family) part {
			return part{creater: tokens{s}, scope: newScopeOf(k, f, authenticationV1.WithKind("TokenRequest"), authenticationV1,
				"token", nil, r)}
		},
	}
}

func serviceAccounts() kind {
	return kind{parts: []extraPart{tokenPart()}, Kind: builtin.Kind{
		GVK: builtin.CoreV1.WithKind("ServiceAccount"), Resource: "serviceaccounts", Short: []string{"sa"}, Namespaced: true,
		Returned: true,
		Columns:  []builtin.Column{builtin.SinceColumn},
		Rules:    builtin.AccountRules(),
	}}
}
