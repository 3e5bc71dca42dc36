package controlplane

import (
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes a kubeconfig that verifies the server and holds the administrator's certificate.
func writeKubeconfig(path, server string, ids *identities) error {
	const name = "kctrl-env"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: server, CertificateAuthorityData: ids.authority}
	config.AuthInfos[name] = &api.AuthInfo{ClientCertificateData: ids.admin.certificate, ClientKeyData: ids.admin.key}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, path)
}
