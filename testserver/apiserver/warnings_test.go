package apiserver_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// warned contains objects that the real server accepts with a warning. The names of cluster-scoped objects contain the
// name of the sequence's namespace.
var warned = []struct{ path, body, status string }{
	{"/api/v1/namespaces/%s/persistentvolumeclaims", `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"%s","annotations":{"volume.beta.kubernetes.io/storage-class":"x"}},
		"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1500m"},"limits":{"storage":"2500m"}}}}`, ""},
	{"/api/v1/persistentvolumes", `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"%s","annotations":{"volume.beta.kubernetes.io/storage-class":"x","volume.beta.kubernetes.io/mount-options":"a"}},
		"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"persistentVolumeReclaimPolicy":"Recycle","nfs":{"server":"a","path":"/a"},
		"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"beta.kubernetes.io/os","operator":"In","values":["linux"]},{"key":"x","operator":"In","values":["y"]}]}]}}}}`, ""},
	{"/api/v1/persistentvolumes", `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"%s-options","annotations":{"volume.beta.kubernetes.io/mount-options":"a"}},
		"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"}}}`, ""},
	{"/api/v1/namespaces/%s/pods",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s-overhead"},"spec":{"overhead":{"memory":"1500m"},"containers":[{"name":"a","image":"b"}]}}`, ""},
	{"/api/v1/persistentvolumes",
		`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"%s-rbd"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"rbd":{"monitors":["a"],"image":"b"}}}`, ""},
	{"/api/v1/persistentvolumes",
		`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"%s-ceph"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"cephfs":{"monitors":["a"]}}}`, ""},
	{"/api/v1/persistentvolumes",
		`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"%s-gluster"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"glusterfs":{"endpoints":"a","path":"b"}}}`, ""},
	{"/apis/storage.k8s.io/v1/storageclasses", `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"%s"},"provisioner":"x",
		"allowedTopologies":[{"matchLabelExpressions":[{"key":"failure-domain.beta.kubernetes.io/zone","values":["a"]},{"key":"b","values":["c"]}]}]}`, ""},
	{"/api/v1/nodes",
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":"%s"},"spec":{"externalID":"x","podCIDR":"10.1.2.3/8","podCIDRs":["10.1.2.3/8"]}}`, `{"status":{"phase":"Running"}}`},
	{"/api/v1/namespaces/%s/endpoints",
		`{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"%s"},"subsets":[{"addresses":[{"ip":"1.2.3.4"}],"notReadyAddresses":[{"ip":"fd00:0::1"}],"ports":[{"port":1}]}]}`, ""},
	{"/api/v1/namespaces/%s/endpoints",
		`{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"%s-managed","labels":{"endpoints.kubernetes.io/managed-by":"endpoint-controller"}},"subsets":[{"addresses":[{"ip":"fd00:0::1"}],"ports":[{"port":1}]}]}`, ""},
	{"/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices",
		`{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"%s"},"addressType":"IPv6","endpoints":[{"addresses":["fd00:0::1"]}]}`, ""},
	{"/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices",
		`{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"%s-names"},"addressType":"FQDN","endpoints":[{"addresses":["a.b"]}]}`, ""},
	{"/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices", `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"%s-managed","labels":{"endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io"}},
		"addressType":"IPv6","endpoints":[{"addresses":["fd00:0::1"]}]}`, ""},
	{"/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies", `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"%s"},"spec":{"podSelector":{},
		"ingress":[{"from":[{"podSelector":{}},{"ipBlock":{"cidr":"10.1.2.3/8","except":["10.2.3.4/16"]}}]}],"egress":[{"to":[{"ipBlock":{"cidr":"fd00:0::/16"}}]}]}}`, ""},
	{"/apis/networking.k8s.io/v1/namespaces/%s/ingresses", `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"%s","annotations":{"kubernetes.io/ingress.class":"x"}},
		"spec":{"defaultBackend":{"service":{"name":"a","port":{"number":1}}}}}`, `{"status":{"loadBalancer":{"ingress":[{"ip":"fd00:0::1"},{"hostname":"a"}]}}}`},
	{"/api/v1/namespaces/%s/resourcequotas",
		`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"%s"},"spec":{"hard":{"cpu":"2","limits.cpu":"1","requests.memory":"2Gi","limits.memory":"1Gi","requests.ephemeral-storage":"2","limits.ephemeral-storage":"1"}}}`, ""},
	{"/apis/apps/v1/namespaces/%s/statefulsets", `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"%s"},"spec":{"revisionHistoryLimit":-1,"serviceName":"a","selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"nodeSelector":{"beta.kubernetes.io/os":"linux"},"containers":[{"name":"a","image":"b"}]}},
		"volumeClaimTemplates":[{"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1500m"}}}}]}}`, ""},
	{"/api/v1/namespaces/%s/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":{"dnsConfig":{"nameservers":["fd00:0::1"]},"hostAliases":[{"ip":"fd00:0::1","hostnames":["a"]}],
		"containers":[{"name":"a","image":"b","resources":{"requests":{"memory":"100m","ephemeral-storage":"100m"},"limits":{"memory":"1500m","ephemeral-storage":"1500m"}}}]}}`,
		`{"status":{"podIP":"fd00:0::1","podIPs":[{"ip":"fd00:0::1"}],"hostIP":"fd00:0::2","hostIPs":[{"ip":"fd00:0::2"}]}}`},
	{"/api/v1/namespaces/%s/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s-profiles","annotations":{"container.apparmor.security.beta.kubernetes.io/a":"localhost/x",
		"container.apparmor.security.beta.kubernetes.io/b":"unconfined","container.apparmor.security.beta.kubernetes.io/c":"localhost/","seccomp.security.alpha.kubernetes.io/pod":"docker/default"}},
		"spec":{"securityContext":{"appArmorProfile":{"type":"Unconfined"}},"containers":[{"name":"a","image":"b"},{"name":"b","image":"b"},{"name":"c","image":"b"}]}}`, ""},
	{"/api/v1/namespaces/%s/services",
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"%s"},"spec":{"type":"LoadBalancer","ports":[{"port":1}],"externalIPs":["fd00:0::1"]}}`, `{"status":{"loadBalancer":{"ingress":[{"ip":"fd00:0::1"}]}}}`},
}

// warnedRequests returns requests that write each of these objects in all ways.
func warnedRequests(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 8)), namespace: fmt.Sprintf("w%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	for _, i := range s.Perm(len(warned)) {
		one := warned[i]
		path, body := one.path, fmt.Sprintf(one.body, s.namespace)
		if strings.Contains(path, "%s") {
			path = fmt.Sprintf(path, s.namespace)
		}
		_, after, _ := strings.Cut(body, `"name":"`)
		name, _, _ := strings.Cut(after, `"`)
		s.add(asked{method: "POST", path: path + pick(s, "", "?dryRun=All"), body: body})
		s.add(asked{method: "PATCH", path: path + "/" + name + "?fieldManager=one&force=true",
			contentType: "application/apply-patch+yaml", body: body})
		s.add(asked{method: "PUT", path: path + "/" + name, body: body})
		s.add(asked{method: "PATCH", path: path + "/" + name, contentType: "application/merge-patch+json",
			body: `{"metadata":{"labels":{"a":"b"}}}`})
		if one.status != "" {
			s.add(asked{method: "PATCH", path: path + "/" + name + "/status", contentType: "application/merge-patch+json",
				body: one.status})
		}
		s.add(asked{method: "DELETE", path: path + "/" + name})
	}
	s.add(asked{method: "DELETE", path: "/api/v1/namespaces/" + s.namespace})
	return s.requests
}
