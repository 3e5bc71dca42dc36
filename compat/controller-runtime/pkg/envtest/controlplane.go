package envtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	kenvtest "github.com/kctrl-dev/kctrl/runtime/compat/envtest"
)

// User is a user of the server.
type User struct {
	// Name is the name.
	Name string
	// Groups are the groups, such as system:masters.
	Groups []string
}

// AuthenticatedUser is a user that [Environment.AddUser] added.
type AuthenticatedUser struct{ user *kenvtest.AuthenticatedUser }

// Config returns the configuration of the user's clients.
func (u *AuthenticatedUser) Config() *rest.Config { return u.user.Config() }

// KubeConfig returns a kubeconfig of the user.
func (u AuthenticatedUser) KubeConfig() ([]byte, error) { return u.user.KubeConfig() }

// ControlPlane is the server of an [Environment]. The server has no settings, so Start fails if flags are set, except
// flags with the values that the server has anyway, such as allow-privileged=true.
type ControlPlane struct {
	// APIServer is the API server.
	APIServer *APIServer
	// Etcd is the store of the API server.
	Etcd *Etcd
	// KubectlPath is the path of kubectl.
	KubectlPath string

	env *Environment
}

// GetAPIServer returns the API server.
func (f *ControlPlane) GetAPIServer() *APIServer {
	if f.APIServer == nil {
		f.APIServer = &APIServer{}
	}
	return f.APIServer
}

// check returns an error for unsupported settings.
func (f *ControlPlane) check() error {
	if s := f.APIServer; s != nil {
		if unsupported := s.unsupported(); len(unsupported) > 0 {
			return fmt.Errorf("envtest: flags of kube-apiserver are not supported: %v", unsupported)
		}
		if len(s.Args) > 0 {
			return errors.New("envtest: APIServer.Args is not supported")
		}
	}
	if e := f.Etcd; e != nil && (len(e.Args) > 0 || e.arguments != nil && len(e.arguments.values) > 0) {
		return errors.New("envtest: flags of etcd are not supported")
	}
	return nil
}

// Start starts the server.
func (f *ControlPlane) Start() error {
	if f.env == nil {
		f.env = &Environment{ControlPlane: ControlPlane{APIServer: f.APIServer, Etcd: f.Etcd}}
	}
	return f.env.startServer()
}

// Stop stops the server.
func (f *ControlPlane) Stop() error {
	if f.env == nil {
		return nil
	}
	return f.env.Stop()
}

// RESTClientConfig returns the client configuration of an administrator.
func (f *ControlPlane) RESTClientConfig() (*rest.Config, error) {
	if f.env == nil || f.env.Config == nil {
		return nil, errors.New("the control plane has not started")
	}
	return rest.CopyConfig(f.env.Config), nil
}

// KubeCtl returns a kubectl that uses the server as an administrator. It returns nil before the start.
func (f *ControlPlane) KubeCtl() *KubeCtl {
	if f.env == nil || f.env.server == nil {
		return nil
	}
	admin, err := f.AddUser(User{Name: "kubectl", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return nil
	}
	kubectl, err := admin.Kubectl()
	if err != nil {
		return nil
	}
	if f.KubectlPath != "" {
		kubectl.Path = f.KubectlPath
	}
	return kubectl
}

// KubeCtl runs kubectl.
type KubeCtl struct {
	// Path is the path of kubectl.
	Path string
	// Opts are arguments of every call.
	Opts []string
}

// Run runs kubectl.
func (k *KubeCtl) Run(args ...string) (stdout, stderr io.Reader, err error) {
	out, errs := &bytes.Buffer{}, &bytes.Buffer{}
	cmd := exec.Command(k.Path, slices.Concat(k.Opts, args)...)
	cmd.Stdout, cmd.Stderr = out, errs
	err = cmd.Run()
	return out, errs, err
}

// Kubectl returns a kubectl that uses the server as the user. Its kubeconfig is a temporary file.
func (u *AuthenticatedUser) Kubectl() (*KubeCtl, error) {
	kubeconfig, err := u.KubeConfig()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "*.kubecfg")
	if err != nil {
		return nil, err
	}
	if _, err := file.Write(kubeconfig); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &KubeCtl{Path: "kubectl", Opts: []string{"--kubeconfig=" + file.Name()}}, file.Close()
}

