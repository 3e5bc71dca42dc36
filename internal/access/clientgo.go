package access

import (
	"go/types"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// typedMethods are the methods of clients that client-gen generated, with their verbs and subresource.
var typedMethods = map[string]struct {
	verbs       []string
	subresource string
}{
	"Get": {[]string{Get}, ""}, "List": {[]string{List}, ""}, "Watch": {[]string{Watch}, ""},
	"Create": {[]string{Create}, ""}, "Update": {[]string{Update}, ""}, "Patch": {[]string{Patch}, ""},
	"Apply": {[]string{Patch, Create}, ""}, "Delete": {[]string{Delete}, ""},
	"DeleteCollection": {[]string{DeleteCollection}, ""}, "UpdateStatus": {[]string{Update}, "status"},
	"ApplyStatus": {[]string{Patch}, "status"}, "GetScale": {[]string{Get}, "scale"},
	"UpdateScale": {[]string{Update}, "scale"}, "ApplyScale": {[]string{Patch}, "scale"},
	"GetLogs": {[]string{Get}, "log"}, "Evict": {[]string{Create}, "eviction"},
	"EvictV1": {[]string{Create}, "eviction"}, "EvictV1beta1": {[]string{Create}, "eviction"},
	"Bind": {[]string{Create}, "binding"}, "CreateToken": {[]string{Create}, "token"},
	"UpdateEphemeralContainers": {[]string{Update}, "ephemeralcontainers"}, "UpdateResize": {[]string{Update}, "resize"},
	"UpdateApproval": {[]string{Update}, "approval"}, "Finalize": {[]string{Update}, "finalize"},
	"ProxyGet": {[]string{Get}, "proxy"}, "Search": {[]string{List}, ""},
	"CreateWithEventNamespace": {[]string{Create}, ""}, "UpdateWithEventNamespace": {[]string{Update}, ""},
	"PatchWithEventNamespace": {[]string{Patch}, ""},
}

// forEveryone are the resources that Kubernetes' own roles allow every authenticated user to create.
var forEveryone = []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}

// typedClient recognizes the clients that client-gen generated, in client-go and in other modules, and interfaces in
// other packages that such clients implement.
func (s *site) typedClient() bool {
	if _, ok := typedMethods[s.target.Name()]; !ok || s.receiver() == nil {
		return false
	}
	if strings.Contains(s.pkg, "/typed/") {
		return s.typedCall(s.receiver().Type())
	}
	params := s.target.Signature().Params()
	if !s.call.IsInvoke() || params.Len() == 0 || types.TypeString(params.At(0).Type(), nil) != "context.Context" {
		return false
	}
	origins, _ := s.origins(place{s.receiver(), ""}, true, func(p place) bool { return p.in == "" && isTyped(p.v.Type()) })
	known := false
	for _, p := range origins {
		if p.in == "" && isTyped(p.v.Type()) && s.typedCall(p.v.Type()) {
			known = true
		}
	}
	return known
}

// isTyped reports whether client-gen generated a type.
func isTyped(t types.Type) bool {
	pkg, _ := typeName(t)
	return strings.Contains(pkg, "/typed/")
}

// typedCall records the requests of a typed client's method.
func (s *site) typedCall(client types.Type) bool {
	method := typedMethods[s.target.Name()]
	object := objectOf(client)
	if object == nil {
		return false
	}
	found, why := s.kinds.of(object)
	if why != "" {
		s.add([]Access{unproven(why, method.subresource)}, reasonLive, method.verbs...)
		return true
	}
	if slices.Contains(forEveryone, found.Plural) {
		return true
	}
	subresources := []string{method.subresource}
	if s.target.Name() == "Patch" || s.target.Name() == "Create" {
		subresources = s.variadicSubresources()
	}
	for _, sub := range subresources {
		access := found.access(sub)
		access.Names, access.Namespace = s.typedNames(), s.typedNamespace()
		s.add([]Access{access}, reasonOfTyped(method.verbs), method.verbs...)
	}
	return true
}

func reasonOfTyped(verbs []string) string {
	switch {
	case len(verbs) > 1:
		return reasonApply
	case slices.Contains([]string{Get, List, Watch}, verbs[0]):
		return reasonLive
	}
	return reasonWrite
}

