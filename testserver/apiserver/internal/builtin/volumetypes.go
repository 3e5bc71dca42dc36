package builtin

import (
	"net"
	"reflect"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// In what order upstream looks at the types of a volume of a pod, and at those of a PersistentVolume: the first that is there is the type, others are one
// too many.
var (
	podVolumeTypes = []string{"emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte",
		"downwardAPI", "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO", "csi", "ephemeral", "image"}
	volumeTypes = []string{"hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume",
		"photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi"}
)

// typesOf calls f with the types that a volume has, of all types in their order, by name and source.
func typesOf(source any, order []string, f func(name string, source any)) {
	given := map[string]any{}
	v := reflect.ValueOf(source)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			given[name] = v.Field(i).Interface()
		}
	}
	for _, name := range order {
		if one, ok := given[name]; ok {
			f(name, one)
		}
	}
}

// driverless is what is checked of a type of volumes that has had a driver in the tree: fields that may not be empty, and what else.
type driverless struct {
	needs []string
	more  func(f *Findings, source any, at *field.Path)
}

// driverlessTypes are these types by name. The sources of pods and of PersistentVolumes are of two Go types, whose fields have the same names.
var driverlessTypes = map[string]driverless{
	"gitRepo": {[]string{"repository"}, func(f *Findings, source any, at *field.Path) {
		f.descending(source.(*corev1.GitRepoVolumeSource).Directory, at.Child("directory"))
	}},
	"gcePersistentDisk": {[]string{"pdName"}, func(f *Findings, source any, at *field.Path) {
		f.partition(source.(*corev1.GCEPersistentDiskVolumeSource).Partition, at)
	}},
	"awsElasticBlockStore": {[]string{"volumeID"}, func(f *Findings, source any, at *field.Path) {
		f.partition(source.(*corev1.AWSElasticBlockStoreVolumeSource).Partition, at)
	}},
	"iscsi": {[]string{"targetPortal"}, func(f *Findings, source any, at *field.Path) {
		switch source := source.(type) {
		case *corev1.ISCSIVolumeSource:
			f.iscsi(corev1.ISCSIPersistentVolumeSource{IQN: source.IQN, Lun: source.Lun, InitiatorName: source.InitiatorName, DiscoveryCHAPAuth: source.DiscoveryCHAPAuth, SessionCHAPAuth: source.SessionCHAPAuth},
				source.SecretRef != nil, "must be valid format starting with iqn, eui, or naa", at)
		case *corev1.ISCSIPersistentVolumeSource:
			f.iscsi(*source, source.SecretRef != nil, "must be valid format", at)
		}
	}},
	"glusterfs": {[]string{"endpoints", "path"}, func(f *Findings, source any, at *field.Path) {
		volume, ok := source.(*corev1.GlusterfsPersistentVolumeSource)
		switch {
		case !ok || volume.EndpointsNamespace == nil:
		case *volume.EndpointsNamespace == "":
			f.invalid(at.Child("endpointsNamespace"), "", "if the endpointnamespace is set, it must be a valid namespace name")
		default:
			f.invalid(at.Child("endpointsNamespace"), *volume.EndpointsNamespace, validation.ValidateNamespaceName(*volume.EndpointsNamespace, false)...)
		}
	}},
	"flocker": {nil, func(f *Findings, source any, at *field.Path) {
		dataset := source.(*corev1.FlockerVolumeSource)
		switch {
		case dataset.DatasetName == "" && dataset.DatasetUUID == "":
			f.Required(at, "one of datasetName and datasetUUID is required")
		case dataset.DatasetName != "" && dataset.DatasetUUID != "":
			f.invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously")
		}
		if strings.Contains(dataset.DatasetName, "/") {
			f.invalid(at.Child("datasetName"), dataset.DatasetName, "must not contain '/'")
		}
	}},
	"rbd":    {[]string{"monitors", "image"}, nil},
	"cinder": {[]string{"volumeID"}, (*Findings).secretOf},
	"cephfs": {[]string{"monitors"}, nil},
	"quobyte": {nil, func(f *Findings, source any, at *field.Path) {
		const pairs = "must be a host:port pair or multiple pairs separated by commas"
		volume := source.(*corev1.QuobyteVolumeSource)
		switch {
		case volume.Registry == "":
			f.Required(at.Child("registry"), pairs)
		case len(volume.Tenant) >= 65:
			f.Required(at.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters")
		default:
			for pair := range strings.SplitSeq(volume.Registry, ",") {
				if _, _, err := net.SplitHostPort(pair); err != nil {
					f.invalid(at.Child("registry"), volume.Registry, pairs)
				}
			}
		}
		if volume.Volume == "" {
			f.Required(at.Child("volume"), "")
		}
	}},
	"fc": {nil, func(f *Findings, source any, at *field.Path) {
		channel := source.(*corev1.FCVolumeSource)
		if len(channel.TargetWWNs) == 0 && len(channel.WWIDs) == 0 {
			f.Required(at.Child("targetWWNs"), "must specify either targetWWNs or wwids, but not both")
		}
		if len(channel.TargetWWNs) == 0 {
			return
		}
		if len(channel.WWIDs) > 0 {
			f.invalid(at.Child("targetWWNs"), channel.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously")
		}
		if channel.Lun == nil {
			f.Required(at.Child("lun"), "lun is required if targetWWNs is specified")
			return
		}
		f.lun(*channel.Lun, at)
	}},
	"flexVolume": {[]string{"driver"}, func(f *Findings, source any, at *field.Path) {
		options := reflect.ValueOf(source).Elem().FieldByName("Options").Interface().(map[string]string)
		for _, key := range sortedMap(options) {
			domain, _, _ := strings.Cut(key, "/")
			domain = "." + strings.ToLower(domain)
			if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
				f.invalid(at.Child("options").Key(key), key, "kubernetes.io and k8s.io namespaces are reserved")
			}
		}
	}},
	"azureFile": {[]string{"secretName", "shareName"}, func(f *Findings, source any, at *field.Path) {
		if volume, ok := source.(*corev1.AzureFilePersistentVolumeSource); ok && volume.SecretNamespace != nil && *volume.SecretNamespace == "" {
			f.Required(at.Child("secretNamespace"), "")
		}
	}},
	"vsphereVolume":        {[]string{"volumePath"}, nil},
	"photonPersistentDisk": {[]string{"pdID"}, nil},
	"portworxVolume":       {[]string{"volumeID"}, nil},
	"azureDisk": {[]string{"diskName", "diskURI"}, func(f *Findings, source any, at *field.Path) {
		disk := source.(*corev1.AzureDiskVolumeSource)
		if disk.CachingMode != nil {
			oneOf(f, at.Child("cachingMode"), *disk.CachingMode, corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)
		}
		if disk.Kind == nil {
			return
		}
		oneOf(f, at.Child("kind"), *disk.Kind, corev1.AzureSharedBlobDisk, corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk)
		start, form := "https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
		if *disk.Kind == corev1.AzureManagedDisk {
			start, form = "/subscriptions/", "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
		}
		if !strings.HasPrefix(disk.DataDiskURI, start) {
			f.Add(field.NotSupported(at.Child("diskURI"), disk.DataDiskURI, []string{form}))
		}
	}},
	"scaleIO": {[]string{"gateway", "system", "volumeName"}, nil},
	"storageos": {[]string{"volumeName"}, func(f *Findings, source any, at *field.Path) {
		v := reflect.ValueOf(source).Elem()
		for _, name := range []string{"volumeName", "volumeNamespace"} {
			if value := v.FieldByName(strings.ToUpper(name[:1]) + name[1:]).String(); value != "" {
				f.label(at.Child(name), value)
			}
		}
		f.secretOf(source, at)
	}},
}

// driverless checks a type of volumes that has no driver any more, which is a field of what is at a path.
func (f *Findings) driverless(name string, source any, in *field.Path) {
	at := in.Child(name)
	if name == "gcePersistentDisk" {
		at = in.Child("persistentDisk") // as the API server has it
	}
	v := reflect.ValueOf(source).Elem()
	for _, need := range driverlessTypes[name].needs {
		for i := range v.NumField() {
			if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag == need && v.Field(i).Len() == 0 {
				f.Required(at.Child(need), "")
			}
		}
	}
	if more := driverlessTypes[name].more; more != nil {
		more(f, source, at)
	}
}

func (f *Findings) partition(partition int32, at *field.Path) {
	if partition < 0 || partition > 255 {
		f.invalid(at.Child("partition"), partition, utilvalidation.InclusiveRangeError(1, 255))
	}
}

func (f *Findings) lun(lun int32, at *field.Path) {
	if lun < 0 || lun > 255 {
		f.invalid(at.Child("lun"), lun, utilvalidation.InclusiveRangeError(0, 255))
	}
}

// secretOf checks that a source names its secret, if it has one, with a namespace if there is one to say.
func (f *Findings) secretOf(source any, at *field.Path) {
	secret := reflect.ValueOf(source).Elem().FieldByName("SecretRef")
	if secret.IsNil() {
		return
	}
	for _, name := range []string{"Name", "Namespace"} {
		if named := secret.Elem().FieldByName(name); named.IsValid() && named.String() == "" {
			f.Required(at.Child("secretRef", strings.ToLower(name)), "")
		}
	}
}

// iscsiForms are the names that targets and initiators have, by their first letters.
var iscsiForms = map[string]*regexp.Regexp{
	"iqn": regexp.MustCompile(`iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`), "eui": regexp.MustCompile(`^eui.[[:alnum:]]{16}$`), "naa": regexp.MustCompile(`^naa.[[:alnum:]]{32}$`),
}

func (f *Findings) iscsi(source corev1.ISCSIPersistentVolumeSource, secret bool, unknown string, at *field.Path) {
	name := func(at *field.Path, value string) {
		if form := iscsiForms[value[:min(3, len(value))]]; form == nil {
			f.invalid(at, value, unknown)
		} else if !form.MatchString(value) {
			f.invalid(at, value, "must be valid format")
		}
	}
	if source.IQN == "" {
		f.Required(at.Child("iqn"), "")
	} else {
		name(at.Child("iqn"), source.IQN)
	}
	f.lun(source.Lun, at)
	if (source.DiscoveryCHAPAuth || source.SessionCHAPAuth) && !secret {
		f.Required(at.Child("secretRef"), "")
	}
	if source.SecretRef != nil && source.SecretRef.Name == "" {
		f.Required(at.Child("secretRef", "name"), "")
	}
	if source.InitiatorName != nil {
		name(at.Child("initiatorname"), *source.InitiatorName)
	}
}

// longTarget reports whether a volume and its target have names that are too long together, and what is said of it.
func longTarget(initiator *string, volume, portal string) (message string, long bool) {
	return "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.", initiator != nil && len(volume+":"+portal) > 64
}
