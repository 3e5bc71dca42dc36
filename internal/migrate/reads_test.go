package migrate

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadsOfWhatNothingWatchesAreTold reads the calls of a program.
func TestReadsOfWhatNothingWatchesAreTold(t *testing.T) {
	dir := newModule(t, peerStub)
	write(t, filepath.Join(dir, "reads", "reads.go"), []byte(`package reads

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type Reconciler struct {
	client.Client
	live client.Reader
}

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var secret corev1.Secret
	_ = r.Get(ctx, req.NamespacedName, &secret)
	_ = r.Client.Get(ctx, req.NamespacedName, &secret)
	_ = r.Get(ctx, req.NamespacedName, &appsv1.Deployment{})
	_ = r.List(ctx, &corev1.PodList{})
	_ = r.List(ctx, &metav1.PartialObjectMetadataList{})
	_ = r.List(ctx, &corev1.ServiceList{})
	_ = r.live.Get(ctx, req.NamespacedName, &batchv1.Job{})
	return ctrl.Result{}, nil
}

func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&appsv1.Deployment{}).Owns(&corev1.Service{}).Complete(r)
}
`))
	write(t, filepath.Join(dir, "reads", "reads_test.go"), []byte(`package reads

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func read(c client.Client) error { return c.List(context.Background(), &corev1.NodeList{}) }
`))
	p, err := loadCases(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.problems() {
		t.Fatalf("%s: %s", e.Pos, e.Msg)
	}
	files := p.files()
	p.noteReads(files)
	var got []Left
	for _, f := range files {
		got = append(got, f.left...)
	}
	const rest = ", so that each read of it asks the API server: where it is read often, have a controller watch it, or call Informer of the cache"
	want := []Left{
		{File: "reads/reads.go", Line: 21, Code: "r.Get(ctx, req.NamespacedName, &secret)", Reason: "nothing watches Secret" + rest, Rewritten: true},
		{File: "reads/reads.go", Line: 24, Code: "r.List(ctx, &corev1.PodList{})", Reason: "nothing watches Pod" + rest, Rewritten: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
