package measure

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

// proxy forwards an operator's requests to an API server and counts them.
type proxy struct {
	server   http.Server
	served   sync.WaitGroup
	requests atomic.Int64
	active   atomic.Int64 // requests without a response yet; a watch has one when it starts
	last     atomic.Int64 // time of the last request or part of a response, in nanoseconds since the epoch
}

// startProxy listens on loopback with TLS and HTTP/2, as API servers do, and writes a kubeconfig for it.
func startProxy(upstream, kubeconfig string) (*proxy, error) {
	config, err := kubectl.LoadConfig(upstream)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	certificatePEM, keyPEM, err := selfSigned()
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization")
		},
		Transport:     transport,
		FlushInterval: -1, // send events at once
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	p := &proxy{}
	p.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	p.server.ReadHeaderTimeout = time.Minute
	p.server.ErrorLog = forward.ErrorLog
	p.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/apis/coordination.k8s.io/") {
			forward.ServeHTTP(w, r)
			return
		}
		p.requests.Add(1)
		p.last.Store(time.Now().UnixNano())
		if r.URL.Query().Get("watch") == "" {
			p.active.Add(1)
			defer p.active.Add(-1)
		}
		forward.ServeHTTP(&answer{w, p}, r)
	})
	p.served.Go(func() { _ = p.server.ServeTLS(listener, "", "") })
	err = writeKubeconfig(kubeconfig, "https://"+listener.Addr().String(), certificatePEM)
	if err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

func (p *proxy) stop() {
	_ = p.server.Close()
	p.served.Wait()
}

// answer records when a part of a response is sent.
type answer struct {
	http.ResponseWriter
	proxy *proxy
}

func (a *answer) Write(data []byte) (int, error) {
	a.proxy.last.Store(time.Now().UnixNano())
	return a.ResponseWriter.Write(data)
}

// Unwrap returns the underlying writer, which can flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// quietSince returns the time of the last request or event. It returns false if the operator has sent no request, or a
// request has no response yet.
func (p *proxy) quietSince() (time.Time, bool) {
	last := p.last.Load()
	return time.Unix(0, last), last != 0 && p.active.Load() == 0
}

func writeKubeconfig(file, server string, authority []byte) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["measure"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos["measure"] = &clientcmdapi.AuthInfo{}
	config.Contexts["measure"] = &clientcmdapi.Context{Cluster: "measure", AuthInfo: "measure", Namespace: "default"}
	config.CurrentContext = "measure"
	text, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// selfSigned returns a certificate for 127.0.0.1 and its key, in PEM. Clients also use the certificate as the
// certificate authority.
func selfSigned() (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    now.Add(-time.Minute), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), err
}

// writeServingCertificate writes a certificate for the webhook server to the path below the temporary directory where
// controller-runtime expects it. API servers do not call the webhooks, but their server does not start without a
// certificate.
func writeServingCertificate(temporary string) error {
	certificate, key, err := selfSigned()
	if err != nil {
		return err
	}
	dir := filepath.Join(temporary, "k8s-webhook-server", "serving-certs")
	return cmp.Or(
		os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600),
	)
}
