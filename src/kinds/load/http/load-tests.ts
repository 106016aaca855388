/** Routes that show past and current load tests. */

import { z } from "zod";
import type { ApiApp } from "../../../ground/http/index.ts";
import { disconnectSignal, pageQuerySchema } from "../../../ground/http/index.ts";
import { comparisonSchema } from "../core/comparison-schema.ts";
import { formatHgrm } from "../core/report/format-hgrm.ts";
import { formatHtmlReport } from "../core/report/format-html-report.ts";
import { formatJunit } from "../core/report/format-junit.ts";
import { summarizeRun } from "../core/report/summarize-run.ts";
import { runStatuses } from "../core/run-state.ts";
import { loadModes } from "../core/scenario.ts";
import type { LoadService } from "../service/load-service.ts";
import { runOf, testParams } from "./load-schemas.ts";
import {
  enrichmentSchema,
  errorSummarySchema,
  executionSchema,
  finalFiguresSchema,
  findMaxStepSchema,
  logPageSchema,
  runMetricsSchema,
  runSummarySchema,
  testResultSchema,
  testSchema,
  workerSecondSchema,
} from "./result-schemas.ts";
import { reads, route } from "./route.ts";

const loose = z.record(z.string(), z.unknown());
const number = z.coerce.number().int().min(0);
const listed = (values: readonly string[]) =>
  z
    .string()
    .max(500)
    .transform((text) => text.split(","))
    .refine((found) => found.every((each) => values.includes(each)), {
      error: () => `must be of ${values.join(", ")}`,
    });
const flag = z.enum(["true", "false"]).transform((text) => text === "true");

export function installLoadTests(app: ApiApp, load: LoadService): void {
  app.get(
    "/api/tests",
    reads(
      "Runs, the newest first; workers' shares are not among them",
      z.object({
        items: z.array(testResultSchema),
        next_page_token: z.string().nullable(),
      }),
      {
        querystring: pageQuerySchema.extend({
          search: z.string().max(200).optional(),
          status: listed(runStatuses).optional().describe("One, or several with commas."),
          template_id: z.string().max(100).optional(),
          load_mode: z.enum(loadModes).optional(),
          target_kind: z.string().max(50).optional(),
          from_ms: number.optional(),
          to_ms: number.optional(),
        }),
      },
    ),
    async ({ query }) =>
      await load.list(
        defined({
          search: query.search,
          statuses: query.status,
          templateId: query.template_id,
          loadMode: query.load_mode,
          targetKind: query.target_kind,
          fromMs: query.from_ms,
          toMs: query.to_ms,
          after: query.page_token,
          limit: query.limit,
        }),
      ),
  );
  app.get(
    "/api/tests/compare",
    reads(
      "Runs against the first of them, with a verdict",
      z.object({ comparisons: z.array(comparisonSchema).readonly() }),
      {
        querystring: z.object({ ids: z.string().max(2_000).describe("Two to ten, with commas.") }),
      },
    ),
    async (request) => ({
      comparisons: await load.compare(
        request.query.ids
          .split(",")
          .slice(0, 10)
          .map((id) => runOf({ id })),
      ),
    }),
  );
  app.get(
    "/api/tests/:id",
    reads("A run: state, figures, configuration, workers", testSchema, { params: testParams }),
    async (request) => await load.test(runOf(request.params)),
  );
  installSeries(app, load);
  installReports(app, load);
}

