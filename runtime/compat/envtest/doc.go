// Package envtest starts API servers for suites that were written for controller-runtime's envtest: an [Environment] with
// CRDs, webhooks and users, and [InstallCRDs]. The server is that of [testenv.Start]: in memory, or real with
// KCTRL_TEST_SERVER=real. New tests call [testenv.Start].
package envtest
