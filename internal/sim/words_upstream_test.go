package sim

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// A story of two models says what the gateway is told and what is true.
func TestParseDeployments(t *testing.T) {
	s, err := ParseScenario("x", strings.NewReader(`# Two models.
service 2s sigma=0
upstream queue=9
model large
balance cost
score cost=1 speed=2
breaker errors=5 consecutive=never first-open=4s
fallback error small
deployment a slots=8 tier=1 price-in=2.5 price-out=10 price-request=0.01 weight=3 quality=0.8 rpm=60 tpm=9000 tpd=100000 keys=2 auto most=40
upstream a slots=6 service=tokens first=1s output=10ms requests=10 per=1s limit=bucket burst=500ms headers
model small
deployment b slots=4 reserve
caller x rate=1x deadline=8s
caller y rate=1x deadline=8s model=small
at 1s limit requests=5 on a until 3s
at 2s down error=silence on b until 4s
for 60s
`))
	if err != nil {
		t.Fatal(err)
	}
	large, small := &s.Policy.Models[0], &s.Policy.Models[1]
	if large.Name != "large" || small.Name != "small" || large.Balance != admit.Score || large.Score.Speed != 2 ||
		large.Breaker.Errors != 5 || large.Breaker.Consecutive != -1 || large.Breaker.First.Open != 4*time.Second || large.Fallback[admit.CauseError][0] != "small" {
		t.Errorf("models are %+v and %+v", large, small)
	}
	a := large.Deployments[0]
	if a.Concurrency != 8 || a.Tier != 1 || !reflect.DeepEqual(a.Price, admit.Price{Known: true, Input: 2_500_000, Output: 10_000_000, Request: 10_000}) || a.Weight != 3 || a.Quality[""] != 0.8 ||
		len(a.Keys) != 2 || a.Keys[1] != (admit.Quota{Requests: 60, Tokens: 9000, Daily: 100_000}) || !a.Auto || a.Most != 40 {
		t.Errorf("a is %+v", a)
	}
	u := s.Upstreams["a"]
	if u.Slots != 6 || u.Mean != 0 || u.First != time.Second || u.PerOutput != 10*time.Millisecond || u.Queue != 9 || u.Noise != 0 ||
		u.Limit != (Limit{Requests: 10, Per: time.Second, Kind: Bucket, Burst: 500 * time.Millisecond, Headers: true}) {
		t.Errorf("the upstream of a is %+v", u)
	}
	if b := s.Upstreams["b"]; b.Slots != 4 || b.Mean != 2*time.Second || !small.Deployments[0].Reserve {
		t.Errorf("the upstream of b is %+v", b)
	}
	if got := s.Callers[1].Rate; got != 2 { // four slots, two seconds each
		t.Errorf("y calls %v times a second", got)
	}
	r, err := s.Play("ours", nil)
	if err != nil || len(s.Script) != 4 {
		t.Fatal(err, len(s.Script))
	}
	if r.Offered == 0 {
		t.Error("nobody called")
	}
}
