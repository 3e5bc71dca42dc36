package builtin

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What pods may ask of Linux and of Windows.

func isWindows(spec *corev1.PodSpec) bool {
	return spec.OS != nil && spec.OS.Name == corev1.Windows
}

// system checks that a pod asks only for what its operating system has, if it names one.
func (c *podChecks) system(at *field.Path) {
	switch os := c.spec.OS; {
	case os == nil:
	case os.Name == "":
		c.Required(at.Child("os", "name"), "")
	case os.Name == corev1.Linux:
		c.onlyLinux(at)
	case os.Name == corev1.Windows:
		c.onlyWindows(at)
	default:
		oneOf(&c.Findings, at.Child("os"), os.Name, corev1.Linux, corev1.Windows)
	}
}

func (c *podChecks) onlyLinux(at *field.Path) {
	not := func(options *corev1.WindowsSecurityContextOptions, at *field.Path) {
		if options != nil {
			c.forbidden(at.Child("securityContext", "windowsOptions"), "windows options cannot be set for a linux pod")
		}
	}
	if context := c.spec.SecurityContext; context != nil {
		not(context.WindowsOptions, at)
	}
	EachContainer(c.spec, at, func(container *corev1.Container, here *field.Path) {
		if container.SecurityContext != nil {
			not(container.SecurityContext.WindowsOptions, here)
		}
	})
}

// setField is a field of a pod, and whether the pod has it.
type setField struct {
	is   bool
	name string
}

func (c *podChecks) onlyWindows(at *field.Path) {
	spec := c.spec
	not := func(at *field.Path, fields ...setField) {
		for _, one := range fields {
			if one.is {
				c.forbidden(at.Child(one.name), "cannot be set for a windows pod")
			}
		}
	}
	if s := spec.SecurityContext; s != nil {
		not(at.Child("securityContext"), setField{s.AppArmorProfile != nil, "appArmorProfile"}, setField{s.SELinuxOptions != nil, "seLinuxOptions"},
			setField{s.SeccompProfile != nil, "seccompProfile"}, setField{s.FSGroup != nil, "fsGroup"}, setField{s.FSGroupChangePolicy != nil, "fsGroupChangePolicy"},
			setField{len(s.Sysctls) > 0, "sysctls"}, setField{s.RunAsUser != nil, "runAsUser"}, setField{s.RunAsGroup != nil, "runAsGroup"},
			setField{s.SupplementalGroups != nil, "supplementalGroups"}, setField{s.SupplementalGroupsPolicy != nil, "supplementalGroupsPolicy"},
			setField{s.SELinuxChangePolicy != nil, "seLinuxChangePolicy"})
	}
	not(at, setField{spec.HostUsers != nil, "hostUsers"}, setField{spec.HostPID, "hostPID"}, setField{spec.HostIPC, "hostIPC"}, setField{spec.ShareProcessNamespace != nil, "shareProcessNamespace"})
	EachContainer(spec, at, func(container *corev1.Container, here *field.Path) {
		if s := container.SecurityContext; s != nil {
			not(here.Child("securityContext"), setField{s.AppArmorProfile != nil, "appArmorProfile"}, setField{s.SELinuxOptions != nil, "seLinuxOptions"},
				setField{s.SeccompProfile != nil, "seccompProfile"}, setField{s.Capabilities != nil, "capabilities"}, setField{s.ReadOnlyRootFilesystem != nil, "readOnlyRootFilesystem"},
				setField{s.Privileged != nil, "privileged"}, setField{s.AllowPrivilegeEscalation != nil, "allowPrivilegeEscalation"}, setField{s.ProcMount != nil, "procMount"},
				setField{s.RunAsUser != nil, "runAsUser"}, setField{s.RunAsGroup != nil, "runAsGroup"})
		}
	})
}

// hostProcess checks that either all containers are processes of the host, or none.
func (c *podChecks) hostProcess(at *field.Path) {
	var whole *bool
	if context := c.spec.SecurityContext; context != nil && context.WindowsOptions != nil {
		whole = context.WindowsOptions.HostProcess
	}
	all, processes := 0, 0
	EachContainer(c.spec, at, func(container *corev1.Container, here *field.Path) {
		own := whole
		if context := container.SecurityContext; context != nil && context.WindowsOptions != nil && context.WindowsOptions.HostProcess != nil {
			own = context.WindowsOptions.HostProcess
		}
		if whole != nil && *own != *whole {
			c.invalid(here.Child("securityContext", "windowsOptions", "hostProcess"), *own, fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *whole))
		}
		all++
		if Deref(own) {
			processes++
		}
	})
	if processes > 0 && processes != all {
		c.invalid(at, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers")
	}
	if processes > 0 && !c.spec.HostNetwork {
		c.invalid(at.Child("hostNetwork"), false, "hostNetwork must be true if pod contains any hostProcess containers")
	}
}

var (
	control       = regexp.MustCompile(`[[:cntrl:]]`)
	netBIOSName   = regexp.MustCompile(`^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$`)
	windowsDomain = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
)

func (c *podChecks) windowsOptions(options *corev1.WindowsSecurityContextOptions, at *field.Path) {
	if options == nil {
		return
	}
	if options.GMSACredentialSpecName != nil {
		c.subdomain(at.Child("gmsaCredentialSpecName"), *options.GMSACredentialSpecName)
	}
	const limit = 64 // KiB
	switch spec, at := options.GMSACredentialSpec, at.Child("gmsaCredentialSpec"); {
	case spec == nil:
	case *spec == "":
		c.invalid(at, spec, "gmsaCredentialSpec cannot be an empty string")
	case len(*spec) > limit<<10:
		c.invalid(at, spec, fmt.Sprintf("gmsaCredentialSpec size must be under %d KiB", limit))
	}
	if options.RunAsUserName != nil {
		c.windowsUser(options.RunAsUserName, at.Child("runAsUserName"))
	}
}

// windowsUser checks the name of a user, before which there may be one of a domain.
func (c *podChecks) windowsUser(whole *string, at *field.Path) {
	problem := func(is bool, text string) {
		if is {
			c.invalid(at, whole, "runAsUserName"+text)
		}
	}
	name := *whole
	switch {
	case name == "":
		problem(true, " cannot be an empty string")
		return
	case control.MatchString(name):
		problem(true, " cannot contain control characters")
		return
	case strings.Count(name, `\`) > 1:
		problem(true, " cannot contain more than one backslash")
		return
	}
	domain, user, both := strings.Cut(name, `\`)
	if !both {
		domain, user = "", name
	}
	problem(len(domain) >= 256, "'s Domain length must be under 256 characters")
	problem(both && !netBIOSName.MatchString(domain) && !windowsDomain.MatchString(domain), "'s Domain doesn't match the NetBios nor the DNS format")
	problem(user == "", "'s User cannot be empty")
	problem(len(user) > 104, "'s User length must not be longer than 104 characters")
	problem(user != "" && strings.Trim(user, ". ") == "", "'s User cannot contain only periods or spaces")
	problem(strings.ContainsAny(user, `"/\:;|=,+*?<>@[]`), `'s User cannot contain the following characters: "/\:;|=,+*?<>@[]`)
}
