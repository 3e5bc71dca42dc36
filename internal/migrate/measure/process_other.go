//go:build !linux && !darwin

package measure

import (
	"context"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

func (s *side) measure(context.Context, Options, *manifests, string) (Figures, error) {
	return Figures{}, &diagnostic.Error{
		Message: "--measure needs Linux or macOS: kctrl starts no API server on this system",
		Hint:    "run the command in a container or WSL",
	}
}
