package deploy_test

import "fmt"

// Expressions that many panels are made of. $job and $__rate_interval are
// Grafana's to fill in.

// rate is how much a counter grows in a second, by labels.
func rate(by, series string) string {
	return fmt.Sprintf(`sum by (%s) (rate(%s[$__rate_interval]))`, by, series)
}

// quantile of a histogram of our job, by labels.
func quantile(q, by, histogram, matchers string) string {
	return fmt.Sprintf(`histogram_quantile(%s, sum by (%s, le) (rate(%s_bucket{job="$job"%s}[$__rate_interval])))`, q, by, histogram, matchers)
}

var boards = []board{overview, upstreams, money, degradation, process}

var overview = board{"overview", "Overview", "What must be watched: the distribution of the queue's depth, the waits, and who is refused.", []panel{
	{title: "Queue depth on arrival", about: "Waiting requests that each arrival found, as a distribution over time: the moment says nothing, the distribution does.", kind: "heatmap", wide: 12,
		queries: []query{{`sum by (le) (increase(spillway_queue_depth_bucket{job="$job"}[$__rate_interval]))`, "{{le}}"}}},
	{title: "Queue wait", about: "From arrival to dispatch, by model and class. Alerts are at 80 % of max_wait.", unit: "s", wide: 12,
		queries: []query{{`spillway:wait_seconds:p50_5m{job="$job"}`, "P50 {{model}} {{class}}"}, {`spillway:wait_seconds:p99_5m{job="$job"}`, "P99 {{model}} {{class}}"}}},
	{title: "Refused, by tenant", about: "Share of each tenant's requests that is refused. None at all at high load is no good sign: a threshold is too high.", unit: "percentunit",
		queries: []query{{`spillway:tenant_refused:ratio5m{job="$job"}`, "{{tenant}}"}}},
	{title: "Refused, by stage", about: "Which stage of the decision refuses: the caller's limits, budgets, or what is predicted.", unit: "reqps",
		queries: []query{{rate("stage", `spillway_decisions_total{job="$job",verdict="reject"}`), "{{stage}}"}}},
	{title: "Goodput", about: "Answers that were complete and in time, those that were late, and all other ends of requests.", unit: "reqps",
		queries: []query{{rate("in_time", `spillway_answers_total{job="$job"}`), "answered in time: {{in_time}}"}, {rate("outcome", `spillway_requests_total{job="$job",outcome!="answered"}`), "{{outcome}}"}}},
	{title: "Own limits", about: "Share of a tenant's own limit on a model that was used in the last minute, of the twenty nearest to 1. There it is refused, whatever is free.", unit: "percentunit",
		queries: []query{{`topk(20, max by (tenant, model, limit) (spillway_quota_used_ratio{job="$job"}))`, "{{tenant}} {{model}} {{limit}}"}}},
	{title: "Answered, by model", about: "Share of the requests that were answered.", unit: "percentunit",
		queries: []query{{`spillway:model_answered:ratio5m{job="$job"}`, "{{model}}"}}},
	{title: "Queue depth, quantiles", about: "Requests before an arrival, by model.",
		queries: []query{{`spillway:queue_depth:p50_5m{job="$job"}`, "P50 {{model}}"}, {`spillway:queue_depth:p99_5m{job="$job"}`, "P99 {{model}}"}}},
	{title: "Slots", about: "Share of the slots that are busy, and the time that serving the queue takes with all of them.", unit: "percentunit",
		queries: []query{{`spillway:slots_busy:ratio{job="$job"}`, "{{model}}"}}},
	{title: "Time to serve the queue", about: "With every slot. Alerts are near queue.high.", unit: "s",
		queries: []query{{`spillway:queue_drain:seconds{job="$job"}`, "{{model}}"}}},
	{title: "First token", about: "From arrival, for streamed answers that were not degraded.", unit: "s",
		queries: []query{{quantile("0.5", "model", "spillway_time_to_first_token_seconds", ""), "P50 {{model}}"}, {quantile("0.99", "model", "spillway_time_to_first_token_seconds", ""), "P99 {{model}}"}}},
	{title: "Duration of answers", about: "From arrival to the end.", unit: "s",
		queries: []query{{quantile("0.5", "model", "spillway_request_duration_seconds", `,outcome="answered"`), "P50 {{model}}"}, {quantile("0.99", "model", "spillway_request_duration_seconds", `,outcome="answered"`), "P99 {{model}}"}}},
	{title: "Prediction error", about: "Real wait minus predicted wait. Above zero, it was longer than said.", unit: "s",
		queries: []query{{`spillway:wait_error_seconds:p50_10m{job="$job"}`, "P50 {{model}}"}, {`spillway:wait_error_seconds:p90_10m{job="$job"}`, "P90 {{model}}"}}},
	{title: "Dropped from the queue", about: "Late: predictions were wrong. Cancelled: callers left.", unit: "reqps",
		queries: []query{{rate("model, reason", `spillway_dropped_total{job="$job"}`), "{{model}} {{reason}}"}}},
	{title: "Retries over requests", about: "By the caller, as far as it marks them, and by the gateway.", unit: "percentunit",
		queries: []query{{`spillway:retries:ratio10m{job="$job"}`, "{{by}}"}}},
	{title: "Would be refused", about: "With admission: observe, what predictions would turn away.", unit: "reqps",
		queries: []query{{rate("class, tenant", `spillway_would_refuse_total{job="$job"}`), "{{tenant}} {{class}}"}}},
}}

