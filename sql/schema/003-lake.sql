-- The lake's catalog: the tables of DuckLake 1.0 as its specification has them, in this schema's own types. UUIDs and times are
-- TEXT (times as 2026-01-31 12:00:00.000+00), flags are 0 or 1. A row belongs to snapshot S if begin_snapshot <= S and
-- (end_snapshot IS NULL or S < end_snapshot). NOT NULL is where a reader of the format fails without a value.

CREATE TABLE ducklake_metadata (
  key       TEXT   NOT NULL,
  value     TEXT   NOT NULL,
  scope     TEXT,
  scope_id  BIGINT
);

CREATE TABLE ducklake_snapshot (
  snapshot_id      BIGINT NOT NULL PRIMARY KEY,
  snapshot_time    TEXT   NOT NULL,
  schema_version   BIGINT NOT NULL,
  next_catalog_id  BIGINT NOT NULL,
  next_file_id     BIGINT NOT NULL
);

CREATE TABLE ducklake_snapshot_changes (
  snapshot_id        BIGINT NOT NULL PRIMARY KEY,
  changes_made       TEXT   NOT NULL,
  author             TEXT,
  commit_message     TEXT,
  commit_extra_info  TEXT
);

CREATE TABLE ducklake_schema (
  schema_id         BIGINT NOT NULL PRIMARY KEY,
  schema_uuid       TEXT   NOT NULL,
  begin_snapshot    BIGINT NOT NULL,
  end_snapshot      BIGINT,
  schema_name       TEXT   NOT NULL,
  path              TEXT   NOT NULL,
  path_is_relative  BIGINT NOT NULL
);

CREATE TABLE ducklake_table (
  table_id          BIGINT NOT NULL,
  table_uuid        TEXT   NOT NULL,
  begin_snapshot    BIGINT NOT NULL,
  end_snapshot      BIGINT,
  schema_id         BIGINT NOT NULL,
  table_name        TEXT   NOT NULL,
  path              TEXT   NOT NULL,
  path_is_relative  BIGINT NOT NULL
);

CREATE TABLE ducklake_view (
  view_id         BIGINT,
  view_uuid       TEXT,
  begin_snapshot  BIGINT,
  end_snapshot    BIGINT,
  schema_id       BIGINT,
  view_name       TEXT,
  dialect         TEXT,
  sql             TEXT,
  column_aliases  TEXT
);

CREATE TABLE ducklake_tag (
  object_id       BIGINT,
  begin_snapshot  BIGINT,
  end_snapshot    BIGINT,
  key             TEXT,
  value           TEXT
);

CREATE TABLE ducklake_column_tag (
  table_id        BIGINT,
  column_id       BIGINT,
  begin_snapshot  BIGINT,
  end_snapshot    BIGINT,
  key             TEXT,
  value           TEXT
);

CREATE TABLE ducklake_data_file (
  data_file_id      BIGINT NOT NULL PRIMARY KEY,
  table_id          BIGINT NOT NULL,
  begin_snapshot    BIGINT NOT NULL,
  end_snapshot      BIGINT,
  file_order        BIGINT,
  path              TEXT   NOT NULL,
  path_is_relative  BIGINT NOT NULL,
  file_format       TEXT   NOT NULL,
  record_count      BIGINT NOT NULL,
  file_size_bytes   BIGINT NOT NULL,
  footer_size       BIGINT,
  row_id_start      BIGINT,
  partition_id      BIGINT,
  encryption_key    TEXT,
  mapping_id        BIGINT,
  partial_max       BIGINT
);

CREATE TABLE ducklake_file_column_stats (
  data_file_id       BIGINT NOT NULL,
  table_id           BIGINT NOT NULL,
  column_id          BIGINT NOT NULL,
  column_size_bytes  BIGINT,
  value_count        BIGINT,
  null_count         BIGINT,
  min_value          TEXT,
  max_value          TEXT,
  contains_nan       BIGINT,
  extra_stats        TEXT
);

