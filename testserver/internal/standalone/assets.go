package standalone

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// assets are the executables of a control plane that envtest starts, by name. `kctrl env assets` writes them.
var assets = map[string]asset{
	"etcd": {
		serve:   serveEtcd,
		flags:   []string{"listen-client-urls"},
		ignored: []string{"advertise-client-urls", "data-dir", "listen-peer-urls", "name", "log-level", "unsafe-no-fsync"},
	},
	"kube-apiserver": {
		serve: serveAPI,
		flags: []string{"bind-address", "cert-dir", "client-ca-file", "secure-port", "tls-cert-file", "tls-private-key-file"},
		ignored: []string{
			"advertise-address", "allow-privileged", "authorization-mode", "disable-admission-plugins",
			"enable-admission-plugins", "enable-priority-and-fairness",
			"max-mutating-requests-inflight", "max-requests-inflight",
			"etcd-servers", "service-account-issuer", "service-account-key-file", "service-account-signing-key-file",
			"service-cluster-ip-range", "v",
		},
	},
}

// asset is an executable of a control plane.
type asset struct {
	serve   func(ctx context.Context, flags map[string]string) error
	flags   []string
	ignored []string // flags for features that the API server in memory does not have, or always has
}

// runAsset serves like an executable of a control plane with these arguments, until it is interrupted.
func runAsset(name string, args []string, out io.Writer) error {
	a := assets[name]
	if slices.ContainsFunc(args, func(arg string) bool { return strings.TrimLeft(arg, "-") == "help" || arg == "-h" }) {
		fmt.Fprintf(out, "%s of kctrl, in memory\n\nFlags:\n", name)
		for _, flag := range slices.Sorted(slices.Values(slices.Concat(a.flags, a.ignored))) {
			if flag != "unsafe-no-fsync" { // otherwise clients of etcd would set it
				fmt.Fprintf(out, "      --%s\n", flag)
			}
		}
		return nil
	}
	flags, err := a.parse(args)
	if err != nil {
		return fmt.Errorf("%s in memory: %w; kctrl env assets writes the real one", name, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return a.serve(ctx, flags)
}

// parse parses arguments of the forms --name=value, --name value and --name.
func (a asset) parse(args []string) (map[string]string, error) {
	values := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") {
			return nil, fmt.Errorf("argument %q is not a flag", args[i])
		}
		if !slices.Contains(a.flags, name) && !slices.Contains(a.ignored, name) {
			return nil, fmt.Errorf("no flag --%s", name)
		}
		if !hasValue && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
			value = args[i]
		}
		values[name] = value
	}
	return values, nil
}

// serveEtcd answers health checks. The API server in memory does not use it.
func serveEtcd(ctx context.Context, flags map[string]string) error {
	listen, _, _ := strings.Cut(flags["listen-client-urls"], ",")
	address, err := url.Parse(listen)
	if err != nil || address.Host == "" {
		return fmt.Errorf("--listen-client-urls=%s: want a URL such as http://127.0.0.1:2379", listen)
	}
	listener, err := net.Listen("tcp", address.Host)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			http.Error(w, "the API server in memory does not use etcd", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"health":"true","reason":""}`)
	})}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// serveAPI serves an API server on the port and with the certificates in flags.
func serveAPI(ctx context.Context, flags map[string]string) error {
	certificateFile, keyFile := flags["tls-cert-file"], flags["tls-private-key-file"]
	if certificateFile == "" {
		certificateFile, keyFile = filepath.Join(flags["cert-dir"], "apiserver.crt"),
			filepath.Join(flags["cert-dir"], "apiserver.key")
	}
	certificate, err := tls.LoadX509KeyPair(certificateFile, keyFile)
	if err != nil {
		return err
	}
	clients := x509.NewCertPool() // empty: no client certificate is valid
	if file := flags["client-ca-file"]; file != "" {
		if clients, err = loadAuthority(file); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(flags["bind-address"], flags["secure-port"]))
	if err != nil {
		return err
	}
	server := apiserver.New(apiserver.Options{Seed: rand.Uint64()})
	defer server.Close()
	return server.Serve(ctx, listener, certificate, clients)
}