var upstreams = board{"upstreams", "Upstreams", "What each deployment does, and what is left of it.", []panel{
	{title: "Usable slots", about: "What breakers leave, of the slots that are configured or learnt.",
		queries: []query{{`sum by (deployment) (spillway_upstream_usable_slots{job="$job"})`, "{{deployment}} usable"}, {`sum by (deployment) (spillway_upstream_slots{job="$job"})`, "{{deployment}}"}}},
	{title: "Running calls", about: "Calls that each deployment has now.",
		queries: []query{{`sum by (deployment) (spillway_upstream_running{job="$job"})`, "{{deployment}}"}}},
	{title: "Breaker share", about: "Below 1 while the state is closed is a deployment that fails more than it may.", unit: "percentunit",
		queries: []query{{`min by (deployment) (spillway_upstream_breaker_share{job="$job"})`, "{{deployment}}"}}},
	{title: "Breakers not closed", about: "States other than closed.",
		queries: []query{{`sum by (deployment, state) (spillway_upstream_breaker_state{job="$job",state!="closed"})`, "{{deployment}} {{state}}"}}},
	{title: "Openings", about: "In the last hour, by reason.",
		queries: []query{{`sum by (deployment, reason) (increase(spillway_breaker_opened_total{job="$job"}[1h]))`, "{{deployment}} {{reason}}"}}},
	{title: "Calls", about: "All that were sent, and those with a good answer.", unit: "reqps",
		queries: []query{{rate("deployment", `spillway_upstream_sent_total{job="$job"}`), "{{deployment}} sent"}, {rate("deployment", `spillway_upstream_good_total{job="$job"}`), "{{deployment}} good"}}},
	{title: "Faults", about: "Calls that failed, by what was wrong.", unit: "reqps",
		queries: []query{{rate("deployment, fault", `spillway_upstream_faults_total{job="$job"}`), "{{deployment}} {{fault}}"}}},
	{title: "429s", about: "Share of the calls that met a limit of the provider.", unit: "percentunit",
		queries: []query{{`spillway:upstream_throttled:ratio10m{job="$job"}`, "{{deployment}}"}}},
	{title: "Answers by status", about: "Of every call, retried ones too.", unit: "reqps",
		queries: []query{{rate("deployment, status", `spillway_upstream_attempts_total{job="$job"}`), "{{deployment}} {{status}}"}}},
	{title: "First token of a call", about: "From dispatch: the upstream's own part.", unit: "s",
		queries: []query{{quantile("0.5", "deployment", "spillway_upstream_first_token_seconds", ""), "P50 {{deployment}}"}, {quantile("0.95", "deployment", "spillway_upstream_first_token_seconds", ""), "P95 {{deployment}}"}, {quantile("0.99", "deployment", "spillway_upstream_first_token_seconds", ""), "P99 {{deployment}}"}}},
	{title: "Time of a call", about: "From dispatch to the end, for good answers.", unit: "s",
		queries: []query{{quantile("0.5", "deployment", "spillway_upstream_service_seconds", `,ok="true"`), "P50 {{deployment}}"}, {quantile("0.99", "deployment", "spillway_upstream_service_seconds", `,ok="true"`), "P99 {{deployment}}"}}},
	{title: "Speed beside the model's mean", about: "Above 1 is slower than the model's other deployments.",
		queries: []query{{`avg by (deployment) (spillway_upstream_time_ratio{job="$job"})`, "{{deployment}}"}}},
	{title: "Paused", about: "Until the first key passes calls again, by Retry-After.", unit: "s",
		queries: []query{{`max by (deployment) (spillway_upstream_paused_seconds{job="$job"})`, "{{deployment}}"}}},
	{title: "Keys refused", about: "Wrong, withdrawn or out of money.",
		queries: []query{{`max by (deployment) (spillway_upstream_refused_keys{job="$job"})`, "{{deployment}}"}}},
	{title: "Wasted time", about: "Seconds a second that calls go on after their caller has left.",
		queries: []query{{rate("deployment", `spillway_upstream_wasted_seconds_total{job="$job"}`), "{{deployment}}"}}},
}}

