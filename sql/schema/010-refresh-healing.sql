-- When refreshes of a dynamic table fail. failing_since_ms: the first of the failures in a row; NULL: the last refresh did not fail, or somebody
-- suspended the table. retry_at_ms: a table that is SUSPENDED or FAILED for its failures is tried again then; NULL: not by time alone.
-- retry_changed_at_ms: once one of its sources has changed it is tried again, but not before this time.
-- missing_path: the file of the lake that the last attempt did not find.
ALTER TABLE dynamic_tables ADD COLUMN failing_since_ms BIGINT;
ALTER TABLE dynamic_tables ADD COLUMN retry_at_ms BIGINT CHECK (retry_at_ms IS NULL OR failing_since_ms IS NOT NULL);
ALTER TABLE dynamic_tables ADD COLUMN retry_changed_at_ms BIGINT CHECK (retry_changed_at_ms IS NULL OR failing_since_ms IS NOT NULL);
ALTER TABLE dynamic_tables ADD COLUMN missing_path TEXT CHECK (missing_path IS NULL OR failing_since_ms IS NOT NULL);

-- missing_path: the file of the lake that the part did not find.
ALTER TABLE refresh_subtasks ADD COLUMN missing_path TEXT CHECK (missing_path IS NULL OR error_code IS NOT NULL);

-- failed_snapshot: the source's snapshot that the last attempt read, where it failed; NULL: there is none, or the source is another one.
ALTER TABLE dynamic_table_sources ADD COLUMN failed_snapshot BIGINT;

-- The columns of a source that a definition knows, in their order: those that it had when the table was created. What is added later does not
-- change what `SELECT *` means. A source without rows here: all of its columns.
CREATE TABLE dynamic_table_columns (
  table_id         BIGINT  NOT NULL,
  source_table_id  BIGINT  NOT NULL,
  column_order     BIGINT  NOT NULL,
  column_name      TEXT    NOT NULL,
  PRIMARY KEY (table_id, source_table_id, column_order),
  FOREIGN KEY (table_id, source_table_id) REFERENCES dynamic_table_sources (table_id, source_table_id) ON DELETE CASCADE ON UPDATE CASCADE
);

-- Of tables that exist: the columns that the source had then, under the names of today. A column that is renamed keeps its id, and one that is
-- added has a greater id than those before it. A source that is newer than the table replaced another: all of its columns.
INSERT INTO dynamic_table_columns (table_id, source_table_id, column_order, column_name)
SELECT s.table_id, s.source_table_id, c.column_order, c.column_name
  FROM dynamic_table_sources s
  JOIN ducklake_column c ON c.table_id = s.source_table_id AND c.end_snapshot IS NULL AND c.parent_column IS NULL
 WHERE c.column_id <= coalesce((SELECT max(k.column_id)
                                  FROM ducklake_column k
                                 WHERE k.table_id = s.source_table_id
                                   AND k.begin_snapshot <= (SELECT min(t.begin_snapshot) FROM ducklake_table t WHERE t.table_id = s.table_id)),
                               c.column_id);

-- Tables that failures had stopped are tried once more.
UPDATE dynamic_tables
   SET failing_since_ms = coalesce(last_refresh_at_ms, created_at_ms), retry_at_ms = 0, retry_changed_at_ms = 0
 WHERE status = 'FAILED' OR (status = 'SUSPENDED' AND suspended_by IS NULL AND status_reason <> 'by request');
