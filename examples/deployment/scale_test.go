package deployment

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestSharesAddUp scales random rollouts. The sizes of the ReplicaSets add up to the size of the Deployment plus its
// surge. None shrinks when the Deployment grows, and none grows when it shrinks.
func TestSharesAddUp(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 3))
		surge := intstr.FromString(strconv.Itoa(r.IntN(101)) + "%")
		want := r.Int32N(40)
		ro := &rollout{Deployment: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &want,
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge},
			}}}}
		ro.Status.Replicas = r.Int32N(3)
		with := make([]*appsv1.ReplicaSet, 2+r.IntN(4))
		for i := range with {
			set := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: new(int32)}}
			set.Name, *set.Spec.Replicas = strconv.Itoa(i), 1+r.Int32N(20)
			if r.IntN(5) > 0 {
				set.Annotations = map[string]string{maxAnnotation: strconv.Itoa(r.IntN(80))}
			}
			with[i] = set
		}
		before := size(with)
		sizes := ro.shares(with)
		sum, allowed := int32(0), int32(0)
		if want > 0 {
			allowed = want + maxSurge(ro.Deployment)
		}
		for i, n := range sizes {
			sum += n
			if was := *with[i].Spec.Replicas; n < 0 || allowed > before && n < was || allowed < before && n > was {
				t.Errorf("seed %d: from %d to %d, of %d with %d allowed", seed, was, n, before, allowed)
			}
		}
		if sum != allowed {
			t.Errorf("seed %d: %d of %d allowed: %d", seed, sum, allowed, sizes)
		}
	}
}

func TestHistoryDropsOldestRevisions(t *testing.T) {
	history := ""
	for n := range 5000 {
		var fits bool
		if history, fits = appendHistory(history, strconv.Itoa(n)); !fits || len(history) > historyLength {
			t.Fatalf("revision %d: %d bytes, fits: %t", n, len(history), fits)
		}
	}
	if !strings.HasSuffix(history, ",4998,4999") || strings.HasPrefix(history, "0,") || strings.HasPrefix(history, ",") {
		t.Errorf("got %s", history)
	}
	if _, fits := appendHistory("1", strings.Repeat("9", historyLength+1)); fits {
		t.Error("what does not fit was taken")
	}
}
