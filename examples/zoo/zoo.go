package main

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/testserver/simulator"
)

// specimen is an operator with a bug, and its fixed twin.
type specimen struct {
	name   string
	class  string
	source string // issue of the original bug; empty if no single issue represents the class
	// setup adds the controllers.
	setup   func(m controller.Manager, fixed bool) error
	samples []string // in YAML
	objects []string // initial objects, in addition to the CRD of App
	user    string   // service account; empty means all permissions
	cache   cache.Options
	only    []string // fault groups; empty means the defaults of kctrl sim
}

var (
	deployments = &appsv1.Deployment{}
	configMaps  = &corev1.ConfigMap{}
	pods        = &corev1.Pod{}
	secrets     = &corev1.Secret{}
)

// zoo has all operators.
var zoo = []specimen{
	{
		name: "early-phase", class: "crash between status and create", source: "Orange-OpenSource/casskop#370",
		setup: livingApps(earlyPhase, configMaps), samples: []string{settings},
	},
	{
		name: "generated", class: "generateName without expectation",
		source: "kubevirt/containerized-data-importer#396",
		setup:  livingApps(generated, configMaps), samples: []string{settings},
	},
	{
		name: "recount", class: "counting objects from the cache after a create", source: "ray-project/kuberay#715",
		setup: livingApps(recount, pods), samples: []string{replicas}, cache: asElsewhere,
	},
	{
		name: "late-finalizer", class: "finalizer after the side effect",
		setup: apps(lateFinalizer), samples: []string{image},
	},
	{
		name: "early-release", class: "finalizer removed before the cleanup",
		setup: apps(earlyRelease), samples: []string{image},
	},
	{
		name: "stale-delete", class: "deletion by name after a stale read", source: "rabbitmq/cluster-operator#648",
		setup: apps(staleDelete), samples: []string{empty},
	},
	{
		name: "stale-orphan", class: "deletion of objects whose owner the cache lacks",
		source: "pravega/zookeeper-operator#312",
		setup:  setupStaleOrphan, samples: []string{image},
	},
	{
		name: "unobserved", class: "missed state", source: "instaclustr/cassandra-operator#398",
		setup: livingApps(unobserved, pods, configMaps), samples: []string{replicas},
	},
	{
		name: "stale-status", class: "status from a stale object",
		setup: livingApps(staleStatus, configMaps), samples: []string{settings},
	},
	{name: "lost-conflict", class: "lost conflict", setup: livingApps(lostConflict), samples: []string{settings}},
	{
		name: "swallowed", class: "swallowed error",
		setup: livingApps(swallowed, configMaps), samples: []string{settings},
	},
	{name: "memory", class: "work noted in memory before it is done", setup: setupMemory, samples: []string{image}},
	{
		name: "orphan", class: "orphan on owner change", source: "datastax/cass-operator#120",
		setup: livingApps(orphan, configMaps), samples: []string{settings},
	},
	{name: "rename", class: "secret leaked on rename", setup: livingApps(rename, secrets), samples: []string{target}},
	{
		name: "hot-loop", class: "hot loop of status writes", source: "kubevirt/ssp-operator#59",
		setup: livingApps(hotLoop), samples: []string{empty},
	},
	{name: "spin", class: "hot loop without writes", setup: appsAfter(spin, pods), samples: []string{empty}},
	{
		name: "timestamp", class: "timestamp in the spec",
		setup: livingApps(timestamp, configMaps), samples: []string{image},
	},
	{
		name: "transition", class: "transition time without a transition",
		source: "infrawatch/service-telemetry-operator#141",
		setup:  livingApps(transition, configMaps), samples: []string{settings},
	},
	{
		name: "random-order", class: "map order", source: "istio/istio#37912",
		setup: livingApps(randomOrder, deployments), samples: []string{full},
	},
	{name: "missing-watch", class: "missing watch", setup: setupMissingWatch, samples: []string{target, late}},
	{
		name: "permission", class: "missing permission", setup: setupPermission, samples: []string{replicas},
		objects: []string{permissionRole, permissionBinding}, user: permissionUser,
	},
	{
		name: "overwrite", class: "foreign overwrite", setup: livingApps(overwrite, configMaps),
		samples: []string{namesTaken}, objects: []string{taken},
	},
	{
		name: "elsewhere", class: "deletion in other namespaces", source: "rabbitmq/cluster-operator#1864",
		setup: livingApps(elsewhere, configMaps), samples: []string{target}, objects: []string{theirs},
	},
	{
		name: "user-spec", class: "defaults written into the user's spec",
		setup: livingApps(userSpec, configMaps), samples: []string{image},
	},
	{name: "ignored", class: "ignored field", setup: livingApps(ignored, configMaps), samples: []string{small}},
	{
		name: "stuck", class: "stuck rollback", source: "opensearch-project/opensearch-k8s-operator#856",
		setup: livingApps(stuck, configMaps), samples: []string{rollout},
	},
	{name: "leaders", class: "overlapping leaders", setup: setupLeaders, samples: []string{empty}},
	{
		name: "mutation", class: "cache mutation", setup: livingApps(mutation, configMaps), samples: []string{settings},
		cache: cache.Options{Unpacked: true},
	},
	{
		name: "observed", class: "observedGeneration of another object",
		setup: livingApps(observed, deployments), samples: []string{small},
	},
	{
		name: "blind", class: "blind update after a stale read",
		setup: apps(blind, configMaps), samples: []string{image, second},
		objects: []string{directory}, cache: asElsewhere,
	},
	{
		name: "twice", class: "write that is not idempotent", setup: livingApps(twice), samples: []string{empty},
		objects: []string{journal},
	},
	{name: "missing-kind", class: "missing CRD intolerance", setup: setupMissingKind, samples: []string{settings}},
	{
		name: "silent", class: "error without a condition or an event",
		source: "opensearch-project/opensearch-k8s-operator#856",
		setup:  livingApps(silent, configMaps), samples: []string{settings}, only: []string{"reject"},
	},
}

