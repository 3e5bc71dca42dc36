package builtin

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// CertificateSigningRequests, of certificates.k8s.io/v1. Nobody signs them here: that is for who tests, or for the signer that is tested.

type signingRequest = certificatesv1.CertificateSigningRequest

// SigningRequests are the kind CertificateSigningRequest.
func SigningRequests() Kind {
	spec, status := certificatesv1.CertificateSigningRequestSpec{}.SwaggerDoc(), certificatesv1.CertificateSigningRequestStatus{}.SwaggerDoc()
	return Kind{
		GVK: certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), Resource: "certificatesigningrequests", Short: []string{"csr"},
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
		Rules: Rules{
			Unconditional: true, Reset: []string{"spec", "status"},
			Identify: func(object runtime.Object, who user.Info) { requestedBy(&object.(*signingRequest).Spec, who) },
			Create: Change1(func(r *signingRequest) {
				r.Status = certificatesv1.CertificateSigningRequestStatus{Conditions: []certificatesv1.CertificateSigningRequestCondition{}}
			}),
			Update:         Change2(func(r, old *signingRequest) { r.Spec, r.Status = old.Spec, old.Status }),
			Validate:       Typed1(func(r *signingRequest) field.ErrorList { return validateSigning(r, nil) }),
			ValidateUpdate: Typed2(func(r, old *signingRequest) field.ErrorList { return validateSigningUpdate(r, old, false, false) }),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec", "status.conditions"},
			Update: Change2(func(r, old *signingRequest) {
				r.Spec = old.Spec
				sameVerdicts(r, old, certificatesv1.CertificateApproved)
				sameVerdicts(r, old, certificatesv1.CertificateDenied)
				dateConditions(r, old)
			}),
			ValidateUpdate: Typed2(func(r, old *signingRequest) field.ErrorList { return validateSigningUpdate(r, old, false, true) }),
		},
		Selectable: []string{"spec.signerName"},
		Fields: func(object runtime.Object, set fields.Set) {
			set["spec.signerName"] = object.(*signingRequest).Spec.SignerName
		},
		Review: reviewSigning,
	}
}

