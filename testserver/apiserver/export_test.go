package apiserver

// UpstreamWrites has upstream's handlers do all writes of a server.
func UpstreamWrites(s *Server) { s.upstream = true }

// CertainWrites is how many writes of a server were not done by these.
func CertainWrites(s *Server) int { return int(s.certain.Load()) }
