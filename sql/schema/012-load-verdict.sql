-- What a load test's verdict is made of. Rows of runs from before have NULL where it is not known.

-- Response times of operations that failed; `response` has those that succeeded. NULL: `response` has both.
ALTER TABLE worker_series ADD COLUMN failed TEXT;
-- Arrivals that were due and had no answer when the worker gave up, and how long each had waited at least.
ALTER TABLE worker_series ADD COLUMN unserved BIGINT NOT NULL DEFAULT 0 CHECK (unserved >= 0);
ALTER TABLE worker_series ADD COLUMN censored TEXT NOT NULL DEFAULT '';

ALTER TABLE test_results ADD COLUMN unserved BIGINT;
ALTER TABLE test_results ADD COLUMN availability_pct DOUBLE PRECISION;
ALTER TABLE test_results ADD COLUMN longest_silence_ms DOUBLE PRECISION;
ALTER TABLE test_results ADD COLUMN verdict TEXT CHECK (verdict IN ('PASSED', 'FAILED'));

-- How long the workers' clocks say that `interval_response` is of, and what failed in it.
ALTER TABLE metrics_snapshots ADD COLUMN interval_seconds DOUBLE PRECISION;
ALTER TABLE metrics_snapshots ADD COLUMN interval_errors BIGINT;
