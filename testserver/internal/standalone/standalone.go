// Package standalone runs the API server in memory as a program on loopback, which `kctrl env up --in-memory` compiles.
// Fake controllers are in a separate program, because they take time to compile and most users do not need them.
package standalone

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// Controllers selects fake controllers by names, in the form of the flag --controllers of kube-controller-manager.
type Controllers func(names []string) (runFunc, error)

// runFunc runs controllers on the API server of config until ctx ends.
type runFunc = func(ctx context.Context, config *rest.Config) error

var errNoFakeControllers = errors.New("this program has no fake controllers")

// Run serves as configured by the program's arguments, until it is interrupted. A program without fake controllers
// passes nil.
func Run(args []string, controllers Controllers) error {
	if len(args) > 0 && assets[args[0]].serve != nil {
		return runAsset(args[0], args[1:], os.Stdout)
	}
	flags := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	address := flags.String("address", "127.0.0.1:0", "`address` of loopback to listen on")
	certificateFile := flags.String("certificate", "", "`file` with the certificate of the server")
	keyFile := flags.String("key", "", "`file` with the key of that")
	clientsFile := flags.String("clients", "", "`file` with the authority that certificates of clients are of")
	data := flags.String("data", "", "`directory` for the objects; without it, they are lost at the end")
	repair := flags.Bool("repair", false, "drop the damaged parts of the objects in data, report that, and end")
	asked := flags.Bool("fake-controllers", false, "run fakes of the controllers and nodes of a cluster")
	hosts := flags.Bool("host", false, "start and stop isolated API servers on requests in standard input, until it ends")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *hosts {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return Host(ctx, os.Stdin, os.Stdout, controllers)
	}
	if *repair {
		return runRepair(*data, os.Stdout)
	}
	var run runFunc
	if *asked {
		if controllers == nil {
			return errNoFakeControllers
		}
		var err error
		if run, err = controllers([]string{"*"}); err != nil {
			return err
		}
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
		return serve(ctx, server, run, listener, certificate, clients)
	}
	lock, err := lockDir(*data)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer lock.Close()
	server, err := apiserver.Open(objectsIn(*data), apiserver.Options{Seed: rand.Uint64()})
	if err != nil {
		return fmt.Errorf("data: %w", err) // kctrl recognizes the error by this prefix
	}
	defer server.Close()
	return serve(ctx, server, run, listener, certificate, clients)
}

// objectsIn returns the file with the objects in a data directory.
func objectsIn(dir string) string { return filepath.Join(dir, "objects") }

// runRepair repairs the objects in a data directory and writes a report.
func runRepair(dir string, out io.Writer) error {
	lock, err := lockDir(dir)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer lock.Close()
	report, err := apiserver.Repair(objectsIn(dir))
	if err != nil || report == "" {
		return err
	}
	_, err = fmt.Fprintln(out, report)
	return err
}

// loadAuthority reads the certificates of a CA.
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

// serve serves until ctx ends, and calls run, which may be nil.
func serve(
	ctx context.Context, server *apiserver.Server, run runFunc,
	listener net.Listener, certificate tls.Certificate, clients *x509.CertPool,
) error {
	if run == nil {
		return server.Serve(ctx, listener, certificate, clients)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- run(ctx, server.Config())
	}()
	err := server.Serve(ctx, listener, certificate, clients)
	cancel()
	return errors.Join(err, <-ended)
}
