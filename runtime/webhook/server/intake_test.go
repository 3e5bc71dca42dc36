package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sender is a body that arrives in parts and ends when it is closed. A passed read deadline of its [connection] breaks
// it.
type sender struct {
	*io.PipeReader
	to *io.PipeWriter
}

func newSender() *sender {
	from, to := io.Pipe()
	return &sender{from, to}
}

// connection is the answer on a connection. When its read deadline has passed, the sender fails.
type connection struct {
	*httptest.ResponseRecorder
	from *sender
}

var errDeadline = errors.New("the deadline has passed")

func (c *connection) SetReadDeadline(at time.Time) error {
	if at.Before(time.Now()) {
		c.from.to.CloseWithError(errDeadline)
	}
	return nil
}

// bounded is a server with a limit for the total bytes of all bodies. It answers each request with a text as long as
// the body.
type bounded struct {
	*Server
	requests sync.WaitGroup
}

func newBounded(t *testing.T, limit int64) *bounded {
	s := New(Options{Logger: slog.New(slog.DiscardHandler)})
	s.intake.limit = limit
	if err := s.Handle("/a", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		io.WriteString(w, strings.Repeat("x", len(body)))
	}), math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	return &bounded{Server: s}
}

// send starts a request whose body has an unknown length.
func (b *bounded) send(from *sender) *connection {
	w := &connection{httptest.NewRecorder(), from}
	r := httptest.NewRequest(http.MethodPost, "/a", from)
	b.requests.Go(func() { b.ServeHTTP(w, r) })
	return w
}

// post sends a request whose whole body is available at once.
func (b *bounded) post(body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/a", strings.NewReader(body)))
	return w
}

// held returns the number of bytes that the server counts towards the limit.
func (b *bounded) held() int64 {
	b.intake.mu.Lock()
	defer b.intake.mu.Unlock()
	return b.intake.bytes
}

func TestLongestSlowBodyGoesForOneThatNeedsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBounded(t, 1<<20)
		var slow []*connection
		var senders []*sender
		for _, length := range []int{200 << 10, 500 << 10, 100 << 10} {
			from := newSender()
			slow, senders = append(slow, s.send(from)), append(senders, from)
			io.WriteString(from.to, strings.Repeat("a", length))
		}
		synctest.Wait()
		body := strings.Repeat("b", 400<<10)
		if w := s.post(body); w.Code != http.StatusOK || w.Body.Len() != len(body) {
			t.Errorf("beside slow clients: %d with %d bytes", w.Code, w.Body.Len())
		}
		for _, from := range senders {
			from.to.Close()
		}
		s.requests.Wait()
		for i, want := range []int{http.StatusOK, http.StatusServiceUnavailable, http.StatusOK} {
			if slow[i].Code != want {
				t.Errorf("slow client %d: %d, want %d: %s", i, slow[i].Code, want, slow[i].Body)
			}
		}
		if held := s.held(); held != 0 {
			t.Errorf("%d bytes are held after the last request", held)
		}
	})
}

func TestRequestWaitsForTheMemoryOfThoseThatAreWorkedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBounded(t, 1<<20)
		body := strings.Repeat("b", 600<<10)
		begun := time.Now()
		for range 3 { // the limit has room for one at a time
			s.requests.Go(func() {
				if w := s.post(body); w.Code != http.StatusOK {
					t.Errorf("%d: %s", w.Code, w.Body)
				}
			})
			synctest.Wait()
		}
		s.requests.Wait()
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// TestBodiesThatWaitForEachOtherDoNotAllFail sends two bodies that together reach the limit before either is complete.
func TestBodiesThatWaitForEachOtherDoNotAllFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBounded(t, 1<<20)
		var answers []*connection
		for range 2 {
			from := newSender()
			defer from.Close()
			answers = append(answers, s.send(from))
			go func() {
				io.WriteString(from.to, strings.Repeat("a", 800<<10))
				from.to.Close()
			}()
		}
		s.requests.Wait()
		codes := map[int]int{}
		for _, w := range answers {
			codes[w.Code]++
		}
		if codes[http.StatusOK] != 1 || codes[http.StatusServiceUnavailable] != 1 {
			t.Errorf("answers by their codes: %v", codes)
		}
	})
}

func TestRequestWithoutRoomIsRefusedWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBounded(t, 64<<10)
		s.requests.Go(func() { s.post(strings.Repeat("b", 50<<10)) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/a",
			strings.NewReader(strings.Repeat("c", 50<<10))))
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		s.requests.Wait()
	})
}

func TestBodyThatIsAnnouncedTooLongIsNotRead(t *testing.T) {
	s := newBounded(t, 1000)
	r := httptest.NewRequest(http.MethodPost, "/a", unread{t})
	r.ContentLength = 1001
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge || w.Header().Get("Connection") != "close" {
		t.Errorf("%d, %v", w.Code, w.Header())
	}
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (r unread) Read([]byte) (int, error) {
	r.t.Error("the body is read")
	return 0, io.EOF
}

func TestBodiesFitIntoTheMemoryOfTheProcess(t *testing.T) {
	for memory, want := range map[int64]int64{
		math.MaxInt64: 512 << 20, 16 << 30: 512 << 20, 1 << 30: 256 << 20, 64 << 20: 32 << 20,
	} {
		if got := newIntake(memory).limit; got != want {
			t.Errorf("with %d MiB: %d MiB, want %d", memory>>20, got>>20, want>>20)
		}
	}
}

func TestBodyIsGoneAfterItsRequest(t *testing.T) {
	s := New(Options{Logger: slog.New(slog.DiscardHandler)})
	var body io.ReadCloser
	if err := s.Handle("/a", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { body = r.Body }),
		10); err != nil {
		t.Fatal(err)
	}
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/a", strings.NewReader("abc")))
	if n, err := body.Read(make([]byte, 10)); n > 0 || !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("read %d bytes of another request, and %v", n, err)
	}
}

// TestReusedBuffersKeepBodiesApart sends bodies of all classes of sizes at once.
func TestReusedBuffersKeepBodiesApart(t *testing.T) {
	s := New(Options{Logger: slog.New(slog.DiscardHandler)})
	if err := s.Handle("/a", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}), 4<<20); err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			for i := range 30 {
				body := strings.Repeat(string(rune('a'+client)), []int{100, 9 << 10, 70 << 10, 300 << 10, 2 << 20}[i%5]+i)
				w := httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodPost, "/a", strings.NewReader(body))
				if i%2 == 0 {
					r.ContentLength = -1
				}
				s.ServeHTTP(w, r)
				if w.Body.String() != body {
					t.Errorf("body %d of client %d came back changed, with code %d", i, client, w.Code)
				}
			}
		})
	}
	clients.Wait()
}