CREATE TABLE ducklake_file_variant_stats (
  data_file_id       BIGINT,
  table_id           BIGINT,
  column_id          BIGINT,
  variant_path       TEXT,
  shredded_type      TEXT,
  column_size_bytes  BIGINT,
  value_count        BIGINT,
  null_count         BIGINT,
  min_value          TEXT,
  max_value          TEXT,
  contains_nan       BIGINT,
  extra_stats        TEXT
);

CREATE TABLE ducklake_delete_file (
  delete_file_id    BIGINT NOT NULL PRIMARY KEY,
  table_id          BIGINT NOT NULL,
  begin_snapshot    BIGINT NOT NULL,
  end_snapshot      BIGINT,
  data_file_id      BIGINT NOT NULL,
  path              TEXT   NOT NULL,
  path_is_relative  BIGINT NOT NULL,
  format            TEXT   NOT NULL,
  delete_count      BIGINT NOT NULL,
  file_size_bytes   BIGINT NOT NULL,
  footer_size       BIGINT,
  encryption_key    TEXT,
  partial_max       BIGINT
);

CREATE TABLE ducklake_column (
  column_id              BIGINT NOT NULL,
  begin_snapshot         BIGINT NOT NULL,
  end_snapshot           BIGINT,
  table_id               BIGINT NOT NULL,
  column_order           BIGINT NOT NULL,
  column_name            TEXT   NOT NULL,
  column_type            TEXT   NOT NULL,
  initial_default        TEXT,
  default_value          TEXT,
  nulls_allowed          BIGINT NOT NULL,
  parent_column          BIGINT,
  default_value_type     TEXT,
  default_value_dialect  TEXT
);

CREATE TABLE ducklake_table_stats (
  table_id         BIGINT NOT NULL,
  record_count     BIGINT NOT NULL,
  next_row_id      BIGINT NOT NULL,
  file_size_bytes  BIGINT NOT NULL
);

CREATE TABLE ducklake_table_column_stats (
  table_id       BIGINT NOT NULL,
  column_id      BIGINT NOT NULL,
  contains_null  BIGINT,
  contains_nan   BIGINT,
  min_value      TEXT,
  max_value      TEXT,
  extra_stats    TEXT
);

CREATE TABLE ducklake_partition_info (
  partition_id    BIGINT,
  table_id        BIGINT,
  begin_snapshot  BIGINT,
  end_snapshot    BIGINT
);

CREATE TABLE ducklake_partition_column (
  partition_id         BIGINT,
  table_id             BIGINT,
  partition_key_index  BIGINT,
  column_id            BIGINT,
  transform            TEXT
);

CREATE TABLE ducklake_file_partition_value (
  data_file_id         BIGINT,
  table_id             BIGINT,
  partition_key_index  BIGINT,
  partition_value      TEXT
);

CREATE TABLE ducklake_files_scheduled_for_deletion (
  data_file_id      BIGINT NOT NULL,
  path              TEXT   NOT NULL,
  path_is_relative  BIGINT NOT NULL,
  schedule_start    TEXT   NOT NULL
);

CREATE TABLE ducklake_inlined_data_tables (
  table_id        BIGINT,
  table_name      TEXT,
  schema_version  BIGINT
);

CREATE TABLE ducklake_column_mapping (
  mapping_id  BIGINT,
  table_id    BIGINT,
  type        TEXT
);

CREATE TABLE ducklake_name_mapping (
  mapping_id       BIGINT,
  column_id        BIGINT,
  source_name      TEXT,
  target_field_id  BIGINT,
  parent_column    BIGINT,
  is_partition     BIGINT
);

CREATE TABLE ducklake_schema_versions (
  begin_snapshot  BIGINT NOT NULL,
  schema_version  BIGINT NOT NULL,
  table_id        BIGINT NOT NULL
);

