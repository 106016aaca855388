/** Preparing, starting and stopping load tests, and what their workers send. */
import { z } from "zod";
import type { ApiApp } from "../../../ground/http/index.ts";
import { disconnectSignal } from "../../../ground/http/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { RunId } from "../core/ids.ts";
import { livePostSchema } from "../core/worker-snapshot-schema.ts";
import type { LoadService, RunRequest } from "../service/load-service.ts";
import { preparedSchema, runOf, runRequestSchema, testParams } from "./load-schemas.ts";
import { route } from "./route.ts";

const done = z.object({ test_id: z.string(), status: z.string(), phase: z.string() });
/** Histograms of every operation, phase and step of one worker. */
const snapshotBytesMax = 8 * 1024 ** 2;
const templateBytesMax = 32 * 1024 ** 2;

export function installLoadRuns(app: ApiApp, load: LoadService): void {
  app.post(
    "/api/tests/from-template/:id",
    route("operate", "Prepare a run: everything is checked, nothing is started", preparedSchema, {
      params: testParams,
      body: runRequestSchema.nullish(),
    }),
    async (request, reply) =>
      prepared(
        await load.prepareFromTemplate(
          request.params.id,
          requestOf(request.body ?? {}),
          disconnectSignal(reply),
        ),
      ),
  );
  app.post(
    "/api/runs",
    {
      ...route(
        "operate",
        "Prepare a run of a template that is kept, or that comes with the request",
        preparedSchema,
        {
          body: runRequestSchema.extend({
            template_id: z.string().max(100).optional(),
            template: z.record(z.string(), z.unknown()).optional(),
          }),
        },
      ),
      bodyLimit: templateBytesMax,
    },
    async (request, reply) => {
      const { template_id: templateId, template, ...rest } = request.body;
      const [service, signal] = [load, disconnectSignal(reply)];
      if (templateId !== undefined && template === undefined) {
        return prepared(await service.prepareFromTemplate(templateId, requestOf(rest), signal));
      }
      if (template !== undefined && templateId === undefined) {
        return prepared(await service.prepareFromDocument(template, requestOf(rest), signal));
      }
      throw new OperatingError("bad_request", "never", "template_id or template, one of them");
    },
  );
  for (const base of ["/api/tests", "/api/runs"]) {
    app.post(
      `${base}/:id/start`,
      route(
        "operate",
        "Start a prepared run; with reset_data the answer waits for the reset",
        done,
        { params: testParams },
      ),
      async (request, reply) => {
        await load.start(runOf(request.params), disconnectSignal(reply));
        return await stateOf(load, runOf(request.params));
      },
    );
    app.post(
      `${base}/:id/stop`,
      route("operate", "Stop a run; the answer does not wait for its end", done, {
        params: testParams,
      }),
      async (request) => {
        await load.stop(runOf(request.params), "api");
        return await stateOf(load, runOf(request.params));
      },
    );
  }
  app.post(
    "/api/tests/:id/rerun",
    route("operate", "Prepare the same run again", preparedSchema, { params: testParams }),
    async (request) => prepared(await load.rerun(runOf(request.params))),
  );
  app.post(
    "/api/tests/:id/retry-enrichment",
    route("operate", "Ask the target again about the run's queries", done, { params: testParams }),
    async (request) => {
      await load.retryEnrichment(runOf(request.params));
      return await stateOf(load, runOf(request.params));
    },
  );
  app.post(
    "/api/runs/:id/metrics/live",
    {
      ...route("cluster", "A worker's figures of the second", z.object({ accepted: z.boolean() }), {
        params: testParams,
        body: livePostSchema,
      }),
      config: { access: "cluster", quiet: true },
      bodyLimit: snapshotBytesMax,
    },
    async (request) => {
      const { metrics } = request.body;
      if (metrics.run_id !== request.params.id) {
        throw new OperatingError("bad_request", "never", "metrics.run_id: is of another run");
      }
      return { accepted: load.accept(metrics) };
    },
  );
}

function requestOf(body: z.infer<typeof runRequestSchema>): RunRequest {
  return {
    testName: body.test_name,
    targetUrl: body.target_url,
    allowedHosts: body.allowed_hosts,
    settings: body.settings,
    password: body.password,
    loadData: body.load_data,
    resetData: body.reset_data,
  };
}

async function stateOf(load: LoadService, id: RunId) {
  const { status, phase } = await load.update(id, Number.MAX_SAFE_INTEGER);
  return { test_id: id, status, phase };
}

function prepared(id: string) {
  return { test_id: id, run_id: id, status: "PREPARED", phase: "" } as const;
}
