package authority

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Options configures an [Authority].
type Options struct {
	// Client reads and writes the Secret and the targets. It is required if there is a Secret or a target.
	Client *client.REST
	// Secret is the key of the Secret with the certificates of all replicas. Without it, they are only in memory.
	Secret object.Key
	// Targets are the objects in which the authority sets its CA bundle.
	Targets []Target
	// Names are additional names of the server: IP addresses, and DNS names, which may be international or have the prefix
	// *. in front. Case, a trailing dot, brackets and duplicates are ignored.
	Names []string
	// Lifetime is the lifetime of the certificates. Zero means one year; less than 12 s is an error.
	Lifetime time.Duration
	// Logger receives the authority's messages. Nil means slog.Default().
	Logger *slog.Logger
}

// Authority is an operator's own certificate authority: it signs the certificate of the operator's webhooks, and
// distributes its CA bundle to API servers. Run keeps both up to date. It is safe for concurrent use.
type Authority struct {
	opts   Options
	names  []string // normalized Options.Names
	pace   pace
	logger *slog.Logger
	wake   chan struct{} // buffer of size one

	mu      sync.Mutex
	current *generation      // the last generation in the Secret; nil before the first
	serving *tls.Certificate // certificate of current, or of the previous one until targets trust current
	err     error            // the reason why clients may reject serving
	// agreed is the time since which all targets have trusted the next signer, agreedOn, without interruption.
	agreed   time.Time
	agreedOn *big.Int      // the serial number; may be nil
	served   chan struct{} // closed when there is a certificate to serve
}

// minLifetime gives replicas and API servers one second, a twelfth, to adopt the next CA before it signs.
const minLifetime = 12 * time.Second

// New returns an authority. It sends no request and starts no goroutine. It fails for invalid names or lifetimes.
func New(opts Options) (*Authority, error) {
	var names []string
	for _, text := range opts.Names {
		name, err := normalName(text)
		if err != nil {
			return nil, fmt.Errorf("a name for the certificate: %w", err)
		}
		names = union(names, []string{name}, math.MaxInt)
	}
	lifetime := cmp.Or(opts.Lifetime, 365*24*time.Hour)
	if lifetime < minLifetime {
		return nil, fmt.Errorf("the lifetime of the certificate is %s; want at least %s", lifetime, minLifetime)
	}
	return &Authority{
		opts: opts, names: names, pace: pace{lifetime}, logger: cmp.Or(opts.Logger, slog.Default()),
		wake: make(chan struct{}, 1), err: errors.New("the certificate has not been made yet"),
		served: make(chan struct{}),
	}, nil
}

// GetCertificate implements tls.Config.GetCertificate. It waits for the first certificate until the client gives up.
func (a *Authority) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if err := a.awaitServed(hello); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.serving, nil
}

func (a *Authority) awaitServed(hello *tls.ClientHelloInfo) error {
	if life.IsClosed(a.served) {
		return nil
	}
	if hello == nil || hello.Context() == nil {
		return a.Ready()
	}
	select {
	case <-a.served:
		return nil
	case <-hello.Context().Done():
		return a.Ready()
	}
}

// Ready returns an error unless the certificate is valid and all targets trust it. It uses the last known state of the
// API server and sends no request.
func (a *Authority) Ready() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	return ValidNow(a.serving, "webhooks")
}

// Bundle returns the CA bundle in PEM. It waits until there is a certificate.
func (a *Authority) Bundle(ctx context.Context) ([]byte, error) {
	select {
	case <-a.served:
		return a.known().bundle(), nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), a.Ready())
	}
}

// known returns the last generation in the Secret, or nil.
func (a *Authority) known() *generation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current
}

const (
	// resync is the interval of checks in addition to those that changes cause.
	resync = 10 * time.Minute
	// firstRetry and lastRetry are the shortest and longest delay after a failure.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 30 * time.Second
	// syncTimeout is the timeout of one check.
	syncTimeout = 30 * time.Second
)

// Run keeps the certificates and the targets up to date until ctx ends: it creates missing objects, repairs damaged
// ones, and rotates certificates in time. It returns nil. It logs failures, reports them through Ready, and retries.
func (a *Authority) Run(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := func(u *unstructured.Unstructured) {
		watching.Go(func() { watchOne(ctx, a.opts.Client, u, a.logger, a.changed) })
	}
	if a.opts.Secret.Name != "" {
		watch(a.secret())
	}
	for _, t := range a.opts.Targets {
		watch(t.object())
	}
	retry := firstRetry
	for ctx.Err() == nil {
		pause, err := a.sync(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			a.logger.Error("the certificate of the webhooks is not as it should be", "err", err)
			pause, retry = retry, min(2*retry, lastRetry)
		default:
			retry = firstRetry
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		case <-a.wake:
		}
	}
	return nil
}

