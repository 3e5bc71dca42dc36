package markers

// projectHelp is about markers that concern the whole project. They may stand anywhere in it.
var projectHelp = map[string]helpText{
	"kubebuilder:rbac": {
		group: "RBAC", summary: "Asks for rights of the manager, which go into its role.",
		details: "All markers of the project are joined. Give resources, or urls.",
		example: "+kubebuilder:rbac:groups=apps,resources=deployments;deployments/status,verbs=get;list;watch",
		arguments: map[string]argumentText{
			"groups":        {`The API groups. "" or core is that of pods and services.`, ""},
			"resources":     {"The resources, in the plural; subresources as deployments/status.", ""},
			"resourceNames": {"Only the objects with these names.", "all objects"},
			"verbs":         {"What to do: get, list, watch, create, update, patch, delete, deletecollection, or * for all.", ""},
			"urls":          {"Paths of the API server that are no resources, such as /metrics.", ""},
			"namespace":     {"The namespace that the rights are limited to: a Role instead of a ClusterRole.", "the whole cluster"},
			"roleName":      {"The role that the rights go into.", "the one of the manager"},
		},
	},
	"kubebuilder:webhook": {
		group: "Webhooks", summary: "Registers a webhook with the API server.",
		details: "Give path, or url.",
		example: "+kubebuilder:webhook:path=/validate-batch-example-com-v1-cronjob,mutating=false,failurePolicy=fail,sideEffects=None," +
			"groups=batch.example.com,resources=cronjobs,verbs=create;update,versions=v1,name=vcronjob.example.com,admissionReviewVersions=v1",
		arguments: map[string]argumentText{
			"mutating":                {"Whether the webhook changes objects. One that does not validates them.", ""},
			"failurePolicy":           {"fail or ignore: what happens to requests while the webhook cannot be reached.", ""},
			"groups":                  {"The API groups of the objects.", ""},
			"resources":               {"The resources, in the plural.", ""},
			"verbs":                   {"create, update, delete, connect, or * for all.", ""},
			"versions":                {"The API versions of the objects.", ""},
			"name":                    {"The name of the webhook, with at least two dots.", ""},
			"admissionReviewVersions": {"The versions of AdmissionReview that the webhook understands, the best first.", ""},
			"path":                    {"The path on the webhook service.", ""},
			"url":                     {"The whole address, for webhooks outside of the cluster.", ""},
			"matchPolicy":             {"Exact, or Equivalent to see also requests for other versions of the resource.", "Equivalent"},
			"sideEffects":             {"None, or NoneOnDryRun if the webhook looks out for dry runs itself.", ""},
			"timeoutSeconds":          {"How long to wait for an answer, from 1 to 30.", "10"},
			"reinvocationPolicy":      {"IfNeeded to be called again when a later webhook changed the object, or Never.", "Never"},
			"serviceName":             {"The service of the webhook.", "webhook-service"},
			"serviceNamespace":        {"The namespace of the service.", "system"},
			"servicePort":             {"The port of the service.", "443"},
			"webhookVersions":         {"The versions of the configuration to write. There is only v1.", "v1"},
			"patch":                   {"JSON that is merged into the webhook in the configuration, for fields that no argument sets.", ""},
		},
	},
	"kubebuilder:webhookconfiguration": {
		group: "Webhooks", summary: "Names the object that registers the webhooks of the project.",
		example: "+kubebuilder:webhookconfiguration:mutating=true,name=example-mutating-webhooks",
		arguments: map[string]argumentText{
			"mutating": {"Whether this is about webhooks that change objects.", ""},
			"name":     {"The name of the object.", "mutating-webhook-configuration or validating-webhook-configuration"},
		},
	},
}
