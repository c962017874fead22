package telemetry

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// QuotaState is one of a tenant's own limits on one model, in any minute.
type QuotaState struct {
	Tenant, Model string
	Limit         string  // requests or tokens
	Used          float64 // share of the limit, what is reserved included
}

// mostQuotas bounds the limits that a scrape tells of: a series each.
const mostQuotas = 1_000

func newQuotaCollector() *quotaCollector {
	return &quotaCollector{
		used: prometheus.NewDesc("spillway_quota_used_ratio",
			"Share of a tenant's own limit on a model that is used in the last minute, 0 to 1. Limits of which nothing is used are left out.", []string{"tenant", "model", "limit"}, nil),
		leftOut: prometheus.NewDesc("spillway_quotas_left_out",
			"Limits in use that are not told of because there are too many; those of which least is used.", nil, nil),
	}
}

// quotaCollector tells of tenants' own limits.
type quotaCollector struct{ used, leftOut *prometheus.Desc }

func (c *quotaCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.used
	ch <- c.leftOut
}

// tell skips a second limit of the same labels, which would spoil the whole scrape.
func (c *quotaCollector) tell(ch chan<- prometheus.Metric, list []QuotaState) {
	told := slices.DeleteFunc(slices.Clone(list), func(q QuotaState) bool { return q.Used <= 0 })
	leftOut := max(len(told)-mostQuotas, 0)
	slices.SortStableFunc(told, func(a, b QuotaState) int { return cmp.Compare(b.Used, a.Used) })
	seen := map[[3]string]bool{}
	for _, q := range told[:len(told)-leftOut] {
		labels := [3]string{label(q.Tenant), label(q.Model), q.Limit}
		if !seen[labels] {
			seen[labels] = true
			ch <- prometheus.MustNewConstMetric(c.used, prometheus.GaugeValue, q.Used, labels[:]...)
		}
	}
	ch <- prometheus.MustNewConstMetric(c.leftOut, prometheus.GaugeValue, float64(leftOut))
}
