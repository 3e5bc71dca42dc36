package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// twice appends each App to a journal and then records this in the status. With the bug, it does not check whether the
// journal already contains the App. After a lost response or a crash, the journal contains the App twice.
func twice(ctx context.Context, k kit, a *App) error {
	if a.Status.Phase == "Logged" {
		return nil
	}
	log := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "log"}}
	if err := k.Get(ctx, object.KeyOf(log), log, client.Live); err != nil {
		return err
	}
	if !k.fixed || log.Data[a.Name] == "" {
		patch := fmt.Sprintf(`[{"op": "add", "path": "/data/%s", "value": "%sx"}]`, a.Name, log.Data[a.Name])
		if err := k.Patch(ctx, log, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
			return err
		}
	}
	return k.writeStatus(ctx, a, func(s *AppStatus) { s.Phase = "Logged" })
}

// journal exists before the operator starts.
const journal = `
apiVersion: v1
kind: ConfigMap
metadata: {name: log, namespace: kube-public}
data: {first: x}
`
