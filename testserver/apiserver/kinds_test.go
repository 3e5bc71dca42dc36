package apiserver_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// These parts of answers are not compared: random values, and formatted Go values whose Go types differ from the real
// server's.
var (
	clusterAddress = regexp.MustCompile(`\b10\.0\.0\.\d+\b`)
	nodePortCell   = regexp.MustCompile(`:3\d{4}/`)
	nodePortField  = regexp.MustCompile(`(?i)("?(?:healthCheck)?nodePort\\*"?: ?)3\d{4}`)
	goDiff         = regexp.MustCompile(`(pod updates may not change fields other than|spec is immutable after creation|spec.persistentvolumesource is immutable after creation)(?:\\\\.|[^"\\\\])*`)
	goValue        = regexp.MustCompile(`Invalid value: \{.*\}(: [^{}"]*)?`)
	goKind         = regexp.MustCompile(`(the requested object is (?:not )?a list )\(\*\w+\.\w+\)`)
	goConversion   = regexp.MustCompile(`(converting \(v1\.\w+\) to )\(\w+\.(\w+)\)`)
	nodePort       = regexp.MustCompile(`\b3[0-2]\d{3}\b`)
	goSupported    = regexp.MustCompile(`Unsupported value: \{[^}]*\}+`)
)

func maskedKinds(text string) string {
	if strings.Contains(text, `"message": "unknown patch type: `) || strings.HasSuffix(text, broken) {
		return broken // upstream panics or rejects the request, depending on map order
	}
	text = goDiff.ReplaceAllString(text, "$1")
	text = goValue.ReplaceAllString(text, "Invalid value: {}$1")
	text = goKind.ReplaceAllString(text, "$1")
	text = goConversion.ReplaceAllString(text, "$1($2)")
	text = goSupported.ReplaceAllString(text, "Unsupported value: {}")
	if strings.Contains(text, "nodePort") {
		text = nodePort.ReplaceAllString(text, "PORT")
	}
	text = clusterAddress.ReplaceAllString(text, "ADDRESS")
	text = nodePortCell.ReplaceAllString(text, ":PORT/")
	return nodePortField.ReplaceAllString(text, "${1}PORT")
}

// sampleKind is a kind for requests.
type sampleKind struct {
	path       string // contains %s for the namespace if the kind is namespaced
	apiVersion string
	kind       string
	parts      []string
	bodies     []string
	patches    []string
}

func kindRequests(seed uint64, salt string) []asked {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 2)), namespace: fmt.Sprintf("k%d%s", seed, salt)}
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	kinds := []sampleKind{pick(s, sampleKinds...), pick(s, sampleKinds...)}
	for range 25 {
		s.kindStep(pick(s, kinds...))
	}
	return s.requests
}

func (s *sequence) kindName(k sampleKind) string {
	name := pick(s, "a", "a", "b")
	if !strings.Contains(k.path, "%s") {
		name = s.namespace + "-" + name
	}
	return name
}

func (k sampleKind) at(namespace string) string {
	if strings.Contains(k.path, "%s") {
		return fmt.Sprintf(k.path, namespace)
	}
	return k.path
}

