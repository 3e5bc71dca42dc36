package templates

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// AdmissionView has the data for the templates of a defaulter, a validator or a policy.
type AdmissionView struct {
	KindView
	// Foreign is set for an external kind, whose objects are also used by other components of the cluster.
	Foreign bool
	// FailurePolicy is the argument of the webhook marker: fail or ignore. It applies to requests while the webhook is
	// unreachable.
	FailurePolicy string
	// OwnPath is set if the path of the webhook is not the default one for the kind.
	OwnPath bool
	// Verbs are the operations in the marker: create, update and so on.
	Verbs []string
	// More are additional arguments of the marker, each preceded by a comma.
	More string
	// NamespaceSelector, ObjectSelector and MatchConditions are JSON that selects the requests of a policy. Empty means
	// all requests.
	NamespaceSelector, ObjectSelector, MatchConditions string
	// SelectedLabels are labels that match the object selector.
	SelectedLabels map[string]string
	// Rules are the rules of a policy. If there are none, the policy has an example rule.
	Rules []PolicyRule
}

// Asked returns the operation that the tests send. Of the selected operations, it is the first in the life of an
// object.
func (v AdmissionView) Asked() string {
	for _, verb := range []string{"create", "update", "delete"} {
		if slices.Contains(v.Verbs, verb) {
			return verb
		}
	}
	return "create"
}

// AsksLater reports whether the tests must create an object before they send the operation.
func (v AdmissionView) AsksLater() bool { return v.Asked() != "create" }

// AskedMethod is the client method of the operation.
func (v AdmissionView) AskedMethod() string { return strings.ToUpper(v.Asked()[:1]) + v.Asked()[1:] }

// AskedOperation is the operation in the form of the API.
func (v AdmissionView) AskedOperation() string { return strings.ToUpper(v.Asked()) }

// AskedObject is the CEL variable of the object in that operation.
func (v AdmissionView) AskedObject() string {
	if v.Asked() == "delete" {
		return "oldObject"
	}
	return "object"
}

// PolicyRule is a CEL expression that must be true, and the error message if it is false.
type PolicyRule struct{ Expression, Message string }

// PolicyAdvice is advice in the policy's file on how to write rules.
func (v AdmissionView) PolicyAdvice() string {
	if len(v.Rules) > 0 {
		return "Add your own rules"
	}
	return "Replace the rule with your own"
}

// PolicyRules are the rules of a policy, encoded for YAML.
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
		return []PolicyRule{{begin + "size(" + object + ".metadata.name) <= 63",
			"the name must be at most 63 bytes, the limit of a label value"}}
	}
	const indent, name = "\n        ", `"app.kubernetes.io/name"`
	labels := object + ".metadata.labels"
	return []PolicyRule{{
		">-" + indent + begin + "!has(" + labels + ") ||" + indent + "!(" + name + " in " + labels + ") || " + labels + "[" +
			name + `] != ""`,
		"the label app.kubernetes.io/name must not be empty",
	}}
}

// TestLabels returns the labels of a test object as a Go literal. It contains a label with an empty value for each
// name, and labels that match the object selector.
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

// MarkerVerbs are the operations in the form of a marker.
func (v AdmissionView) MarkerVerbs() string { return strings.Join(v.Verbs, ";") }

// PolicyFailure is the failure policy in the form of the API.
func (v AdmissionView) PolicyFailure() string {
	if v.FailurePolicy == "" {
		return "Fail"
	}
	return strings.ToUpper(v.FailurePolicy[:1]) + v.FailurePolicy[1:]
}

// Operations are the verbs in the form of the API.
func (v AdmissionView) Operations() []string {
	var all []string
	for _, verb := range v.Verbs {
		all = append(all, strings.ToUpper(verb))
	}
	return all
}

// TestObject is the path of the object that the tests send, relative to their directory.
func (v AdmissionView) TestObject() string {
	if v.Foreign {
		return "testdata/" + path.Base(v.testObject())
	}
	return v.Root + "/config/samples/" + v.SampleFile
}

// testObject is the path of the object that the tests send for a kind without a sample.
func (v AdmissionView) testObject() string {
	return path.Join(v.WebhookFolder, "testdata", strings.ToLower(v.Kind)+"_"+v.Version+".yaml")
}

// InstalledCRDs is the path of the CRDs that the tests install, relative to their directory. It is empty for built-in
// kinds.
func (v AdmissionView) InstalledCRDs() string {
	if v.Foreign && v.TestCRDs != "" {
		return "testdata/" + v.standIn()
	}
	return v.TestCRDs
}

// APIVersion is the apiVersion of the kind's objects.
func (v AdmissionView) APIVersion() string {
	return strings.TrimPrefix(v.QualifiedGroup+"/"+v.Version, "/")
}

// TestBody is the YAML of the test object after its metadata.
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

// pod is the body of a pod, and of a pod template.
const pod = `spec:
  containers:
    - name: main
      image: example.com/main:v1
`

// podTemplate is the body of a workload with pods.
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

// builtInBodies contains the fields that built-in kinds require besides metadata. A kind that is not in the map
// requires no such fields.
var builtInBodies = map[string]string{
	"Pod": pod,
	"PodTemplate": "template:\n  metadata:\n    labels:\n      app: sample\n  " +
		strings.ReplaceAll(strings.TrimSpace(pod), "\n", "\n  ") + "\n",
	"ReplicationController": "spec:\n  selector:\n    app: sample\n  template:\n    metadata:\n      labels:\n " +
		"       app: sample\n    " +
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
	"CronJob": "spec:\n  schedule: 0 3 * * *\n  jobTemplate:\n    " + strings.ReplaceAll(strings.TrimSpace(job),
		"\n", "\n    ") + "\n",
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