// objectOf returns the type of the objects that a typed client, such as PodInterface, reads and writes, or nil.
func objectOf(client types.Type) types.Type {
	for _, name := range []string{"Get", "Create", "Update"} {
		method, _, _ := types.LookupFieldOrMethod(client, true, nil, name)
		fn, ok := method.(*types.Func)
		if !ok || fn.Signature().Results().Len() != 2 {
			continue
		}
		t := fn.Signature().Results().At(0).Type()
		if _, isPointer := types.Unalias(t).(*types.Pointer); isPointer {
			return t
		}
	}
	return nil
}

// typedNames returns the constant object name among the arguments of a typed client's method.
func (s *site) typedNames() []string {
	at := 1
	switch s.target.Name() {
	case "Get", "Delete", "Patch", "GetScale", "UpdateScale":
	case "GetLogs":
		at = 0
	default:
		return nil
	}
	if names, complete := s.constants(place{s.arg(at), ""}, false); complete && len(names) > 0 {
		return names
	}
	return nil
}

// typedNamespace returns the constant namespace of a typed client.
func (s *site) typedNamespace() string {
	origins, _ := s.origins(place{s.receiver(), ""}, true, nil)
	if len(origins) != 1 {
		return ""
	}
	call, ok := origins[0].v.(*ssa.Call)
	if !ok || len(call.Common().Args) == 0 {
		return ""
	}
	return s.constant(place{call.Common().Args[len(call.Common().Args)-1], ""})
}

// variadicSubresources returns the subresources among the arguments of Patch, if any.
func (s *site) variadicSubresources() []string {
	signature := s.target.Signature()
	if !signature.Variadic() {
		return []string{""}
	}
	names, _ := s.constants(place{s.arg(signature.Params().Len() - 1), element}, true)
	if len(names) == 0 {
		return []string{""}
	}
	return []string{strings.Join(names, "/")}
}

// dynamicClient recognizes the methods of the dynamic client, and records their requests.
func (s *site) dynamicClient() bool {
	if !within(s.pkg, clientGoPath+"/dynamic") {
		return false
	}
	if s.target.Name() == "ForResource" {
		s.watch(s.resources(place{s.arg(0), ""}, ""))
		return true
	}
	method, ok := typedMethods[s.target.Name()]
	if !ok || s.recv != "ResourceInterface" && s.recv != "NamespaceableResourceInterface" {
		return false
	}
	for _, access := range s.dynamicResources(s.receiver(), method.subresource, 0) {
		access.Names = s.typedNames()
		s.add([]Access{access}, reasonOfTyped(method.verbs), method.verbs...)
	}
	return true
}

// dynamicResources returns the resources that a dynamic client reads and writes.
func (s *site) dynamicResources(v ssa.Value, subresource string, depth int) (all []Access) {
	origins, _ := s.origins(place{v, ""}, true, nil)
	for _, p := range origins {
		call, ok := p.v.(*ssa.Call)
		switch {
		case ok && calledName(call.Common()) == "Resource":
			args := call.Common().Args
			all = append(all, s.resources(place{args[len(args)-1], ""}, subresource)...)
		case ok && calledName(call.Common()) == "Namespace" && call.Common().IsInvoke() && depth < 3:
			all = append(all, s.dynamicResources(call.Common().Value, subresource, depth+1)...)
		default:
			all = append(all, unproven("the resource of the dynamic client is not known", subresource))
		}
	}
	return all
}

// resources returns the resources that a schema.GroupVersionResource value can contain.
func (s *site) resources(at place, subresource string) (all []Access) {
	origins, complete := s.composed(at, "WithResource")
	for _, p := range origins {
		group, name, ok := s.resourceAt(p)
		if !ok {
			complete = false
			continue
		}
		all = append(all, s.kinds.plural(group, name).access(subresource))
	}
	if !complete || len(all) == 0 {
		all = append(all, unproven("the resource of the dynamic client is not a constant", subresource))
	}
	return all
}

