// Command webhook compares kctrl's webhooks with controller-runtime's webhooks. Each side is a program with the same
// types and logic, and serves over TLS on loopback. It prints a Markdown table. `make bench-webhook` runs it from
// bench/.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kctrl-dev/kctrl/bench/cmd/webhook/logic"
	"github.com/kctrl-dev/kctrl/bench/internal/program"
	"github.com/kctrl-dev/kctrl/bench/internal/table"
	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

var rows = []table.Row{
	{Figure: "mutate CPU, µs", Title: "CPU of a request to a defaulter that changes three fields, µs", Format: "%.0f",
		Limit: 0.6},
	{Figure: "unchanged CPU, µs", Title: "CPU of one that changes nothing, µs", Format: "%.0f", Limit: 0.6},
	{Figure: "validate CPU, µs", Title: "CPU of a request to a validator, µs", Format: "%.0f", Limit: 0.6},
	{Figure: "convert CPU, µs", Title: "CPU of a converted object, in reviews of 100, µs", Format: "%.1f", Limit: 0.6},
	{Figure: "one conversion CPU, µs", Title: "CPU of a review of one object, µs", Format: "%.0f"},
	{Figure: "p50, µs", Title: "median latency of a defaulter at 500 requests a second, µs", Format: "%.0f"},
	{Figure: "p99, µs", Title: "p99 of it, µs", Format: "%.0f", Limit: 0.9},
}

type options struct {
	runs     int
	requests int
	paced    time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 5, "number of runs, whose medians are printed")
	flag.IntVar(&o.requests, "requests", 20_000, "number of requests for each CPU figure")
	flag.DurationVar(&o.paced, "paced", 20*time.Second, "duration of sending 500 requests per second")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "webhook:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "bench-webhook-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := writeCertificate(work); err != nil {
		return err
	}
	names := []string{"kctrl", "peer"}
	runs := map[string]table.Runs{}
	for _, name := range names {
		runs[name] = table.Runs{}
		if err := program.Build(ctx, filepath.Join(work, name), "./cmd/webhook/"+name); err != nil {
			return err
		}
	}
	for i := range o.runs {
		for j := range names {
			name := names[(i+j)%len(names)]
			figures, err := measure(ctx, work, name, o)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, figures)
			runs[name].Add(figures)
		}
	}
	table.Print(os.Stdout, rows, runs["kctrl"].Medians(), runs["peer"].Medians())
	return nil
}

// writeCertificate writes a certificate for both sides.
func writeCertificate(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "tls.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
			0o600),
	)
}

// process is a program that serves webhooks.
type process struct {
	url    string
	client *http.Client
	stdin  io.WriteCloser
	stdout *bufio.Scanner
}

// cpu returns the CPU time of the program.
func (p *process) cpu() (time.Duration, error) {
	if _, err := io.WriteString(p.stdin, "\n"); err != nil {
		return 0, err
	}
	if !p.stdout.Scan() {
		return 0, io.ErrUnexpectedEOF
	}
	ns, err := strconv.ParseInt(p.stdout.Text(), 10, 64)
	return time.Duration(ns), err
}

// post sends a body and returns the answer, which must contain want.
func (p *process) post(ctx context.Context, path string, body []byte, want string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path+"?timeout=10s", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(answer), want) {
		return fmt.Errorf("%s: %d %.500s", path, resp.StatusCode, answer)
	}
	return nil
}

