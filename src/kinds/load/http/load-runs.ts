/** Preparing, starting and stopping load tests, and what their workers send. */
import { z } from "zod";
import type { ApiApp } from "../../../ground/http/index.ts";
import { disconnectSignal } from "../../../ground/http/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { RunId } from "../core/ids.ts";
import type { LoadService, RunRequest } from "../service/load-service.ts";
import {
  livePostSchema,
  preparedSchema,
  runOf,
  runRequestSchema,
  testParams,
} from "./load-schemas.ts";

const tags = ["load tests"];
const done = z.object({ test_id: z.string(), status: z.string(), phase: z.string() });
/** Histograms of every operation, phase and step of one worker. */
const snapshotBytesMax = 8 * 1024 ** 2;
const templateBytesMax = 32 * 1024 ** 2;

export function installLoadRuns(app: ApiApp, load: LoadService): void {
  app.post(
    "/api/tests/from-template/:id",
    {
      config: { access: "operate" },
      schema: {
        summary: "Prepare a run: everything is checked, nothing is started",
        tags,
        params: testParams,
        body: runRequestSchema.nullish(),
        response: { 200: preparedSchema },
      },
    },
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
      config: { access: "operate" },
      bodyLimit: templateBytesMax,
      schema: {
        summary: "Prepare a run of a template that is kept, or that comes with the request",
        tags,
        body: runRequestSchema.extend({
          template_id: z.string().max(100).optional(),
          template: z.record(z.string(), z.unknown()).optional(),
        }),
        response: { 200: preparedSchema },
      },
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
      {
        config: { access: "operate" },
        schema: {
          summary: "Start a prepared run; with reset_data the answer waits for the reset",
          tags,
          params: testParams,
          response: { 200: done },
        },
      },
      async (request, reply) => {
        await load.start(runOf(request.params), disconnectSignal(reply));
        return await stateOf(load, runOf(request.params));
      },
    );
    app.post(
      `${base}/:id/stop`,
      {
        config: { access: "operate" },
        schema: {
          summary: "Stop a run; the answer does not wait for its end",
          tags,
          params: testParams,
          response: { 200: done },
        },
      },
      async (request) => {
        await load.stop(runOf(request.params), "api");
        return await stateOf(load, runOf(request.params));
      },
    );
  }
  app.post(
    "/api/tests/:id/rerun",
    {
      config: { access: "operate" },
      schema: {
        summary: "Prepare the same run again",
        tags,
        params: testParams,
        response: { 200: preparedSchema },
      },
    },
    async (request) => prepared(await load.rerun(runOf(request.params))),
  );
  app.post(
    "/api/tests/:id/retry-enrichment",
    {
      config: { access: "operate" },
      schema: {
        summary: "Ask the target again about the run's queries",
        tags,
        params: testParams,
        response: { 200: done },
      },
    },
    async (request) => {
      await load.retryEnrichment(runOf(request.params));
      return await stateOf(load, runOf(request.params));
    },
  );
  app.post(
    "/api/runs/:id/metrics/live",
    {
      config: { access: "cluster", quiet: true },
      bodyLimit: snapshotBytesMax,
      schema: {
        summary: "A worker's figures of the second",
        tags,
        params: testParams,
        body: livePostSchema,
        response: { 200: z.object({ accepted: z.boolean() }) },
      },
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
