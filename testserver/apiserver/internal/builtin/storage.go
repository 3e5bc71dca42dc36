package builtin

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
)

var storageV1 = storagev1.SchemeGroupVersion

// StorageKinds are those of storage.k8s.io.
func StorageKinds() []Kind {
	return []Kind{drivers(), driverNodes(), capacities(), storageClasses(), attachments(), attributesClasses()}
}

func storageDefaults() []Defaulter {
	return []Defaulter{
		DefaultsOf(func(class *storagev1.StorageClass) {
			SetPointer(&class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
			SetPointer(&class.VolumeBindingMode, storagev1.VolumeBindingImmediate)
		}),
		DefaultsOf(func(driver *storagev1.CSIDriver) {
			spec := &driver.Spec
			SetPointer(&spec.AttachRequired, true)
			SetPointer(&spec.PodInfoOnMount, false)
			SetPointer(&spec.StorageCapacity, false)
			SetPointer(&spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
			if len(spec.VolumeLifecycleModes) == 0 {
				spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
			}
			SetPointer(&spec.RequiresRepublish, false)
			SetPointer(&spec.SELinuxMount, false)
			SetPointer(&spec.PreventPodSchedulingIfMissing, false)
		}),
	}
}

func isDefaultStorage(class *storagev1.StorageClass) bool {
	return class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" || class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

// defaultStorageClass is the one for claims that name none: the newest that says it is, or nothing.
func (cluster Cluster) defaultStorageClass() string {
	var usual *storagev1.StorageClass
	for _, object := range cluster.ReadAll("storage.k8s.io", "v1", "storageclasses", "") {
		class := object.(*storagev1.StorageClass)
		if isDefaultStorage(class) && (usual == nil || usual.CreationTimestamp.Before(&class.CreationTimestamp)) {
			usual = class
		}
	}
	if usual == nil {
		return ""
	}
	return usual.Name
}

func storageClasses() Kind {
	type class = storagev1.StorageClass
	doc := class{}.SwaggerDoc()
	check := func(c *class) field.ErrorList {
		f := Findings{ValidateMetadata(&c.ObjectMeta, false, validation.NameIsDNSSubdomain)}
		f.provisioner(c.Provisioner, field.NewPath("provisioner"))
		f.parameters(c.Parameters, field.NewPath("parameters"))
		if Deref(c.ReclaimPolicy) != "" {
			oneOf(&f, field.NewPath("reclaimPolicy"), *c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)
		}
		oneOf(&f, field.NewPath("volumeBindingMode"), Deref(c.VolumeBindingMode), storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)
		f.topologies(c.AllowedTopologies, field.NewPath("allowedTopologies"))
		return f.List
	}
	return Kind{
		GVK: storageV1.WithKind("StorageClass"), Resource: "storageclasses", Short: []string{"sc"}, Returned: true,
		Columns: []Column{
			nameOr(func(c *class) string {
				if isDefaultStorage(c) {
					return c.Name + " (default)"
				}
				return c.Name
			}),
			Col("Provisioner", "string", doc["provisioner"], func(c *class) any { return c.Provisioner }),
			Col("ReclaimPolicy", "string", doc["reclaimPolicy"], func(c *class) any { return string(Deref(c.ReclaimPolicy)) }),
			Col("VolumeBindingMode", "string", doc["volumeBindingMode"], func(c *class) any { return string(Deref(c.VolumeBindingMode)) }),
			Col("AllowVolumeExpansion", "string", doc["allowVolumeExpansion"], func(c *class) any { return Deref(c.AllowVolumeExpansion) }),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true,
			Validate:      Typed1(check),
			Warnings:      Typed1(storageClassWarnings),
			ValidateUpdate: Typed2(func(c, old *class) field.ErrorList {
				f := Findings{append(ValidateMetadataUpdate(c, old), check(c)...)}
				f.unchanged(field.NewPath("parameters"), c.Parameters, old.Parameters)
				f.unchanged(field.NewPath("provisioner"), c.Provisioner, old.Provisioner)
				f.unchanged(field.NewPath("reclaimPolicy"), c.ReclaimPolicy, old.ReclaimPolicy)
				f.unchanged(field.NewPath("volumeBindingMode"), c.VolumeBindingMode, old.VolumeBindingMode)
				return f.List
			}),
		},
	}
}

func (f *Findings) provisioner(name string, at *field.Path) {
	if name == "" {
		f.Required(at, "")
	} else {
		f.qualified(at, strings.ToLower(name))
	}
}

// parameters checks those of a driver.
func (f *Findings) parameters(parameters map[string]string, at *field.Path) {
	const most, largest = 512, 256 << 10
	if len(parameters) > most {
		f.Add(field.TooLong(at, "", most))
		return
	}
	size := 0
	for name, value := range parameters {
		if name == "" {
			f.invalid(at, name, "field can not be empty.")
		}
		size += len(name) + len(value)
	}
	if size > largest {
		f.Add(field.TooLong(at, "", largest))
	}
}

func attributesClasses() Kind {
	type class = storagev1.VolumeAttributesClass
	driver, parameters := field.NewPath("driverName"), field.NewPath("parameters")
	check := func(c *class) field.ErrorList {
		f := Findings{ValidateMetadata(&c.ObjectMeta, false, validation.NameIsDNSSubdomain)}
		f.provisioner(c.DriverName, driver)
		f.parameters(c.Parameters, parameters)
		if len(c.Parameters) == 0 {
			f.Required(parameters, "must contain at least one key/value pair")
		}
		return f.List
	}
	return Kind{
		GVK: storageV1.WithKind("VolumeAttributesClass"), Resource: "volumeattributesclasses", Short: []string{"vac"}, Returned: true,
		Columns: []Column{
			Col("DriverName", "string", class{}.SwaggerDoc()["driverName"], func(c *class) any { return c.DriverName }),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true,
			Validate:      Typed1(check),
			ValidateUpdate: Typed2(func(c, old *class) field.ErrorList {
				f := Findings{ValidateMetadataUpdate(c, old)}
				if c.DriverName != old.DriverName {
					f.forbidden(driver, "updates to driverName are forbidden.")
				}
				if !reflect.DeepEqual(c.Parameters, old.Parameters) {
					f.forbidden(parameters, "updates to parameters are forbidden.")
				}
				return append(f.List, check(c)...)
			}),
		},
		Admit: func(_ Cluster, a admission.Attributes) error {
			if c, ok := a.GetObject().(*class); ok && a.GetOperation() == admission.Create {
				protect(c, "kubernetes.io/vac-protection")
			}
			return nil
		},
	}
}

func capacities() Kind {
	type capacity = storagev1.CSIStorageCapacity
	check := func(c *capacity, lenient bool) field.ErrorList {
		f := Findings{ValidateMetadata(&c.ObjectMeta, true, validation.NameIsDNSSubdomain)}
		options := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: lenient}
		f.Add(metav1validation.ValidateLabelSelector(c.NodeTopology, options, field.NewPath("nodeTopology"))...)
		f.subdomain(field.NewPath("storageClassName"), c.StorageClassName)
		if c.Capacity != nil {
			f.notNegativeQuantity(field.NewPath("capacity"), *c.Capacity)
		}
		return f.List
	}
	return Kind{
		GVK: storageV1.WithKind("CSIStorageCapacity"), Resource: "csistoragecapacities", Namespaced: true,
		Rules: Rules{
			Validate: Typed1(func(c *capacity) field.ErrorList { return check(c, false) }),
			Warnings: Typed1(capacityWarnings),
			ValidateUpdate: Typed2(func(c, old *capacity) field.ErrorList {
				lenient := len(metav1validation.ValidateLabelSelector(old.NodeTopology, metav1validation.LabelSelectorValidationOptions{}, nil)) > 0
				f := Findings{append(check(c, lenient), ValidateMetadataUpdate(c, old)...)}
				if !equality.Semantic.DeepEqual(c.NodeTopology, old.NodeTopology) {
					f.invalid(field.NewPath("nodeTopology"), c.NodeTopology, "field is immutable")
				}
				f.immutable(field.NewPath("storageClassName"), c.StorageClassName, old.StorageClassName)
				return f.List
			}),
		},
	}
}

func (f *Findings) topologies(terms []corev1.TopologySelectorTerm, at *field.Path) {
	// The API server compares each with the ones before, and with as many that are empty as there are terms.
	known := make([]map[string]sets.Set[string], len(terms))
	for i, term := range terms {
		f.topologyTerm(term, at.Index(i))
		values := map[string]sets.Set[string]{}
		for _, expression := range term.MatchLabelExpressions {
			values[expression.Key] = sets.New(expression.Values...)
		}
		for _, other := range known {
			if equality.Semantic.DeepEqual(values, other) {
				f.Add(field.Duplicate(at.Index(i).Child("matchLabelExpressions"), ""))
			}
		}
		known = append(known, values)
	}
}

func (f *Findings) topologyTerm(term corev1.TopologySelectorTerm, at *field.Path) {
	keys := sets.New[string]()
	for i, expression := range term.MatchLabelExpressions {
		here := at.Child("matchLabelExpressions").Index(i)
		if len(expression.Values) == 0 {
			f.Required(here.Child("values"), "")
		}
		for j, value := range expression.Values {
			if slices.Contains(expression.Values[:j], value) {
				f.Add(field.Duplicate(here.Child("values").Index(j), value))
			}
		}
		f.labelName(here.Child("key"), expression.Key)
		if keys.Has(expression.Key) {
			f.Add(field.Duplicate(here.Child("key"), expression.Key))
		}
		keys.Insert(expression.Key)
	}
}

// anyCase makes what is said of names in lower case what the API server says where others may be in a name too.
var anyCase = strings.NewReplacer(
	"a lowercase RFC 1123 subdomain must consist of lower case", "an RFC 1123 subdomain must consist of",
	"'example.com'", "'Example.com'",
)

// attacher checks the name of a driver that a declaration checks in the API server, and so in other words.
func (f *Findings) attacher(at *field.Path, name string) {
	var found Findings
	found.driver(at, name)
	for _, problem := range found.List {
		problem.Detail = anyCase.Replace(problem.Detail)
		f.Add(problem)
	}
}

func attachments() Kind {
	type attachment = storagev1.VolumeAttachment
	check := func(a, old *attachment) field.ErrorList {
		f, at := Findings{ValidateMetadata(&a.ObjectMeta, false, validation.NameIsDNSSubdomain)}, field.NewPath("spec")
		if old == nil || equality.Semantic.DeepEqual(a.Spec, old.Spec) {
			f.attacher(at.Child("attacher"), a.Spec.Attacher)
		} else { // as it may not change, nothing else is declared to be wrong
			before := len(f.List)
			f.driver(at.Child("attacher"), a.Spec.Attacher)
			f.List[before:].MarkFromImperative()
		}
		switch source := a.Spec.Source; {
		case source.InlineVolumeSpec == nil && source.PersistentVolumeName == nil:
			f.Required(at.Child("source"), "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
		case source.InlineVolumeSpec != nil && source.PersistentVolumeName != nil:
			f.forbidden(at.Child("source"), "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
		case source.PersistentVolumeName != nil && *source.PersistentVolumeName == "":
			f.Required(at.Child("source", "persistentVolumeName"), "must specify non empty persistentVolumeName")
		case source.InlineVolumeSpec != nil:
			f.inlineVolume(source.InlineVolumeSpec, at.Child("source", "inlineVolumeSpec"))
		}
		f.subdomain(at.Child("nodeName"), a.Spec.NodeName)
		if name := a.Spec.Source.PersistentVolumeName; name != nil {
			f.subdomain(field.NewPath("spec.source.persistentVolumeName"), *name)
		}
		return f.List
	}
	attacher := Col("Attacher", "string", storagev1.VolumeAttachmentSpec{}.SwaggerDoc()["attacher"], func(a *attachment) any { return a.Spec.Attacher })
	attacher.Format = "name"
	return Kind{
		GVK: storageV1.WithKind("VolumeAttachment"), Resource: "volumeattachments", Returned: true,
		Columns: []Column{
			attacher,
			Col("PV", "string", storagev1.VolumeAttachmentSource{}.SwaggerDoc()["persistentVolumeName"], func(a *attachment) any { return Deref(a.Spec.Source.PersistentVolumeName) }),
			Col("Node", "string", storagev1.VolumeAttachmentSpec{}.SwaggerDoc()["nodeName"], func(a *attachment) any { return a.Spec.NodeName }),
			Col("Attached", "boolean", storagev1.VolumeAttachmentStatus{}.SwaggerDoc()["attached"], func(a *attachment) any { return a.Status.Attached }),
			SinceColumn,
		},
		Rules: Rules{
			Reset:    []string{"status"},
			Create:   Change1(func(a *attachment) { a.Status = storagev1.VolumeAttachmentStatus{} }),
			Update:   Change2(func(a, old *attachment) { a.Status = old.Status }),
			Validate: Typed1(func(a *attachment) field.ErrorList { return check(a, nil) }),
			ValidateUpdate: Typed2(func(a, old *attachment) field.ErrorList {
				f := Findings{check(a, old)}
				f.unchanged(field.NewPath("spec"), a.Spec, old.Spec)
				return f.List
			}),
		},
		Status: &Rules{
			Reset: []string{"metadata", "spec"},
			Update: Change2(func(a, old *attachment) {
				a.Spec = old.Spec
				metav1.ResetObjectMetaForStatus(&a.ObjectMeta, &old.ObjectMeta)
			}),
			ValidateUpdate: Typed2(check),
		},
	}
}

func drivers() Kind {
	type driver = storagev1.CSIDriver
	doc := storagev1.CSIDriverSpec{}.SwaggerDoc()
	truth := func(name, field string, value func(spec storagev1.CSIDriverSpec) *bool) Column {
		return Col(name, "boolean", doc[field], func(d *driver) any { return Deref(value(d.Spec)) })
	}
	check := func(d *driver) field.ErrorList {
		f, at := Findings{ValidateMetadata(&d.ObjectMeta, false, validation.NameIsDNSSubdomain)}, field.NewPath("spec")
		f.driverSpec(d.Spec, at)
		return f.List
	}
	warnings := func(d *driver) []string {
		if len(d.Spec.TokenRequests) > 0 && d.Spec.ServiceAccountTokenInSecrets == nil {
			return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"}
		}
		return nil
	}
	return Kind{
		GVK: storageV1.WithKind("CSIDriver"), Resource: "csidrivers", Returned: true,
		Columns: []Column{
			truth("AttachRequired", "attachRequired", func(s storagev1.CSIDriverSpec) *bool { return s.AttachRequired }),
			truth("PodInfoOnMount", "podInfoOnMount", func(s storagev1.CSIDriverSpec) *bool { return s.PodInfoOnMount }),
			truth("StorageCapacity", "storageCapacity", func(s storagev1.CSIDriverSpec) *bool { return s.StorageCapacity }),
			Col("TokenRequests", "string", doc["tokenRequests"], func(d *driver) any {
				var audiences []string
				for _, request := range d.Spec.TokenRequests {
					audiences = append(audiences, request.Audience)
				}
				if len(audiences) == 0 {
					return "<unset>"
				}
				return strings.Join(audiences, ",")
			}),
			truth("RequiresRepublish", "requiresRepublish", func(s storagev1.CSIDriverSpec) *bool { return s.RequiresRepublish }),
			Col("Modes", "string", doc["volumeLifecycleModes"], func(d *driver) any {
				var modes []string
				for _, mode := range d.Spec.VolumeLifecycleModes {
					modes = append(modes, string(mode))
				}
				if len(modes) == 0 {
					return "<none>"
				}
				return strings.Join(modes, ",")
			}),
			SinceColumn,
		},
		Rules: Rules{
			Update: Change2(func(d, old *driver) { // a creation has no generation
				if !equality.Semantic.DeepEqual(d.Spec, old.Spec) {
					d.Generation = old.Generation + 1
				}
			}),
			Validate: Typed1(check), Warnings: Typed1(warnings),
			UpdateWarnings: Typed2(func(d, old *driver) []string {
				if equality.Semantic.DeepEqual(d.Spec.TokenRequests, old.Spec.TokenRequests) {
					return nil
				}
				return warnings(d)
			}),
			ValidateUpdate: Typed2(func(d, old *driver) field.ErrorList {
				f, at := Findings{append(ValidateMetadataUpdate(d, old), check(d)...)}, field.NewPath("spec")
				f.immutable(at.Child("attachedRequired"), d.Spec.AttachRequired, old.Spec.AttachRequired)
				f.immutable(at.Child("volumeLifecycleModes"), d.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes)
				return f.List
			}),
		},
	}
}

func (f *Findings) driverSpec(spec storagev1.CSIDriverSpec, at *field.Path) {
	if spec.FSGroupPolicy != nil {
		oneOf(f, at.Child("fsGroupPolicy"), *spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy)
	}
	audiences := sets.New[string]()
	for i, request := range spec.TokenRequests {
		here := at.Child("tokenRequests").Index(i)
		if audiences.Has(request.Audience) {
			f.Add(field.Duplicate(here.Child("audience"), request.Audience))
			continue
		}
		audiences.Insert(request.Audience)
		switch seconds := request.ExpirationSeconds; {
		case seconds != nil && *seconds < 600:
			f.invalid(here.Child("expirationSeconds"), *seconds, "may not specify a duration less than 10 minutes")
		case seconds != nil && *seconds > 1<<32:
			f.invalid(here.Child("expirationSeconds"), *seconds, "may not specify a duration larger than 2^32 seconds")
		}
	}
	for _, mode := range spec.VolumeLifecycleModes {
		oneOfListed(f, at.Child("volumeLifecycleModes"), mode, storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral)
	}
	if period := spec.NodeAllocatableUpdatePeriodSeconds; period != nil && *period < 10 {
		f.invalid(at.Child("nodeAllocatableUpdatePeriodSeconds"), *period, "must be greater than or equal to 10 seconds")
	}
	if spec.ServiceAccountTokenInSecrets != nil && len(spec.TokenRequests) == 0 {
		f.invalid(at.Child("serviceAccountTokenInSecrets"), spec.ServiceAccountTokenInSecrets, "serviceAccountTokenInSecrets is set but no tokenRequests are specified")
	}
}

func driverNodes() Kind {
	type node = storagev1.CSINode
	check := func(n *node) field.ErrorList {
		f, known := Findings{ValidateMetadata(&n.ObjectMeta, false, validation.NameIsDNSSubdomain)}, sets.New[string]()
		for i, driver := range n.Spec.Drivers {
			here := field.NewPath("spec", "drivers").Index(i)
			f.driver(here.Child("name"), driver.Name)
			if driver.NodeID == "" {
				f.Required(here.Child("nodeID"), driver.NodeID)
			}
			if len(driver.NodeID) > 256 {
				f.invalid(here.Child("nodeID"), driver.NodeID, "must be 256 characters or less")
			}
			if driver.Allocatable != nil && driver.Allocatable.Count != nil {
				f.notNegative(here.Child("allocatable", "count"), int64(*driver.Allocatable.Count))
			}
			if known.Has(driver.Name) {
				f.Add(field.Duplicate(here.Child("name"), driver.Name))
			}
			known.Insert(driver.Name)
			for j, key := range driver.TopologyKeys {
				if key == "" {
					f.Required(here, key)
				}
				if slices.Contains(driver.TopologyKeys[:j], key) {
					f.Add(field.Duplicate(here, key))
				}
				f.qualified(here, key)
			}
		}
		return f.List
	}
	return Kind{
		GVK: storageV1.WithKind("CSINode"), Resource: "csinodes", Returned: true,
		Columns: []Column{
			Col("Drivers", "integer", "Drivers indicates the number of CSI drivers registered on the node", func(n *node) any { return int64(len(n.Spec.Drivers)) }),
			SinceColumn,
		},
		Rules: Rules{
			Reset:    []string{"status"},
			Create:   Change1(func(n *node) { n.Status = storagev1.CSINodeStatus{} }),
			Update:   Change2(func(n, old *node) { n.Status = old.Status }),
			Validate: Typed1(check),
			ValidateUpdate: Typed2(func(n, old *node) field.ErrorList {
				f := Findings{check(n)}
				for _, was := range old.Spec.Drivers {
					for _, now := range n.Spec.Drivers {
						if now.Name == was.Name {
							now, was := now.DeepCopy(), was.DeepCopy()
							now.Allocatable, was.Allocatable = nil, nil
							f.immutable(field.NewPath("spec", "drivers"), now, was)
						}
					}
				}
				return f.List
			}),
		},
		Status: &Rules{
			Reset: []string{"metadata", "spec"},
			Update: Change2(func(n, old *node) {
				n.Spec = old.Spec
				metav1.ResetObjectMetaForStatus(&n.ObjectMeta, &old.ObjectMeta)
			}),
			ValidateUpdate: ValidateMetadataUpdate,
		},
	}
}
