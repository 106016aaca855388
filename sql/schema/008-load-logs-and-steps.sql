-- test_logs.created_at_ms: when the store took the line; timestamp_ms is when its writer said it. Of older lines only the latter is known.
ALTER TABLE test_logs ADD COLUMN created_at_ms BIGINT NOT NULL DEFAULT 0;
UPDATE test_logs SET created_at_ms = timestamp_ms;

-- Between which rates a step's true rate lies, and the seconds of it that were left out because the load generator was late.
ALTER TABLE find_max_step_history ADD COLUMN qps_low DOUBLE PRECISION;
ALTER TABLE find_max_step_history ADD COLUMN qps_high DOUBLE PRECISION;
ALTER TABLE find_max_step_history ADD COLUMN seconds_discarded INTEGER;