function installSeries(app: ApiApp, load: LoadService): void {
  const page = z.object({
    after_ms: number.default(0),
    limit: z.coerce.number().int().min(1).max(10_000).default(3_600),
  });
  app.get(
    "/api/tests/:id/metrics",
    reads("The run by the second, and what its server said", runMetricsSchema, {
      params: testParams,
      querystring: page,
    }),
    async ({ params, query: { after_ms: afterMs, limit } }) =>
      await load.metrics(runOf(params), { afterMs, limit }),
  );
  app.get(
    "/api/tests/:id/worker-metrics",
    reads(
      "Its workers by the second",
      z.object({ items: z.array(workerSecondSchema).readonly() }),
      {
        params: testParams,
        querystring: page.extend({ worker_id: z.string().max(100).optional() }),
      },
    ),
    async ({ params, query: { after_ms: afterMs, limit, worker_id: workerId } }) =>
      await load.workerMetrics(runOf(params), defined({ afterMs, limit, workerId })),
  );
  app.get(
    "/api/tests/:id/find-max-steps",
    reads(
      "Steps of a search for the maximum, in order",
      z.object({ items: z.array(findMaxStepSchema).readonly() }),
      { params: testParams },
    ),
    async ({ params }) => await load.findMaxSteps(runOf(params)),
  );
  app.get(
    "/api/tests/:id/logs",
    reads("Its log, in order", logPageSchema, {
      params: testParams,
      querystring: z.object({
        after: number.default(0).describe("A sequence."),
        limit: z.coerce.number().int().min(1).max(10_000).default(1_000),
      }),
    }),
    async ({ params, query }) => await load.logs(runOf(params), query),
  );
  app.get(
    "/api/tests/:id/query-executions",
    reads(
      "Records of single queries, from the lake",
      z.object({ items: z.array(executionSchema).readonly() }),
      {
        params: testParams,
        querystring: z.object({
          limit: z.coerce.number().int().min(1).max(1_000).default(100),
          offset: number.default(0),
          order: z.enum(["start", "slowest"]).default("start"),
          failed_only: flag.default(false),
          operation: z.string().max(200).optional(),
          worker_id: z.string().max(100).optional(),
        }),
      },
    ),
    async ({ params, query }, reply) => {
      const { failed_only: failedOnly, worker_id: workerId, operation, ...rest } = query;
      const filter = defined({ ...rest, failedOnly, workerId, operation });
      return await load.executions(runOf(params), filter, disconnectSignal(reply));
    },
  );
  app.get(
    "/api/tests/:id/error-summary",
    reads("Errors by kind, operation and message", errorSummarySchema, { params: testParams }),
    async ({ params }, reply) => await load.errorSummary(runOf(params), disconnectSignal(reply)),
  );
  app.get(
    "/api/tests/:id/final-figures",
    reads("Exact percentiles by operation, and a heat map, from the records", finalFiguresSchema, {
      params: testParams,
    }),
    async ({ params }, reply) => await load.finalFigures(runOf(params), disconnectSignal(reply)),
  );
  app.get(
    "/api/tests/:id/views",
    route("read", "The run by minute and by the server's cluster, from the records", loose, {
      params: testParams,
    }),
    async ({ params }, reply) => ({
      ...(await load.views(runOf(params), disconnectSignal(reply))),
    }),
  );
  app.get(
    "/api/tests/:id/enrichment-status",
    reads("What the target has told of the run's queries", enrichmentSchema, {
      params: testParams,
    }),
    async ({ params }) => await load.enrichmentStatus(runOf(params)),
  );
}

function installReports(app: ApiApp, load: LoadService): void {
  app.get(
    "/api/tests/:id/report.json",
    reads("The run's final record", runSummarySchema, { params: testParams }),
    async ({ params }) => summarizeRun(await load.report(runOf(params))),
  );
  for (const [suffix, type, format] of [
    ["html", "text/html; charset=utf-8", formatHtmlReport],
    ["xml", "application/xml; charset=utf-8", formatJunit],
    ["hgrm", "text/plain; charset=utf-8", (report) => formatHgrm(report.response)],
  ] satisfies readonly (readonly [
    string,
    string,
    (report: Parameters<typeof formatHtmlReport>[0]) => string,
  ])[]) {
    app.get(
      `/api/tests/:id/report.${suffix}`,
      {
        ...route("read", `The run's report (${type.split(";")[0]})`, z.string(), {
          params: testParams,
        }),
        serializerCompiler: () => String,
      },
      async (request, reply) => {
        const report = await load.report(runOf(request.params));
        reply.type(type);
        return format(report);
      },
    );
  }
}

type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

/** Drops undefined fields. */
function defined<T extends object>(
  value: T,
): { [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] } & Partial<Defined<T>> {
  return Object.fromEntries(
    Object.entries(value).filter(([, each]) => each !== undefined),
  ) as never;
}