var money = board{"money", "Money", "What is spent, by whom, and how long budgets last.", []panel{
	{title: "Spent an hour", about: "By tenant, over the last hour.", unit: "currencyUSD",
		queries: []query{{`spillway:tenant_cost:dollars_per_hour{job="$job"}`, "{{tenant}}"}}},
	{title: "Spent an hour, by model", about: "By the configured prices, as far as there are any.", unit: "currencyUSD",
		queries: []query{{`3600 * ` + rate("model", `spillway_cost_dollars_total{job="$job"}`), "{{model}}"}}},
	{title: "Spent an hour, by deployment", about: "What each provider will ask for.", unit: "currencyUSD",
		queries: []query{{`3600 * ` + rate("deployment", `spillway_upstream_cost_dollars_total{job="$job"}`), "{{deployment}}"}}},
	{title: "Budgets used", about: "Spent and held, of the limit in force.", unit: "percentunit", wide: 12,
		queries: []query{{`max by (scope, tenant, name, span) ((spillway_budget_used_dollars{job="$job"} + spillway_budget_held_dollars{job="$job"}) / (spillway_budget_limit_dollars{job="$job"} > 0))`, "{{scope}} {{tenant}} {{name}} {{span}}"}}},
	{title: "Budgets last", about: "At the rate of the last minute; none that last for ever.", unit: "s", wide: 12,
		queries: []query{{`min by (scope, tenant, name) (spillway_budget_exhaustion_seconds{job="$job"} < +Inf)`, "{{scope}} {{tenant}} {{name}}"}}},
	{title: "Alarms", about: "0 calm, 1 fast, 2 soft, 3 exhausted.",
		queries: []query{{`max by (scope, tenant, name) (spillway_budget_alarm{job="$job"})`, "{{scope}} {{tenant}} {{name}}"}}},
	{title: "Refused for money", about: "Stages spend and pace.", unit: "reqps",
		queries: []query{{rate("tenant, stage", `spillway_decisions_total{job="$job",stage=~"spend|pace",verdict="reject"}`), "{{tenant}} {{stage}}"}}},
	{title: "Without a price", about: "Requests that no budget knows the cost of.", unit: "reqps",
		queries: []query{{rate("tenant, model", `spillway_unpriced_requests_total{job="$job"}`), "{{tenant}} {{model}}"}}},
	{title: "Tokens", about: "By direction. Input includes cached ones, output reasoning.",
		queries: []query{{rate("direction", `spillway_tokens_total{job="$job"}`), "{{direction}}"}}},
	{title: "Tokens, by tenant", about: "Input and output.",
		queries: []query{{rate("tenant", `spillway_tokens_total{job="$job",direction=~"input|output"}`), "{{tenant}}"}}},
	{title: "Leaked", about: "Held of budgets by nobody. Always 0.", kind: "stat", unit: "currencyUSD",
		queries: []query{{`sum(spillway_budget_leaked_dollars{job="$job"})`, ""}}},
}}

var degradation = board{"degradation", "Degradation", "How far down their ladders models are, and what it does to answers.", []panel{
	{title: "Level", about: "0 nothing, 1 features, 2 compute, 3 another model.",
		queries: []query{{`max by (model, class) (spillway_ladder_level{job="$job"})`, "{{model}} {{class}}"}}},
	{title: "Pressure", about: "Predicted wait over what it may be at most. It moves the level.", unit: "percentunit",
		queries: []query{{`max by (model, class) (spillway_ladder_pressure{job="$job"})`, "{{model}} {{class}}"}}},
	{title: "Time at each level", about: "Share of the time.", unit: "percentunit",
		queries: []query{{`avg by (model, class, level) (rate(spillway_ladder_seconds_total{job="$job",level!="0"}[$__rate_interval]))`, "{{model}} {{class}} {{level}}"}}},
	{title: "Degraded requests", about: "By rung; one of two rungs counts in both.", unit: "reqps",
		queries: []query{{rate("model, rung", `spillway_degraded_requests_total{job="$job"}`), "{{model}} {{rung}}"}}},
	{title: "Steps", about: "Changes of level in the last hour. Many are a ladder that swings.",
		queries: []query{{`sum by (model, class, direction) (increase(spillway_ladder_steps_total{job="$job"}[1h]))`, "{{model}} {{class}} {{direction}}"}}},
	{title: "What rungs save", about: "Slot time as it was over what was predicted without the ladder. Below 1 it helps.", unit: "percentunit",
		queries: []query{{`avg by (model, rung) (spillway_rung_seconds{job="$job",what="took"}) / (avg by (model, rung) (spillway_rung_seconds{job="$job",what="usual"}) > 0)`, "{{model}} {{rung}}"}}},
	{title: "Rungs asleep", about: "Left out because they did not help.",
		queries: []query{{`max by (model, rung) (spillway_rung_asleep{job="$job"})`, "{{model}} {{rung}}"}}},
	{title: "Ends of answers", about: "As asked (none) and degraded: more length, refusal or other is what degradation does.", unit: "reqps",
		queries: []query{{rate("degraded, reason", `spillway_finish_reasons_total{job="$job"}`), "{{degraded}} {{reason}}"}}},
	{title: "Duration of degraded answers", about: "P99, by the kind of the lowest rung.", unit: "s",
		queries: []query{{quantile("0.99", "model, kind", "spillway_degraded_duration_seconds", ""), "{{model}} {{kind}}"}}},
	{title: "First token of degraded answers", about: "P99, by the kind of the lowest rung.", unit: "s",
		queries: []query{{quantile("0.99", "model, kind", "spillway_degraded_ttft_seconds", ""), "{{model}} {{kind}}"}}},
	{title: "Answers from before", about: "Fresh, or stale in place of a refusal.", unit: "reqps",
		queries: []query{{rate("why", `spillway_recalled_total{job="$job"}`), "{{why}}"}}},
	{title: "Answer cache", about: "Share of look-ups that found an answer.", unit: "percentunit",
		queries: []query{{`sum(rate(spillway_answer_cache_hits_total{job="$job"}[$__rate_interval])) / (sum(rate(spillway_answer_cache_hits_total{job="$job"}[$__rate_interval])) + sum(rate(spillway_answer_cache_misses_total{job="$job"}[$__rate_interval])) > 0)`, "hits"}}},
}}

