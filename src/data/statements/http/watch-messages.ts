/** The request and the messages of a subscription to the catalog. */
import { z } from "zod";
import type { Revision } from "../../../ground/kernel/ids.ts";

export interface WatchRequest {
  readonly table: string | undefined;
  readonly select: string | undefined;
  readonly fromRevision: Revision | undefined;
}

const revision = z.number();
const row = z.record(z.string(), z.unknown()).readonly().describe("A row, by column.");

export const watchMessageSchema = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("SNAPSHOT"), revision, data: z.array(row).readonly() }),
    z.object({
      type: z.literal("EVENT"),
      op: z.enum(["CREATE", "UPDATE", "DROP"]),
      key: z.string(),
      revision,
      data: row.exactOptional(),
    }),
  ])
  .meta({ id: "WatchMessage", description: "The data of each event." });

export type WatchMessage = Readonly<z.infer<typeof watchMessageSchema>>;
