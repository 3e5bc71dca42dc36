package builtin

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/apis/certificates"
)

// CertificateSigningRequests are a kind of certificates.k8s.io/v1. The server does not sign them. The test or the
// signer under test does that.

type signingRequest = certificatesv1.CertificateSigningRequest

// SigningRequests returns the kind CertificateSigningRequest.
func SigningRequests() Kind {
	rules, part, _ := signingRules()
	spec, status := certificatesv1.CertificateSigningRequestSpec{}.SwaggerDoc(),
		certificatesv1.CertificateSigningRequestStatus{}.SwaggerDoc()
	return Kind{
		GVK: certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), Resource: "certificatesigningrequests",
		Short: []string{"csr"},
		Columns: []Column{
			SinceColumn,
			Col("SignerName", "string", spec["signerName"], func(r *signingRequest) any { return orNone(r.Spec.SignerName) }),
			Col("Requestor", "string", spec["request"], func(r *signingRequest) any { return r.Spec.Username }),
			Col("RequestedDuration", "string", spec["expirationSeconds"], func(r *signingRequest) any {
				if r.Spec.ExpirationSeconds == nil {
					return "<none>"
				}
				return duration.HumanDuration(time.Duration(*r.Spec.ExpirationSeconds) * time.Second)
			}),
			Col("Condition", "string", status["conditions"], func(r *signingRequest) any { return stateOf(&r.Status) }),
		},
		Rules:  rules,
		Status: &part,
		Fields: func(object runtime.Object, set fields.Set) {
			set["spec.signerName"] = object.(*signingRequest).Spec.SignerName
		},
		Review: reviewSigning,
	}
}

// ApprovalRules returns the rules of the subresource that approves or denies a request.
func ApprovalRules() Rules {
	_, _, approval := signingRules()
	return approval
}

func orNone(text string) string { return cmp.Or(text, "<none>") }

// stateOf returns the state of a request for tables.
func stateOf(status *certificatesv1.CertificateSigningRequestStatus) string {
	has := func(t certificatesv1.RequestConditionType) bool {
		return slices.ContainsFunc(status.Conditions,
			func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == t })
	}
	state := "Pending"
	if has(certificatesv1.CertificateDenied) {
		state = "Denied"
	} else if has(certificatesv1.CertificateApproved) {
		state = "Approved"
	}
	if has(certificatesv1.CertificateFailed) {
		state += ",Failed"
	}
	if len(status.Certificate) > 0 {
		state += ",Issued"
	}
	return state
}

// reviewSigning rejects writes by users who lack the permission to approve or sign for a signer, and requests for
// permissions that no user may get.
func reviewSigning(cluster Cluster, a admission.Attributes) error {
	old, _ := a.GetOldObject().(*signingRequest)
	r, ok := a.GetObject().(*signingRequest)
	if !ok {
		return nil
	}
	var err error
	switch part := a.GetSubresource(); {
	case part == "approval" && !cluster.maySign(a, "approve", old.Spec.SignerName):
		err = fmt.Errorf("user not permitted to approve requests with signerName %q", old.Spec.SignerName)
	case part == "status" && (!bytes.Equal(old.Status.Certificate, r.Status.Certificate) ||
		!equality.Semantic.DeepEqual(old.Status.Conditions, r.Status.Conditions)) &&
		!cluster.maySign(a, "sign", old.Spec.SignerName):
		err = fmt.Errorf("user not permitted to sign requests with signerName %q", old.Spec.SignerName)
	case part == "" && a.GetOperation() == admission.Create &&
		r.Spec.SignerName == certificatesv1.KubeAPIServerClientSignerName:
		request, parseErr := certificates.ParseCSR(r.Spec.Request)
		if parseErr != nil {
			err = fmt.Errorf("failed to parse CSR: %v", parseErr)
		} else if slices.Contains(request.Subject.Organization, user.SystemPrivilegedGroup) {
			err = fmt.Errorf("use of %s signer with system:masters group is not allowed", r.Spec.SignerName)
		}
	}
	if err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}

// maySign reports whether a user may use verb, approve or sign, for a signer or for all signers of its domain.
func (cluster Cluster) maySign(a admission.Attributes, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, _, err := cluster.Authorizer.Authorize(context.Background(), authorizer.AttributesRecord{
			User: a.GetUserInfo(), Verb: verb, Name: name, APIGroup: certificatesv1.GroupName, APIVersion: "*",
			Resource: "signers", ResourceRequest: true,
		})
		if err == nil && decision == authorizer.DecisionAllow {
			return true
		}
	}
	return false
}
