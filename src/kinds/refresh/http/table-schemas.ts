/**
 * Tables of the lake and dynamic tables, as the API gives them. Times are by the database's clock.
 */
import { z } from "zod";

const kind = z.enum(["plain", "dynamic"]).meta({ id: "TableKind" });
const moment = z.number().describe("Milliseconds since 1970, by the database's clock.");

export const tableSchema = z
  .object({
    name: z.string().describe("As statements name it; with its schema where that is not main."),
    schema: z.string(),
    table_id: z.int(),
    kind,
    columns: z.array(
      z.object({
        name: z.string(),
        type: z.string().describe("As DuckDB writes it."),
        nullable: z.boolean(),
        default: z.string().nullable(),
      }),
    ),
    row_count: z.int(),
    size_bytes: z.int(),
    file_count: z.int(),
    changed_snapshot: z.int().describe("The commit that last changed its files or columns."),
    readers: z.array(z.string()).describe("The dynamic tables that read it."),
  })
  .meta({ id: "LakeTable" });

export const tablesPageSchema = z.object({
  snapshot: z.int().describe("Of the lake, as the answer shows it."),
  items: z.array(tableSchema),
  next_page_token: z.string().nullable(),
});

const refreshState = z.enum(["SUCCEEDED", "FAILED", "CANCELLED"]).meta({ id: "RefreshState" });
const refreshAction = z
  .enum(["FULL", "INCREMENTAL", "NO_DATA"])
  .nullable()
  .describe("NO_DATA: its sources had not changed.");

export const dynamicTableSchema = z
  .object({
    name: z.string(),
    schema: z.string(),
    table_id: z.int(),
    status: z.enum(["INITIALIZING", "ACTIVE", "SUSPENDED", "FAILED"]),
    status_reason: z.string(),
    wait_reason: z.string().describe("What it waits for, when something is wrong with that."),
    activity: z.enum(["idle", "queued", "refreshing"]),
    refreshed_by: z.string().nullable().describe("The worker that refreshes it now."),
    lag_ms: z.number().nullable().describe("null: it has no contents yet."),
    target_lag_ms: z.number().nullable().describe("null: DOWNSTREAM."),
    effective_target_lag_ms: z
      .number()
      .nullable()
      .describe("Its own target, or for DOWNSTREAM the strictest of its readers'."),
    late_since_ms: moment.nullable(),
    lag_missed_count: z.int(),
    mode: z.enum(["FULL", "INCREMENTAL"]),
    mode_wish: z.enum(["AUTO", "FULL", "INCREMENTAL"]),
    mode_reason: z.string(),
    is_volatile: z.boolean(),
    last_refresh: z
      .object({ state: refreshState, action: refreshAction, at_ms: moment })
      .nullable(),
    last_error: z.string().nullable(),
    failures_in_a_row: z.int(),
    next_due_ms: moment.nullable().describe("null: only when its readers need it."),
    expected_duration_ms: z.number(),
    data_snapshot: z.int().nullable(),
    data_time_ms: moment.nullable(),
    created_at_ms: moment,
    sources: z.array(z.object({ name: z.string(), kind })),
    readers: z.array(z.string()),
  })
  .meta({ id: "DynamicTable" });

export const dynamicTablesPageSchema = z.object({
  now_ms: moment,
  items: z.array(dynamicTableSchema),
  next_page_token: z.string().nullable(),
});

export const dynamicTableDetailSchema = dynamicTableSchema
  .extend({
    now_ms: moment,
    definition: z.string(),
    table: tableSchema.nullable().describe("Its columns and size; null while it is being dropped."),
  })
  .meta({ id: "DynamicTableDetail" });

export const refreshSchema = z
  .object({
    number: z.int().describe("From 1 on, for each table."),
    state: refreshState,
    action: refreshAction,
    trigger: z.enum(["SCHEDULED", "MANUAL", "INITIAL", "DOWNSTREAM"]),
    attempt: z.int(),
    repeats: z.int().describe("So many refreshes in a row found nothing to do."),
    started_at_ms: moment,
    ended_at_ms: moment,
    data_time_ms: moment.nullable(),
    source_snapshot: z.int().nullable(),
    snapshot: z.int().nullable().describe("The lake's snapshot that has the result."),
    rows_inserted: z.int(),
    rows_deleted: z.int(),
    reason: z.string().describe("Why it was done this way."),
    part_count: z.int().describe("In how many parts it was computed."),
    worker_count: z.int().describe("By how many workers."),
    worker_id: z.string().nullable().describe("null: no worker was needed."),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
  })
  .meta({ id: "Refresh" });

export const historyPageSchema = z.object({
  items: z.array(refreshSchema),
  next_page_token: z.string().nullable(),
});

export const lagSchema = z
  .object({
    now_ms: moment,
    from_ms: moment,
    effective_target_lag_ms: z.number().nullable().describe("As it is now."),
    points: z
      .array(z.object({ at_ms: moment, lag_ms: z.number(), estimated: z.boolean() }))
      .describe(
        "Straight lines between them; two points at one moment are a publication. Estimated: within a run of refreshes that found nothing to do.",
      ),
  })
  .meta({ id: "LagSeries" });

export type TableBody = z.infer<typeof tableSchema>;
export type DynamicTableBody = z.infer<typeof dynamicTableSchema>;
export type DynamicTableDetailBody = z.infer<typeof dynamicTableDetailSchema>;
export type RefreshBody = z.infer<typeof refreshSchema>;
export type LagBody = z.infer<typeof lagSchema>;
