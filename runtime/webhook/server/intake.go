package server

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
	"time"
)

const (
	// leastBytes and mostBytes are the smallest and the largest limit for the total size of all bodies in memory. Between
	// them, the limit is a quarter of the process's memory limit.
	leastBytes = 32 << 20
	mostBytes  = MaxConversion
	// patient is the wait after which a client counts as slow.
	patient = time.Second
	// firstBytes and mostFirst are the minimum and the maximum of a buffer's initial capacity. Larger buffers, up to
	// mostPooled, are reused only by long bodies whose first bytes have arrived.
	firstBytes = 4 << 10
	mostFirst  = 64 << 10
	mostPooled = 1 << 20
)

// intake holds the bodies of requests. It reads a body completely before the handler runs, so that slow clients do not
// occupy handlers. When there is no room for more bytes, it disconnects the slow client with the longest body. A client
// is slow after a second of sending its body or reading its answer. If no client is slow, it waits for handlers.
type intake struct {
	limit        int64     // limit of bytes; constant
	small, large sync.Pool // of *[]byte, with capacities up to mostFirst and mostPooled

	mu      sync.Mutex
	bytes   int64                 // size of all bodies
	awaited map[*arrival]struct{} // requests that wait for their client
	freed   chan struct{}         // closed and replaced when memory is released
}

// arrival is a request in an intake. The intake's mutex guards all of its fields except data, which belongs to the
// request's goroutine.
type arrival struct {
	intake  *intake
	data    []byte // its capacity counts as bytes
	bytes   int64
	since   time.Time     // beginning of the wait for the client
	blocked bool          // waits for room, so the client is not slow
	cut     func()        // ends the wait for the client; constant
	gone    chan struct{} // closed after cut was called
	isGone  bool
}

// newIntake returns an intake for a process with that memory limit in bytes. math.MaxInt64 means no limit.
func newIntake(memory int64) *intake {
	limit := int64(mostBytes)
	if memory < math.MaxInt64 {
		limit = min(max(memory/4, leastBytes), limit)
	}
	return &intake{limit: limit, awaited: map[*arrival]struct{}{}, freed: make(chan struct{})}
}

var (
	errCutOff = errors.New("the client was too slow, and others need the memory of its request")
	errNoRoom = errors.New("there is no memory for the body of the request")
)

