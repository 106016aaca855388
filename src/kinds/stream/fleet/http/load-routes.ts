/** How much there is to do for stream workers, for autoscalers (KEDA). */
import { z } from "zod";
import { type InstallRoutes, routeUnder } from "../../../../ground/http/index.ts";
import type { StreamLoad } from "../core/stream-gauges.ts";

const schema = z.object({
  fragments: z.int().describe("Of queries that are to run."),
  waiting_fragments: z.int().describe("Those of them that do not run."),
  slots: z.int(),
  slots_used: z.int(),
  watermark_lag_seconds: z
    .number()
    .describe("How far event time is behind the clock, of the fragment that is most behind."),
  backlog_bytes: z.number().describe("Sent between fragments and not taken yet."),
  busy_ratio: z.number().describe("The largest share of time that a fragment is at work."),
  backpressure_ratio: z.number().describe("The largest share of time that one waits for room."),
});

/** `read` throws `not_leader` on any other process than the coordinator that leads. */
export function streamLoadRoutes(read: () => Promise<StreamLoad>): InstallRoutes {
  const route = routeUnder("autoscaling");
  return (app) => {
    app.get(
      "/api/v1/monitor/streams",
      route("read", "The load of continuous queries, for autoscalers (KEDA)", schema, {}),
      async () => {
        const load = await read();
        return {
          fragments: load.fragments,
          waiting_fragments: load.waitingFragments,
          slots: load.slots,
          slots_used: load.slotsUsed,
          watermark_lag_seconds: load.watermarkLagSeconds,
          backlog_bytes: load.backlogBytes,
          busy_ratio: load.busyRatio,
          backpressure_ratio: load.backpressureRatio,
        };
      },
    );
  };
}
