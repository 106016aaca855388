/** Routes that tell autoscalers how much there is to refresh. */
import { z } from "zod";
import type { ApiApp } from "../../../ground/http/index.ts";
import type { Clock } from "../../../ground/kernel/clock.ts";
import {
  externalMetricsVersion,
  type RefreshLoad,
  renderExternalMetric,
  renderExternalMetricsDiscovery,
  renderRefreshLoad,
  renderUnknownMetric,
} from "./external-metrics.ts";

const tags = ["autoscaling"];

export function installRefreshLoad(
  app: ApiApp,
  read: () => Promise<RefreshLoad>,
  clock: Clock,
): void {
  app.get(
    "/api/v1/monitor/refresh",
    {
      config: { access: "read" },
      schema: {
        summary: "Refreshes that wait, for autoscalers (KEDA)",
        tags,
        response: {
          200: z.object({
            pending_refresh_count: z.number(),
            pending_refresh_parts: z.number(),
            blocked_refresh_counts: z.record(z.string(), z.number()),
            refresh_backlog_seconds: z.number(),
            refresh_duration_p95: z.number().nullable(),
          }),
        },
      },
    },
    async () => {
      const load = await read();
      return { ...renderRefreshLoad(load), blocked_refresh_counts: load.blockedCounts };
    },
  );
  const base = `/apis/${externalMetricsVersion}`;
  app.get(base, { config: { access: "read" }, schema: { hide: true } }, async () =>
    renderExternalMetricsDiscovery(),
  );
  app.get(
    `${base}/namespaces/:namespace/:metric`,
    {
      config: { access: "read" },
      schema: {
        hide: true,
        params: z.object({ namespace: z.string(), metric: z.string() }),
        querystring: z.object({ labelSelector: z.string().optional() }),
      },
    },
    async (request, reply) => {
      const { metric } = request.params;
      const load = await read();
      const rendered = renderExternalMetric(metric, load, clock.wallMs());
      if (rendered === undefined) return await reply.code(404).send(renderUnknownMetric(metric));
      // Values have no labels, so a request with a label selector gets an empty list.
      const { labelSelector = "" } = request.query;
      return await reply.send(labelSelector === "" ? rendered : { ...rendered, items: [] });
    },
  );
}
