package main

// operator is a commit of a public operator that uses controller-runtime v0.23 or v0.24.
type operator struct {
	repository, commit string
}

// operators include users of libraries that wrap controller-runtime, such as fluxcd/pkg, crossplane-runtime and
// cluster-api, and repositories with several modules.
var operators = []operator{
	{repository: "actions/actions-runner-controller", commit: "2ee6b3b8e8d2781c2f2bd4f0033fbb436465c5c1"},
	{repository: "aws-controllers-k8s/s3-controller", commit: "1051f76f2b6db0a948e485014e88470ee51a2fa0"},
	{repository: "bank-vaults/vault-operator", commit: "76407678c9dc7502467916c81e5615f3be562f86"},
	{repository: "cert-manager/approver-policy", commit: "81ac7e0cf259c6be3fb20c14c03017880b88ef69"},
	{repository: "cert-manager/trust-manager", commit: "fc1b53ddc28eb24d5f7d4c6374992785f1977909"},
	{repository: "cloudnative-pg/cloudnative-pg", commit: "a95a534dbe0854495b863bbc1b7651f74d310916"},
	{repository: "fluent/fluent-operator", commit: "00625bfdaf4eefc64b787ad035245e8eaa8f3a80"},
	{repository: "fluxcd/kustomize-controller", commit: "186fb3b29138ce82ff61ba1a9370b96a3dd598fe"},
	{repository: "fluxcd/notification-controller", commit: "2e46958a67f3af0e3e755a4fcaf7397d5803725e"},
	{repository: "grafana/k6-operator", commit: "e2c9571ac480ad7ca8ed019062ff67847d76724e"},
	{repository: "hashicorp/vault-secrets-operator", commit: "9b840a5a0c3455278d580418d6336f2011cf8574"},
	{repository: "k8ssandra/cass-operator", commit: "d56972905e8b67502578bdbd832a09e653fa8e16"},
	{repository: "k8ssandra/k8ssandra-operator", commit: "9e3d1b51d2171ea9ee84edf53d6dfa1c98fa8525"},
	{repository: "kubeflow/mpi-operator", commit: "caa3c47fc42eb762635f78045ec0fcd1a89eb038"},
	{repository: "kubeflow/spark-operator", commit: "38082f3318e9d33f3e4a940c7cf165df6e40b422"},
	{repository: "kubeflow/trainer", commit: "8c0f5059bd51ec3ba6d6a6a7b2e1471de7bc13b3"},
	{repository: "kubernetes-sigs/cluster-api-addon-provider-helm", commit: "8c581411b5c06244fd29c5143db5ccb1fc36bfb4"},
	{repository: "kubernetes-sigs/jobset", commit: "08dfbdfd682714a9ab929633eca8dc95315187e7"},
	{repository: "kubernetes-sigs/kro", commit: "0302e659ede72a24c62f9faa666b0045ebf39731"},
	{repository: "mariadb-operator/mariadb-operator", commit: "8970edf8368c74178e521f3dc2e9df4131888c77"},
	{repository: "metal3-io/ip-address-manager", commit: "1f5fa681d22a4059661ecdf8cbbf5063fc84279a"},
	{repository: "percona/percona-server-mysql-operator", commit: "9adfefaacaaf1613912a5dedb2a2dc607359e8de"},
	{repository: "perses/perses-operator", commit: "339ac31f0dcb4dc947189daf6c1bfd693e87730e"},
	{repository: "projectcapsule/capsule", commit: "65a4e19e028fbbb2703b888d81f02035cf36cefa"},
	{repository: "rabbitmq/cluster-operator", commit: "06cda8e8e1a927a652dda20a1b169fe7667f4916"},
	{repository: "valkey-io/valkey-operator", commit: "c33988f58364d6850380cabd926871d5f39d6c45"},
}
