// Package wait is a stub.
package wait

import (
	"context"
	"time"
)

func PollUntilContextTimeout(ctx context.Context, interval, timeout time.Duration, immediate bool,
	condition func(context.Context) (bool, error)) error {
	return nil
}
