// Package standalone is the API server in memory as a program on loopback, which `kctrl env up --in-memory` compiles and runs. There is
// one with players and one without: they are much to compile, and seldom asked for.
package standalone

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/apiserver"
)

// Play does what the programs of a cluster do, by the API server of config, until ctx ends.
type Play func(ctx context.Context, config *rest.Config) error

// Run serves as the arguments of the program say, until it is interrupted. A nil play is that of a program without players.
func Run(args []string, play Play) error {
	if len(args) > 0 && assets[args[0]].serve != nil {
		return runAsset(args[0], args[1:], os.Stdout)
	}
	flags := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	address := flags.String("address", "127.0.0.1:0", "`address` of loopback to listen on")
	certificateFile := flags.String("certificate", "", "`file` with the certificate of the server")
	keyFile := flags.String("key", "", "`file` with the key of that")
	clientsFile := flags.String("clients", "", "`file` with the authority that certificates of clients are of")
	data := flags.String("data", "", "`folder` to keep the objects in; without, they go with the program")
	asked := flags.Bool("players", false, "do what the programs of a cluster do")
	hosts := flags.Bool("host", false, "start and stop isolated API servers on requests in standard input, until it ends")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *hosts {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return Host(ctx, os.Stdin, os.Stdout)
	}
	if !*asked {
		play = nil
	} else if play == nil {
		return errors.New("this program has no players")
	}
	certificate, err := tls.LoadX509KeyPair(*certificateFile, *keyFile)
	if err != nil {
		return err
	}
	clients, err := loadAuthority(*clientsFile)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *data == "" {
		server := apiserver.New(apiserver.Options{Seed: rand.Uint64()})
		defer server.Close()
		return serve(ctx, server, play, listener, certificate, clients)
	}
	lock, err := lockFolder(*data)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer lock.Close()
	server, err := apiserver.Open(filepath.Join(*data, "objects"), apiserver.Options{Seed: rand.Uint64()})
	if err != nil {
		return fmt.Errorf("data: %w", err) // kctrl knows its words from other errors by the beginning
	}
	defer server.Close()
	return serve(ctx, server, play, listener, certificate, clients)
}

// loadAuthority reads the certificates of an authority.
func loadAuthority(file string) (*x509.CertPool, error) {
	authority, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	return pool, nil
}

// serve serves, and plays if there is who plays, until ctx ends.
func serve(ctx context.Context, server *apiserver.Server, play Play, listener net.Listener, certificate tls.Certificate, clients *x509.CertPool) error {
	if play == nil {
		return server.Serve(ctx, listener, certificate, clients)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- play(ctx, server.Config())
	}()
	err := server.Serve(ctx, listener, certificate, clients)
	cancel()
	return errors.Join(err, <-ended)
}