// changed makes Run check everything.
func (a *Authority) changed() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// sync checks everything once, and performs the next step. It returns the delay until the next call.
func (a *Authority) sync(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	trusts, complete, targetErr := a.readTargets(ctx)
	names := slices.Clone(a.names)
	for _, t := range trusts {
		called, err := t.names()
		names, targetErr = union(names, called, math.MaxInt), errors.Join(targetErr, err)
	}
	err := targetErr
	if len(names) == 0 {
		err = cmp.Or(err, errors.New("the targets name no service, and there are no names for the certificate"))
	} else if stored, storeErr := a.store(ctx, names, trusts, complete); storeErr != nil {
		err = errors.Join(storeErr, targetErr)
	} else {
		err = errors.Join(a.distribute(ctx, stored, trusts), targetErr)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil || !isOutage(err) { // after an outage, targets still trust the served certificate
		a.err = err
	}
	if err != nil {
		return 0, err
	}
	return min(max(time.Until(a.dueLocked()), 100*time.Millisecond), resync), nil
}

// outageError is the error of a read that the API server did not answer. It reveals nothing about the object.
type outageError struct{ error }

func (e *outageError) Unwrap() error { return e.error }

// answered returns the error of a read. If that error is an outage, the result is an [outageError].
func answered(err error) error {
	var status apierrors.APIStatus
	_, unreadable := errors.AsType[*client.DecodeError](err)
	switch {
	case err == nil, unreadable, meta.IsNoMatchError(err):
		return err
	case errors.As(err, &status):
		if code := status.Status().Code; code < http.StatusInternalServerError && code != http.StatusTooManyRequests {
			return err
		}
	}
	return &outageError{err}
}

// isOutage reports whether an error consists only of outageErrors.
func isOutage(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(several.Unwrap(), func(one error) bool { return !isOutage(one) })
	}
	_, ok := errors.AsType[*outageError](err)
	return ok
}

// readTargets returns the targets that exist and could be read. complete means that all others certainly do not exist.
func (a *Authority) readTargets(ctx context.Context) (trusts []*trust, complete bool, err error) {
	var errs []error
	complete = true
	for _, target := range a.opts.Targets {
		t, err := target.read(ctx, a.opts.Client)
		if err != nil {
			complete = complete && apierrors.IsNotFound(err)
			errs = append(errs, err)
			continue
		}
		trusts = append(trusts, t)
	}
	return trusts, complete, errors.Join(errs...)
}

// maxConflicts is the maximum number of consecutive conflicts.
const maxConflicts = 10

// store writes the desired generation to the Secret. It returns the Secret's generation, which is the first writer's.
func (a *Authority) store(ctx context.Context, names []string, trusts []*trust, complete bool) (*generation, error) {
	for range maxConflicts {
		stored, secret, err := a.load(ctx)
		if err != nil {
			return nil, err
		}
		wanted, err := a.wanted(stored, names, trusts, complete)
		if err != nil || wanted == stored {
			return wanted, err
		}
		err = a.save(ctx, secret, wanted)
		switch {
		case err == nil:
			return wanted, nil
		// another replica was first
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), secret != nil && apierrors.IsNotFound(err):
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("secret %s: others changed it %d times", a.opts.Secret, maxConflicts)
}

// wanted returns the generation to store. It restores a generation that the Secret has lost, if this process knows it.
func (a *Authority) wanted(stored *generation, names []string, trusts []*trust, complete bool) (*generation, error) {
	now := time.Now()
	base := stored
	if base == nil {
		base = a.known()
	}
	if base == nil {
		a.logger.Info("made a certificate authority for the webhooks", "names", names)
		return a.pace.newGeneration(now, names)
	}
	bundle := base.bundle()
	everybody := complete && !slices.ContainsFunc(trusts, func(t *trust) bool { return !t.has(bundle) })
	wanted, err := a.pace.advance(base, now, names, a.trusted(base, now, everybody))
	if err == nil && wanted != base {
		a.logger.Info("changed the certificates of the webhooks", "names", names, "rotating", wanted.next != nil, "expires",
			wanted.leaf.Leaf.NotAfter)
	}
	return wanted, err
}

// trusted reports whether the next signer of g may sign: API servers have had time to see it in all targets.
func (a *Authority) trusted(g *generation, now time.Time, everybody bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case g.next == nil || !everybody:
		a.agreedOn = nil
		return false
	case a.agreedOn == nil || a.agreedOn.Cmp(g.next.Leaf.SerialNumber) != 0:
		a.agreed, a.agreedOn = now, g.next.Leaf.SerialNumber
	}
	return now.Sub(a.agreed) >= a.pace.overlap(g)
}

