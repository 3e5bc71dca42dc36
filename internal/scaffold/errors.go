package scaffold

import "github.com/kctrl-dev/kctrl/internal/diagnostic"

// fileError says that something could not be done to a file, with a hint that fits the cause.
func fileError(path, what string, cause error) *diagnostic.Error {
	return diagnostic.AtFile(path, what, cause)
}