func measure(ctx context.Context, work, name string, o options) (_ table.Figures, err error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(work, name), "-port", strconv.Itoa(port), "-certificates", work)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		stdin.Close()
		err = errors.Join(err, cmd.Wait())
	}()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	p := &process{url: "https://127.0.0.1:" + strconv.Itoa(port), client: &http.Client{Transport: transport}, stdin: stdin,
		stdout: bufio.NewScanner(stdout)}
	return p.measure(ctx, o)
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func (p *process) measure(ctx context.Context, o options) (table.Figures, error) {
	changing, unchanged, err := reviews()
	if err != nil {
		return nil, err
	}
	one, err := conversionReview(1)
	if err != nil {
		return nil, err
	}
	hundred, err := conversionReview(100)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err = p.post(ctx, logic.Mutate, changing, `"patch":`); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return nil, err
		}
	}
	figures := table.Figures{}
	for _, job := range []struct {
		figure, path, want string
		body               []byte
		each, requests     int
	}{
		{"mutate CPU, µs", logic.Mutate, `"patch":`, changing, 1, o.requests},
		{"unchanged CPU, µs", logic.Mutate, `"allowed":true`, unchanged, 1, o.requests},
		{"validate CPU, µs", logic.Validate, `"allowed":true`, unchanged, 1, o.requests},
		{"one conversion CPU, µs", logic.Convert, `"Success"`, one, 1, o.requests},
		{"convert CPU, µs", logic.Convert, `"Success"`, hundred, 100, o.requests / 50},
	} {
		if err := p.repeat(ctx, job.requests/10, job.path, job.body, job.want); err != nil { // warms up
			return nil, err
		}
		before, err := p.cpu()
		if err != nil {
			return nil, err
		}
		if err := p.repeat(ctx, job.requests, job.path, job.body, job.want); err != nil {
			return nil, err
		}
		after, err := p.cpu()
		if err != nil {
			return nil, err
		}
		figures[job.figure] = float64((after - before).Nanoseconds()) / 1e3 / float64(job.requests*job.each)
	}
	latencies, err := p.pace(ctx, o.paced, changing)
	if err != nil {
		return nil, err
	}
	figures["p50, µs"], figures["p99, µs"] = table.Median(latencies), table.Percentile(latencies, 99)
	return figures, nil
}

// repeat sends the body count times over four connections.
func (p *process) repeat(ctx context.Context, count int, path string, body []byte, want string) error {
	const connections = 4
	var all sync.WaitGroup
	errs := make([]error, connections)
	for i := range connections {
		all.Go(func() {
			for range count / connections {
				if errs[i] = p.post(ctx, path, body, want); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// pace sends the body 500 times a second without waiting for responses. It returns, for each request, the time from the
// scheduled send to the response, in µs.
func (p *process) pace(ctx context.Context, length time.Duration, body []byte) ([]float64, error) {
	const perSecond = 500
	count := int(length.Seconds() * perSecond)
	latencies, errs := make([]float64, count), make([]error, count)
	var all sync.WaitGroup
	start := time.Now()
	for i := range count {
		due := start.Add(time.Duration(i) * time.Second / perSecond)
		time.Sleep(time.Until(due))
		all.Go(func() {
			sent := time.Now()
			errs[i] = p.post(ctx, logic.Mutate, body, `"patch":`)
			latencies[i] = float64(time.Since(sent).Nanoseconds()) / 1e3
		})
	}
	all.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > 0 {
		return nil, fmt.Errorf("%d of %d paced requests failed: %w; is the machine busy?", len(errs), count, errs[0])
	}
	return latencies, nil
}

// reviews returns two AdmissionReviews of creates: one of a Widget that needs defaults, and one that does not.
func reviews() (changing, unchanged []byte, err error) {
	w := widgets.New(1)
	if unchanged, err = review(w); err != nil {
		return nil, nil, err
	}
	w.Spec.Replicas = 0
	delete(w.Labels, "tier")
	w.Spec.Containers[0].Args = nil
	changing, err = review(w)
	return changing, unchanged, err
}

func review(w *v1.Widget) ([]byte, error) {
	resource := map[string]any{"group": "bench.example.com", "version": "v1", "resource": "widgets"}
	kind := map[string]any{"group": "bench.example.com", "version": "v1", "kind": "Widget"}
	return json.Marshal(map[string]any{
		"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
		"request": map[string]any{
			"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": kind, "resource": resource, "requestKind": kind,
			"requestResource": resource,
			"name":            w.Name, "namespace": w.Namespace, "operation": "CREATE", "dryRun": false,
			"userInfo": map[string]any{"username": "kubernetes-admin", "groups": []any{"kubeadm:cluster-admins",
				"system:authenticated"}},
			"object": w, "oldObject": nil,
			"options": map[string]any{"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1",
				"fieldManager": "kubectl-client-side-apply"},
		},
	})
}

// conversionReview returns a ConversionReview of count v1 objects to v2.
func conversionReview(count int) ([]byte, error) {
	var objects []any
	for i := range count {
		objects = append(objects, widgets.New(i))
	}
	return json.Marshal(map[string]any{
		"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
		"request": map[string]any{"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "desiredAPIVersion": "bench.example.com/v2",
			"objects": objects},
	})
}
