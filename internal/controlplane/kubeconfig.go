//go:build linux || darwin

package controlplane

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigName is the name of the cluster, the user and the context.
const kubeconfigName = "kctrl-env"

// writeKubeconfig writes a kubeconfig with the authority of the server and the certificate of the administrator.
func writeKubeconfig(path, server string, ids *identities) error {
	config := api.NewConfig()
	config.Clusters[kubeconfigName] = &api.Cluster{Server: server, CertificateAuthorityData: ids.authority}
	config.AuthInfos[kubeconfigName] = &api.AuthInfo{ClientCertificateData: ids.admin.certificate,
		ClientKeyData: ids.admin.key}
	config.Contexts[kubeconfigName] = &api.Context{Cluster: kubeconfigName, AuthInfo: kubeconfigName}
	config.CurrentContext = kubeconfigName
	content, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if err := replaceFile(path, content); err != nil {
		return unwritable(path, err)
	}
	return nil
}

// readKubeconfig returns the administrator's credentials from a kubeconfig that writeKubeconfig wrote.
func readKubeconfig(path string) (*identities, error) {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, err
	}
	cluster, admin := config.Clusters[kubeconfigName], config.AuthInfos[kubeconfigName]
	if cluster == nil || admin == nil {
		return nil, fmt.Errorf("%s was changed after kctrl wrote it", path)
	}
	return &identities{
		authority: cluster.CertificateAuthorityData,
		admin:     pair{admin.ClientCertificateData, admin.ClientKeyData},
	}, nil
}