func (s *sequence) kindStep(k sampleKind) {
	name, path := s.kindName(k), k.at(s.namespace)
	body := func(version string) string { return s.kindBody(k, name, version) }
	known := pick(s, "{{version "+name+"}}", "{{version "+name+"}}", "")
	if k.kind == "Pod" && s.IntN(4) == 0 {
		s.podStep(path, name)
		return
	}
	switch s.IntN(17) {
	case 0, 1, 2, 3, 4:
		s.add(asked{method: "POST", path: path + pick(s, "", "", "", "?dryRun=All", "?fieldValidation=Strict"),
			body: body("")})
	case 5, 6, 7:
		s.add(asked{method: "PUT", path: path + "/" + name, body: body(known)})
	case 8:
		s.add(asked{method: "PATCH", path: path + "/" + name + "?fieldManager=" + pick(s, "one", "two") + pick(s, "",
			"&force=true"), contentType: "application/apply-patch+yaml", body: body("")})
	case 9, 10:
		if len(k.patches) > 0 {
			s.add(asked{method: "PATCH", path: path + "/" + name + pick(s, "", "", "/status"),
				contentType: pick(s, "application/strategic-merge-patch+json", "application/merge-patch+json"),
				body:        pick(s, k.patches...)})
		}
	case 11:
		list := path
		if !strings.Contains(k.path, "%s") { // other sequences also have objects of cluster-scoped kinds
			list += "?fieldSelector=metadata.name%3D" + name
		}
		s.add(asked{method: "GET", path: pick(s, list, path+"/"+name), accept: pick(s, "", asTable)})
	case 12:
		if len(k.parts) > 0 {
			s.add(asked{method: "GET", path: path + "/" + name + "/" + pick(s, k.parts...)})
		}
	case 13:
		for _, part := range k.parts {
			switch part {
			case "status":
				s.add(asked{method: "PUT", path: path + "/" + name + "/status", body: body(known)})
			case "scale":
				s.add(asked{method: "PUT", path: path + "/" + name + "/scale", body: object("autoscaling/v1", "Scale", name, "",
					map[string]any{"metadata": map[string]any{"namespace": s.namespace},
						"spec": map[string]any{"replicas": pick(s, 0, 3, -1)}})})
				s.add(asked{method: "PATCH", path: path + "/" + name + "/scale", contentType: "application/merge-patch+json",
					body: pick(s, `{"spec":{"replicas":2}}`, `{"spec":{"replicas":-2}}`)})
			}
		}
	case 16:
		if strings.Contains(k.path, "%s") {
			s.add(asked{method: "DELETE", path: path + pick(s, "?labelSelector=app%3Dx", "?labelSelector=app%3Dx&dryRun=All")})
		}
	case 14:
		s.add(asked{method: "DELETE", path: path + "/" + name + pick(s, "", "?gracePeriodSeconds=0",
			"?propagationPolicy=Foreground", "?propagationPolicy=Background")})
	case 15:
		if !strings.Contains(k.path, "%s") {
			s.add(asked{method: "GET", path: path + "?fieldSelector=bogus%3Dx"})
			return
		}
		s.add(asked{method: "GET", path: path + "?fieldSelector=" + pick(s, "metadata.name%3Da", "status.phase%3DPending",
			"spec.nodeName%3D", "type%3DNormal", "status.replicas%3D0", "bogus%3Dx")})
	}
}

// podStep sends requests that only pods support.
func (s *sequence) podStep(path, name string) {
	part := func(part, apiVersion, kind string, content map[string]any) {
		s.add(asked{method: "POST", path: path + "/" + name + "/" + part,
			body: object(apiVersion, kind, pick(s, name, name, "other"), "", content)})
	}
	switch s.IntN(6) {
	case 0, 1:
		part("binding", "v1", "Binding", map[string]any{"target": map[string]any{"kind": pick(s, "Node", "", "Pod"),
			"name": pick(s, "n", "n", "")}})
	case 2:
		part("eviction", "policy/v1", "Eviction", nil)
	case 3:
		s.add(asked{method: "GET", path: path + "/" + name + "/exec"})
	case 4:
		s.add(asked{method: "PATCH", path: path + "/" + name + "/ephemeralcontainers",
			contentType: "application/strategic-merge-patch+json",
			body: pick(s, `{"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}}`,
				`{"spec":{"ephemeralContainers":[{"name":"c","image":"i"}]}}`)})
	case 5:
		s.add(asked{method: "PATCH", path: path + "/" + name + "/resize",
			contentType: "application/strategic-merge-patch+json",
			body:        `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"200m"}}}]}}`})
	}
}

// kindBody returns a valid body, or one in which one or two values were changed.
func (s *sequence) kindBody(k sampleKind, name, version string) string {
	var content map[string]any
	if err := json.Unmarshal([]byte(pick(s, k.bodies...)), &content); err != nil {
		panic(k.kind + ": " + err.Error())
	}
	if s.IntN(5) > 1 {
		s.mutate(content)
	}
	if s.IntN(8) == 0 {
		s.mutate(content)
	}
	metadata, _ := content["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	if s.IntN(4) == 0 {
		metadata["labels"] = map[string]any{"app": pick(s, "x", "y")}
	}
	content["metadata"] = metadata
	return object(k.apiVersion, k.kind, name, version, content)
}