// ApprovalRules are those of the subresource by which a request is approved or denied.
var ApprovalRules = Rules{
	Unconditional: true, Reset: []string{"spec", "status.certificate"},
	Update: Change2(func(r, old *signingRequest) {
		dateConditions(r, old)
		conditions := r.Status.Conditions
		r.Spec, r.Status = old.Spec, old.Status
		r.Status.Conditions = conditions
	}),
	ValidateUpdate: Typed2(func(r, old *signingRequest) field.ErrorList { return validateSigningUpdate(r, old, true, false) }),
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

// requestedBy notes who has made a request.
func requestedBy(spec *certificatesv1.CertificateSigningRequestSpec, who user.Info) {
	spec.Username, spec.UID, spec.Groups, spec.Extra = who.GetName(), who.GetUID(), who.GetGroups(), nil
	for key, value := range who.GetExtra() {
		if spec.Extra == nil {
			spec.Extra = map[string]certificatesv1.ExtraValue{}
		}
		spec.Extra[key] = value
	}
}

// stateOf is what tables say of a request.
func stateOf(status *certificatesv1.CertificateSigningRequestStatus) string {
	has := func(t certificatesv1.RequestConditionType) bool { return len(conditionsOf(status, t)) > 0 }
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

func conditionsOf(status *certificatesv1.CertificateSigningRequestStatus, t certificatesv1.RequestConditionType) (found []certificatesv1.CertificateSigningRequestCondition) {
	for _, c := range status.Conditions {
		if c.Type == t {
			found = append(found, c)
		}
	}
	return found
}

// sameVerdicts keeps conditions of a type as they were, unless there are more or fewer now, which is refused.
func sameVerdicts(r, old *signingRequest, t certificatesv1.RequestConditionType) {
	was := conditionsOf(&old.Status, t)
	if len(was) != len(conditionsOf(&r.Status, t)) {
		return
	}
	for i := range r.Status.Conditions {
		if c := &r.Status.Conditions[i]; c.Type == t {
			*c, was = was[0], was[1:]
		}
	}
}

func dateConditions(r, old *signingRequest) {
	now := metav1.Now()
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		same := func(was certificatesv1.CertificateSigningRequestCondition) bool {
			return was.Type == c.Type && was.Status == c.Status && !was.LastTransitionTime.IsZero()
		}
		if at := slices.IndexFunc(old.Status.Conditions, same); at >= 0 {
			c.LastTransitionTime = old.Status.Conditions[at].LastTransitionTime
		}
	}
}

var keyUsages = []certificatesv1.KeyUsage{
	certificatesv1.UsageAny, certificatesv1.UsageCertSign, certificatesv1.UsageClientAuth, certificatesv1.UsageCodeSigning, certificatesv1.UsageContentCommitment, certificatesv1.UsageCRLSign,
	certificatesv1.UsageDataEncipherment, certificatesv1.UsageDecipherOnly, certificatesv1.UsageDigitalSignature, certificatesv1.UsageEmailProtection, certificatesv1.UsageEncipherOnly,
	certificatesv1.UsageIPsecEndSystem, certificatesv1.UsageIPsecTunnel, certificatesv1.UsageIPsecUser, certificatesv1.UsageKeyAgreement, certificatesv1.UsageKeyEncipherment,
	certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC, certificatesv1.UsageOCSPSigning, certificatesv1.UsageSMIME, certificatesv1.UsageServerAuth, certificatesv1.UsageSigning,
	certificatesv1.UsageTimestamping,
}

const legacySigner = "kubernetes.io/legacy-unknown"

// validateSigning checks a request. What was wrong in the old one may stay.
func validateSigning(r, old *signingRequest) field.ErrorList {
	f, path := Findings{ValidateMetadata(&r.ObjectMeta, false, func(string, bool) []string { return nil })}, field.NewPath("spec")
	if err := checkRequest(r.Spec.Request); err != nil {
		f.invalid(path.Child("request"), r.Spec.Request, err.Error())
	}
	if len(r.Spec.Usages) == 0 {
		f.Required(path.Child("usages"), "")
	}
	f.usages(r, old, path.Child("usages"))
	if r.Spec.SignerName == legacySigner && (old == nil || old.Spec.SignerName != legacySigner) {
		f.invalid(path.Child("signerName"), r.Spec.SignerName, "the legacy signerName is not allowed via this API version")
	} else {
		f.signer(path.Child("signerName"), r.Spec.SignerName)
	}
	if seconds := r.Spec.ExpirationSeconds; seconds != nil && *seconds < 600 {
		f.invalid(path.Child("expirationSeconds"), *seconds, "may not specify a duration less than 600 seconds (10 minutes)")
	}
	f.signingConditions(r, old)
	touched := old == nil || !bytes.Equal(r.Status.Certificate, old.Status.Certificate)
	if err := checkIssued(r.Status.Certificate); err != nil && touched && (old == nil || checkIssued(old.Status.Certificate) == nil) {
		f.invalid(field.NewPath("status", "certificate"), "<certificate data>", err.Error())
	}
	return f.List
}

func (f *Findings) usages(r, old *signingRequest, at *field.Path) {
	unknown := func(usage certificatesv1.KeyUsage) bool { return !slices.Contains(keyUsages, usage) }
	if old == nil || !slices.ContainsFunc(old.Spec.Usages, unknown) {
		for i, usage := range r.Spec.Usages {
			if unknown(usage) {
				f.Add(field.NotSupported(at.Index(i), usage, keyUsages))
			}
		}
	}
	if old == nil || sets.New(old.Spec.Usages...).Len() == len(old.Spec.Usages) {
		for i, usage := range r.Spec.Usages {
			if slices.Contains(r.Spec.Usages[:i], usage) {
				f.Add(field.Duplicate(at.Index(i), usage))
			}
		}
	}
}

func parseRequest(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

func checkRequest(data []byte) error {
	request, err := parseRequest(data)
	if err != nil {
		return err
	}
	return request.CheckSignature()
}

// checkIssued checks a certificate that was issued, if there is one.
func checkIssued(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	blocks := 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		blocks++
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		}
		if len(block.Headers) != 0 {
			return errors.New("no PEM block headers are permitted")
		}
		switch found, err := x509.ParseCertificates(block.Bytes); {
		case err != nil:
			return err
		case len(found) == 0:
			return errors.New("found CERTIFICATE PEM block containing 0 certificates")
		}
	}
	if blocks == 0 {
		return errors.New("must contain at least one CERTIFICATE PEM block")
	}
	return nil
}

// signer checks the name of a signer: a domain and a path.
func (f *Findings) signer(path *field.Path, name string) {
	const domainMost, most = utilvalidation.DNS1123SubdomainMaxLength, 2*utilvalidation.DNS1123SubdomainMaxLength + utilvalidation.DNS1123LabelMaxLength + 2
	if name == "" {
		f.Required(path, "")
		return
	}
	domain, rest, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(rest, "/") {
		f.invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
		return
	}
	if len(domain) > domainMost {
		f.Add(field.TooLong(path, "", domainMost))
	}
	parts := func(text string, check func(string) []string) {
		for part := range strings.SplitSeq(text, ".") {
			messages := check(part)
			for _, message := range messages {
				f.invalid(path, text, fmt.Sprintf("validating label %q: %s", part, message))
			}
			if len(messages) > 0 {
				return
			}
		}
	}
	parts(domain, utilvalidation.IsDNS1123Label)
	if !strings.Contains(domain, ".") {
		f.invalid(path, domain, "should be a domain with at least two segments separated by dots")
	}
	parts(rest, utilvalidation.IsDNS1123Subdomain)
	if len(name) > most {
		f.Add(field.TooLong(path, "", most))
	}
}

