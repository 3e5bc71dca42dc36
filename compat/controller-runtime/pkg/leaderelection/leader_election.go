// Package leaderelection creates the locks of leader election.
package leaderelection

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// Options are the options of [NewResourceLock].
type Options struct {
	// LeaderElection enables leader election.
	LeaderElection bool
	// LeaderElectionResourceLock is the kind of the lock. Empty means leases.
	LeaderElectionResourceLock string
	// LeaderElectionNamespace is the namespace of the lock. Empty means the namespace of the pod.
	LeaderElectionNamespace string
	// LeaderElectionID is the name of the lock.
	LeaderElectionID string
	// RenewDeadline limits the time of each request for the lock to half of its value.
	RenewDeadline time.Duration
	// LeaderLabels are labels of the lock.
	LeaderLabels map[string]string
}

// NewResourceLock returns a lock on the server of config, or nil without leader election.
func NewResourceLock(
	config *rest.Config, recorderProvider recorder.Provider, options Options,
) (resourcelock.Interface, error) {
	if !options.LeaderElection {
		return nil, nil
	}
	if options.LeaderElectionResourceLock == "" {
		options.LeaderElectionResourceLock = resourcelock.LeasesResourceLock
	}
	if options.LeaderElectionID == "" {
		return nil, errors.New("LeaderElectionID must be configured")
	}
	if options.LeaderElectionNamespace == "" {
		namespace, err := namespaceOfPod()
		if err != nil {
			return nil, fmt.Errorf("unable to find leader election namespace: %w", err)
		}
		options.LeaderElectionNamespace = namespace
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	id := host + "_" + string(uuid.NewUUID())
	config = rest.AddUserAgent(config, "leader-election")
	if options.RenewDeadline != 0 {
		config.Timeout = max(options.RenewDeadline/2, time.Second)
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	coordination, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return resourcelock.NewWithLabels(
		options.LeaderElectionResourceLock, options.LeaderElectionNamespace, options.LeaderElectionID, core, coordination,
		resourcelock.ResourceLockConfig{Identity: id, EventRecorder: recorderProvider.GetEventRecorderFor(id)},
		options.LeaderLabels)
}

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func namespaceOfPod() (string, error) {
	namespace, err := os.ReadFile(namespaceFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("not running in-cluster, please specify LeaderElectionNamespace")
	case err != nil:
		return "", fmt.Errorf("error reading namespace file: %w", err)
	}
	return string(namespace), nil
}
