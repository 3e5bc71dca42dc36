package apiserver

import (
	"errors"
	"fmt"

	admissionreviewv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
)

// review is a request to a webhook, in a version that the webhook supports.
type review struct {
	uid               types.UID
	request, response runtime.Object
}

func newReview(uid types.UID, versions []string, as *subject, a *admission.VersionedAttributes) *review {
	for _, version := range versions {
		if !builtin.IsReviewVersion(version) {
			continue
		}
		question := newQuestion(uid, as, a)
		r := &review{uid, &oldReview{Request: question}, &oldReview{}}
		if version == "v1" {
			r.request, r.response = &admissionreviewv1.AdmissionReview{Request: question}, &admissionreviewv1.AdmissionReview{}
		}
		return r
	}
	return nil
}

// newQuestion returns a request for a review of an object.
func newQuestion(uid types.UID, as *subject, a *admission.VersionedAttributes) *admissionreviewv1.AdmissionRequest {
	question := plugincel.CreateAdmissionRequest(a.Attributes, metav1.GroupVersionResource(as.resource),
		metav1.GroupVersionKind(as.kind))
	question.UID = uid
	question.Object = runtime.RawExtension{Object: a.VersionedObject.Object()}
	question.OldObject = runtime.RawExtension{Object: a.VersionedOldObject.Object()}
	return question
}

// oldReview is an AdmissionReview of v1beta1, which has the fields of v1.
type oldReview struct {
	metav1.TypeMeta `json:",inline"`
	Request         *admissionreviewv1.AdmissionRequest  `json:"request,omitempty"`
	Response        *admissionreviewv1.AdmissionResponse `json:"response,omitempty"`
}

// DeepCopyObject copies the review.
func (r *oldReview) DeepCopyObject() runtime.Object {
	return &oldReview{r.TypeMeta, r.Request.DeepCopy(), r.Response.DeepCopy()}
}

var oldReviewVersion = schema.GroupVersion{Group: admissionreviewv1.GroupName, Version: "v1beta1"}

func addOldReview(scheme *runtime.Scheme) error {
	scheme.AddKnownTypeWithName(oldReviewVersion.WithKind("AdmissionReview"), &oldReview{})
	metav1.AddToGroupVersion(scheme, oldReviewVersion)
	return nil
}

// verified returns the response, if it belongs to the request.
func (r *review) verified(mutating bool) (*admissionreviewv1.AdmissionResponse, error) {
	switch given := r.response.(type) {
	case *oldReview:
		if given.Response == nil {
			return nil, errors.New("webhook response was absent")
		}
		answer := *given.Response
		if answer.PatchType = nil; mutating && len(answer.Patch) > 0 {
			json := admissionreviewv1.PatchTypeJSONPatch
			answer.PatchType = &json
		}
		return &answer, nil
	case *admissionreviewv1.AdmissionReview:
		answer, want := given.Response, admissionreviewv1.SchemeGroupVersion.WithKind("AdmissionReview")
		if answer == nil {
			return nil, errors.New("webhook response was absent")
		}
		if answer.UID != r.uid {
			return nil, fmt.Errorf("expected response.uid=%q, got %q", r.uid, answer.UID)
		}
		if given.GroupVersionKind() != want {
			return nil, fmt.Errorf("expected webhook response of %v, got %v", want, given.GroupVersionKind())
		}
		return answer, checkPatch(answer, mutating)
	}
	return nil, fmt.Errorf("unexpected response type %T", r.response)
}

func checkPatch(answer *admissionreviewv1.AdmissionResponse, mutating bool) error {
	patch, typed := len(answer.Patch) > 0, answer.PatchType != nil
	switch {
	case !mutating && patch:
		return errors.New("validating webhook may not return response.patch")
	case !mutating && typed:
		return errors.New("validating webhook may not return response.patchType")
	case patch && !typed:
		return errors.New("webhook returned response.patch but not response.patchType")
	case typed && !patch:
		return errors.New("webhook returned response.patchType but not response.patch")
	case typed && *answer.PatchType == "":
		return fmt.Errorf("webhook returned invalid response.patchType of %q", *answer.PatchType)
	}
	return nil
}
