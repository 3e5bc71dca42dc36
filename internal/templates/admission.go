package templates

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// AdmissionView is what a defaulter, a validator or a policy of a kind is rendered from.
type AdmissionView struct {
	KindView
	// Foreign says that the kind is not the project's own, so that its objects are everybody's.
	Foreign bool
	// FailurePolicy is what becomes of requests while the webhook cannot be asked, as its marker says it: fail or ignore.
	FailurePolicy string
	// OwnPath says that the webhook is served at another path than the kind has.
	OwnPath bool
	// Verbs are the operations that are asked about, as the marker says them: create, update and so on.
	Verbs []string
	// More are further arguments of the marker. They begin with a comma, if there are any.
	More string
	// NamespaceSelector, ObjectSelector and MatchConditions say which requests a policy is about, in JSON; empty means all.
	NamespaceSelector, ObjectSelector, MatchConditions string
	// SelectedLabels are labels with which an object matches the object selector.
	SelectedLabels map[string]string
	// Rules are those of a policy that were asked for. None means that it has one to begin with.
	Rules []PolicyRule
}

// Asked is the operation by which the tests ask: the first in the life of an object that is asked about.
func (v AdmissionView) Asked() string {
	for _, verb := range []string{"create", "update", "delete"} {
		if slices.Contains(v.Verbs, verb) {
			return verb
		}
	}
	return "create"
}

// AsksLater says that the tests have to create an object before they can ask.
func (v AdmissionView) AsksLater() bool { return v.Asked() != "create" }

// AskedMethod is the method of a client that does it.
func (v AdmissionView) AskedMethod() string { return strings.ToUpper(v.Asked()[:1]) + v.Asked()[1:] }

// AskedOperation is the operation as the API says it.
func (v AdmissionView) AskedOperation() string { return strings.ToUpper(v.Asked()) }

// AskedObject is what a policy calls the object that it is about then.
func (v AdmissionView) AskedObject() string {
	if v.Asked() == "delete" {
		return "oldObject"
	}
	return "object"
}

// PolicyRule is an expression in CEL that has to be true, and what API servers say where it is not.
type PolicyRule struct{ Expression, Message string }

// PolicyAdvice says what users do with the rules of a policy.
func (v AdmissionView) PolicyAdvice() string {
	if len(v.Rules) > 0 {
		return "Write a rule as it comes"
	}
	return "Replace the rule with your own"
}

// PolicyRules are the rules of a policy, as YAML says them.
func (v AdmissionView) PolicyRules() []PolicyRule {
	if len(v.Rules) > 0 {
		var rules []PolicyRule
		for _, r := range v.Rules {
			rules = append(rules, PolicyRule{strconv.Quote(r.Expression), strconv.Quote(r.Message)})
		}
		return rules
	}
	begin, object := `request.operation != "`+v.AskedOperation()+`" || `, v.AskedObject()
	if !v.Foreign {
		return []PolicyRule{{begin + "size(" + object + ".metadata.name) <= 63", "the name has to be no longer than 63 bytes, as the value of a label"}}
	}
	const indent, name = "\n        ", `"app.kubernetes.io/name"`
	labels := object + ".metadata.labels"
	return []PolicyRule{{
		">-" + indent + begin + "!has(" + labels + ") ||" + indent + "!(" + name + " in " + labels + ") || " + labels + "[" + name + `] != ""`,
		"the label app.kubernetes.io/name has to say something",
	}}
}

// TestLabels returns the labels of an object of a test as a Go literal: empty labels with the names, and those that
// match the object selector.
func (v AdmissionView) TestLabels(names ...string) string {
	labels := map[string]string{}
	for _, name := range names {
		labels[name] = ""
	}
	maps.Copy(labels, v.SelectedLabels)
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		entries = append(entries, strconv.Quote(name)+": "+strconv.Quote(labels[name]))
	}
	return "map[string]string{" + strings.Join(entries, ", ") + "}"
}

// MarkerVerbs are the operations as a list of a marker.
func (v AdmissionView) MarkerVerbs() string { return strings.Join(v.Verbs, ";") }

// PolicyFailure is the failure policy as the API says it.
func (v AdmissionView) PolicyFailure() string {
	if v.FailurePolicy == "" {
		return "Fail"
	}
	return strings.ToUpper(v.FailurePolicy[:1]) + v.FailurePolicy[1:]
}

// Operations are the verbs as the API says them.
func (v AdmissionView) Operations() []string {
	var all []string
	for _, verb := range v.Verbs {
		all = append(all, strings.ToUpper(verb))
	}
	return all
}

