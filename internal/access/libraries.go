package access

import (
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
)

// watchersOf are the functions that start an informer, by import path and name. The value is the index of the argument
// that determines the kind, or -1 for the first type argument.
var watchersOf = map[string]int{
	controllerRuntimePath + "/pkg/builder Builder.For":             0,
	controllerRuntimePath + "/pkg/builder Builder.Owns":            0,
	controllerRuntimePath + "/pkg/builder Builder.Watches":         0,
	controllerRuntimePath + "/pkg/builder Builder.WatchesMetadata": 0,
	controllerRuntimePath + "/pkg/source Kind":                     1,
	controllerRuntimePath + "/pkg/client FieldIndexer.IndexField":  1,
	controllerRuntimePath + "/pkg/cache Informers.GetInformer":     1,
	controllerRuntimePath + "/pkg/cache Cache.GetInformer":         1,

	runtimePath + "/controller For":                     -1,
	runtimePath + "/controller Builder.For":             0,
	runtimePath + "/controller Builder.Owns":            0,
	runtimePath + "/controller Builder.OwnsOptional":    0,
	runtimePath + "/controller Builder.Watches":         0,
	runtimePath + "/controller Builder.WatchesOptional": 0,
	runtimePath + "/controller Builder.WatchesMetadata": 0,
	runtimePath + "/source Kind":                        1,
	runtimePath + "/source Keys":                        1,
	runtimePath + "/cache NewIndex":                     1,
	runtimePath + "/cache Cache.IndexField":             1,
	runtimePath + "/cache FieldIndexer.IndexField":      1,
	runtimePath + "/cache Cache.Informer":               0,
	runtimePath + "/registry Context.Informer":          0,
	runtimePath + "/client NewListWatcher":              1,
	runtimePath + "/informer FromClient":                1,
}

// key returns the import path and the name of the target, as in the tables of this file. It omits the prefix Typed of
// controller-runtime's generic names.
func (s *site) key() string {
	if s.recv != "" {
		return s.pkg + " " + strings.TrimPrefix(s.recv, "Typed") + "." + s.target.Name()
	}
	return s.pkg + " " + strings.TrimPrefix(s.target.Name(), "Typed")
}

// watchers recognizes the functions that start informers.
func (s *site) watchers() bool {
	index, ok := watchersOf[s.key()]
	if !ok {
		return s.kindInformer() || s.cachedReads()
	}
	var all []Access
	if index < 0 {
		all = s.kindsOf(s.typeArgument(0), nil, "")
	} else {
		all = s.anyName(s.objects(s.arg(index), ""))
	}
	s.watch(all)
	return true
}

// watch records the requests of informers. For a source.Kind of old controller-runtime releases, store records them
// where the program sets its type.
func (s *site) watch(all []Access) {
	all = slices.DeleteFunc(all, func(a Access) bool { return strings.Contains(a.Unproven, "source.Kind") })
	for _, access := range all {
		if within(s.pkg, runtimePath) && access.Unproven == "" {
			s.watched[access.Resource] = true
		}
	}
	s.add(all, reasonInformer, List, Watch)
}

// kindInformer recognizes the functions that start an informer for a group, version and kind.
func (s *site) kindInformer() bool {
	var at int
	switch s.key() {
	case runtimePath + "/cache Cache.InformerForKind", runtimePath + "/registry Context.MetadataInformer":
	case controllerRuntimePath + "/pkg/cache Informers.GetInformerForKind",
		controllerRuntimePath + "/pkg/cache Cache.GetInformerForKind":
		at = 1
	default:
		return false
	}
	if others, forwards := s.forwarded(s.arg(at)); forwards && len(others) == 0 {
		return true
	}
	gvks, complete := s.structured(place{s.arg(at), ""})
	s.watch(s.ofKinds(gvks, complete, "", "the kind of the informer is not a constant"))
	return true
}

// cachedReads recognizes the functions of kctrl's runtime that read from a cache.
func (s *site) cachedReads() bool {
	switch s.key() {
	case runtimePath + "/cache View":
		s.read(s.withKey(s.objects(s.arg(3), ""), s.arg(2)), Get, s.arg(3), s.arg(4))
	case runtimePath + "/cache Each":
		s.read(s.anyName(s.objects(s.arg(2), "")), List, s.arg(2), s.arg(3))
	default:
		return false
	}
	return true
}

