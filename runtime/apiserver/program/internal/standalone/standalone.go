//go:build linux || darwin

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
	flags := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	address := flags.String("address", "127.0.0.1:0", "`address` of loopback to listen on")
	certificateFile := flags.String("certificate", "", "`file` with the certificate of the server")
	keyFile := flags.String("key", "", "`file` with the key of that")
	clientsFile := flags.String("clients", "", "`file` with the authority that certificates of clients are of")
	data := flags.String("data", "", "`folder` to keep the objects in; without, they go with the program")
	asked := flags.Bool("players", false, "do what the programs of a cluster do")
	if err := flags.Parse(args); err != nil {
		return err
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
	authority, err := os.ReadFile(*clientsFile)
	if err != nil {
		return err
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		return fmt.Errorf("%s has no certificate", *clientsFile)
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

// lockFolder makes a folder, and takes its lock, which goes with the file or the process.
func lockFolder(folder string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another API server has %s", folder), lock.Close())
	}
	return lock, nil
}