// signingConditions checks the conditions of a request.
func (f *Findings) signingConditions(r, old *signingRequest) {
	path := field.NewPath("status", "conditions")
	var untyped, doubled, undecided bool // what the old one has
	if old != nil {
		types := sets.New[certificatesv1.RequestConditionType]()
		for _, c := range old.Status.Conditions {
			untyped = untyped || c.Type == ""
			doubled = doubled || types.Has(c.Type)
			types.Insert(c.Type)
		}
		undecided = types.HasAll(certificatesv1.CertificateApproved, certificatesv1.CertificateDenied)
	}
	known := sets.New[certificatesv1.RequestConditionType]()
	for i, c := range r.Status.Conditions {
		at := path.Index(i)
		if c.Type == "" && !untyped {
			f.Required(at.Child("type"), "")
		}
		allowed := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
		switch c.Type {
		case certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			allowed = allowed[1:2]
		}
		if c.Status == "" {
			f.Required(at.Child("status"), "")
		} else if !slices.Contains(allowed, c.Status) {
			f.Add(field.NotSupported(at.Child("status"), c.Status, allowed))
		}
		if known.Has(c.Type) && !doubled {
			f.Add(field.Duplicate(at.Child("type"), c.Type))
		}
		known.Insert(c.Type)
	}
	if known.HasAll(certificatesv1.CertificateApproved, certificatesv1.CertificateDenied) && !undecided {
		const approved, denied = `conditions[{"type": "Approved"}]`, `conditions[{"type": "Denied"}]`
		f.invalid(path, "{"+approved+", "+denied+"}", "must specify at most one of: `"+approved+"`, `"+denied+"`")
	}
}

// validateSigningUpdate checks what may be changed: approving changes verdicts, and signing the certificate.
func validateSigningUpdate(r, old *signingRequest, approves, signs bool) field.ErrorList {
	f, conditions, certificate := Findings{validateSigning(r, old)}, field.NewPath("status", "conditions"), field.NewPath("status", "certificate")
	count := func(of *signingRequest, t certificatesv1.RequestConditionType) int {
		return len(conditionsOf(&of.Status, t))
	}
	for _, t := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed} {
		if count(r, t) < count(old, t) {
			f.forbidden(conditions, fmt.Sprintf("updates may not remove a condition of type %q", t))
		}
	}
	for _, t := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied} {
		was, is := conditionsOf(&old.Status, t), conditionsOf(&r.Status, t)
		switch {
		case approves || len(is) < len(was):
		case len(is) > len(was):
			f.forbidden(conditions, fmt.Sprintf("updates may not add a condition of type %q", t))
		case !equality.Semantic.DeepEqual(was, is):
			f.forbidden(conditions, fmt.Sprintf("updates may not modify a condition of type %q\n%v", t, diff.Diff(was, is)))
		}
	}
	if !bytes.Equal(r.Status.Certificate, old.Status.Certificate) {
		if !signs {
			f.forbidden(certificate, "updates may not set certificate content")
		} else if len(old.Status.Certificate) > 0 {
			f.forbidden(certificate, "updates may not modify existing certificate content")
		}
	}
	return append(f.List, validation.ValidateObjectMetaAccessorUpdate(r, old, field.NewPath("metadata"))...)
}

// reviewSigning refuses who may not approve or sign for a signer, and requests for more than anybody may get.
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
	case part == "status" && (!bytes.Equal(old.Status.Certificate, r.Status.Certificate) || !equality.Semantic.DeepEqual(old.Status.Conditions, r.Status.Conditions)) && !cluster.maySign(a, "sign", old.Spec.SignerName):
		err = fmt.Errorf("user not permitted to sign requests with signerName %q", old.Spec.SignerName)
	case part == "" && a.GetOperation() == admission.Create && r.Spec.SignerName == certificatesv1.KubeAPIServerClientSignerName:
		request, parseErr := parseRequest(r.Spec.Request)
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

// maySign reports whether a user may approve, or sign, for a signer or for all of its domain.
func (cluster Cluster) maySign(a admission.Attributes, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, _, err := cluster.Authorizer.Authorize(context.Background(), authorizer.AttributesRecord{
			User: a.GetUserInfo(), Verb: verb, Name: name, APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers", ResourceRequest: true,
		})
		if err == nil && decision == authorizer.DecisionAllow {
			return true
		}
	}
	return false
}
