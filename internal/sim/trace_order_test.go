package sim

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTraceOrder(t *testing.T) {
	t.Run("rows within the window are put in order, equal ones stay in that of the file", func(t *testing.T) {
		got := mustRead(t, "x", "t,input,output\n3,1,1\n1,2,1\n2,3,1\n1,4,1\n", TraceOptions{})
		inputs := []int64{got[0].Input, got[1].Input, got[2].Input, got[3].Input}
		if !slices.Equal(inputs, []int64{2, 4, 3, 1}) {
			t.Errorf("order %v, want 2 4 3 1", inputs)
		}
	})
	late := func(above int) string {
		var b strings.Builder
		b.WriteString("t,input,output\n")
		for i := range above {
			fmt.Fprintf(&b, "%d,1,1\n", 10+i)
		}
		b.WriteString("9.5,1,1\n") // belongs to the top
		return b.String()
	}
	t.Run("999 rows late", func(t *testing.T) {
		if got := mustRead(t, "x", late(999), TraceOptions{}); got[0].At != 9500*time.Millisecond {
			t.Errorf("first at %v, want 9.5 s", got[0].At)
		}
	})
	t.Run("1,000 rows late", func(t *testing.T) {
		_, err := readTrace("x", late(1000), TraceOptions{})
		const want = "x:1002:1: out of order: 500ms before a row that stands more than 1000 rows above"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got  %v\nwant %v", err, want)
		}
	})
}

// manyRows writes an Azure trace of n rows as it is read.
type manyRows struct {
	n, at int
	buf   []byte
	rest  []byte
}

func (m *manyRows) Read(p []byte) (int, error) {
	if len(m.rest) == 0 {
		if m.at > m.n {
			return 0, io.EOF
		}
		m.buf = m.buf[:0]
		for len(m.buf) < 32<<10 && m.at <= m.n {
			m.row()
		}
		m.rest = m.buf
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// row is the header, then 100 rows a second from 00:00 on.
func (m *manyRows) row() {
	if m.at == 0 {
		m.buf = append(m.buf, "TIMESTAMP,ContextTokens,GeneratedTokens\n"...)
		m.at++
		return
	}
	i := m.at - 1
	day, s := 1+i/100/86400, i/100%86400
	two := func(sep byte, v int) { m.buf = append(m.buf, sep, byte('0'+v/10), byte('0'+v%10)) }
	m.buf = append(m.buf, "2024-01"...)
	two('-', day)
	two(' ', s/3600)
	two(':', s/60%60)
	two(':', s%60)
	two('.', i%100)
	m.buf = append(m.buf, "00000,"...)
	m.buf = strconv.AppendInt(m.buf, int64(i%4000), 10)
	m.buf = append(m.buf, ",200\n"...)
	m.at++
}

// However long a trace is, its rows cost no memory: 2 million leave less than
// a byte each.
func TestTraceManyRows(t *testing.T) {
	const n = 2_000_000
	s, err := Trace("conv", &manyRows{n: n}, TraceOptions{Tenants: 10})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	count, last := 0, Arrival{}
	for {
		a, ok, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		count, last = count+1, a
	}
	runtime.ReadMemStats(&after)
	if want := (n - 1) * 10 * time.Millisecond; count != n || last.At != want {
		t.Errorf("%d rows up to %v, want %d up to %v", count, last.At, n, want)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes allocated on the way, want next to none", grown)
	}
}

// However rows are shuffled within the window, the same arrivals come out.
func TestTraceOrderAgainstSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.IntRange(0, 50), 1, 200).Draw(t, "times")
		var b strings.Builder
		b.WriteString("t,input,output\n")
		for i, at := range times {
			fmt.Fprintf(&b, "%d,%d,1\n", at, i)
		}
		got, err := readTrace("x", b.String(), TraceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		order := make([]int, len(times))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return times[a] - times[b] })
		for i, a := range got {
			if a.Input != int64(order[i]) || a.At != time.Duration(times[order[i]])*time.Second {
				t.Fatalf("arrival %d is row %d at %v, want row %d", i, a.Input, a.At, order[i])
			}
		}
	})
}

func BenchmarkTraceAzure(b *testing.B) {
	s, err := Trace("conv", &manyRows{n: b.N}, TraceOptions{})
	benchSource(b, s, err)
}

// repeated gives the same rows over and over, after a header.
type repeated struct {
	head, row string
	n, at     int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	if r.head != "" {
		n = copy(p, r.head)
		r.head = ""
	}
	for n+len(r.row) <= len(p) {
		if r.at == r.n {
			return n, io.EOF
		}
		n += copy(p[n:], r.row)
		r.at++
	}
	return n, nil
}

func BenchmarkTracePlain(b *testing.B) {
	s, err := Trace("x", &repeated{head: "t,tenant,model,class,input,output,deadline\n", row: "17.125,acme,large,standard,1155,211,30\n", n: b.N}, TraceOptions{})
	benchSource(b, s, err)
}

func BenchmarkTraceJSON(b *testing.B) {
	s, err := Trace("x", &repeated{row: `{"t":17.125,"tenant":"acme","model":"large","class":"standard","input":1155,"output":211,"deadline":30}` + "\n", n: b.N}, TraceOptions{})
	benchSource(b, s, err)
}

func BenchmarkTraceLog(b *testing.B) {
	row := strings.SplitAfter(logSample, "\n")[2]
	s, err := Trace("x", &repeated{row: row, n: b.N}, TraceOptions{})
	benchSource(b, s, err)
}

func benchSource(b *testing.B, s Source, err error) {
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	for {
		_, ok, err := s.Next()
		if err != nil {
			b.Fatal(err)
		}
		if !ok {
			break
		}
		n++
	}
	if n < b.N {
		b.Fatalf("%d arrivals of %d", n, b.N)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}
