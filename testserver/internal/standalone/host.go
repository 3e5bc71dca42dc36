package standalone

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// The protocol between a test binary (package runtime/internal/testhost) and the host: one JSON document per line, one
// answer per request. The host sends credentials first. All servers accept them; otherwise they share nothing.
type (
	credentials struct {
		Authority   []byte `json:"authority"`   // PEM; CA of the servers' certificate
		Certificate []byte `json:"certificate"` // PEM; of an administrator
		Key         []byte `json:"key"`
	}
	hostRequest struct {
		Start *startRequest `json:"start,omitempty"`
		Stop  int           `json:"stop,omitempty"` // ID of a server
		Put   *putRequest   `json:"put,omitempty"`
	}
	startRequest struct {
		FakeControllers []string `json:"fakeControllers,omitempty"` // in the form of --controllers; empty runs none
	}
	// putRequest stores an object by [apiserver.Server.Put].
	putRequest struct {
		Server   int             `json:"server"` // its ID
		Group    string          `json:"group"`
		Version  string          `json:"version"`
		Resource string          `json:"resource"`
		Object   json.RawMessage `json:"object"`
	}
	hostAnswer struct {
		ID    int    `json:"id,omitempty"`
		URL   string `json:"url,omitempty"`
		Error string `json:"error,omitempty"`
	}
)

// host serves isolated API servers on loopback.
type host struct {
	server      tls.Certificate
	clients     *x509.CertPool
	controllers Controllers // nil in a program without fake controllers
	running     map[int]*hosted
	last        int // id
}

// hosted is a running server.
type hosted struct {
	server *apiserver.Server
	stop   context.CancelFunc
	ended  chan error
}

// Host starts and stops isolated API servers as requested in in, until in or ctx ends. It stops all servers before it
// returns. controllers run on servers whose requests select some.
func Host(ctx context.Context, in io.Reader, out io.Writer, controllers Controllers) error {
	h, first, err := newHost()
	if err != nil {
		return err
	}
	h.controllers = controllers
	answers := json.NewEncoder(out)
	if err := answers.Encode(first); err != nil {
		return err
	}
	requests := make(chan hostRequest)
	failed := make(chan error, 1)
	go func() { failed <- readRequests(ctx, in, requests) }() // it ends with the process, which ends after this function
	for {
		select {
		case <-ctx.Done():
			return h.stopAll()
		case err := <-failed:
			return errors.Join(err, h.stopAll())
		case request := <-requests:
			if err := answers.Encode(h.handle(ctx, request)); err != nil {
				return errors.Join(err, h.stopAll())
			}
		}
	}
}

// readRequests sends requests until in ends, which is not an error.
func readRequests(ctx context.Context, in io.Reader, requests chan<- hostRequest) error {
	for lines := json.NewDecoder(bufio.NewReader(in)); ; {
		var request hostRequest
		if err := lines.Decode(&request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		select {
		case requests <- request:
		case <-ctx.Done():
			return nil
		}
	}
}

func (h *host) handle(ctx context.Context, request hostRequest) (answer hostAnswer) {
	var err error
	switch {
	case request.Start != nil:
		answer, err = h.start(ctx, *request.Start)
	case request.Put != nil:
		err = h.put(ctx, *request.Put)
	default:
		err = h.stop(request.Stop)
	}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}

func (h *host) start(ctx context.Context, request startRequest) (hostAnswer, error) {
	var run runFunc
	if len(request.FakeControllers) > 0 {
		if h.controllers == nil {
			return hostAnswer{}, errNoFakeControllers
		}
		var err error
		if run, err = h.controllers(request.FakeControllers); err != nil {
			return hostAnswer{}, err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return hostAnswer{}, err
	}
	server := apiserver.New(apiserver.Options{Seed: mathrand.Uint64()})
	ctx, stop := context.WithCancel(ctx)
	one := &hosted{server: server, stop: stop, ended: make(chan error, 1)}
	go func() {
		err := serve(ctx, server, run, listener, h.server, h.clients)
		server.Close()
		one.ended <- err
	}()
	h.last++
	h.running[h.last] = one
	return hostAnswer{ID: h.last, URL: "https://" + listener.Addr().String()}, nil
}

func (h *host) put(ctx context.Context, request putRequest) error {
	one, found := h.running[request.Server]
	if !found {
		return fmt.Errorf("no server %d", request.Server)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(request.Object); err != nil {
		return err
	}
	resource := schema.GroupVersionResource{Group: request.Group, Version: request.Version, Resource: request.Resource}
	return one.server.Put(ctx, resource, object)
}

func (h *host) stop(id int) error {
	one, found := h.running[id]
	if !found {
		return fmt.Errorf("no server %d", id)
	}
	delete(h.running, id)
	one.stop()
	return <-one.ended
}

func (h *host) stopAll() (err error) {
	for _, one := range h.running {
		one.stop()
	}
	for id := range h.running {
		err = errors.Join(err, h.stop(id))
	}
	return err
}

// newHost issues the certificates of a host, which exist only in this process and the test's.
func newHost() (*host, credentials, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, credentials{}, err
	}
	authority := certificate(1, pkix.Name{CommonName: "kctrl test authority"})
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return nil, credentials{}, err
	}
	issue := func(template *x509.Certificate, usage x509.ExtKeyUsage) (certificatePEM, keyPEM []byte, err error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{usage}
		der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), authorityKey)
		if err != nil {
			return nil, nil, err
		}
		keyDER, err := x509.MarshalPKCS8PrivateKey(key)
		return encode("CERTIFICATE", der), encode("PRIVATE KEY", keyDER), err
	}
	loopback := certificate(2, pkix.Name{CommonName: "kube-apiserver"})
	loopback.IPAddresses, loopback.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, []string{"localhost"}
	serverPEM, serverKey, err := issue(loopback, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return nil, credentials{}, err
	}
	admin := certificate(3, pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}})
	adminPEM, adminKey, err := issue(admin, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, credentials{}, err
	}
	pair, err := tls.X509KeyPair(serverPEM, serverKey)
	if err != nil {
		return nil, credentials{}, err
	}
	authorityPEM := encode("CERTIFICATE", authorityDER)
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(authorityPEM)
	h := &host{server: pair, clients: clients, running: map[int]*hosted{}}
	return h, credentials{Authority: authorityPEM, Certificate: adminPEM, Key: adminKey}, nil
}

func certificate(serial int64, subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: subject, NotBefore: now.Add(-time.Minute),
		NotAfter: now.Add(365 * 24 * time.Hour),
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