// APIURL returns the URL of the server, or nil before the start.
func (f *ControlPlane) APIURL() *url.URL {
	if f.env == nil || f.env.Config == nil {
		return nil
	}
	u, err := url.Parse(f.env.Config.Host)
	if err != nil {
		return nil
	}
	return u
}

// AddUser adds a user, like [Environment.AddUser].
func (f *ControlPlane) AddUser(user User, baseConfig *rest.Config) (*AuthenticatedUser, error) {
	if f.env == nil {
		return nil, errors.New("no API server authentication is configured yet: call Start first")
	}
	return f.env.AddUser(user, baseConfig)
}

// ListenAddr is an address to listen on.
type ListenAddr struct{ Address, Port string }

// HostPort returns the address with the port.
func (l *ListenAddr) HostPort() string { return net.JoinHostPort(l.Address, l.Port) }

// URL returns the URL of a path.
func (l *ListenAddr) URL(scheme, path string) *url.URL {
	return &url.URL{Scheme: scheme, Host: l.HostPort(), Path: path}
}

// SecureServing is the TLS address of the API server.
type SecureServing struct {
	ListenAddr
	// CA is the certificate authority of the server.
	CA []byte
	Authn
}

// Authn configures how users of the API server authenticate.
type Authn interface {
	// Configure sets the flags of the API server.
	Configure(workDir string, args *Arguments) error
	// Start starts the authentication.
	Start() error
	// AddUser adds a user.
	AddUser(user User, baseCfg *rest.Config) (*rest.Config, error)
	// Stop stops the authentication.
	Stop() error
}

// APIServer has the settings of the API server.
type APIServer struct {
	URL        *url.URL
	SecurePort int
	SecureServing
	InsecureServing           *ListenAddr
	Path                      string
	Args                      []string
	CertDir                   string
	EtcdURL                   *url.URL
	StartTimeout, StopTimeout time.Duration
	Out, Err                  io.Writer

	arguments *Arguments
}

// Configure returns the flags.
func (s *APIServer) Configure() *Arguments {
	if s.arguments == nil {
		s.arguments = EmptyArguments()
	}
	return s.arguments
}

// fixed has the flags of kube-apiserver that tests often set, with the values that each server has.
var fixed = map[string]string{
	"allow-privileged": "true", "authorization-mode": "RBAC", "disable-admission-plugins": "ServiceAccount",
	"enable-admission-plugins": "ValidatingAdmissionPolicy",
}

// limits has the flags of kube-apiserver that limit requests, with their defaults. The server in memory has no such
// limits, so only lower ones would have an effect.
var limits = map[string]int{"max-mutating-requests-inflight": 200, "max-requests-inflight": 400}

