package apiserver

// WithoutShortcuts has upstream's code alone do the writes of custom resources of a server. It is called before any is defined.
func WithoutShortcuts(s *Server) { s.plain = true }