// mutate changes one random value of a body.
func (s *sequence) mutate(content map[string]any) {
	type place struct {
		set func(any)
		was any
		del func()
	}
	var places []place
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			for _, key := range sortedKeys(value) {
				places = append(places, place{func(v any) { value[key] = v }, value[key], func() { delete(value, key) }})
				visit(value[key])
			}
		case []any:
			for i := range value {
				places = append(places, place{func(v any) { value[i] = v }, value[i], nil})
				visit(value[i])
			}
		}
	}
	visit(content)
	if len(places) == 0 {
		return
	}
	p := places[s.IntN(len(places))]
	if p.del != nil && s.IntN(4) == 0 {
		p.del()
		return
	}
	switch was := p.was.(type) {
	case string:
		p.set(pick[any](s, "", "Not Valid!", "other", strings.Repeat("x", 70), "UPPER", "a/b", "-1", 5, nil))
	case float64:
		p.set(pick[any](s, 0, -1, 1, was+1, 70000, "x", nil, 3000000000))
	case bool:
		p.set(pick[any](s, !was, "x", nil))
	case []any:
		if len(was) > 0 && s.IntN(2) == 0 {
			p.set(append(append([]any{}, was...), was[0]))
			return
		}
		p.set(pick[any](s, []any{}, nil))
	case map[string]any:
		p.set(pick[any](s, map[string]any{}, nil))
	}
}

const (
	podSpec    = `{"containers":[{"name":"c","image":"nginx:1.2","ports":[{"containerPort":80,"name":"http"}],"env":[{"name":"A","value":"b"},{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"1","memory":"128Mi"}},"volumeMounts":[{"name":"v","mountPath":"/v"}],"livenessProbe":{"httpGet":{"path":"/","port":80}},"readinessProbe":{"tcpSocket":{"port":"http"}}}],"volumes":[{"name":"v","emptyDir":{}}]}`
	simpleSpec = `{"containers":[{"name":"c","image":"nginx"}]}`
	richSpec   = `{"initContainers":[{"name":"i","image":"busybox:latest","command":["x"]}],"containers":[{"name":"c","image":"nginx","envFrom":[{"configMapRef":{"name":"x"}}],"env":[{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}],"securityContext":{"runAsUser":1000,"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}},"lifecycle":{"preStop":{"exec":{"command":["x"]}}}}],"volumes":[{"name":"c","configMap":{"name":"x","items":[{"key":"k","path":"p"}]}},{"name":"s","secret":{"secretName":"s"}},{"name":"p","persistentVolumeClaim":{"claimName":"c"}}],"nodeSelector":{"a":"b"},"serviceAccountName":"sa","tolerations":[{"key":"k","operator":"Equal","value":"v","effect":"NoSchedule"}],"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"x"}}}}]}},"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"x"}}}],"securityContext":{"fsGroup":1000,"seccompProfile":{"type":"RuntimeDefault"}},"imagePullSecrets":[{"name":"p"}],"terminationGracePeriodSeconds":5}`
	template   = `"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},"spec":`
	never      = `{"restartPolicy":"Never","containers":[{"name":"c","image":"nginx"}]}`
)

var labelPatch = `{"metadata":{"labels":{"app":"x"}}}`

