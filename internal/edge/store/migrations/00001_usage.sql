-- One row for each request that was sent upstream or served. Times are
-- micro-seconds, at since 1970 in UTC; cost is micro-dollars, NULL if the price
-- is unknown; estimated is 1 if the provider did not tell the tokens.
-- The same text is for SQLite and PostgreSQL.

-- +goose Up
CREATE TABLE spillway_usage (
  id             TEXT   NOT NULL PRIMARY KEY,
  at             BIGINT NOT NULL,
  tenant         TEXT   NOT NULL,
  api_key        TEXT   NOT NULL,
  end_user       TEXT   NOT NULL,
  session        TEXT   NOT NULL,
  surface        TEXT   NOT NULL,
  model_asked    TEXT   NOT NULL,
  model_used     TEXT   NOT NULL,
  model_upstream TEXT   NOT NULL,
  deployment     TEXT   NOT NULL,
  class          TEXT   NOT NULL,
  decision       TEXT   NOT NULL,
  rung           TEXT   NOT NULL,
  outcome        TEXT   NOT NULL,
  status         BIGINT NOT NULL,
  attempts       BIGINT NOT NULL,
  input          BIGINT NOT NULL,
  output         BIGINT NOT NULL,
  cached         BIGINT NOT NULL,
  cache_write    BIGINT NOT NULL,
  reasoning      BIGINT NOT NULL,
  cost           BIGINT,
  estimated      BIGINT NOT NULL,
  queued         BIGINT NOT NULL,
  service        BIGINT NOT NULL,
  total          BIGINT NOT NULL
);
-- Rows come nearly in order of time, so a range of this index is a stretch of
-- the table: what budgets are restored from, reports, and what is too old.
CREATE INDEX spillway_usage_at ON spillway_usage (at);
CREATE INDEX spillway_usage_tenant ON spillway_usage (tenant, at);

-- +goose Down
DROP TABLE spillway_usage;
