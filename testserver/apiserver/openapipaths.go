package apiserver

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// resourceOperations creates the paths of one resource or subresource.
type resourceOperations struct {
	models   *openAPIModels
	resource resourceInfo
	plural   string
	custom   bool
	object   string // name of its model
}

func (o resourceOperations) add(paths map[string]any, all []resourceInfo) {
	one := o.resource
	gv, kind := one.gv, one.Kind
	parent := one
	if at := slices.IndexFunc(all, func(other resourceInfo) bool { return other.Name == o.plural }); at >= 0 {
		parent = all[at]
	}
	list := o.object + "List"
	if o.custom {
		o.object = definitionModel(gv, kind)
		list = definitionModel(gv, o.models.listKinds[kind])
		if one.kind == scaleKind {
			o.object = o.models.kind(scaleKind)
		}
	} else if !strings.Contains(one.Name, "/") {
		listKind := gv.WithKind(kind + "List")
		list = cmp.Or(o.models.kind(listKind), list)
	}
	root := "/" + openAPIPath(gv) + "/" + o.plural
	if one.Namespaced {
		if slices.Contains(one.Verbs, "list") {
			o.path(paths, root, o.operation(openAPIVerbs[0], list, "", parent, true))
		}
		root = "/" + openAPIPath(gv) + "/namespaces/{namespace}/" + o.plural
	}
	_, sub, _ := strings.Cut(one.Name, "/")
	var collection, item []openAPIOperation
	for _, v := range openAPIVerbs {
		if !slices.Contains(one.Verbs, v.verb) {
			continue
		}
		model := o.object
		switch v.verb {
		case "list":
			model = list
		case "deletecollection", "delete":
			model = o.models.meta("Status")
		}
		op := o.operation(v, model, sub, parent, false)
		if v.verb == "list" || v.verb == "deletecollection" || v.verb == "create" && sub == "" {
			collection = append(collection, op)
		} else {
			item = append(item, op)
		}
	}
	o.path(paths, root, collection...)
	o.path(paths, strings.TrimSuffix(root+"/{name}/"+sub, "/"), item...)
}

// openAPIOperation is a verb on a path.
type openAPIOperation struct {
	method     string
	parameters []map[string]any
	content    map[string]any
}

// path adds operations to a path. Parameters that all of them have become parameters of the path.
func (o resourceOperations) path(paths map[string]any, path string, all ...openAPIOperation) {
	if len(all) == 0 {
		return
	}
	shared := slices.Clone(all[0].parameters)
	for _, op := range all[1:] {
		shared = slices.DeleteFunc(shared, func(p map[string]any) bool {
			return !slices.ContainsFunc(op.parameters, func(other map[string]any) bool { return reflect.DeepEqual(p, other) })
		})
	}
	item := map[string]any{"parameters": shared}
	for _, op := range all {
		var own []map[string]any
		for _, p := range op.parameters {
			if !slices.ContainsFunc(shared, func(other map[string]any) bool { return reflect.DeepEqual(p, other) }) {
				own = append(own, p)
			}
		}
		if own != nil {
			op.content["parameters"] = own
		}
		item[op.method] = op.content
	}
	paths[path] = item
}

// openAPIVerb has the names of a verb in operations.
type openAPIVerb struct{ verb, name, method, action string }