// utilities recognizes functions that write with a client argument, and functions that create owner references.
func (s *site) utilities() bool {
	if s.pkg == "k8s.io/apimachinery/pkg/apis/meta/v1" && s.target.Name() == "NewControllerRef" {
		all := s.objects(s.arg(0), "finalizers")
		if gvks, complete := s.structured(place{s.arg(1), ""}); complete && len(gvks) > 0 {
			all = s.ofKinds(gvks, true, "finalizers", "")
		}
		s.owner(all)
		return true
	}
	if s.recv == "OwnerReferenceApplyConfiguration" && s.target.Name() == "WithBlockOwnerDeletion" {
		if !isFalse(s.arg(0)) {
			s.appliedOwner()
		}
		return true
	}
	ours := s.pkg == runtimePath+"/controllerutil"
	if !ours && s.pkg != controllerRuntimePath+"/pkg/controller/controllerutil" {
		return false
	}
	switch s.target.Name() {
	case "CreateOrUpdate":
		s.createOr(Update)
	case "CreateOrPatch":
		s.createOr(Patch)
	case "SetControllerReference":
		if !s.unblocked(s.arg(3)) {
			s.owner(s.objects(s.arg(0), "finalizers"))
		}
	case "SetOwnerReference":
		if found, _ := s.flow.types(place{s.arg(3), element}); len(found) > 0 && !s.unblocked(s.arg(3)) {
			s.owner(s.objects(s.arg(0), "finalizers"))
		}
	case "ApplyIfDifferent", "Apply":
		s.liveThen("", Patch, Create)
	case "ApplyStatusIfDifferent", "ApplyStatus":
		s.liveThen("status", Patch)
	case "DeleteWithUID":
		s.add(s.objects(s.arg(2), ""), reasonWrite, Delete)
	case "AsReconciler":
		s.readKind(s.typeArgument(0))
	default:
		return false
	}
	return true
}

// createOr records the requests of CreateOrUpdate and CreateOrPatch.
func (s *site) createOr(verb string) {
	all := s.objects(s.arg(2), "")
	reading := *s
	reading.client = s.arg(1)
	reading.read(all, Get, s.arg(2), nil)
	s.add(all, reasonWrite, Create, verb)
}

// liveThen records the requests of ApplyIfDifferent: a read from the API server, and an apply.
func (s *site) liveThen(subresource string, verbs ...string) {
	at := 2
	if s.recv != "" {
		at = 1
	}
	s.add(s.objects(s.arg(at), ""), "a live read before an apply", Get)
	s.add(s.objects(s.arg(at), subresource), reasonApply, verbs...)
}

// readKind records the read that provides a reconciler with its objects.
func (s *site) readKind(t types.Type) {
	if t == nil || types.IsInterface(t) {
		s.record(unproven("the kind of the reconciler is not known", ""))
		return
	}
	for _, access := range s.kindsOf(t, nil, "") {
		if within(s.pkg, runtimePath) {
			access.Site, access.Verb = s.site(), Get
			s.reads = append(s.reads, access)
			continue
		}
		s.add([]Access{access}, reasonCached, List, Watch)
	}
}

// owner records references that block the deletion of their owners.
func (s *site) owner(all []Access) {
	for i := range all {
		all[i].Names = nil
		all[i].Note = "where the admission plugin OwnerReferencesPermissionEnforcement is on, as on OpenShift"
	}
	s.add(all, reasonOwner, Update)
}

// unblocked reports whether options have WithBlockOwnerDeletion(false).
func (s *site) unblocked(options ssa.Value) bool {
	if options == nil {
		return false
	}
	found, _ := s.origins(place{options, element}, true, nil)
	return slices.ContainsFunc(found, func(p place) bool {
		call, ok := p.v.(*ssa.Call)
		if !ok || calledName(call.Common()) != "WithBlockOwnerDeletion" || len(call.Common().Args) != 1 {
			return false
		}
		c, ok := call.Common().Args[0].(*ssa.Const)
		return ok && c.Value != nil && !constant.BoolVal(c.Value)
	})
}

