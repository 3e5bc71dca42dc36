package builtin

import (
	"strings"

	csidriverregistry "k8s.io/kubernetes/pkg/registry/storage/csidriver"
	csinoderegistry "k8s.io/kubernetes/pkg/registry/storage/csinode"
	csistoragecapacityregistry "k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	storageclassregistry "k8s.io/kubernetes/pkg/registry/storage/storageclass"
	volumeattachmentregistry "k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	volumeattributesclassregistry "k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiserver/pkg/admission"
)

var storageV1 = storagev1.SchemeGroupVersion

// StorageKinds returns the kinds of the group storage.k8s.io.
func StorageKinds() []Kind {
	return []Kind{drivers(), driverNodes(), capacities(), storageClasses(), attachments(), attributesClasses()}
}

func isDefaultStorage(class *storagev1.StorageClass) bool {
	return class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

// defaultStorageClass returns the class for claims that name none: the newest class that is marked as the default, or
// "".
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
			Col("VolumeBindingMode", "string", doc["volumeBindingMode"],
				func(c *class) any { return string(Deref(c.VolumeBindingMode)) }),
			Col("AllowVolumeExpansion", "string", doc["allowVolumeExpansion"],
				func(c *class) any { return Deref(c.AllowVolumeExpansion) }),
			SinceColumn,
		},
		Rules: By(storageclassregistry.Strategy),
	}
}

func attributesClasses() Kind {
	type class = storagev1.VolumeAttributesClass
	return Kind{
		GVK: storageV1.WithKind("VolumeAttributesClass"), Resource: "volumeattributesclasses", Short: []string{"vac"},
		Returned: true,
		Columns: []Column{
			Col("DriverName", "string", class{}.SwaggerDoc()["driverName"], func(c *class) any { return c.DriverName }),
			SinceColumn,
		},
		Rules: By(volumeattributesclassregistry.Strategy),
		Admit: func(_ Cluster, a admission.Attributes) error {
			if c, ok := a.GetObject().(*class); ok && a.GetOperation() == admission.Create {
				protect(c, "kubernetes.io/vac-protection")
			}
			return nil
		},
	}
}

func capacities() Kind {
	return Kind{
		GVK: storageV1.WithKind("CSIStorageCapacity"), Resource: "csistoragecapacities", Namespaced: true,
		Rules: By(csistoragecapacityregistry.Strategy),
	}
}

func attachments() Kind {
	type attachment = storagev1.VolumeAttachment
	attacher := Col("Attacher", "string", storagev1.VolumeAttachmentSpec{}.SwaggerDoc()["attacher"],
		func(a *attachment) any { return a.Spec.Attacher })
	attacher.Format = "name"
	return Kind{
		GVK: storageV1.WithKind("VolumeAttachment"), Resource: "volumeattachments", Returned: true,
		Columns: []Column{
			attacher,
			Col("PV", "string", storagev1.VolumeAttachmentSource{}.SwaggerDoc()["persistentVolumeName"],
				func(a *attachment) any { return Deref(a.Spec.Source.PersistentVolumeName) }),
			Col("Node", "string", storagev1.VolumeAttachmentSpec{}.SwaggerDoc()["nodeName"],
				func(a *attachment) any { return a.Spec.NodeName }),
			Col("Attached", "boolean", storagev1.VolumeAttachmentStatus{}.SwaggerDoc()["attached"],
				func(a *attachment) any { return a.Status.Attached }),
			SinceColumn,
		},
		Rules:  By(volumeattachmentregistry.Strategy),
		Status: new(By(volumeattachmentregistry.StatusStrategy)),
	}
}

func drivers() Kind {
	type driver = storagev1.CSIDriver
	doc := storagev1.CSIDriverSpec{}.SwaggerDoc()
	truth := func(name, field string, value func(spec storagev1.CSIDriverSpec) *bool) Column {
		return Col(name, "boolean", doc[field], func(d *driver) any { return Deref(value(d.Spec)) })
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
			truth("RequiresRepublish", "requiresRepublish",
				func(s storagev1.CSIDriverSpec) *bool { return s.RequiresRepublish }),
			Col("Modes", "string", doc["volumeLifecycleModes"], func(d *driver) any {
				var modes []string
				for _, mode := range d.Spec.VolumeLifecycleModes {
					modes = append(modes, string(mode))
				}
				return orNone(strings.Join(modes, ","))
			}),
			SinceColumn,
		},
		Rules: By(csidriverregistry.Strategy),
	}
}

func driverNodes() Kind {
	type node = storagev1.CSINode
	return Kind{
		GVK: storageV1.WithKind("CSINode"), Resource: "csinodes", Returned: true,
		Columns: []Column{
			Col("Drivers", "integer", "Drivers indicates the number of CSI drivers registered on the node",
				func(n *node) any { return int64(len(n.Spec.Drivers)) }),
			SinceColumn,
		},
		Rules:  By(csinoderegistry.Strategy),
		Status: new(By(csinoderegistry.StatusStrategy)),
	}
}
