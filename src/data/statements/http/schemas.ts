/** The request and response schemas of statements' routes. */
import { z } from "zod";

export const queryRecordSchema = z
  .object({
    query_id: z.string(),
    kind: z.string(),
    text: z.string(),
    state: z.enum(["queued", "running", "done", "failed", "cancelled"]).meta({ id: "QueryState" }),
    started_at_ms: z.number(),
    duration_ms: z.number(),
    row_count: z.number().nullable(),
    worker_id: z.string().nullable(),
    attempts: z.int(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
  })
  .meta({ id: "QueryRecord" });

export const queriesPageSchema = z.object({
  items: z.array(queryRecordSchema),
  next_page_token: z.string().nullable(),
});

/** The maximum timeout of a statement. */
export const timeoutMsMax = 3_600_000;

export const sqlRequestSchema = z.object({
  sql: z.string().min(1).max(131_072).describe("One statement in DuckDB's dialect."),
  timeout_ms: z
    .int()
    .min(1)
    .max(timeoutMsMax)
    .optional()
    .describe("Until the first row; 60,000 unless given."),
  upload_id: z.string().max(64).optional().describe("The file of a COPY: see /api/v1/uploads."),
});

export const watchQuerySchema = z.object({
  table: z.string().max(100).optional(),
  select: z
    .string()
    .max(10_000)
    .optional()
    .describe("SELECT columns FROM table WHERE simple filter."),
  revision: z.coerce.number().int().min(0).optional().describe("Resume after this revision."),
});

export type QueryRecordBody = z.infer<typeof queryRecordSchema>;
