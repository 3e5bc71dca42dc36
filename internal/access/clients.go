package access

import (
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// verbsOf are the verbs of the clients' methods that write.
var verbsOf = map[string][]string{
	"Create": {Create}, "Update": {Update}, "Patch": {Patch}, "Apply": {Patch, Create}, "Delete": {Delete},
	"DeleteAllOf": {DeleteCollection},
}

// optionsOf are the option types by which the analysis recognizes a client's methods in any interface. The value
// reports whether the method reads or writes a subresource.
var optionsOf = map[string]bool{
	"GetOption": false, "ListOption": false, "CreateOption": false, "UpdateOption": false, "PatchOption": false,
	"DeleteOption": false, "DeleteAllOfOption": false, "ApplyOption": false,
	"SubResourceGetOption": true, "SubResourceCreateOption": true, "SubResourceUpdateOption": true,
	"SubResourcePatchOption": true, "SubResourceApplyOption": true,
}

// clientMethod reports whether the target is a method of a client, and whether this method reads or writes
// subresources. It skips the index of a cache, whose methods also have options, because an index reads the informer
// that NewIndex starts.
func (s *site) clientMethod() (known, subresource bool) {
	if s.recv == "Index" {
		return false, false
	}
	known, subresource = clientSignature(s.target.Signature())
	return known, subresource || strings.HasPrefix(s.recv, "SubResource") || s.recv == "StatusWriter"
}

// clientSignature reports whether a method has options of a client, and whether they are of a subresource client.
func clientSignature(signature *types.Signature) (known, subresource bool) {
	if signature.Recv() == nil || !signature.Variadic() || signature.Params().Len() < 2 {
		return false, false
	}
	slice := signature.Params().At(signature.Params().Len() - 1).Type().(*types.Slice)
	pkg, option := typeName(slice.Elem())
	if pkg != controllerRuntimePath+"/pkg/client" && pkg != runtimePath+"/client" {
		return false, false
	}
	subresource, known = optionsOf[option]
	return known, subresource
}

// objectClient recognizes the methods of clients, readers and writers of objects, and records their requests.
func (s *site) objectClient() bool {
	known, subresource := s.clientMethod()
	if !known || subresource {
		return false
	}
	name := s.target.Name()
	switch name {
	case "Get":
		s.read(s.withKey(s.objects(s.arg(2), ""), s.arg(1)), Get, s.arg(2), s.arg(3))
		return true
	case "List":
		s.read(s.anyName(s.objects(s.arg(1), "")), List, s.arg(1), s.arg(2))
		return true
	case "Watch":
		s.add(s.anyName(s.objects(s.arg(1), "")), "a watch", Watch)
		return true
	case "Patch":
		if s.isApply(s.arg(2)) {
			name = "Apply"
		}
	}
	all, reason := s.objects(s.arg(1), ""), reasonWrite
	switch name {
	case "Apply":
		reason = reasonApply
	case "DeleteAllOf":
		all = s.anyName(all)
	}
	s.add(all, reason, verbsOf[name]...)
	return true
}

// subresourceClient recognizes the methods of subresource clients, and records their requests.
func (s *site) subresourceClient() bool {
	known, subresource := s.clientMethod()
	if !known || !subresource {
		return false
	}
	name := s.target.Name()
	verbs := verbsOf[name]
	switch name {
	case "Get":
		verbs = []string{Get}
	case "Apply":
		verbs = []string{Patch} // an apply never creates a subresource
	}
	subresources, complete := s.subresources()
	for _, sub := range subresources {
		s.add(s.objects(s.arg(1), sub), reasonStatus, verbs...)
	}
	if !complete || len(subresources) == 0 {
		s.add([]Access{unproven("the name of the subresource is not a constant", "")}, reasonStatus, verbs...)
	}
	return true
}

// subresources returns the names of the subresources that the receiver writes.
func (s *site) subresources() (names []string, complete bool) {
	origins, complete := s.origins(place{s.receiver(), ""}, true, nil)
	for _, p := range origins {
		call, ok := p.v.(*ssa.Call)
		switch {
		case ok && calledName(call.Common()) == "Status":
			names = append(names, "status")
		case ok && calledName(call.Common()) == "SubResource":
			args := call.Common().Args
			found, known := s.constants(place{args[len(args)-1], ""}, true)
			names, complete = append(names, found...), complete && known
		case s.recv == "StatusWriter", s.recv == "SubResourceWriter" && !ok:
			names = append(names, "status") // a field or parameter that holds a status writer
		default:
			complete = false
		}
	}
	slices.Sort(names)
	return slices.Compact(names), complete
}

// isApply reports whether a patch is a server-side apply.
func (s *site) isApply(v ssa.Value) bool {
	origins, _ := s.origins(place{v, ""}, true, nil)
	for _, p := range origins {
		switch v := p.v.(type) {
		case *ssa.Global:
			if v.Name() == "Apply" {
				return true
			}
		case *ssa.Call:
			args := v.Common().Args
			if calledName(v.Common()) == "RawPatch" && len(args) == 2 &&
				strings.HasPrefix(s.constant(place{args[0], ""}), "application/apply-patch") {
				return true
			}
		}
	}
	return false
}

// withKey sets the object names that a key can contain.
func (s *site) withKey(all []Access, key ssa.Value) []Access {
	toName, hasName := pathTo(key.Type(), "Name")
	toNamespace, hasNamespace := pathTo(key.Type(), "Namespace")
	if !hasName || !hasNamespace {
		return s.anyName(all)
	}
	names, complete := s.constants(place{key, toName}, false)
	namespace := s.constant(place{key, toNamespace})
	for i := range all {
		all[i].Names = nil
		if complete && len(names) > 0 {
			all[i].Names = names
		}
		all[i].Namespace = namespace
	}
	return all
}

// anyName removes the object names, because requests for collections have none.
func (s *site) anyName(all []Access) []Access {
	for i := range all {
		all[i].Names = nil
	}
	return all
}

// names returns the constant names of an object that a composite literal creates, or nil.
func (s *site) names(v ssa.Value) []string {
	roots := s.roots(v)
	if len(roots) != 1 {
		return nil
	}
	alloc, ok := roots[0].(*ssa.Alloc)
	path, hasName := pathTo(roots[0].Type(), "ObjectMeta", "Name")
	if !ok || !hasName || setsName(alloc) {
		return nil
	}
	names, complete := s.constants(place{alloc, pointee + path}, false)
	if !complete || slices.Contains(names, "") {
		return nil
	}
	return names
}

// setsName reports whether the program calls SetName of an object.
func setsName(alloc *ssa.Alloc) bool {
	for _, user := range *alloc.Referrers() {
		switch user.(type) {
		case *ssa.FieldAddr, *ssa.MakeInterface:
			for _, use := range *user.(ssa.Value).Referrers() {
				if call, ok := use.(ssa.CallInstruction); ok && calledName(call.Common()) == "SetName" {
					return true
				}
			}
		}
	}
	return false
}

// source is where a client reads from.
type source int

const (
	fromCache   source = iota // controller-runtime's cache, which starts an informer
	fromWatched               // kctrl's cache; reads of unwatched kinds go directly to the API server
	fromServer
)

// read records the requests of a client's read.
func (s *site) read(all []Access, verb string, object, options ssa.Value) {
	untyped := false
	if found, _ := s.types(object); len(found) > 0 {
		untyped = strings.HasPrefix(shortType(found[0]), "*unstructured.")
	}
	for _, from := range s.sources() {
		for _, access := range all {
			switch {
			case from == fromServer, s.isLive(options), access.Unproven != "":
				access.Verb, access.Reason = verb, reasonLive
				s.record(access)
			case from == fromWatched:
				access.Site, access.Verb = s.site(), verb
				s.reads = append(s.reads, access)
			case untyped && !s.clientOptions().untyped && !s.readsCache(), s.clientOptions().uncached[access.Resource]:
				access.Verb, access.Reason = verb, "a live read: the client does not cache the kind"
				s.record(access)
			default:
				access.Names = nil
				s.add([]Access{access}, reasonCached, List, Watch)
			}
		}
	}
}

// isLive reports whether the options of a read make kctrl's client read from the API server.
func (s *site) isLive(options ssa.Value) bool {
	if options == nil {
		return false
	}
	found, _ := s.flow.types(place{options, element})
	return slices.ContainsFunc(found, func(t types.Type) bool {
		_, name := typeName(t)
		return name == "LiveRead" || name == "NotOlderThan"
	})
}

// clientsOf are the functions and methods that return a client, with the source from which the client reads.
var clientsOf = map[string]source{
	"GetClient": fromCache, "GetCache": fromCache, "GetAPIReader": fromServer, "NewWithWatch": fromServer,
	"Client": fromWatched, "Cache": fromWatched, "Live": fromServer, "New": fromServer, "NewClient": fromWatched,
	"NewCached": fromWatched, "ForConfig": fromWatched,
}

// sources returns the sources from which the receiver can read.
func (s *site) sources() (all []source) {
	if s.recv == "REST" {
		return []source{fromServer}
	}
	usual := fromCache
	if within(s.pkg, runtimePath) {
		usual = fromWatched
	}
	for _, function := range s.clients(s.receiver(), 0) {
		from, isKnown := clientsOf[function]
		if !isKnown {
			from = usual
		}
		if within(s.pkg, runtimePath) && from == fromCache {
			from = fromWatched
		}
		if !slices.Contains(all, from) {
			all = append(all, from)
		}
	}
	if len(all) == 0 {
		all = []source{usual}
	}
	return all
}

// clients returns the names of the functions that create the client v. It looks through functions that wrap clients.
// The name "" represents another origin.
func (s *site) clients(v ssa.Value, depth int) (functions []string) {
	origins, _ := s.origins(place{v, ""}, true, nil)
	for _, p := range origins {
		switch v := p.v.(type) {
		case *ssa.MakeInterface:
			functions = append(functions, s.wrapped(v, depth)...)
		case *ssa.Call:
			switch name := calledName(v.Common()); name {
			case "NewNamespacedClient", "WithFieldOwner", "WithFieldValidation", "NewDryRunClient", "Intercept":
				functions = append(functions, s.wrapped(v.Common().Args[0], depth)...)
			default:
				functions = append(functions, name)
			}
		case *ssa.Extract:
			if call, ok := v.Tuple.(*ssa.Call); ok {
				functions = append(functions, calledName(call.Common()))
				continue
			}
			functions = append(functions, "")
		default:
			functions = append(functions, "")
		}
	}
	return functions
}

// wrapped returns the names of the functions that create the client in an interface or an argument.
func (s *site) wrapped(v ssa.Value, depth int) []string {
	if m, ok := v.(*ssa.MakeInterface); ok {
		if _, name := typeName(m.X.Type()); name == "REST" {
			return []string{"Live"}
		}
		v = m.X
	}
	if depth > 5 {
		return []string{""}
	}
	return s.clients(v, depth+1)
}

// readsCache reports whether the receiver is a cache, which also serves unstructured objects.
func (s *site) readsCache() bool {
	functions := s.clients(s.receiver(), 0)
	return len(functions) > 0 && !slices.ContainsFunc(functions, func(name string) bool { return name != "GetCache" })
}

// clientSettings are the options of controller-runtime's client that decide what it caches.
type clientSettings struct {
	untyped  bool
	uncached map[Resource]bool
}

func (s *site) clientOptions() *clientSettings {
	if s.options != nil {
		return s.options
	}
	o := &clientSettings{uncached: map[Resource]bool{}}
	s.analysis.options = o
	for key, values := range s.stores {
		if !strings.HasSuffix(key.structure, controllerRuntimePath+"/pkg/client.CacheOptions") {
			continue
		}
		for _, v := range values {
			if c, ok := v.(*ssa.Const); ok {
				o.untyped = o.untyped || c.Value != nil && c.Value.Kind() == constant.Bool && constant.BoolVal(c.Value)
				continue
			}
			found, _ := s.flow.types(place{v, element})
			for _, t := range found {
				if k, why := s.kinds.of(t); why == "" {
					o.uncached[k.access("").Resource] = true
				}
			}
		}
	}
	return o
}