// unsupported returns the names of the flags with which the server would behave in another way.
func (s *APIServer) unsupported() (names []string) {
	inMemory := os.Getenv(serverVariable) != "real"
	for name, arg := range s.Configure().values {
		values := slices.Compact(slices.Clone(arg.Get(nil)))
		if len(values) == 1 && (values[0] != "" && values[0] == fixed[name] || inMemory && widens(name, values[0])) {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// widens reports whether a flag makes the limits of requests wider than by default.
func widens(name, value string) bool {
	if name == "enable-priority-and-fairness" {
		return value == "false"
	}
	limit, ok := limits[name]
	number, err := strconv.Atoi(value)
	return ok && err == nil && (number >= limit || number == 0) // 0 means no limit
}

// Etcd has the settings of etcd.
type Etcd struct {
	URL                       *url.URL
	Path                      string
	Args                      []string
	DataDir                   string
	StartTimeout, StopTimeout time.Duration
	Out, Err                  io.Writer

	arguments *Arguments
}

// Configure returns the flags.
func (e *Etcd) Configure() *Arguments {
	if e.arguments == nil {
		e.arguments = EmptyArguments()
	}
	return e.arguments
}

// errNoEtcd is the error of an attempt to start etcd without an API server.
var errNoEtcd = errors.New("envtest: etcd does not run alone; start the control plane")

// Start fails, because the server has its own store.
func (e *Etcd) Start() error { return errNoEtcd }

// Stop does nothing.
func (e *Etcd) Stop() error { return nil }

// Arg is a flag with its values.
type Arg interface {
	// Append returns the flag with further values.
	Append(vals ...string) Arg
	// Get returns the values, given the defaults.
	Get(defaults []string) []string
}

type userArg []string

func (a userArg) Append(vals ...string) Arg { return append(slices.Clip(a), vals...) }
func (a userArg) Get([]string) []string     { return a }

type defaultedArg []string

func (a defaultedArg) Append(vals ...string) Arg { return append(slices.Clip(a), vals...) }
func (a defaultedArg) Get(defaults []string) []string {
	return slices.Concat(defaults, a)
}

// Arguments are flags.
type Arguments struct{ values map[string]Arg }

// EmptyArguments returns no flags.
var EmptyArguments = func() *Arguments { return &Arguments{values: map[string]Arg{}} }

// Get returns a flag.
func (a *Arguments) Get(key string) Arg {
	if arg, ok := a.values[key]; ok {
		return arg
	}
	return defaultedArg(nil)
}

// Enable sets a flag that has no value.
func (a *Arguments) Enable(key string) *Arguments { return a.SetRaw(key, userArg{""}) }

// Disable removes a flag.
func (a *Arguments) Disable(key string) *Arguments { return a.SetRaw(key, userArg(nil)) }

// Append adds values to a flag and its defaults.
func (a *Arguments) Append(key string, values ...string) *Arguments {
	return a.SetRaw(key, a.Get(key).Append(values...))
}

// AppendNoDefaults adds values to a flag without its defaults.
func (a *Arguments) AppendNoDefaults(key string, values ...string) *Arguments {
	return a.SetRaw(key, userArg(a.Get(key).Get(nil)).Append(values...))
}

// Set sets the values of a flag.
func (a *Arguments) Set(key string, values ...string) *Arguments {
	return a.SetRaw(key, userArg(values))
}

// SetRaw sets a flag.
func (a *Arguments) SetRaw(key string, val Arg) *Arguments {
	if a.values == nil {
		a.values = map[string]Arg{}
	}
	a.values[key] = val
	return a
}

// AsStrings returns the flags as arguments, with defaults.
func (a *Arguments) AsStrings(defaults map[string][]string) []string {
	keys := map[string]struct{}{}
	for key := range defaults {
		keys[key] = struct{}{}
	}
	for key := range a.values {
		keys[key] = struct{}{}
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		for _, value := range a.Get(key).Get(defaults[key]) {
			if value == "" {
				all = append(all, "--"+key)
			} else {
				all = append(all, "--"+key+"="+value)
			}
		}
	}
	return all
}

// DefaultKubeAPIServerFlags were the flags with which environments started kube-apiserver. It is empty.
//
// Deprecated: use APIServer.Configure.
var DefaultKubeAPIServerFlags []string

// DefaultBinaryAssetsIndexURL is the index of control plane binaries.
var DefaultBinaryAssetsIndexURL = "https://raw.githubusercontent.com/" +
	"kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml"

// SetupEnvtestDefaultBinaryAssetsDirectory returns the directory in which setup-envtest stores binaries.
func SetupEnvtestDefaultBinaryAssetsDirectory() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "kubebuilder-envtest", "k8s"), nil
}
