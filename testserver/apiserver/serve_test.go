package apiserver_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// authority signs certificates for a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	issued := a.issue(t, "authority")
	a.certificate, a.key = issued.Leaf, issued.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// issue returns a certificate for a server on loopback or for a client. The first certificate that it issues is the
// CA's.
func (a *authority) issue(t *testing.T, name string, groups ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:        a.certificate == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, signer := template, key
	if a.certificate != nil {
		parent, signer = a.certificate, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// client returns a client that trusts the authority and presents the certificates.
func (a *authority) client(t *testing.T, certificates ...tls.Certificate) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool(), Certificates: certificates},
		ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func ask(t *testing.T, client *http.Client, url string) (status int, body string) {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

func TestOnlyCertificatesOfClientsAreServed(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := apiserver.New(apiserver.Options{})
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener, ours.issue(t, "server"), ours.pool()) }()
	base := "https://" + listener.Addr().String()
	known := ours.client(t, ours.issue(t, "somebody", "system:masters"))
	if status, body := ask(t, known, base+"/api/v1/namespaces/default"); status != http.StatusOK ||
		!strings.Contains(body, `"name":"default"`) {
		t.Errorf("the known user got %d %s", status, body)
	}
	review, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		base+"/apis/authentication.k8s.io/v1/selfsubjectreviews",
		strings.NewReader(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`))
	if err != nil {
		t.Fatal(err)
	}
	review.Header.Set("Authorization", "Bearer made-up") // the real server ignores it too
	response, err := known.Do(review)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || response.StatusCode != http.StatusCreated ||
		!bytes.Contains(content, []byte(`"username":"somebody"`)) ||
		!bytes.Contains(content, []byte(`"authentication.kubernetes.io/credential-id":["X509SHA256=`)) {
		t.Errorf("the known user with a token got %d %s %v", response.StatusCode, content, err)
	}
	unknown := ours.client(t)
	for _, path := range []string{"/api/v1/namespaces", "/apis", "/api", "/openapi/v3", "/readyz/../api", "/"} {
		status, body := ask(t, unknown, base+path)
		if status != http.StatusForbidden || !strings.Contains(body, `"reason":"Forbidden"`) ||
			!strings.Contains(body, `\"system:anonymous\" cannot `) {
			t.Errorf("%s: an unknown user got %d %s", path, status, body)
		}
	}
	for _, path := range []string{"/readyz", "/livez", "/healthz", "/version"} {
		if status, body := ask(t, unknown, base+path); status != http.StatusOK {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
	for header, want := range map[string]int{"Bearer made-up": http.StatusUnauthorized,
		"bearer made-up": http.StatusUnauthorized, "Basic YTpi": http.StatusForbidden} {
		asked, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v1/namespaces", nil)
		if err != nil {
			t.Fatal(err)
		}
		asked.Header.Set("Authorization", header)
		asked.Header.Set("Impersonate-User", "kubernetes-admin")
		response, err := unknown.Do(asked)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: got %s", header, response.Status)
		}
	}
	if response, err := ours.client(t, theirs.issue(t, "kubernetes-admin", "system:masters")).Get(base +
		"/api"); err == nil {
		response.Body.Close()
		t.Errorf("a certificate of another CA got %s", response.Status)
	}
	// A watch ends when the server ends. The server then serves no further requests.
	watch, err := known.Get(base + "/api/v1/configmaps?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	cancel()
	if _, err := io.Copy(io.Discard, watch.Body); err != nil && !strings.Contains(err.Error(), "stream error") {
		t.Logf("the watch ended with %v", err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if response, err := known.Get(base + "/api"); err == nil {
		response.Body.Close()
		t.Errorf("a server that has ended answers %s", response.Status)
	}
}

// serve serves a server with certificates until the test ends.
func serve(t *testing.T) (url string, authority *authority, client tls.Certificate) {
	t.Helper()
	authority = newAuthority(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := apiserver.New(apiserver.Options{History: 16})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener, authority.issue(t, "server"), authority.pool()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return "https://" + listener.Addr().String(), authority, authority.issue(t, "somebody", "system:masters")
}

// TestClientsMayLeaveAtAnyByte cuts requests and responses after each byte. The server must not execute incomplete
// requests, and must continue to serve other clients.
func TestClientsMayLeaveAtAnyByte(t *testing.T) {
	url, authority, certificate := serve(t)
	const configMaps = "/api/v1/namespaces/default/configmaps"
	dial := func() *tls.Conn {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"),
			&tls.Config{RootCAs: authority.pool(), Certificates: []tls.Certificate{certificate}, ServerName: "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	const body = `{"metadata":{"name":"cut"},"data":{"a":"b"}}`
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		configMaps, len(body), body)
	for end := range len(request) {
		conn := dial()
		if _, err := conn.Write([]byte(request[:end])); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	client := authority.client(t, certificate)
	if status, text := ask(t, client, url+configMaps+"/cut"); status != http.StatusNotFound {
		t.Errorf("a request that was cut has made %d %s", status, text)
	}
	for _, path := range []string{configMaps, "/api/v1/namespaces", "/apis", "/openapi/v3", configMaps + "?watch=1",
		"/api/v1/namespaces?watch=1"} {
		for read := 1; read < 1000; read += 97 {
			conn := dial()
			if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(conn, make([]byte, min(read, 100))); err != nil {
				t.Fatal(err)
			}
			conn.Close()
		}
	}
	if status, text := ask(t, client, url+configMaps); status != http.StatusOK {
		t.Errorf("after that it answers %d %s", status, text)
	}
}

// TestSlowWatcherDoesNotBlockOthers opens watches on sockets that it never reads, and causes more events than the
// sockets and the history can hold. The server must still answer other clients, and must be able to stop.
func TestSlowWatcherDoesNotBlockOthers(t *testing.T) {
	url, authority, certificate := serve(t)
	const configMaps = "/api/v1/namespaces/default/configmaps"
	watcher, client := authority.client(t, certificate), authority.client(t, certificate)
	for range 3 {
		response, err := watcher.Get(url + configMaps + "?watch=1")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
	}
	large := strings.Repeat("x", 500_000)
	for i := range 60 {
		response, err := client.Post(url+configMaps, "application/json",
			strings.NewReader(fmt.Sprintf(`{"metadata":{"name":"c%d"},"data":{"a":%q}}`, i, large)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusCreated {
			t.Fatal(response.Status, err)
		}
		response.Body.Close()
	}
	if status, text := ask(t, client, url+configMaps+"/c59?pretty=false"); status != http.StatusOK {
		t.Errorf("got %d %.200s", status, text)
	}
}