// TestObject is the path of the object that the tests send, from their folder.
func (v AdmissionView) TestObject() string {
	if v.Foreign {
		return "testdata/" + path.Base(v.testObject())
	}
	return v.Root + "/config/samples/" + v.SampleFile
}

// testObject is where the object goes that the tests send for a kind that has no sample.
func (v AdmissionView) testObject() string {
	return path.Join(v.WebhookFolder, "testdata", strings.ToLower(v.Kind)+"_"+v.Version+".yaml")
}

// InstalledCRDs are the CRDs that the tests install, from their folder; empty for a kind that every API server has.
func (v AdmissionView) InstalledCRDs() string {
	if v.Foreign && v.TestCRDs != "" {
		return "testdata/" + v.standIn()
	}
	return v.TestCRDs
}

// APIVersion is that of objects of the kind.
func (v AdmissionView) APIVersion() string {
	return strings.TrimPrefix(v.QualifiedGroup+"/"+v.Version, "/")
}

// TestBody is what the object of the tests has besides its metadata, as YAML.
func (v AdmissionView) TestBody() string {
	if !v.builtIn() {
		return ""
	}
	return builtInBodies[v.Kind]
}

// builtIn reports whether every API server has the kind.
func (v AdmissionView) builtIn() bool { return v.Foreign && v.TestCRDs == "" }

// PolicyName is the name of the policy, and of its binding.
func (v AdmissionView) PolicyName() string { return v.RolePrefix + "-policy" }

// PolicyFile is the file of the policy in config/policy.
func (v AdmissionView) PolicyFile() string {
	return strings.ReplaceAll(v.RolePrefix, "-", "_") + "_policy.yaml"
}

// pod is what a pod has, and what templates of pods are like.
const pod = `spec:
  containers:
    - name: main
      image: example.com/main:v1
`

// podTemplate is the spec of a workload with pods.
const podTemplate = `spec:
  selector:
    matchLabels:
      app: sample
  template:
    metadata:
      labels:
        app: sample
    spec:
      containers:
        - name: main
          image: example.com/main:v1
`

const job = `spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: example.com/main:v1
`

const roleRef = `roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: view
`

// builtInBodies are what API servers ask of objects of built-in kinds besides their metadata. Kinds that are not here need no more.
var builtInBodies = map[string]string{
	"Pod":         pod,
	"PodTemplate": "template:\n  metadata:\n    labels:\n      app: sample\n  " + strings.ReplaceAll(strings.TrimSpace(pod), "\n", "\n  ") + "\n",
	"ReplicationController": "spec:\n  selector:\n    app: sample\n  template:\n    metadata:\n      labels:\n        app: sample\n    " +
		strings.ReplaceAll(strings.TrimSpace(pod), "\n", "\n    ") + "\n",
	"Service": `spec:
  ports:
    - port: 80
`,
	"PersistentVolumeClaim": `spec:
  accessModes:
    - ReadWriteOnce
  resources:
    requests:
      storage: 1Gi
`,
	"PersistentVolume": `spec:
  accessModes:
    - ReadWriteOnce
  capacity:
    storage: 1Gi
  hostPath:
    path: /tmp/sample
`,
	"Deployment":         podTemplate,
	"DaemonSet":          podTemplate,
	"ReplicaSet":         podTemplate,
	"StatefulSet":        podTemplate + "  serviceName: sample\n",
	"ControllerRevision": "revision: 1\ndata:\n  sample: true\n",
	"Job":                job,
	"CronJob":            "spec:\n  schedule: 0 3 * * *\n  jobTemplate:\n    " + strings.ReplaceAll(strings.TrimSpace(job), "\n", "\n    ") + "\n",
	"HorizontalPodAutoscaler": `spec:
  maxReplicas: 3
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: sample
`,
	"Ingress": `spec:
  defaultBackend:
    service:
      name: sample
      port:
        number: 80
`,
	"IngressClass":       "spec:\n  controller: example.com/sample\n",
	"NetworkPolicy":      "spec:\n  podSelector: {}\n",
	"RoleBinding":        roleRef,
	"ClusterRoleBinding": roleRef,
	"EndpointSlice":      "addressType: IPv4\nendpoints: []\n",
	"PriorityClass":      "value: 1000\n",
	"RuntimeClass":       "handler: sample\n",
	"StorageClass":       "provisioner: example.com/sample\n",
	"CSIDriver":          "spec: {}\n",
}