var (
	coreEvents = Access{Resource: Resource{"", "events"}, Scope: ScopeNamespaced}
	newEvents  = Access{Resource: Resource{"events.k8s.io", "events"}, Scope: ScopeNamespaced}
)

// recorders recognizes event recorders.
func (s *site) recorders() bool {
	name := s.target.Name()
	switch {
	case within(s.pkg, clientGoPath+"/tools/record") && s.recv == "EventRecorder",
		within(s.pkg, clientGoPath+"/tools/record") && s.recv == "EventRecorderLogger":
		if strings.Contains(name, "Event") {
			s.add([]Access{coreEvents}, reasonEvents, Create, Patch)
		}
	case (within(s.pkg, clientGoPath+"/tools/events") || within(s.pkg, clientGoPath+"/tools/internal/events")) &&
		strings.HasPrefix(s.recv, "EventRecorder"):
		if name == "Eventf" {
			s.add([]Access{newEvents}, reasonEvents, Create, Patch)
		}
	case within(s.pkg, runtimePath) && name == "EventRecorder", s.pkg == runtimePath+"/events" && name == "NewSink":
		s.add([]Access{newEvents}, reasonEvents, Create, Patch)
	case s.pkg == runtimePath+"/events" && name == "NewCoreSink",
		s.pkg == runtimePath+"/compat/managers" && name == "EventRecorderFor":
		s.add([]Access{coreEvents}, reasonEvents, Create, Patch)
	default:
		return false
	}
	return true
}

// managers recognizes the functions that run managers and leader elections.
func (s *site) managers() bool {
	switch s.key() {
	case runtimePath + "/manager Main", runtimePath + "/registry Registry.Main":
		s.lease(s.electionID())
		s.add(reviews, reasonMetrics, Create)
	case clientGoPath + "/tools/leaderelection NewLeaderElector", clientGoPath + "/tools/leaderelection RunOrDie":
		s.lease("")
	default:
		return false
	}
	return true
}

// electionID returns the constant name of the lease in manager.Options, or "".
func (s *site) electionID() string {
	for _, arg := range s.call.Args {
		path, ok := pathTo(arg.Type(), "LeaderElection", "ID")
		if ok && strings.HasSuffix(types.TypeString(arg.Type(), nil), "manager.Options") {
			return s.constant(place{arg, path})
		}
	}
	return ""
}

// lease records the requests of leader election.
func (s *site) lease(name string) {
	lease := Access{Resource: Resource{"coordination.k8s.io", "leases"}, Scope: ScopeNamespaced, Namespace: PodNamespace}
	s.add([]Access{lease}, reasonLease, Create)
	if name != "" {
		lease.Names = []string{name}
	}
	s.add([]Access{lease}, reasonLease, Get, Update)
}

// reviews are the requests of a metrics server with authorization, without their verb.
var reviews = []Access{
	{Resource: Resource{"authentication.k8s.io", "tokenreviews"}, Scope: ScopeCluster},
	{Resource: Resource{"authorization.k8s.io", "subjectaccessreviews"}, Scope: ScopeCluster},
}

// libraryReviews records the requests of a metrics server whose options a linked library may set, such as Cluster API's
// flags.
func (a *analysis) libraryReviews(mains []*packages.Package) {
	found := false
	a.p.visit(mains, func(pkg *packages.Package) bool {
		known := isFramework(pkg.PkgPath) || isMain(pkg) // store recognizes the option there
		found = found || !known && pkg.Imports[controllerRuntimePath+"/pkg/metrics/filters"] != nil
		return !found
	})
	if !found {
		return
	}
	for _, review := range reviews {
		review.Verb, review.Reason, review.Optional = Create, reasonMetrics, true
		a.keep(review)
	}
}

