package console_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/gateway"
)

// TestIncident is the run that docs/incident.md tells: an aggressor, then a
// brownout of one of two upstreams. Somebody who knows the console alone finds the
// cause and the knob of each. With -update it takes the pictures of that page.
func TestIncident(t *testing.T) {
	b := page(t, light)
	s := stage(t)
	b.logIn("http://"+s.ops, adminToken)
	b.shows("● live")
	s.until(t, "everybody is served", func(p *gateway.Picture) bool { return p.Second.Good >= 6 })
	b.shows("Nothing is wrong")

	// The aggressor. The headline names it, and what is refused of it says why.
	s.crawl(t)
	b.shows("of refusals are of tenant crawler")
	enough := 0.0 // of it, to tell what if by
	if *update {
		enough = 45
	}
	before := s.until(t, "what waits has filled up", func(p *gateway.Picture) bool { return waiting(p) >= 10 && p.Uptime >= enough })
	b.show("incident-1-headline")
	b.click("the headline leads to the refusals", "[...document.querySelectorAll('.headline a')].find((a) => a.innerText.includes('tenant crawler'))")
	b.click("a refusal of the crawler is listed", "[...document.querySelectorAll('#refusals-table tbody tr')].find((r) => r.innerText.includes('crawler') && r.innerText.includes('wait'))?.querySelector('a')")
	b.shows("What would let it in")
	b.shows("◀ this one")
	b.show("incident-2-why")

	// The knob: how many requests of one tenant may be there at once. What if, then for real.
	eval[any](b, "location.hash = '#/settings?q=' + encodeURIComponent('tenants[crawler].concurrency')")
	b.press("Change…")
	b.write(".editor input", "8")
	b.press("Try this value")
	b.shows("Not applied yet")
	b.press("What if?")
	b.until("what if is answered", "document.querySelector('.draft table') !== null")
	b.show("incident-3-what-if")
	b.write(".apply input", "crawler alone fills the queue")
	b.press("Apply now")
	b.shows("changed while running")
	eval[any](b, "location.hash = '#/'")
	after := s.until(t, "nothing waits any more", func(p *gateway.Picture) bool { return waiting(p) == 0 && p.Second.Refused["concurrency"] > 0 })
	b.shows("most by concurrency: a tenant has too many at once")
	b.show("incident-4-after")
	t.Logf("waiting %d, then %d", waiting(before), waiting(after))

	// The brownout. The upstream is named; without it the other one serves all.
	s.brownout(t, 6)
	s.until(t, "the brownout shows", func(p *gateway.Picture) bool { return upstream(p, "gpu-a").Speed >= 3*upstream(p, "gpu-b").Speed })
	b.shows("Upstream gpu-a takes")
	b.show("incident-5-brownout")
	b.click("the headline leads to the upstreams", "[...document.querySelectorAll('.headline a')].find((a) => a.innerText.includes('gpu-a takes'))")
	b.show("incident-6-upstreams")
	b.press("Drain… gpu-a")
	b.press("Yes, drain")
	b.shows("is drained: it gets no new calls.")
	s.until(t, "calls of the slow one have ended", func(p *gateway.Picture) bool { return upstream(p, "gpu-a").Running == 0 && p.Second.Good >= 8 })
	b.show("incident-7-drained")

	// And back, when it is well.
	s.brownout(t, 1)
	b.press("Enable… gpu-a")
	b.press("Yes, enable")
	s.until(t, "it serves again", func(p *gateway.Picture) bool { return upstream(p, "gpu-a").Running > 0 })
	eval[any](b, "location.hash = '#/changes'")
	b.shows("crawler alone fills the queue")
	b.until("all three changes are told", "document.querySelectorAll('.history > li').length >= 3")
	b.show("incident-8-changes")
	b.quiet()
}

// click clicks what an expression finds, once it does.
func (b *browser) click(what, find string) {
	b.t.Helper()
	b.until(what, "(() => { const x = "+find+"; if (x) x.click(); return Boolean(x); })()")
}

// show takes a picture for docs/incident.md.
func (b *browser) show(name string) {
	b.t.Helper()
	if *update {
		b.save(name)
	}
}

// scene is a gateway with two upstreams and seven tenants who ask quietly.
type scene struct{ listen, ops, slow string }

