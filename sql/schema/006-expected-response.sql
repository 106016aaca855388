-- From the moment that a dynamic table's target is of to its publication, as it lately was: waiting for workers and sources is in it.
ALTER TABLE dynamic_tables ADD COLUMN expected_response_ms BIGINT NOT NULL DEFAULT 0 CHECK (expected_response_ms >= 0);
