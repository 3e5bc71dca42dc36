// Package envtest starts API servers for test suites with the API of controller-runtime's envtest: an [Environment]
// with CRDs, webhooks and users, and [InstallCRDs]. The server is the one that [testenv.Start] starts: an in-memory
// server, or a real one if KCTRL_TEST_SERVER is real. New tests should call [testenv.Start].
package envtest
