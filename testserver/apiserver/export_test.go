package apiserver

// WithoutShortcuts makes a server write custom resources only with upstream's code. It must be called before the first
// CRD is created.
func WithoutShortcuts(s *Server) { s.plain = true }
