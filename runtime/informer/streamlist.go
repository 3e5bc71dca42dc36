package informer

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	errCut    = errors.New("the streaming list ended before everything was sent")
	errSilent = fmt.Errorf("the streaming list sent nothing for %v", silentFor*waitingAfter)
)

// streamList reads the whole state from a watch that sends it first, pushes it, and leaves the stream to be watched.
func (r *Reflector[T]) streamList(ctx context.Context, s state[T]) (state[T], error) {
	version := s.version
	if s.latest {
		version = ""
	}
	stream, err := r.source.Watch(ctx, streamListOptions(version))
	if err != nil {
		return r.afterStreamList(s, version, err)
	}
	detach := closeWith(ctx, stream)
	all, err := r.readInitial(ctx, stream)
	detach()
	if err != nil {
		_ = stream.Close()
		if isBroken(err) && !errors.Is(err, errSilent) {
			err = errors.Join(errCut, unlessEOF(err))
		}
		return r.afterStreamList(s, version, err)
	}
	r.push(all)
	s = s.complete(all.ResourceVersion)
	s.stream = stream
	return s, nil
}

// afterStreamList returns what follows a streaming list at version that ended with err.
func (r *Reflector[T]) afterStreamList(s state[T], version string, err error) (state[T], error) {
	switch {
	case isUnsupported(err), errors.Is(err, errSilent):
		r.log.Info("the server has no streaming lists, so ordinary ones are used", "err", err)
		s.streaming = false
		return s.relist(), nil
	case version != "" && (isExpired(err) || isTooLarge(err)):
		s.latest = true
		return s, nil
	case isRefusal(err):
		return s, r.failed("watch", err)
	case errors.Is(err, errCut) && s.cut == 0:
		s.cut++
		return s, r.failed("watch", err)
	}
	s.phase, s.cut = listing, 0
	return s, r.failed("watch", err)
}

// streamListOptions asks for what exists, not older than version, and the changes since. Without bookmarks the server
// would never say where the first ends.
func streamListOptions(version string) metav1.ListOptions {
	options := watchOptions(version)
	initial := true
	options.SendInitialEvents = &initial
	options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	return options
}
