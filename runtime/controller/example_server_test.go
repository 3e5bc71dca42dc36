package controller_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// exampleServer is an in-memory API server with ConfigMaps that never change.
type exampleServer []corev1.ConfigMap

// config connects to s.
func (s exampleServer) config() *rest.Config {
	return &rest.Config{Host: "http://server", Transport: s}
}

// RoundTrip implements http.RoundTripper.
func (s exampleServer) RoundTrip(req *http.Request) (*http.Response, error) {
	code, body := http.StatusOK, any(corev1.ConfigMapList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
		Items: s,
	})
	switch {
	case req.URL.Path == "/api/v1":
		body = metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap",
			Namespaced: true}}}
	case req.URL.Query().Get("sendInitialEvents") != "":
		code, body = http.StatusBadRequest, "this server has no streaming lists"
	case req.URL.Query().Get("watch") != "":
		<-req.Context().Done()
		return nil, errors.New("the watch has ended")
	}
	text, err := json.Marshal(body)
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(string(text)))}, err
}

// tenantConfig is a ConfigMap of a tenant.
func tenantConfig(name, tenant string) corev1.ConfigMap {
	return corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
		Labels: map[string]string{"tenant": tenant}}}
}

func exampleScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	_ = corev1.AddToScheme(scheme)
	return scheme
}
