package answers

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// open is a cache for one test.
func open(t testing.TB, bytes int64, ttl time.Duration) *Cache {
	c := New(bytes, ttl)
	t.Cleanup(c.Close)
	return c
}

// numbered is the nth key.
func numbered(n int) (k Key) {
	binary.BigEndian.PutUint64(k[:], uint64(n))
	return k
}

func sized(bytes int, stored time.Time) *Answer {
	return &Answer{Body: make([]byte, bytes), Stored: stored}
}

func TestCacheTellsTheAge(t *testing.T) {
	c := open(t, 1<<20, time.Minute)
	if _, _, ok := c.Get(t0, numbered(1)); ok {
		t.Error("an answer from nowhere")
	}
	a := sized(10, t0)
	if !c.Put(numbered(1), a) {
		t.Fatal("refused")
	}
	for _, tt := range []struct {
		at, age time.Duration
		ok      bool
	}{
		{0, 0, true},
		{time.Second, time.Second, true},
		{time.Minute - 1, time.Minute - 1, true},
		{time.Minute, 0, false},
		{-time.Second, 0, true}, // a clock that was set back
	} {
		got, age, ok := c.Get(t0.Add(tt.at), numbered(1))
		if ok != tt.ok || age != tt.age || ok != (got == a) {
			t.Errorf("after %v: %v, %v", tt.at, age, ok)
		}
	}
	if _, _, ok := c.Get(t0, numbered(2)); ok {
		t.Error("another request has the answer")
	}
	b := sized(20, t0.Add(time.Minute))
	c.Put(numbered(1), b) // instead of the old one
	if got, age, _ := c.Get(t0.Add(time.Minute), numbered(1)); got != b || age != 0 {
		t.Errorf("%v old, and the former: %v", age, got == a)
	}
	want := Stats{Hits: 5, Misses: 3, Stored: 2, Answers: 1, Bytes: b.weight()}
	if got := c.Stats(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestCacheRefuses(t *testing.T) {
	c := open(t, 80<<10, time.Minute)
	fits := 10<<10 - int(sized(0, t0).weight())
	if !c.Put(numbered(1), sized(fits, t0)) || c.Put(numbered(2), sized(fits+1, t0)) {
		t.Error("the bound of one is not an eighth of all")
	}
	if c.Put(numbered(3), sized(1, time.Time{})) {
		t.Error("took an answer of no time")
	}
	if got := c.Stats(); got.Stored != 1 || got.Refused != 2 {
		t.Errorf("%+v", got)
	}
	for _, off := range []*Cache{open(t, 0, time.Minute), open(t, -1, time.Minute), open(t, 1<<20, 0), open(t, 1<<20, -1)} {
		if off.Put(numbered(1), sized(1, t0)) {
			t.Error("a cache without bounds to be within took an answer")
		}
	}
}

// However much is put, the bytes stay within the bound after each, and the room
// is used.
func TestCacheHoldsItsBytes(t *testing.T) {
	const most = 1 << 20
	c := open(t, most, time.Hour)
	for i := range 3000 {
		c.Put(numbered(i), sized(i*37%5000, t0))
		if s := c.Stats(); s.Bytes > most {
			t.Fatalf("%d bytes after %d answers", s.Bytes, i+1)
		}
	}
	s := c.Stats()
	if s.Bytes < most*9/10 || int(s.Evicted)+s.Answers != 3000 {
		t.Errorf("%+v", s)
	}
	held := int64(0)
	for i := range 3000 {
		if a, _, ok := c.Get(t0, numbered(i)); ok {
			held += a.weight()
		}
	}
	if held != s.Bytes {
		t.Errorf("%d bytes are there, %d are told", held, s.Bytes)
	}
}

func TestCacheResizes(t *testing.T) {
	c := open(t, 1<<20, time.Hour)
	for i := range 100 {
		c.Put(numbered(i), sized(4000, t0.Add(time.Duration(i)*time.Minute/2)))
	}
	c.Put(numbered(100), sized(100<<10, t0.Add(49*time.Minute))) // fits an eighth of a megabyte, not of less
	now := t0.Add(50 * time.Minute)

	c.Resize(now, 512<<10, 30*time.Minute)
	if _, _, ok := c.Get(now, numbered(100)); ok {
		t.Error("an answer of more than an eighth stays")
	}
	if s := c.Stats(); s.Answers == 0 || s.Answers > 59 {
		t.Errorf("%d answers; only 59 are younger than half an hour", s.Answers)
	}
	c.Resize(now, 64<<10, 30*time.Minute)
	if s := c.Stats(); s.Bytes > 64<<10 || s.Answers == 0 {
		t.Errorf("%+v", s)
	}
	c.Resize(now, 0, 30*time.Minute)
	if s := c.Stats(); s.Answers != 0 || s.Bytes != 0 || c.Put(numbered(1), sized(1, now)) {
		t.Errorf("switched off, and holds %+v", s)
	}
	c.Resize(now, 1<<20, time.Minute)
	if !c.Put(numbered(1), sized(1, now)) {
		t.Error("switched on again, and takes nothing")
	}
	c.Resize(now, 1<<20, 0)
	if s := c.Stats(); s.Answers != 0 {
		t.Errorf("no answer is young enough, and it holds %+v", s)
	}
}

// What is too old is freed without anybody asking, and the bound that counts is
// the one of now.
func TestCacheFreesWhatIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, 1<<20, time.Minute)
		c.Put(numbered(1), sized(1000, time.Now()))
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if _, age, ok := c.Get(time.Now(), numbered(1)); !ok || age != 59*time.Second || c.Stats().Answers != 1 {
			t.Fatalf("%v, %v after 59 s", age, ok)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if s := c.Stats(); s.Answers != 0 || s.Bytes != 0 {
			t.Fatalf("still held after 63 s: %+v", s)
		}

		c.Put(numbered(2), sized(1000, time.Now()))
		time.Sleep(30 * time.Second)
		c.Resize(time.Now(), 1<<20, 2*time.Minute) // it may grow older
		time.Sleep(89 * time.Second)
		if _, age, ok := c.Get(time.Now(), numbered(2)); !ok || age != 119*time.Second {
			t.Errorf("%v, %v after 119 s", age, ok)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if s := c.Stats(); s.Answers != 0 {
			t.Errorf("still held after 124 s: %+v", s)
		}

		c.Put(numbered(3), sized(1000, time.Now()))
		time.Sleep(10 * time.Second)
		c.Resize(time.Now(), 1<<20, 20*time.Second) // or less old
		time.Sleep(10 * time.Second)
		if _, _, ok := c.Get(time.Now(), numbered(3)); ok {
			t.Error("given at 20 s")
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if s := c.Stats(); s.Answers != 0 {
			t.Errorf("still held after 24 s: %+v", s)
		}
	})
}

// Many put, look up and change the bounds at once: no answer is that of another
// key, and the bytes are within the bound in the end.
func TestCacheAtOnce(t *testing.T) {
	const most = 256 << 10
	c := open(t, most, time.Hour)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 500 {
				n := (g*131 + i) % 200
				a, _, ok := c.Get(t0, numbered(n))
				if ok && a.Input != int64(n) {
					t.Errorf("key %d has the answer of %d", n, a.Input)
				}
				if !ok {
					a = sized(100+n*20, t0)
					a.Input = int64(n)
					c.Put(numbered(n), a)
				}
				if i%100 == g {
					c.Resize(t0, most-int64(i), time.Hour)
				}
				c.Stats()
			}
		})
	}
	all.Wait()
	c.Resize(t0, most, time.Hour)
	if s := c.Stats(); s.Bytes > most || s.Answers == 0 || s.Hits+s.Misses != 8*500 {
		t.Errorf("%+v", s)
	}
}

func BenchmarkGet(b *testing.B) {
	c := open(b, 64<<20, time.Hour)
	for i := range 1000 {
		c.Put(numbered(i), sized(4000, t0))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, _, ok := c.Get(t0, numbered(i%1000)); !ok {
			b.Fatal("gone")
		}
	}
}

func BenchmarkPut(b *testing.B) {
	for _, mb := range []int64{1, 64} { // full, and with room
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			c := open(b, mb<<20, time.Hour)
			a := sized(4000, t0)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.Put(numbered(i%10000), a)
			}
		})
	}
}