// dueLocked returns the time of the next step.
func (a *Authority) dueLocked() time.Time {
	due := a.pace.due(a.current)
	if a.agreedOn == nil {
		return due
	}
	if agreed := a.agreed.Add(a.pace.overlap(a.current)); agreed.After(due) {
		return agreed
	}
	return due
}

// secret returns the Secret with only its kind and key.
func (a *Authority) secret() *unstructured.Unstructured {
	u := newObject(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, a.opts.Secret.Name)
	u.SetNamespace(a.opts.Secret.Namespace)
	return u
}

// ownLabel is a label of the Secrets that an Authority created.
const ownLabel = "kctrl.dev/webhook-ca"

// load returns the generation in the Secret and the Secret itself; either may be nil.
func (a *Authority) load(ctx context.Context) (*generation, *unstructured.Unstructured, error) {
	if a.opts.Secret.Name == "" {
		return a.known(), nil, nil
	}
	secret := a.secret()
	if err := answered(a.opts.Client.Get(ctx, a.opts.Secret, secret)); apierrors.IsNotFound(err) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	entries, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	all := map[string][]byte{}
	for name, text := range entries {
		all[name], _ = base64.StdEncoding.DecodeString(text) // the API server has validated the encoding
	}
	g, err := parseGeneration(all)
	if err == nil {
		return g, secret, nil
	}
	if _, own := secret.GetLabels()[ownLabel]; !own && len(all) > 0 && a.known() == nil {
		return nil, nil, fmt.Errorf("secret %s has something else than certificates of kctrl (%w); give it another name, "+
			"or delete it", a.opts.Secret, err)
	}
	if len(all) > 0 {
		a.logger.Warn("the Secret of the webhooks is damaged and is written again", "secret", a.opts.Secret.String(), "err",
			err)
	}
	return nil, secret, nil
}

// save writes g to the Secret, with the resource version of the loaded Secret as a precondition.
func (a *Authority) save(ctx context.Context, secret *unstructured.Unstructured, g *generation) error {
	if a.opts.Secret.Name == "" {
		return nil
	}
	entries, err := g.entries()
	if err != nil {
		return err
	}
	created := secret == nil
	if created {
		secret = a.secret()
		secret.Object["type"] = "kubernetes.io/tls"
	}
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	if data == nil {
		data = map[string]any{}
	}
	for _, name := range allEntries { // other entries stay unchanged
		if value, has := entries[name]; has {
			data[name] = base64.StdEncoding.EncodeToString(value)
		} else {
			delete(data, name)
		}
	}
	secret.Object["data"] = data
	if err := unstructured.SetNestedField(secret.Object, "true", "metadata", "labels", ownLabel); err != nil {
		return err
	}
	if created {
		return a.opts.Client.Create(ctx, secret)
	}
	return a.opts.Client.Update(ctx, secret)
}

// distribute sets the CA bundle of g in all targets, and then serves the certificate of g.
func (a *Authority) distribute(ctx context.Context, g *generation, trusts []*trust) error {
	a.mu.Lock()
	a.current = g
	if a.serving == nil || ValidNow(a.serving, "") != nil ||
		a.serving.Leaf.CheckSignatureFrom(g.signer.Leaf) == nil {
		// There is no better certificate, or clients of the current one also accept this one, which has more names.
		a.serveLocked(g)
	}
	a.mu.Unlock()
	bundle := g.bundle()
	var errs []error
	for _, t := range trusts {
		if err := a.teach(ctx, t, bundle); err != nil {
			errs = append(errs, fmt.Errorf("inject the CA into %s: %w", t.target, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.serveLocked(g)
	return accepts(bundle, g.leaf.Leaf, time.Now())
}

// teach sets bundle in a target. Other replicas may do the same concurrently.
func (a *Authority) teach(ctx context.Context, t *trust, bundle []byte) error {
	for range maxConflicts {
		if t.has(bundle) {
			return nil
		}
		err := t.inject(ctx, a.opts.Client, bundle)
		if err == nil && t.has(bundle) {
			a.logger.Info("the API server trusts the webhooks", "target", t.target.String())
			return nil
		}
		if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
			return err
		}
		// The target has changed since it was read.
		fresh, err := t.target.read(ctx, a.opts.Client)
		if outage, ok := errors.AsType[*outageError](err); ok {
			return outage.error // the target is known to have another CA bundle
		}
		if err != nil {
			return err
		}
		*t = *fresh
	}
	return fmt.Errorf("it was changed %d times meanwhile, or does not take it", maxConflicts)
}

func (a *Authority) serveLocked(g *generation) {
	if a.serving == nil {
		close(a.served)
	}
	a.serving = g.leaf
}
