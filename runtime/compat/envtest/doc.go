// Package envtest starts API servers for test suites in the form of controller-runtime's envtest: an [Environment] with
// CRDs, webhooks and users, and [InstallCRDs]. The server is that of [testenv.Start]: in memory, or a real one with
// KCTRL_TEST_SERVER=real. New tests should call [testenv.Start].
package envtest