// arrive begins a request, which waits for its client to send the body.
func (i *intake) arrive(w http.ResponseWriter) *arrival {
	control := http.NewResponseController(w)
	a := &arrival{intake: i, gone: make(chan struct{}), since: time.Now()}
	a.cut = func() {
		past := time.Unix(1, 0)
		_, _ = control.SetReadDeadline(past), control.SetWriteDeadline(past) // without deadlines, w is not a connection
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.awaited[a] = struct{}{}
	return a
}

// read reads the body of r, up to most bytes. After an error, the connection must not be reused.
func (a *arrival) read(r *http.Request, most int64) error {
	most = min(most, a.intake.limit-1)
	if r.ContentLength > most {
		return &http.MaxBytesError{Limit: most}
	}
	var err error
	for r.ContentLength != 0 && err == nil {
		if len(a.data) == cap(a.data) {
			if err = a.grow(r.Context(), r.ContentLength, most); err != nil {
				break
			}
		}
		var n int
		n, err = r.Body.Read(a.data[len(a.data):cap(a.data)])
		a.data = a.data[:len(a.data)+n]
		if int64(len(a.data)) > most {
			err = &http.MaxBytesError{Limit: most}
		}
	}
	a.intake.mu.Lock()
	defer a.intake.mu.Unlock()
	delete(a.intake.awaited, a)
	switch {
	case a.isGone:
		return errCutOff
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// grow makes room for more bytes of a body, whose maximum is most. announced is the length that the client announced,
// or negative. The buffer grows with the received data, regardless of the announced length.
func (a *arrival) grow(ctx context.Context, announced, most int64) error {
	i, has := a.intake, int64(cap(a.data))
	whole := most + 1 // one more byte detects the end
	if announced >= 0 {
		whole = announced + 1
	}
	if pooled := i.pooled(has, whole); pooled != nil {
		if _, err := i.reserve(ctx, a, int64(cap(pooled))-has, 0); err != nil {
			return err
		}
		smaller := a.data
		a.data = append(pooled, smaller...)
		i.put(smaller)
		return nil
	}
	more, rest := max(has, firstBytes), whole-has
	switch {
	case has == 0:
		more = max(firstBytes, min(whole, mostFirst))
	case rest > 0: // otherwise there is more data than announced
		more = min(more, rest)
	}
	if announced < 0 {
		rest = 0
	}
	more, err := i.reserve(ctx, a, more, rest)
	if err != nil {
		return err
	}
	a.data = append(make([]byte, 0, has+more), a.data...)
	return nil
}

// pooled returns a buffer for a body that has a buffer of has bytes, and may have whole bytes. It returns nil if there
// is none to reuse.
func (i *intake) pooled(has, whole int64) []byte {
	pool := &i.small
	if has > 0 {
		if whole <= mostFirst {
			return nil
		}
		pool = &i.large
	}
	if buffer, ok := pool.Get().(*[]byte); ok && int64(cap(*buffer)) > has {
		return *buffer
	}
	return nil
}

// put makes a buffer available for reuse.
func (i *intake) put(buffer []byte) {
	buffer = buffer[:0]
	switch size := cap(buffer); {
	case size == 0 || size > mostPooled:
	case size <= mostFirst:
		i.small.Put(&buffer)
	default:
		i.large.Put(&buffer)
	}
}

// reserve waits until there is room for more bytes of a, and returns the number of reserved bytes. If it must wait, it
// reserves all of rest at once. Otherwise the bodies that share the room would soon wait for each other again.
func (i *intake) reserve(ctx context.Context, a *arrival, more, rest int64) (reserved int64, err error) {
	began := time.Now()
	for {
		freed, slow, err := i.tryReserve(a, more, began)
		if err != nil || freed == nil {
			return more, err
		}
		more = max(more, rest)
		timer := time.NewTimer(slow)
		select {
		case <-freed:
		case <-timer.C:
		case <-a.gone:
		case <-ctx.Done():
			err = errNoRoom
		}
		timer.Stop()
		if err != nil {
			return 0, err
		}
	}
}

// tryReserve reserves more bytes for a, which has waited for them since began. If there is no room, it returns a
// channel that is closed when there may be room, and the time until another client counts as slow.
func (i *intake) tryReserve(a *arrival, more int64,
	began time.Time) (freed <-chan struct{}, slow time.Duration, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if a.isGone {
		return nil, 0, errCutOff
	}
	now := time.Now()
	if i.bytes+more <= i.limit {
		i.bytes += more
		a.bytes += more
		a.since, a.blocked = a.since.Add(now.Sub(began)), false
		return nil, 0, nil
	}
	a.blocked = true
	blocked, slow := int64(0), patient // a also waits
	var victim, longest *arrival
	for other := range i.awaited {
		switch left := patient - now.Sub(other.since); {
		case other.isGone:
			return i.freed, patient, nil // its bytes are about to be released
		case other.blocked:
			blocked += other.bytes
			longest = longer(longest, other)
		case left <= 0:
			victim = longer(victim, other)
		default:
			slow = min(slow, left)
		}
	}
	if victim == nil && blocked == i.bytes {
		victim = longest // otherwise all requests would wait for each other
	}
	if victim != nil {
		victim.isGone = true
		close(victim.gone)
		victim.cut() // with the lock, as no request with a running handler may lose its connection
	}
	return i.freed, slow, nil
}

// longer returns the arrival with more bytes. Either may be nil.
func longer(a, b *arrival) *arrival {
	if a != nil && a.bytes >= b.bytes {
		return a
	}
	return b
}

// answering records that the client of a reads its answer.
func (a *arrival) answering() {
	a.intake.mu.Lock()
	defer a.intake.mu.Unlock()
	a.intake.awaited[a] = struct{}{}
	a.since = time.Now()
}

// end releases the memory of the request.
func (a *arrival) end() {
	i := a.intake
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.awaited, a)
	if a.bytes > 0 {
		i.bytes -= a.bytes
		close(i.freed)
		i.freed = make(chan struct{})
	}
	i.put(a.data)
	a.data = nil
}

// whole is a body that was read in advance. It can be read until its request ends.
type whole struct {
	mu   sync.Mutex
	rest []byte
	done bool
}

// Bytes returns the part of the body that has not been read.
func (b *whole) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := b.rest
	b.rest = nil
	return rest
}

func (b *whole) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.done:
		return 0, http.ErrBodyReadAfterClose
	case len(b.rest) == 0:
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close ends the body. Its memory is then reused.
func (b *whole) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest, b.done = nil, true
	return nil
}
