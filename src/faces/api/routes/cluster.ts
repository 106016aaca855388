import { z } from "zod";
import type { ApiApp } from "../../../ground/http/index.ts";
import { pageQuerySchema, routeUnder } from "../../../ground/http/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { parseWorkerId, type WorkerId } from "../../../ground/kernel/ids.ts";
import type { Attention } from "../attention.ts";
import type { ApiPorts } from "../ports.ts";
import {
  attentionSchema,
  queueSchema,
  registrationSchema,
  statusSchema,
  workerSchema,
  workersPageSchema,
} from "../schemas.ts";

const route = routeUnder("cluster");
const idParams = z.object({ id: z.string() });
const done = z.object({ worker_id: z.string() });

export function installCluster(app: ApiApp, ports: ApiPorts, attention: Attention): void {
  const { workers } = ports;

  app.get(
    "/api/v1/status",
    route("read", "The cluster in one answer", statusSchema, {}),
    async () => await ports.status(),
  );

  app.get(
    "/api/v1/attention",
    route("read", "What needs attention, over everything", attentionSchema, {
      description:
        "Parts that are degraded or failed, workers that are unreachable or have such a part, dynamic tables that failed, are suspended, late or retrying, load tests that failed within a day, scrape targets that are down. A list that cannot be read is a part whose state is unknown.",
    }),
    async () => await attention.read(),
  );

  app.get(
    "/api/v1/monitor/queue",
    routeUnder("queries")("read", "Work that waits, for autoscalers (KEDA)", queueSchema, {}),
    async () => {
      const { depth, oldestAgeMs } = ports.waiting();
      return { queue_depth: depth, oldest_age_seconds: oldestAgeMs / 1000 };
    },
  );

  app.get(
    "/api/v1/workers",
    route("read", "Workers, in the order of their names", workersPageSchema, {
      querystring: pageQuerySchema,
    }),
    async (request) => {
      const { limit, page_token } = request.query;
      const items = await workers.list({ limit, after: page_token });
      // A full page may be the last one. The next page is then empty.
      const last = items.length < limit ? undefined : items.at(-1);
      return { items: [...items], next_page_token: last?.worker_id ?? null };
    },
  );

  app.get(
    "/api/v1/workers/:id",
    route("read", "One worker", workerSchema, { params: idParams }),
    async (request) => {
      const worker = await workers.get(workerIdOf(request.params.id));
      if (worker === undefined) throw unknownWorker(request.params.id);
      return worker;
    },
  );

  app.post(
    "/api/v1/workers",
    {
      ...route("cluster", "A worker makes itself known (cluster token)", done, {
        body: registrationSchema,
      }),
      bodyLimit: 16 * 1024,
    },
    async (request) => {
      await workers.register(request.body);
      return { worker_id: request.body.worker_id };
    },
  );

  for (const [verb, draining, summary] of [
    ["drain", true, "No new work for this worker; what it accepted is finished"],
    ["undrain", false, "The worker takes work again"],
  ] as const) {
    app.post(
      `/api/v1/workers/:id/${verb}`,
      route("operate", summary, done, { params: idParams }),
      async (request) => {
        const workerId = workerIdOf(request.params.id);
        await workers.setDrainRequested(workerId, draining);
        return { worker_id: workerId };
      },
    );
  }

  app.delete(
    "/api/v1/workers/:id",
    route("operate", "Remove a worker that is drained or gone", done, { params: idParams }),
    async (request) => {
      const workerId = workerIdOf(request.params.id);
      await workers.drop(workerId);
      return { worker_id: workerId };
    },
  );
}

/** Throws `not_found` for text that cannot be a worker's name. */
function workerIdOf(text: string): WorkerId {
  const workerId = parseWorkerId(text);
  if (workerId === undefined) throw unknownWorker(text);
  return workerId;
}

function unknownWorker(text: string): OperatingError {
  return new OperatingError("not_found", "never", `there is no worker ${JSON.stringify(text)}`, {
    hint: "capstan workers lists them.",
  });
}
