/**
 * The lake's tables: those of DuckLake 1.0, column for column, and our own two beside them. `sql/schema/003-lake.sql` is
 * their definition. A `?` marks what may be NULL.
 */
const lakeCells = {
  ducklake_metadata: {
    key: "text",
    value: "text",
    scope: "text?",
    scope_id: "number?",
  },
  ducklake_snapshot: {
    snapshot_id: "number",
    snapshot_time: "text",
    schema_version: "number",
    next_catalog_id: "number",
    next_file_id: "number",
  },
  ducklake_snapshot_changes: {
    snapshot_id: "number",
    changes_made: "text",
    author: "text?",
    commit_message: "text?",
    commit_extra_info: "text?",
  },
  ducklake_schema: {
    schema_id: "number",
    schema_uuid: "text",
    begin_snapshot: "number",
    end_snapshot: "number?",
    schema_name: "text",
    path: "text",
    path_is_relative: "number",
  },
  ducklake_table: {
    table_id: "number",
    table_uuid: "text",
    begin_snapshot: "number",
    end_snapshot: "number?",
    schema_id: "number",
    table_name: "text",
    path: "text",
    path_is_relative: "number",
  },
  ducklake_view: {
    view_id: "number?",
    view_uuid: "text?",
    begin_snapshot: "number?",
    end_snapshot: "number?",
    schema_id: "number?",
    view_name: "text?",
    dialect: "text?",
    sql: "text?",
    column_aliases: "text?",
  },
  ducklake_tag: {
    object_id: "number?",
    begin_snapshot: "number?",
    end_snapshot: "number?",
    key: "text?",
    value: "text?",
  },
  ducklake_column_tag: {
    table_id: "number?",
    column_id: "number?",
    begin_snapshot: "number?",
    end_snapshot: "number?",
    key: "text?",
    value: "text?",
  },
  ducklake_data_file: {
    data_file_id: "number",
    table_id: "number",
    begin_snapshot: "number",
    end_snapshot: "number?",
    file_order: "number?",
    path: "text",
    path_is_relative: "number",
    file_format: "text",
    record_count: "number",
    file_size_bytes: "number",
    footer_size: "number?",
    row_id_start: "number?",
    partition_id: "number?",
    encryption_key: "text?",
    mapping_id: "number?",
    partial_max: "number?",
  },
  ducklake_file_column_stats: {
    data_file_id: "number",
    table_id: "number",
    column_id: "number",
    column_size_bytes: "number?",
    value_count: "number?",
    null_count: "number?",
    min_value: "text?",
    max_value: "text?",
    contains_nan: "number?",
    extra_stats: "text?",
  },
  ducklake_file_variant_stats: {
    data_file_id: "number?",
    table_id: "number?",
    column_id: "number?",
    variant_path: "text?",
    shredded_type: "text?",
    column_size_bytes: "number?",
    value_count: "number?",
    null_count: "number?",
    min_value: "text?",
    max_value: "text?",
    contains_nan: "number?",
    extra_stats: "text?",
  },
  ducklake_delete_file: {
    delete_file_id: "number",
    table_id: "number",
    begin_snapshot: "number",
    end_snapshot: "number?",
    data_file_id: "number",
    path: "text",
    path_is_relative: "number",
    format: "text",
    delete_count: "number",
    file_size_bytes: "number",
    footer_size: "number?",
    encryption_key: "text?",
    partial_max: "number?",
  },
  ducklake_column: {
    column_id: "number",
    begin_snapshot: "number",
    end_snapshot: "number?",
    table_id: "number",
    column_order: "number",
    column_name: "text",
    column_type: "text",
    initial_default: "text?",
    default_value: "text?",
    nulls_allowed: "number",
    parent_column: "number?",
    default_value_type: "text?",
    default_value_dialect: "text?",
  },
  ducklake_table_stats: {
    table_id: "number",
    record_count: "number",
    next_row_id: "number",
    file_size_bytes: "number",
  },
  ducklake_table_column_stats: {
    table_id: "number",
    column_id: "number",
    contains_null: "number?",
    contains_nan: "number?",
    min_value: "text?",
    max_value: "text?",
    extra_stats: "text?",
  },
  ducklake_partition_info: {
    partition_id: "number?",
    table_id: "number?",
    begin_snapshot: "number?",
    end_snapshot: "number?",
  },
  ducklake_partition_column: {
    partition_id: "number?",
    table_id: "number?",
    partition_key_index: "number?",
    column_id: "number?",
    transform: "text?",
  },
  ducklake_file_partition_value: {
    data_file_id: "number?",
    table_id: "number?",
    partition_key_index: "number?",
    partition_value: "text?",
  },
  ducklake_files_scheduled_for_deletion: {
    data_file_id: "number",
    path: "text",
    path_is_relative: "number",
    schedule_start: "text",
  },
  ducklake_inlined_data_tables: {
    table_id: "number?",
    table_name: "text?",
    schema_version: "number?",
  },
  ducklake_column_mapping: {
    mapping_id: "number?",
    table_id: "number?",
    type: "text?",
  },
  ducklake_name_mapping: {
    mapping_id: "number?",
    column_id: "number?",
    source_name: "text?",
    target_field_id: "number?",
    parent_column: "number?",
    is_partition: "number?",
  },
  ducklake_schema_versions: {
    begin_snapshot: "number",
    schema_version: "number",
    table_id: "number",
  },
  ducklake_macro: {
    schema_id: "number?",
    macro_id: "number?",
    macro_name: "text?",
    begin_snapshot: "number?",
    end_snapshot: "number?",
  },
  ducklake_macro_impl: {
    macro_id: "number?",
    impl_id: "number?",
    dialect: "text?",
    sql: "text?",
    type: "text?",
  },
  ducklake_macro_parameters: {
    macro_id: "number?",
    impl_id: "number?",
    column_id: "number?",
    parameter_name: "text?",
    parameter_type: "text?",
    default_value: "text?",
    default_value_type: "text?",
  },
  ducklake_sort_info: {
    sort_id: "number?",
    table_id: "number?",
    begin_snapshot: "number?",
    end_snapshot: "number?",
  },
  ducklake_sort_expression: {
    sort_id: "number?",
    table_id: "number?",
    sort_key_index: "number?",
    expression: "text?",
    dialect: "text?",
    sort_direction: "text?",
    null_order: "text?",
  },
  lake_commit_tokens: {
    token: "text",
    snapshot_id: "number?",
    result_json: "text?",
    expires_at_ms: "number",
  },
  lake_pins: {
    cursor_name: "text",
    table_id: "number",
    snapshot_id: "number",
    pinned_at_ms: "number",
  },
} as const;

type LakeCells = typeof lakeCells;
type Value<Cell> = Cell extends "text"
  ? string
  : Cell extends "number"
    ? number
    : Cell extends "text?"
      ? string | null
      : number | null;

export type LakeTables = {
  [T in keyof LakeCells]: { -readonly [C in keyof LakeCells[T]]: Value<LakeCells[T][C]> };
};

type LakeColumnTypes = {
  readonly [T in keyof LakeCells]: { readonly [C in keyof LakeCells[T]]: "text" | "number" };
};

/** As `tableColumns` has it: without the marks. */
export const lakeTableColumns: LakeColumnTypes = Object.fromEntries(
  Object.entries(lakeCells).map(([table, cells]) => [
    table,
    Object.fromEntries(
      Object.entries(cells).map(([column, cell]) => [column, cell.replace("?", "")]),
    ),
  ]),
) as LakeColumnTypes;

/** Whether a column may be NULL, for the consistency check. */
export function isNullable(table: keyof LakeTables, column: string): boolean {
  return (lakeCells[table] as Readonly<Record<string, string>>)[column]?.endsWith("?") === true;
}
