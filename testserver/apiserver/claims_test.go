package apiserver_test

import (
	"fmt"
	"math/rand/v2"
)

// claimRequests returns requests about claims and volumes with their class in a field, an annotation or both, and about
// Services with addresses at the ends of the range.
func claimRequests(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 16)), namespace: fmt.Sprintf("c%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	for range 30 {
		switch s.IntN(8) {
		case 0:
			s.serviceAtStep()
		case 1, 2:
			s.classedStep("PersistentVolume", "/api/v1/persistentvolumes", s.namespace+"-"+pick(s, "a", "b"), map[string]any{
				"capacity": map[string]any{"storage": "1Gi"}, "accessModes": []any{"ReadWriteOnce"},
				"hostPath": map[string]any{"path": "/data"}})
		default:
			s.classedStep("PersistentVolumeClaim", "/api/v1/namespaces/"+s.namespace+"/persistentvolumeclaims",
				pick(s, "a", "b"), map[string]any{
					"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": pick(s,
						"1Gi", "1Gi", "2Gi")}}})
		}
	}
	for _, name := range []string{"a", "b"} {
		path := "/api/v1/persistentvolumes/" + s.namespace + "-" + name
		s.add(asked{method: "PATCH", path: path, contentType: "application/merge-patch+json",
			body: `{"metadata":{"finalizers":null}}`})
		s.add(asked{method: "DELETE", path: path})
	}
	return s.requests
}

const classAnnotation = "volume.beta.kubernetes.io/storage-class"

func (s *sequence) classedStep(kind, path, name string, spec map[string]any) {
	classes := []any{"one", "one", "two", "", "Not Valid"}
	annotations := map[string]any{}
	if s.IntN(2) == 0 {
		annotations[classAnnotation] = pick(s, classes...)
	}
	for _, class := range []string{"storageClassName", "volumeAttributesClassName"} {
		if s.IntN(2) == 0 {
			spec[class] = pick(s, classes...)
		}
	}
	content := map[string]any{"metadata": map[string]any{"annotations": annotations}, "spec": spec}
	at := path + "/" + name
	switch s.IntN(7) {
	case 0, 1:
		s.add(asked{method: "POST", path: path + s.options(), body: object("v1", kind, name, "", content)})
	case 2:
		s.add(asked{method: "PUT", path: at + s.options(), body: object("v1", kind, name, "{{version "+name+"}}", content)})
	case 3:
		s.add(asked{method: "PATCH", path: at, contentType: pick(s, "application/merge-patch+json",
			"application/strategic-merge-patch+json"), body: marshal(map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{classAnnotation: pick(s, append(classes, nil)...)}},
			"spec": pick(s, map[string]any{}, map[string]any{"storageClassName": pick(s, append(classes, nil)...)},
				map[string]any{"volumeAttributesClassName": pick(s, append(classes, nil)...)}),
		})})
	case 4:
		s.add(asked{method: "PATCH", path: at + "?force=true&fieldManager=one", contentType: "application/apply-patch+yaml",
			body: object("v1", kind, name, "", content)})
	case 5:
		s.add(asked{method: "PATCH", path: at + "/status", contentType: "application/merge-patch+json",
			body: marshal(map[string]any{"status": map[string]any{
				"phase": pick(s, "Bound", "Pending"), "currentVolumeAttributesClassName": pick(s, append(classes, nil)...)}})})
	case 6:
		s.add(asked{method: "GET", path: pick(s, path, at), accept: pick(s, asTable, "")})
	}
}

// serviceAtStep requests unavailable addresses.
func (s *sequence) serviceAtStep() {
	spec := map[string]any{"ports": []any{map[string]any{"port": 80}}}
	addresses := []any{pick[any](s, "10.0.0.0", "10.0.0.255", "10.0.1.0", "10.0.1.1", "9.255.255.255", "192.168.0.1",
		"0.0.0.0", "255.255.255.255", "x")}
	spec["clusterIPs"] = addresses
	if s.IntN(2) == 0 {
		spec["clusterIP"] = addresses[0]
	}
	s.add(asked{method: "POST", path: "/api/v1/namespaces/" + s.namespace + "/services" + pick(s, "", "?dryRun=All"),
		body: object("v1", "Service", "at", "", map[string]any{"spec": spec})})
}