var quietTenants = []string{"shop", "bank", "clinic", "press", "school", "lab", "hotel"}

func keyOf(tenant string) string { return "sk-console-key-of-" + tenant }

func stage(t *testing.T) *scene {
	t.Helper()
	var upstreams []string
	for i := range 2 {
		said := program(t, func(line string) bool { return strings.Contains(line, "simulated model server") },
			"mock", "--listen=127.0.0.1:0", "--slots=8", "--service-mean=400ms", fmt.Sprintf("--seed=%d", i+1))
		_, rest, _ := strings.Cut(said, "http://")
		address, _, _ := strings.Cut(rest, "/")
		upstreams = append(upstreams, address)
	}
	var tenants strings.Builder
	for _, name := range append(quietTenants, "crawler") {
		fmt.Fprintf(&tenants, "  - {name: %s, keys: [%q]}\n", name, config.HashKey(keyOf(name)))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "spillway.yaml")
	conf := fmt.Sprintf(`
drain: 1s
ledger: {enabled: false}
providers:
  gpu-a: {base_url: "http://%s/v1"}
  gpu-b: {base_url: "http://%s/v1"}
models:
  chat:
    deployments:
      - {name: gpu-a, provider: gpu-a, model: chat-8b, concurrency: 8}
      - {name: gpu-b, provider: gpu-b, model: chat-8b, concurrency: 8}
    prior: {first_token: 400ms, per_output_token: 1us, output_tokens: 200}
tenants:
%s%s  directory: %s
`, upstreams[0], upstreams[1], &tenants, tokens, dir)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	said := program(t, func(line string) bool { return strings.Contains(line, "spillway serves") }, "serve", "--config", file, "--listen=127.0.0.1:0", "--ops=127.0.0.1:0")
	var at struct{ Listen, Ops string }
	if err := json.Unmarshal([]byte(said), &at); err != nil {
		t.Fatalf("%s: %v", said, err)
	}
	s := &scene{at.Listen, at.Ops, upstreams[0]}
	args := []string{"load", "--target", "http://" + s.listen + "/v1", "--rate=14", "--duration=150s", "--deadline=3s", "--retries=0"}
	for _, name := range quietTenants {
		args = append(args, fmt.Sprintf("--tenant=name=%s,key=%s,share=%f", name, keyOf(name), 1/float64(len(quietTenants))))
	}
	program(t, nil, args...)
	return s
}

// until waits for a state of the gateway.
func (s *scene) until(t *testing.T, what string, is func(*gateway.Picture) bool) *gateway.Picture {
	t.Helper()
	end, look := time.NewTimer(5*patience), time.NewTicker(100*time.Millisecond)
	defer end.Stop()
	defer look.Stop()
	for {
		p := s.look(t)
		if is(p) {
			return p
		}
		select {
		case <-look.C:
		case <-end.C:
			t.Fatalf("not within %v: %s; it is %+v, %+v", 10*patience, what, p.Second, p.Models)
		}
	}
}

func (s *scene) look(t *testing.T) *gateway.Picture {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.ops+"/admin/v1/snapshot", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+adminToken)
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	p := new(gateway.Picture)
	if err := json.NewDecoder(r.Body).Decode(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func waiting(p *gateway.Picture) (n int) {
	for _, m := range p.Models {
		for _, c := range m.Classes {
			n += c.Waiting
		}
	}
	return n
}

func upstream(p *gateway.Picture, name string) gateway.UpstreamReport {
	for _, u := range p.Upstream {
		if u.Name == name {
			return u
		}
	}
	return gateway.UpstreamReport{}
}

// crawl has one tenant ask for far more than there is.
func (s *scene) crawl(t *testing.T) {
	t.Helper()
	program(t, nil, "load", "--target", "http://"+s.listen+"/v1", "--rate=80", "--duration=140s", "--deadline=3s", "--retries=1", "--tenant=name=crawler,key="+keyOf("crawler")+",share=1")
}

// brownout makes everything at gpu-a so many times slower.
func (s *scene) brownout(t *testing.T, factor int) {
	t.Helper()
	r, err := http.Post("http://"+s.slow+"/control", "application/json", strings.NewReader(fmt.Sprintf(`{"brownout":%d}`, factor)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(r.Body)
		t.Fatalf("%s %s", r.Status, text)
	}
}