var openAPIVerbs = []openAPIVerb{
	{"list", "list", "get", "list"}, {"create", "create", "post", "post"},
	{"deletecollection", "deletecollection", "delete", "deletecollection"}, {"get", "read", "get", "get"},
	{"update", "replace", "put", "put"}, {"delete", "delete", "delete", "delete"}, {"patch", "patch", "patch", "patch"},
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func (o resourceOperations) operation(v openAPIVerb, model, sub string, parent resourceInfo,
	across bool) openAPIOperation {
	one, verb := o.resource, v.verb
	words := strings.Split(cmp.Or(strings.TrimSuffix(one.gv.Group, ".k8s.io"), "core"), ".")
	for i := range words {
		words[i] = upperFirst(words[i])
	}
	title := strings.Join(words, "")
	kind, id := parent.Kind, v.name+title+upperFirst(one.gv.Version)
	if verb == "deletecollection" {
		id = "delete" + title + upperFirst(one.gv.Version) + "Collection"
	}
	if one.Namespaced && !across {
		id += "Namespaced"
	}
	if id += kind; sub != "" {
		id += upperFirst(sub)
	}
	if across {
		id += "ForAllNamespaces"
	}
	gvk := map[string]string{"group": one.kind.Group, "version": one.kind.Version, "kind": one.Kind}
	if o.custom {
		gvk = map[string]string{"group": one.gv.Group, "version": one.gv.Version, "kind": kind}
	}
	content := map[string]any{
		"tags":        []string{strings.ToLower(title[:1]) + title[1:] + "_" + one.gv.Version},
		"description": o.description(v.name, kind, sub), "operationId": id, "x-kubernetes-action": v.action,
		"x-kubernetes-group-version-kind": gvk,
		"responses":                       o.responses(verb, model),
	}
	if body := o.body(verb, model); body != nil {
		content["requestBody"] = body
	}
	parameters := []map[string]any{parameter("pretty", "query", "string",
		"If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or "+
			"command-line HTTP tool (curl and wget).")}
	if one.Namespaced && !across {
		parameters = append(parameters, parameter("namespace", "path", "string",
			"object name and auth scope, such as for teams and projects"))
	}
	if verb != "list" && verb != "deletecollection" && (verb != "create" || sub != "") {
		named := one.Kind
		if one.kind == scaleKind && o.custom {
			named = kind
		}
		parameters = append(parameters, parameter("name", "path", "string", "name of the "+named))
	}
	parameters = append(parameters, o.optionParameters(verb)...)
	slices.SortFunc(parameters, func(a, b map[string]any) int {
		return strings.Compare(a["name"].(string), b["name"].(string))
	})
	return openAPIOperation{v.method, parameters, content}
}

func (o resourceOperations) description(name, kind, sub string) string {
	if sub != "" {
		sub = " " + sub + " of"
	}
	switch name {
	case "list":
		if !o.custom {
			return "list or watch objects of kind " + kind
		}
		return "list" + sub + " objects of kind " + kind
	case "read", "replace":
		return name + sub + " the specified " + kind
	case "patch":
		return "partially update" + sub + " the specified " + kind
	case "deletecollection":
		return "delete collection of" + sub + " " + kind
	}
	return name + sub + article(kind) + kind
}

// article returns the article of a noun.
func article(noun string) string {
	switch {
	case strings.HasSuffix(noun, "s") && !strings.HasSuffix(noun, "ss"):
		return " "
	case strings.ContainsRune("AEIOUaeiou", rune(noun[0])):
		return " an "
	}
	return " a "
}

func (o resourceOperations) media(verb string) []string {
	if o.custom {
		return []string{"application/json", "application/yaml"}
	}
	media := []string{"application/json", "application/vnd.kubernetes.protobuf", "application/yaml"}
	if verb == "list" {
		media = append(media, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
	}
	return media
}

func bodyOf(model string, media ...string) map[string]any {
	content := map[string]any{}
	for _, one := range media {
		content[one] = map[string]any{"schema": map[string]string{"$ref": schemaPrefix + model}}
	}
	return content
}

func (o resourceOperations) responses(verb, model string) map[string]any {
	one := func(description string) map[string]any {
		return map[string]any{"description": description, "content": bodyOf(model, o.media(verb)...)}
	}
	found := map[string]any{"200": one("OK"), "401": map[string]string{"description": "Unauthorized"}}
	switch verb {
	case "create":
		found["201"], found["202"] = one("Created"), one("Accepted")
	case "update":
		found["201"] = one("Created")
	case "delete":
		found["202"] = one("Accepted")
	case "patch":
		if !o.custom {
			found["201"] = one("Created")
		}
	}
	return found
}

func (o resourceOperations) body(verb, model string) map[string]any {
	media := []string{"*/*"}
	if o.custom {
		media = o.media(verb)
	}
	switch verb {
	case "create", "update":
		return map[string]any{"content": bodyOf(model, media...), "required": true}
	case "delete":
		return map[string]any{"content": bodyOf(o.models.meta("DeleteOptions"), media...)}
	case "deletecollection":
		if !o.custom {
			return map[string]any{"content": bodyOf(o.models.meta("DeleteOptions"), media...)}
		}
	case "patch":
		patches := []string{string(types.ApplyYAMLPatchType), string(types.JSONPatchType), string(types.MergePatchType)}
		if !o.custom {
			patches = append(patches, string(types.StrategicMergePatchType))
		}
		return map[string]any{"content": bodyOf(o.models.meta("Patch"), patches...), "required": true}
	}
	return nil
}

func parameter(name, in, kind, description string) map[string]any {
	p := map[string]any{"name": name, "in": in, "description": description,
		"schema": map[string]any{"type": kind, "uniqueItems": true}}
	if in == "path" {
		p["required"] = true
	}
	return p
}

// optionParameters returns the fields of a verb's options as parameters. In documents of custom resources, the
// descriptions are slightly different.
func (o resourceOperations) optionParameters(verb string) (parameters []map[string]any) {
	switch {
	case o.custom:
		return fieldParameters(verb)
	case verb == "get":
		return nil
	case verb == "deletecollection":
		parameters = slices.DeleteFunc(fieldParameters("list"), func(p map[string]any) bool {
			return p["name"] == "watch" || p["name"] == "allowWatchBookmarks"
		})
		return append(parameters, fieldParameters("delete")...)
	}
	return fieldParameters(verb)
}

// verbOptions are the options of the verbs.
var verbOptions = map[string]documented{
	"get": metav1.GetOptions{}, "list": metav1.ListOptions{}, "deletecollection": metav1.ListOptions{},
	"create": metav1.CreateOptions{}, "update": metav1.UpdateOptions{}, "patch": metav1.PatchOptions{},
	"delete": metav1.DeleteOptions{},
}

func fieldParameters(verb string) (parameters []map[string]any) {
	options := verbOptions[verb]
	t := reflect.TypeOf(options)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		field := t.Field(i).Type
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		kind := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.Int64: "integer", reflect.String: "string",
			reflect.Slice: "string"}[field.Kind()]
		if name != "" && kind != "" {
			parameters = append(parameters, parameter(name, "query", kind, options.SwaggerDoc()[name]))
		}
	}
	return parameters
}