func (s *site) resourceAt(p place) (group, name string, ok bool) {
	call, isCall := p.v.(*ssa.Call)
	switch {
	case !isCall:
		return s.named(p, "Resource")
	case len(call.Common().Args) == 2:
		return s.combined(call.Common().Args)
	}
	return "", "", false
}

// plural returns the kind of a resource that the program specifies by its plural.
func (k *kinds) plural(group, plural string) kind {
	for _, known := range k.builtin {
		if known.Group == group && known.Plural == plural {
			return known
		}
	}
	return kind{Group: group, Plural: plural}
}

// restVerbs are the verbs of the REST client's methods that begin a request.
var restVerbs = map[string]string{"Get": Get, "Post": Create, "Put": Update, "Patch": Patch, "Delete": Delete}

// restRequest recognizes requests that the program builds step by step, such as those for exec.
func (s *site) restRequest() bool {
	if s.pkg != clientGoPath+"/rest" || s.recv != "Request" {
		return false
	}
	switch s.target.Name() {
	case "Do", "DoRaw", "Stream", "Watch", "URL":
	default:
		return false
	}
	var resource, subresource, verb, path string
	var from ssa.Value
	for v := s.receiver(); v != nil; {
		call, ok := v.(*ssa.Call)
		if !ok {
			break
		}
		args := call.Common().Args
		name := calledName(call.Common())
		switch {
		case call.Common().IsInvoke() && restVerbs[name] != "":
			verb, from = restVerbs[name], call.Common().Value
			v = nil
			continue
		case len(args) == 0:
			v = nil
			continue
		case name == "Resource" && len(args) == 2:
			resource = s.constant(place{args[1], ""})
		case name == "SubResource" && len(args) == 2:
			names, _ := s.constants(place{args[1], element}, true)
			subresource = strings.Join(names, "/")
		case name == "AbsPath", name == "RequestURI":
			path = name
		}
		v = args[0]
	}
	s.requested(resource, subresource, verb, path, from)
	return true
}

// requested records a request that the program builds step by step. It skips paths that are not resources, because
// roles grant them with nonResourceURLs.
func (s *site) requested(resource, subresource, verb, path string, from ssa.Value) {
	if path != "" || verb == "" && resource == "" {
		return
	}
	group, known := s.groupOfClient(from)
	if resource == "" || verb == "" || !known {
		s.add([]Access{unproven("the resource of the request is not a constant", subresource)}, reasonLive, Get)
		return
	}
	s.add([]Access{s.kinds.plural(group, resource).access(subresource)}, "a request of a REST client", verb)
}

// groupOfClient returns the API group of a typed client's REST client.
func (s *site) groupOfClient(v ssa.Value) (string, bool) {
	if v == nil {
		return "", false
	}
	origins, _ := s.origins(place{v, ""}, true, nil)
	for _, p := range origins {
		call, ok := p.v.(*ssa.Call)
		if !ok || calledName(call.Common()) != "RESTClient" || !call.Common().IsInvoke() {
			continue
		}
		pkg, _ := typeName(call.Common().Value.Type())
		api := s.kinds.declarations("k8s.io/api/" + path.Base(path.Dir(pkg)) + "/" + path.Base(pkg))
		if api != nil && api.known {
			return api.group, true
		}
	}
	return "", false
}

// informerFactory recognizes the factories that informer-gen generated.
func (s *site) informerFactory() bool {
	if !strings.Contains(s.pkg, "/informers/") || s.target.Name() != "Informer" && s.target.Name() != "Lister" {
		return false
	}
	lister, _, _ := types.LookupFieldOrMethod(s.receiver().Type(), true, nil, "Lister")
	fn, ok := lister.(*types.Func)
	if !ok || fn.Signature().Results().Len() != 1 {
		return false
	}
	list, _, _ := types.LookupFieldOrMethod(fn.Signature().Results().At(0).Type(), true, nil, "List")
	if fn, ok = list.(*types.Func); !ok || fn.Signature().Results().Len() == 0 {
		return false
	}
	slice, ok := fn.Signature().Results().At(0).Type().(*types.Slice)
	if !ok {
		return false
	}
	s.watch(s.kindsOf(slice.Elem(), nil, ""))
	return true
}
