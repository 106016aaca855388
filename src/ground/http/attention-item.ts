/** Something that needs attention. AP45 */
import { z } from "zod";

export const attentionItemSchema = z
  .object({
    kind: z
      .string()
      .describe("part, worker, dynamic_table, load_run, scrape_target, stream_query."),
    id: z.string().describe("What the API calls it."),
    name: z.string().describe("What people call it."),
    severity: z.enum(["failed", "degraded"]),
    state: z
      .string()
      .describe("In a word: failed, suspended, late, unreachable, degraded, down, unknown."),
    reason: z.string(),
    since_ms: z.number().nullable(),
  })
  .meta({ id: "AttentionItem" });

export type AttentionItem = z.infer<typeof attentionItemSchema>;

/** Reads what is wrong in one room now. Throws `not_leader` where only another process knows. */
export type ReadAttention = () => Promise<readonly AttentionItem[]>;