var process = board{"process", "Ledger and process", "Whether usage is kept, and how the process is.", []panel{
	{title: "Rows", about: "Kept, written to the database, and lost.", unit: "wps",
		queries: []query{{rate("instance", `spillway_ledger_appended_total{job="$job"}`), "{{instance}} kept"}, {rate("instance", `spillway_ledger_written_total{job="$job"}`), "{{instance}} written"}, {rate("instance", `spillway_ledger_lost_total{job="$job"}`), "{{instance}} lost"}}},
	{title: "Oldest row not in the database", about: "0 if all are there.", unit: "s",
		queries: []query{{`spillway_ledger_oldest_unwritten_seconds{job="$job"}`, "{{instance}}"}}},
	{title: "Spool", about: "On disk, and what it may be.", unit: "bytes",
		queries: []query{{`spillway_ledger_spool_bytes{job="$job"}`, "{{instance}}"}, {`spillway:setting_ledger_spool:bytes`, "bound"}}},
	{title: "Database", about: "1 if the last attempt to write worked; failures a second beside it.",
		queries: []query{{`spillway_ledger_up{job="$job"}`, "{{instance}} up"}, {rate("instance", `spillway_ledger_write_errors_total{job="$job"}`), "{{instance}} errors"}}},
	{title: "In flight", about: "Requests between arrival and end.",
		queries: []query{{`spillway_requests_in_flight{job="$job"}`, "{{instance}}"}}},
	{title: "Memory of waiting requests", about: "Bodies that are held. Their bound is queue.bytes.", unit: "bytes",
		queries: []query{{`sum by (model) (spillway_queue_bytes{job="$job"})`, "{{model}}"}}},
	{title: "CPU", about: "Processors in use.",
		queries: []query{{rate("instance", `process_cpu_seconds_total{job="$job"}`), "{{instance}}"}}},
	{title: "Memory", about: "Resident.", unit: "bytes",
		queries: []query{{`process_resident_memory_bytes{job="$job"}`, "{{instance}}"}}},
	{title: "Goroutines and files", about: "Both follow the requests in flight; growth without them is a leak.",
		queries: []query{{`go_goroutines{job="$job"}`, "{{instance}} goroutines"}, {`process_open_fds{job="$job"}`, "{{instance}} files"}}},
	{title: "Reloads", about: "Of the configuration in the last day, applied or refused.",
		queries: []query{{`sum by (instance, result) (increase(spillway_config_reloads_total{job="$job"}[1d]))`, "{{instance}} {{result}}"}}},
	{title: "Changes", about: "Of settings in the last day, while running: applied, refused or only tried; and 1 while earlier ones do not fit the file and are not in force.",
		queries: []query{{`sum by (instance, result) (increase(spillway_settings_changes_total{job="$job"}[1d]))`, "{{instance}} {{result}}"}, {`spillway_settings_changes_aside{job="$job"}`, "{{instance}} aside"}}},
	{title: "Versions", about: "What is running.", kind: "stat",
		queries: []query{{`count by (version, revision) (spillway_build_info{job="$job"})`, "{{version}} {{revision}}"}}},
	{title: "Up", about: "Gateways that answer.", kind: "stat",
		queries: []query{{`sum(up{job="$job"})`, ""}}},
}}