CREATE TABLE ducklake_macro (
  schema_id       BIGINT,
  macro_id        BIGINT,
  macro_name      TEXT,
  begin_snapshot  BIGINT,
  end_snapshot    BIGINT
);

CREATE TABLE ducklake_macro_impl (
  macro_id  BIGINT,
  impl_id   BIGINT,
  dialect   TEXT,
  sql       TEXT,
  type      TEXT
);

CREATE TABLE ducklake_macro_parameters (
  macro_id            BIGINT,
  impl_id             BIGINT,
  column_id           BIGINT,
  parameter_name      TEXT,
  parameter_type      TEXT,
  default_value       TEXT,
  default_value_type  TEXT
);

CREATE TABLE ducklake_sort_info (
  sort_id         BIGINT,
  table_id        BIGINT,
  begin_snapshot  BIGINT,
  end_snapshot    BIGINT
);

CREATE TABLE ducklake_sort_expression (
  sort_id         BIGINT,
  table_id        BIGINT,
  sort_key_index  BIGINT,
  expression      TEXT,
  dialect         TEXT,
  sort_direction  TEXT,
  null_order      TEXT
);

CREATE INDEX ducklake_table_by_id ON ducklake_table (table_id);
CREATE INDEX ducklake_table_by_name ON ducklake_table (lower(table_name));
CREATE INDEX ducklake_column_by_table ON ducklake_column (table_id);
CREATE INDEX ducklake_data_file_by_table ON ducklake_data_file (table_id, begin_snapshot);
CREATE INDEX ducklake_delete_file_by_table ON ducklake_delete_file (table_id, begin_snapshot);
CREATE INDEX ducklake_delete_file_by_file ON ducklake_delete_file (data_file_id);
CREATE UNIQUE INDEX ducklake_file_column_stats_by_file ON ducklake_file_column_stats (data_file_id, column_id);
CREATE UNIQUE INDEX ducklake_table_stats_by_table ON ducklake_table_stats (table_id);
CREATE UNIQUE INDEX ducklake_table_column_stats_by_table ON ducklake_table_column_stats (table_id, column_id);
CREATE INDEX ducklake_schema_versions_by_table ON ducklake_schema_versions (table_id);
CREATE INDEX ducklake_snapshot_by_time ON ducklake_snapshot (snapshot_time);

-- The lake that is empty. Its data_path is written when it is known; small inserts by others go to files, not into this store.
INSERT INTO ducklake_metadata (key, value) VALUES
  ('version', '1.0'), ('created_by', 'Capstan'), ('encrypted', 'false'), ('data_inlining_row_limit', '0');
INSERT INTO ducklake_snapshot (snapshot_id, snapshot_time, schema_version, next_catalog_id, next_file_id)
  VALUES (0, '1970-01-01 00:00:00.000+00', 0, 1, 0);
INSERT INTO ducklake_snapshot_changes (snapshot_id, changes_made) VALUES (0, 'created_schema:"main"');
INSERT INTO ducklake_schema (schema_id, schema_uuid, begin_snapshot, schema_name, path, path_is_relative)
  VALUES (0, '00000000-0000-4000-8000-000000000000', 0, 'main', 'main/', 1);

-- A commit is done once, however often it is said. snapshot_id is NULL while its files are being written: until then, or
-- until it expires, nobody takes files with its name in their path for forgotten ones.
CREATE TABLE lake_commit_tokens (
  token          TEXT   NOT NULL PRIMARY KEY CHECK (length(token) BETWEEN 1 AND 200),
  snapshot_id    BIGINT,
  result_json    TEXT,
  expires_at_ms  BIGINT NOT NULL
);

-- What a reader of changes has read up to: that snapshot does not expire, for a while.
CREATE TABLE lake_pins (
  cursor_name   TEXT   NOT NULL PRIMARY KEY CHECK (length(cursor_name) BETWEEN 1 AND 200),
  table_id      BIGINT NOT NULL,
  snapshot_id   BIGINT NOT NULL,
  pinned_at_ms  BIGINT NOT NULL
);
