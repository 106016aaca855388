-- Savepoints: checkpoints that somebody asked for, and that are kept until they are dropped.
-- How often a savepoint of the query was asked for, and which of these requests the newest savepoint answers.
ALTER TABLE queries ADD COLUMN savepoints_asked BIGINT NOT NULL DEFAULT 0 CHECK (savepoints_asked >= 0);
ALTER TABLE queries ADD COLUMN savepoints_taken BIGINT NOT NULL DEFAULT 0 CHECK (savepoints_taken >= 0);
-- The newest request that the checkpoint answers, which makes it a savepoint; NULL: it goes when newer ones are complete.
ALTER TABLE query_checkpoints ADD COLUMN savepoint BIGINT CHECK (savepoint > 0);
-- Queries that began with the state of another one's checkpoint may refer to the same objects: each of them has the id of the first of these queries. NULL: the
-- query began without state.
ALTER TABLE query_plans ADD COLUMN state_family TEXT;
CREATE INDEX query_plans_by_family ON query_plans (state_family);