var sampleKinds = []sampleKind{
	{"/api/v1/namespaces/%s/pods", "v1", "Pod", []string{"status"},
		[]string{`{"spec":` + podSpec + `}`, `{"spec":` + simpleSpec + `}`, `{"spec":` + richSpec + `}`,
			`{"spec":` + simpleSpec +
				`,"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"podIP":"1.2.3.4","containerStatuses":[{"name":"c","ready":true,"restartCount":1,"image":"x","imageID":"y","state":{"running":{}}}]}}`},
		[]string{labelPatch, `{"spec":{"containers":[{"name":"c","image":"other"}]}}`, `{"spec":{"activeDeadlineSeconds":5}}`,
			`{"status":{"phase":"Running","podIP":"1.2.3.4"}}`, `{"spec":{"tolerations":[{"operator":"Exists"}]}}`}},
	{"/apis/apps/v1/namespaces/%s/deployments", "apps/v1", "Deployment", []string{"status", "scale"},
		[]string{`{"spec":{` + template + podSpec + `}}}`,
			`{"spec":{"replicas":2,"strategy":{"type":"Recreate"},"minReadySeconds":3,` + template + simpleSpec + `}}}`,
			`{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":"10%"}},"revisionHistoryLimit":2,` + template + richSpec + `}},"status":{"replicas":2,"readyReplicas":1,"availableReplicas":1,"conditions":[{"type":"Available","status":"True"}]}}`},
		[]string{labelPatch, `{"spec":{"replicas":5}}`,
			`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"other"}]}}}}`,
			`{"status":{"replicas":3,"observedGeneration":1}}`, `{"spec":{"paused":true}}`}},
	{"/apis/apps/v1/namespaces/%s/statefulsets", "apps/v1", "StatefulSet", []string{"status", "scale"},
		[]string{`{"spec":{"serviceName":"s",` + template + simpleSpec + `}}}`,
			`{"spec":{"serviceName":"s","volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}},"podManagementPolicy":"Parallel",` + template + podSpec + `}},"status":{"replicas":1,"readyReplicas":1}}`},
		[]string{labelPatch, `{"spec":{"replicas":5}}`, `{"status":{"replicas":3}}`, `{"spec":{"serviceName":"t"}}`}},
	{"/apis/apps/v1/namespaces/%s/daemonsets", "apps/v1", "DaemonSet", []string{"status"},
		[]string{`{"spec":{` + template + simpleSpec + `}}}`,
			`{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":2}},"minReadySeconds":1,` +
				template + richSpec +
				`}},"status":{"numberReady":1,"currentNumberScheduled":1,"desiredNumberScheduled":1,"numberMisscheduled":0}}`},
		[]string{labelPatch, `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"other"}]}}}}`,
			`{"status":{"numberReady":2}}`}},
	{"/apis/apps/v1/namespaces/%s/replicasets", "apps/v1", "ReplicaSet", []string{"status", "scale"},
		[]string{`{"spec":{"replicas":2,` + template + simpleSpec + `}},"status":{"replicas":2,"readyReplicas":1}}`,
			`{"spec":{` + template + podSpec + `}}}`},
		[]string{labelPatch, `{"spec":{"replicas":5}}`, `{"status":{"replicas":3}}`}},
	{"/apis/apps/v1/namespaces/%s/controllerrevisions", "apps/v1", "ControllerRevision", nil,
		[]string{`{"revision":1,"data":{"a":"b"}}`}, []string{labelPatch, `{"revision":2}`, `{"data":{"c":1}}`}},
	{"/apis/batch/v1/namespaces/%s/jobs", "batch/v1", "Job", []string{"status"},
		[]string{`{"spec":{"template":{"spec":` + never + `}}}`,
			`{"spec":{"completions":3,"parallelism":2,"backoffLimit":1,"suspend":true,"activeDeadlineSeconds":60,"ttlSecondsAfterFinished":5,"completionMode":"Indexed","template":{"metadata":{"labels":{"app":"x"}},"spec":` + never + `}},"status":{"active":1,"startTime":"2024-01-01T00:00:00Z"}}`},
		[]string{labelPatch, `{"spec":{"suspend":true}}`, `{"spec":{"parallelism":4}}`, `{"status":{"active":1,"failed":1}}`,
			`{"spec":{"template":{"metadata":{"labels":{"q":"x"}}}}}`}},
	{"/apis/batch/v1/namespaces/%s/cronjobs", "batch/v1", "CronJob", []string{"status"},
		[]string{`{"spec":{"schedule":"*/5 * * * *","jobTemplate":{"spec":{"template":{"spec":` + never + `}}}}}`,
			`{"spec":{"schedule":"@daily","timeZone":"Europe/Paris","concurrencyPolicy":"Forbid","suspend":true,"startingDeadlineSeconds":10,"successfulJobsHistoryLimit":2,"failedJobsHistoryLimit":0,"jobTemplate":{"spec":{"backoffLimit":1,"template":{"spec":` + never + `}}}}}`},
		[]string{labelPatch, `{"spec":{"suspend":true}}`, `{"spec":{"schedule":"1 2 3"}}`,
			`{"spec":{"schedule":"61 * * * *"}}`, `{"status":{"lastScheduleTime":"2024-01-01T00:00:00Z"}}`}},
	{"/api/v1/namespaces/%s/services", "v1", "Service", []string{"status"},
		[]string{`{"spec":{"selector":{"app":"x"},"ports":[{"port":80}]}}`,
			`{"spec":{"type":"NodePort","selector":{"app":"x"},"ports":[{"name":"http","port":80,"targetPort":"http"},{"name":"dns","port":53,"protocol":"UDP"}]}}`, `{"spec":{"clusterIP":"None","selector":{"app":"x"},"ports":[{"port":80}]}}`, `{"spec":{"type":"ExternalName","externalName":"example.com"}}`, `{"spec":{"type":"LoadBalancer","sessionAffinity":"ClientIP","loadBalancerSourceRanges":["10.1.0.0/16"],"ports":[{"port":443}]},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}`},
		[]string{labelPatch, `{"spec":{"type":"NodePort"}}`, `{"spec":{"type":"ClusterIP"}}`,
			`{"spec":{"ports":[{"port":81}]}}`, `{"status":{"loadBalancer":{"ingress":[{"hostname":"a.b"}]}}}`,
			`{"spec":{"selector":{"b":"c"}}}`}},
	{"/api/v1/namespaces/%s/persistentvolumeclaims", "v1", "PersistentVolumeClaim", []string{"status"},
		[]string{`{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`,
			`{"spec":{"storageClassName":"fast","volumeMode":"Block","accessModes":["ReadWriteMany"],"volumeName":"v","resources":{"requests":{"storage":"2Gi"}}},"status":{"phase":"Bound","capacity":{"storage":"2Gi"},"accessModes":["ReadWriteMany"]}}`},
		[]string{labelPatch, `{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}`, `{"status":{"phase":"Bound"}}`,
			`{"metadata":{"finalizers":null}}`}},
	{"/api/v1/persistentvolumes", "v1", "PersistentVolume", []string{"status"},
		[]string{`{"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}}`,
			`{"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadOnlyMany"],"persistentVolumeReclaimPolicy":"Delete","storageClassName":"fast","csi":{"driver":"d.example.com","volumeHandle":"h"}},"status":{"phase":"Available"}}`},
		[]string{labelPatch, `{"status":{"phase":"Released"}}`, `{"metadata":{"finalizers":null}}`}},
	{"/api/v1/namespaces/%s/serviceaccounts", "v1", "ServiceAccount", nil,
		[]string{`{"automountServiceAccountToken":false,"secrets":[{"name":"s"}],"imagePullSecrets":[{"name":"p"}]}`, `{}`},
		[]string{labelPatch, `{"secrets":[{"name":"t"}]}`}},
	{"/api/v1/namespaces/%s/endpoints", "v1", "Endpoints", nil,
		[]string{`{"subsets":[{"addresses":[{"ip":"1.2.3.4"},{"ip":"1.2.3.3","nodeName":"n"}],"ports":[{"port":80,"name":"http"}]}]}`}, []string{labelPatch}},
	{"/api/v1/namespaces/%s/limitranges", "v1", "LimitRange", nil,
		[]string{`{"spec":{"limits":[{"type":"PersistentVolumeClaim","max":{"storage":"2Gi"},"min":{"storage":"1Gi"}}]}}`},
		[]string{labelPatch}},
	{"/api/v1/namespaces/%s/replicationcontrollers", "v1", "ReplicationController", []string{"status", "scale"},
		[]string{`{"spec":{"replicas":1,"selector":{"app":"x"},"template":{"metadata":{"labels":{"app":"x"}},"spec":` +
			simpleSpec + `}},"status":{"replicas":1}}`}, []string{labelPatch, `{"spec":{"replicas":3}}`}},
	{"/api/v1/namespaces/%s/podtemplates", "v1", "PodTemplate", nil,
		[]string{`{"template":{"metadata":{"labels":{"app":"x"}},"spec":` + podSpec + `}}`}, []string{labelPatch}},
	{"/api/v1/nodes", "v1", "Node", []string{"status"},
		[]string{`{"spec":{"podCIDR":"10.1.0.0/24","taints":[{"key":"k","effect":"NoSchedule"}]}}`,
			`{"status":{"capacity":{"cpu":"4","memory":"8Gi"},"conditions":[{"type":"Ready","status":"True"}],"addresses":[{"type":"InternalIP","address":"1.2.3.4"}]}}`}, []string{labelPatch, `{"spec":{"unschedulable":true}}`, `{"status":{"capacity":{"cpu":"8"}}}`}},
	{"/api/v1/namespaces/%s/events", "v1", "Event", nil,
		[]string{`{"involvedObject":{"kind":"Pod","name":"p"},"reason":"R","message":"m","type":"Normal","count":1,"firstTimestamp":"2024-01-01T00:00:00Z","lastTimestamp":"2024-01-01T00:00:00Z","source":{"component":"c"}}`}, []string{labelPatch, `{"count":2}`}},
	{"/apis/events.k8s.io/v1/namespaces/%s/events", "events.k8s.io/v1", "Event", nil,
		[]string{`{"regarding":{"kind":"Pod","name":"p"},"reason":"R","note":"m","type":"Normal","action":"A","reportingController":"x.dev/c","reportingInstance":"i","eventTime":"2024-01-01T00:00:00.000000Z"}`}, []string{labelPatch, `{"note":"n"}`, `{"series":{"count":2,"lastObservedTime":"2024-01-01T00:00:00.000000Z"}}`}},
	{"/apis/networking.k8s.io/v1/namespaces/%s/ingresses", "networking.k8s.io/v1", "Ingress", []string{"status"},
		[]string{`{"spec":{"ingressClassName":"nginx","rules":[{"host":"a.example.com","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":80}}}}]}}],"tls":[{"hosts":["a.example.com"],"secretName":"t"}]}}`, `{"spec":{"defaultBackend":{"service":{"name":"s","port":{"name":"http"}}}},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}`}, []string{labelPatch, `{"status":{"loadBalancer":{"ingress":[{"hostname":"a.b"}]}}}`}},
	{"/apis/networking.k8s.io/v1/ingressclasses", "networking.k8s.io/v1", "IngressClass", nil,
		[]string{`{"spec":{"controller":"example.com/c","parameters":{"apiGroup":"x.dev","kind":"P","name":"p"}}}`},
		[]string{labelPatch, `{"spec":{"controller":"example.com/d"}}`}},
	{"/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", nil,
		[]string{`{"spec":{"podSelector":{"matchLabels":{"app":"x"}},"ingress":[{"from":[{"podSelector":{"matchLabels":{"a":"b"}}},{"ipBlock":{"cidr":"10.1.0.0/16","except":["10.1.1.0/24"]}}],"ports":[{"port":80},{"port":1000,"endPort":2000,"protocol":"UDP"}]}],"egress":[{"to":[{"namespaceSelector":{}}]}],"policyTypes":["Ingress","Egress"]}}`, `{"spec":{"podSelector":{}}}`}, []string{labelPatch}},
	{"/apis/policy/v1/namespaces/%s/poddisruptionbudgets", "policy/v1", "PodDisruptionBudget", []string{"status"},
		[]string{`{"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"x"}}}}`,
			`{"spec":{"maxUnavailable":"50%","unhealthyPodEvictionPolicy":"AlwaysAllow","selector":{"matchLabels":{"app":"x"}}},"status":{"disruptionsAllowed":1,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}}`}, []string{labelPatch, `{"spec":{"minAvailable":2}}`}},
	{"/apis/autoscaling/v2/namespaces/%s/horizontalpodautoscalers", "autoscaling/v2", "HorizontalPodAutoscaler",
		[]string{"status"},
		[]string{`{"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"maxReplicas":5}}`,
			`{"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"minReplicas":2,"maxReplicas":5,"metrics":[{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":70}}},{"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"10"}}}],"behavior":{"scaleDown":{"stabilizationWindowSeconds":60}}},"status":{"currentReplicas":1,"desiredReplicas":2}}`}, []string{labelPatch, `{"spec":{"maxReplicas":7}}`}},
	{"/apis/autoscaling/v1/namespaces/%s/horizontalpodautoscalers", "autoscaling/v1", "HorizontalPodAutoscaler",
		[]string{"status"},
		[]string{`{"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"maxReplicas":5,"targetCPUUtilizationPercentage":50}}`}, []string{labelPatch, `{"spec":{"maxReplicas":7}}`}},
	{"/apis/coordination.k8s.io/v1/namespaces/%s/leases", "coordination.k8s.io/v1", "Lease", nil,
		[]string{`{"spec":{"holderIdentity":"h","leaseDurationSeconds":15,"leaseTransitions":1,"acquireTime":"2024-01-01T00:00:00.000000Z","renewTime":"2024-01-01T00:00:00.000000Z"}}`}, []string{labelPatch, `{"spec":{"holderIdentity":"i"}}`}},
	{"/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices", "discovery.k8s.io/v1", "EndpointSlice", nil,
		[]string{`{"addressType":"IPv4","endpoints":[{"addresses":["1.2.3.4"],"conditions":{"ready":true},"nodeName":"n"}],"ports":[{"name":"http","port":80,"protocol":"TCP"}]}`}, []string{labelPatch}},
	{"/apis/storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1", "StorageClass", nil,
		[]string{`{"provisioner":"example.com/p","parameters":{"a":"b"},"reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer","allowVolumeExpansion":true}`, `{"provisioner":"example.com/p"}`}, []string{labelPatch, `{"provisioner":"example.com/q"}`, `{"allowVolumeExpansion":true}`}},
	{"/apis/storage.k8s.io/v1/volumeattributesclasses", "storage.k8s.io/v1", "VolumeAttributesClass", nil,
		[]string{`{"driverName":"example.com/p","parameters":{"iops":"100"}}`},
		[]string{labelPatch, `{"driverName":"example.com/q"}`, `{"parameters":{"iops":"200"}}`}},
	{"/apis/storage.k8s.io/v1/namespaces/%s/csistoragecapacities", "storage.k8s.io/v1", "CSIStorageCapacity", nil,
		[]string{`{"storageClassName":"fast","capacity":"10Gi","maximumVolumeSize":"1Gi","nodeTopology":{"matchLabels":{"zone":"a","beta.kubernetes.io/os":"x"},"matchExpressions":[{"key":"beta.kubernetes.io/arch","operator":"In","values":["x"]}]}}`, `{"storageClassName":"slow"}`}, []string{labelPatch, `{"capacity":"1"}`, `{"capacity":"-1"}`, `{"storageClassName":"other"}`, `{"nodeTopology":{"matchLabels":{"zone":"b"}}}`}},
	{"/apis/node.k8s.io/v1/runtimeclasses", "node.k8s.io/v1", "RuntimeClass", nil,
		[]string{`{"handler":"runsc","overhead":{"podFixed":{"cpu":"10m","memory":"1Mi"}},"scheduling":{"nodeSelector":{"beta.kubernetes.io/os":"linux"},"tolerations":[{"key":"k","operator":"Exists","effect":"NoSchedule"},{"key":"k","value":"v"}]}}`, `{"handler":"h"}`}, []string{labelPatch, `{"handler":"other"}`, `{"overhead":{"podFixed":{"cpu":"-1"}}}`, `{"scheduling":{"tolerations":[{"key":"k"},{"key":"k"}]}}`}},
	{"/apis/scheduling.k8s.io/v1/priorityclasses", "scheduling.k8s.io/v1", "PriorityClass", nil,
		[]string{`{"value":1000,"description":"d","preemptionPolicy":"Never"}`, `{"value":5}`},
		[]string{labelPatch, `{"value":6}`}},
	{"/api/v1/namespaces/%s/resourcequotas", "v1", "ResourceQuota", []string{"status"},
		[]string{`{"spec":{"hard":{"cpu":"1","services.nodeports":"0"}}}`}, []string{labelPatch}},
}