// store records the requests that follow from an option that the program sets in a struct of a library.
func (a *analysis) store(in *reached, store *ssa.Store) {
	addr, ok := store.Addr.(*ssa.FieldAddr)
	if !ok {
		return
	}
	owner := namedOf(addr.X.Type())
	if owner == nil || owner.Obj().Pkg() == nil {
		return
	}
	field := "." + owner.Obj().Name() + "." + fieldAt(addr).name
	s := &site{analysis: a, in: in, pos: store.Pos(), pkg: owner.Obj().Pkg().Path(), call: &ssa.CallCommon{}}
	if !s.pos.IsValid() {
		s.pos = addr.Pos()
	}
	s.name = owner.Obj().Pkg().Name() + field
	switch s.pkg + field {
	case controllerRuntimePath + "/pkg/manager.Options.LeaderElection":
		if !isFalse(store.Val) {
			s.lease("")
			events := Access{Resource: coreEvents.Resource, Scope: ScopeNamespaced, Namespace: PodNamespace}
			s.add([]Access{events}, "leader election records events", Create)
			events.Optional = true // a process records each of these events once, and a recorder patches only repeated ones
			s.add([]Access{events}, "leader election records events", Patch)
		}
	case runtimePath + "/manager.LeaderElectionOptions.Enabled":
		if !isFalse(store.Val) {
			s.lease("")
		}
	case runtimePath + "/manager.WebhookOptions.Targets":
		s.targets(addr, store.Val)
	case controllerRuntimePath + "/pkg/metrics/server.Options.FilterProvider":
		value := store.Val
		if converted, ok := value.(*ssa.ChangeType); ok {
			value = converted.X
		}
		if fn, ok := value.(*ssa.Function); ok && fn.Name() == "WithAuthenticationAndAuthorization" {
			s.add(reviews, reasonMetrics, Create)
		}
	case controllerRuntimePath + "/pkg/source.Kind.Type":
		s.watch(s.anyName(s.objects(store.Val, "")))
	case "k8s.io/apimachinery/pkg/apis/meta/v1.OwnerReference.BlockOwnerDeletion":
		s.reference(addr, store.Val)
	}
}

func isFalse(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && (c.Value == nil || c.Value.Kind() == constant.Bool && !constant.BoolVal(c.Value))
}

// reference records an owner reference that a composite literal creates.
func (s *site) reference(addr *ssa.FieldAddr, block ssa.Value) {
	if isFalse(block) || s.isFalsePointer(block) {
		return
	}
	toKind, _ := pathTo(addr.X.Type(), "Kind")
	toVersion, _ := pathTo(addr.X.Type(), "APIVersion")
	kinds, complete := s.kindsAt(place{addr.X, pointee + toKind})
	groups, known := s.groupsAt(place{addr.X, pointee + toVersion})
	var found []gvk
	if complete && known && len(kinds) == 1 && len(groups) == 1 {
		found = []gvk{{groups[0], kinds[0]}}
	}
	s.owner(s.ofKinds(found, true, "finalizers", unknownOwner))
}

const unknownOwner = "the kind of the owner is not a constant"

// appliedOwner records an owner reference that a chain of an apply configuration's methods creates.
func (s *site) appliedOwner() {
	var kinds, versions []ssa.Value
	note := func(call *ssa.Call) {
		switch calledName(call.Common()) {
		case "WithKind":
			kinds = append(kinds, call.Common().Args[1])
		case "WithAPIVersion":
			versions = append(versions, call.Common().Args[1])
		}
	}
	v := s.receiver()
	for {
		call, ok := v.(*ssa.Call)
		if !ok || call.Common().IsInvoke() || len(call.Common().Args) != 2 {
			break
		}
		note(call)
		v = call.Common().Args[0]
	}
	for next := s.value; next != nil; {
		users := *next.Referrers()
		next = nil
		for _, user := range users {
			if call, ok := user.(*ssa.Call); ok && strings.HasPrefix(calledName(call.Common()), "With") &&
				len(call.Common().Args) == 2 {
				note(call)
				next = call
			}
		}
	}
	found, complete := s.pairs(versions, kinds)
	if !complete || len(found) != 1 {
		found = nil
	}
	s.owner(s.ofKinds(found, true, "finalizers", unknownOwner))
}

// isFalsePointer reports whether a value is a pointer to false, such as ptr.To(false) and new(false).
func (s *site) isFalsePointer(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Call:
		args := v.Common().Args
		return len(args) == 1 && isFalse(args[0])
	case *ssa.Alloc:
		found, complete := s.origins(place{v, pointee}, false, nil)
		return complete && !slices.ContainsFunc(found, func(p place) bool { return !isFalse(p.v) })
	}
	return false
}
