package controlplane

// Options select what to start. The zero value starts etcd and an API server on a free port, with temporary data. The
// state of an [Environment] contains the fields with names in JSON.
type Options struct {
	// InMemory starts kctrl's own API server, which keeps its objects in memory, instead of etcd and kube-apiserver.
	InMemory bool `json:"inMemory,omitempty"`
	// Kubernetes is the version of the API server, one of [Versions]. Empty means the newest.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Dir is the directory for the instance's certificates, logs and kubeconfig. It must exist.
	Dir string `json:"-"`
	// DataDir is the data directory of etcd, or of the in-memory API server. The instance creates it, and the caller
	// removes it. Empty means a directory below Dir. An Attached instance does not wait until writes to that directory are
	// on the disk.
	DataDir string `json:"dataDir,omitempty"`
	// Port is the port of the API server. Zero means a free one.
	Port int `json:"port,omitempty"`
	// ControllerManager also starts kube-controller-manager.
	ControllerManager bool `json:"controllerManager,omitempty"`
	// Controllers selects the controllers of kube-controller-manager, in the form of its own flag. Empty means all.
	Controllers string `json:"controllers,omitempty"`
	// GarbageCollector starts kctrl's garbage collector beside the API server, as a process of this program.
	GarbageCollector bool `json:"garbageCollector,omitempty"`
	// FakeControllers makes the in-memory API server do the work of a cluster's controllers and nodes, so that, for
	// example, pods become ready and Jobs complete.
	FakeControllers bool `json:"fakeControllers,omitempty"`
	// FeatureGates are feature gates of the API server, such as "CBORServingAndStorage=true".
	FeatureGates string `json:"featureGates,omitempty"`
	// Repaired makes the in-memory API server drop damaged parts of its data before it starts. It receives a report of
	// them, if any.
	Repaired func(report string) `json:"-"`
	// Attached ends the instance when this process dies.
	Attached bool `json:"-"`
	// Faults enables [Instance.Slow]. The API server then connects to etcd through this process.
	Faults bool `json:"-"`

	// The following fields are for environments.
	started  func(Process) error // called with each process before anything depends on it
	previous []Process           // processes of an earlier start; a process with the same arguments is kept
	ports    Ports               // ports of an earlier start
	ids      *identities         // nil means new ones
}

// Ports are the loopback ports of an instance.
type Ports struct {
	Etcd int `json:"etcd"`
	Peer int `json:"peer"` // etcd's port for peers, to which no process connects
	API  int `json:"api"`
}

// Process is a process of an environment. Start also identifies it, because another process may get the same pid later.
type Process struct {
	Name  string   `json:"name"`
	PID   int      `json:"pid"`
	Start string   `json:"start"`
	Log   string   `json:"log"`
	Args  []string `json:"args,omitempty"`
}
