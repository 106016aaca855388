-- The pools of values that a run was prepared with: its template may change or go meanwhile, and a run of a file has no template at all.
CREATE TABLE run_value_pools (
  run_id       TEXT   NOT NULL REFERENCES run_status (run_id) ON DELETE CASCADE ON UPDATE RESTRICT,
  pool         TEXT   NOT NULL CHECK (length(pool) > 0),
  chunk        BIGINT NOT NULL CHECK (chunk >= 0),
  pool_values  TEXT   NOT NULL,
  PRIMARY KEY (run_id, pool, chunk)
);
