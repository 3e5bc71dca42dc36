package controller

import "context"

// Runnable is what a manager runs: a controller, or anything else that goes on until its context ends. Run returns
// after the last goroutine that it started has ended. A Run that returns an error ends the manager.
type Runnable interface {
	Run(ctx context.Context) error
}
