package controlplane

// Options say what to start. The zero value is etcd and an API server on a free port, with throw-away data.
type Options struct {
	// InMemory is kctrl's own API server, with its objects in memory, instead of etcd and kube-apiserver.
	InMemory bool
	// Kubernetes is the version of the API server, one of [Versions]. Empty is the newest.
	Kubernetes string
	// Folder is where the instance keeps certificates, logs and its kubeconfig. It must exist.
	Folder string
	// DataDir is where etcd, or the API server in memory, keeps its data; it is made when it does not exist, and it is the caller's to remove. Empty
	// is a folder below Folder; an instance that is Attached does not wait for the disk there.
	DataDir string
	// Port is that of the API server. Zero is a free one.
	Port int
	// ControllerManager starts kube-controller-manager too.
	ControllerManager bool
	// Controllers are those that kube-controller-manager runs, as its own flag has them. Empty is all.
	Controllers string
	// GarbageCollector runs kctrl's garbage collector beside the API server, as a process of this program.
	GarbageCollector bool
	// Players has the API server in memory do what the programs of a cluster do: pods become ready, Jobs complete.
	Players bool
	// FeatureGates is passed on to the API server, such as "CBORServingAndStorage=true".
	FeatureGates string
	// Attached ends the instance when this process dies.
	Attached bool
	// Faults makes [Instance.Slow] possible: the API server reaches etcd through this process.
	Faults bool

	// Of an environment:
	started  func(Process) error // is called with each process before anything depends on it
	previous []Process           // what was started before, and is kept where it runs as it would be started now
	ports    Ports               // those it had
	ids      *identities         // those it has; nil is new ones
}

// Ports are those of loopback that an instance listens on.
type Ports struct {
	Etcd int `json:"etcd"`
	Peer int `json:"peer"` // of etcd, where nobody ever calls
	API  int `json:"api"`
}

// Process is a part of an environment. A pid alone may be somebody else's by now, so its start time is kept too.
type Process struct {
	Name  string   `json:"name"`
	PID   int      `json:"pid"`
	Start string   `json:"start"`
	Log   string   `json:"log"`
	Args  []string `json:"args,omitempty"`
}