// The samples have only the fields that their operators use.
const (
	head       = "apiVersion: zoo.example.com/v1\nkind: App\nmetadata: {name: a, namespace: default}\n"
	empty      = head
	image      = head + `spec: {image: "nginx:1"}`
	replicas   = head + `spec: {replicas: 2}`
	settings   = head + `spec: {settings: {color: red}}`
	small      = head + `spec: {image: "nginx:1", replicas: 1}`
	full       = head + `spec: {image: "nginx:1", replicas: 2, settings: {color: red, depth: "3", size: large}}`
	target     = head + `spec: {target: first}`
	namesTaken = head + `spec: {target: taken}`
	rollout    = head + `spec: {rollout: fast}`
	second     = "apiVersion: zoo.example.com/v1\nkind: App\nmetadata: {name: b, namespace: default}\n" +
		`spec: {image: "redis:1"}`
	late = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, namespace: default}\ndata: {phase: Ready}"
)

// asElsewhere allows reads that do not contain the process's own writes, as in other runtimes.
var asElsewhere = cache.Options{DisableConsistency: true}

// operator returns the operator with the bug, or its fixed twin.
func (s specimen) operator(fixed bool) *simulator.Operator {
	return &simulator.Operator{
		Options: manager.Options{Cache: s.cache},
		Setup: func(_ context.Context, m controller.Manager) error {
			for _, add := range []func(*runtime.Scheme) error{addToScheme, corev1.AddToScheme, appsv1.AddToScheme} {
				if err := add(m.Scheme()); err != nil {
					return err
				}
			}
			return s.setup(m, fixed)
		},
		Objects: objects(append([]string{definition}, s.objects...)...),
		Samples: objects(s.samples...),
		User:    s.user,
		Sources: "github.com/kctrl-dev/kctrl/examples/zoo/",
	}
}

// simulate runs the plans and returns the report. For the operator with the bug, it stops after the first failure.
func (s specimen) simulate(t *testing.T, fixed bool) (*simulator.Report, error) {
	return simulator.Explore(t, s.operator(fixed), simulator.Options{Seed: 1, Budget: limit, First: !fixed, Only: s.only})
}
