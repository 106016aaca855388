/**
 * Routes for what can be queried: series, labels and their values, metadata, exemplars, targets,
 * statistics.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ApiApp } from "../../../ground/http/index.ts";
import { disconnectSignal, namesQuery, queryIdOf } from "../../../ground/http/index.ts";
import { messageOf } from "../../../ground/kernel/errors.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { IngestService, TargetStatus } from "../metrics/index.ts";
import { compareText, formatDuration, parseExpr, selectorsOf } from "../promql/core/index.ts";
import { floatText, type PromqlService, type SeriesRequest } from "../run/index.ts";
import { badData, badParameter, sendSuccess, sendWritten, truncatedWarning } from "./answers.ts";
import { cardinalities } from "./cardinality.ts";
import {
  countOf,
  defaultEndMs,
  defaultStartMs,
  formOf,
  limitOf,
  matcherSetsOf,
  timeOf,
} from "./form.ts";
import { unescapeName } from "./unescape-name.ts";

export interface CatalogueRouteDeps {
  readonly promql: PromqlService;
  readonly prng: Prng;
  /** Throws `not_leader` when another process has the head. */
  readonly ingest: () => Promise<IngestService>;
  readonly nowMs: () => number;
  readonly version: string;
  readonly matchersMax: number;
}

export function installCatalogueRoutes(app: ApiApp, deps: CatalogueRouteDeps): void {
  installSeries(app, deps);
  installIngested(app, deps);
  installStatus(app, deps);
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

function route(
  app: ApiApp,
  method: ("GET" | "POST")[],
  url: string,
  summary: string,
  handler: Handler,
  hooks: object = {},
): void {
  const schema = { summary, tags: ["prometheus"] };
  app.route({ ...hooks, method, url, config: { access: "read" }, schema, handler });
}

function installSeries(app: ApiApp, { promql, prng, matchersMax }: CatalogueRouteDeps): void {
  const named = (reply: FastifyReply, asked: SeriesRequest): SeriesRequest => ({
    ...asked,
    queryId: queryIdOf(reply),
  });
  const hooks = namesQuery(prng);
  const query = (
    method: ("GET" | "POST")[],
    url: string,
    summary: string,
    handler: Handler,
  ): void => route(app, method, url, summary, handler, hooks);
  query(["GET", "POST"], "/api/v1/series", "Find series", async (request, reply) => {
    const form = formOf(request);
    if (!form.has("match[]")) throw badData("no match[] parameter provided");
    const asked = seriesRequest(form, matchersMax, (reason) => badParameter("match[]", reason));
    const {
      json,
      truncated,
      warnings = [],
    } = await promql.series(named(reply, asked), disconnectSignal(reply));
    return sendWritten(reply, json, [...(truncated ? [truncatedWarning] : []), ...warnings]);
  });
  query(["GET", "POST"], "/api/v1/labels", "List label names", async (request, reply) => {
    const asked = seriesRequest(formOf(request), matchersMax);
    const {
      names,
      truncated,
      warnings = [],
    } = await promql.labelNames(named(reply, asked), disconnectSignal(reply));
    return sendSuccess(reply, names, [...(truncated ? [truncatedWarning] : []), ...warnings]);
  });
  query(["GET"], "/api/v1/label/:name/values", "List values", async (request, reply) => {
    const name = unescapeName((request.params as { readonly name: string }).name);
    if (name === "") throw badData(`invalid label name: ${JSON.stringify(name)}`);
    const asked = seriesRequest(formOf(request), matchersMax);
    const {
      values,
      truncated,
      warnings = [],
    } = await promql.labelValues(name, named(reply, asked), disconnectSignal(reply));
    return sendSuccess(reply, values, [...(truncated ? [truncatedWarning] : []), ...warnings]);
  });
}

function seriesRequest(
  form: URLSearchParams,
  matchersMax: number,
  refusal = badData,
): SeriesRequest {
  return {
    matcherSets: matcherSetsOf(form, refusal, matchersMax),
    startMs: timeOf(form, "start", defaultStartMs),
    endMs: timeOf(form, "end", defaultEndMs),
    limit: limitOf(form),
  };
}

function installIngested(app: ApiApp, { ingest, matchersMax }: CatalogueRouteDeps): void {
  route(app, ["GET"], "/api/v1/metadata", "Types, units and help", async (request, reply) => {
    const form = formOf(request);
    const limit = countOf(form, "limit") ?? -1;
    const perMetric = countOf(form, "limit_per_metric") ?? -1;
    const metric = form.get("metric") ?? "";
    const byMetric = new Map<string, { type: string; help: string; unit: string }[]>();
    for (const entry of await (await ingest()).metadata(metric === "" ? undefined : metric)) {
      const known = byMetric.get(entry.metric) ?? [];
      if (known.length === 0 && limit >= 0 && byMetric.size >= limit) break;
      if (perMetric > 0 && known.length >= perMetric) continue;
      known.push({ type: entry.type, help: entry.help, unit: entry.unit });
      byMetric.set(entry.metric, known);
    }
    return sendSuccess(reply, Object.fromEntries(byMetric));
  });

  route(app, ["GET", "POST"], "/api/v1/query_exemplars", "Exemplars", async (request, reply) => {
    const form = formOf(request);
    const startMs = timeOf(form, "start", defaultStartMs);
    const endMs = timeOf(form, "end", defaultEndMs);
    if (endMs < startMs) throw badData("end timestamp must not be before start timestamp");
    const selectors = selectorsIn(form.get("query") ?? "");
    if (selectors.flat().length > matchersMax) {
      throw badData(
        `there are too many matchers; the limit matchers_per_request is ${matchersMax}`,
      );
    }
    const found =
      selectors.length === 0 ? [] : await (await ingest()).exemplars(selectors, startMs, endMs);
    const bySeries = new Map<string, { seriesLabels: object; exemplars: object[] }>();
    for (const { series, labels, value, ts } of found) {
      const entry = bySeries.get(series.key) ?? { seriesLabels: series.toRecord(), exemplars: [] };
      entry.exemplars.push({
        labels: labels.toRecord(),
        value: floatText(value),
        timestamp: ts / 1000,
      });
      bySeries.set(series.key, entry);
    }
    return sendSuccess(reply, [...bySeries.values()]);
  });

  route(app, ["GET"], "/api/v1/targets", "What is scraped", async (request, reply) => {
    const form = formOf(request);
    const state = (form.get("state") ?? "").toLowerCase();
    const pool = form.get("scrapePool") ?? "";
    const showsActive = state === "" || state === "any" || state === "active";
    const targets = showsActive ? await (await ingest()).targets() : [];
    const shown = targets.filter((target) => pool === "" || target.pool === pool);
    const activeTargets = shown.map(targetBody);
    return sendSuccess(reply, { activeTargets, droppedTargets: [], droppedTargetCounts: {} });
  });
  route(app, ["GET"], "/api/v1/scrape_pools", "Names of the jobs", async (_request, reply) => {
    const pools = new Set((await (await ingest()).targets()).map(({ pool }) => pool));
    return sendSuccess(reply, { scrapePools: [...pools].sort(compareText) });
  });
}

/** Prometheus does not name the faulty parameter here. */
function selectorsIn(query: string): ReturnType<typeof selectorsOf> {
  try {
    return selectorsOf(parseExpr(query));
  } catch (thrown) {
    throw badData(messageOf(thrown));
  }
}

function targetBody(target: TargetStatus): object {
  return {
    discoveredLabels: target.discoveredLabels,
    labels: target.labels,
    scrapePool: target.pool,
    scrapeUrl: target.url,
    globalUrl: target.url,
    lastError: target.lastError,
    lastScrape:
      target.lastScrapeMs === undefined
        ? "0001-01-01T00:00:00Z"
        : new Date(target.lastScrapeMs).toISOString(),
    lastScrapeDuration: (target.lastDurationMs ?? 0) / 1000,
    health: target.health,
    scrapeInterval: formatDuration(target.intervalMs),
    scrapeTimeout: formatDuration(target.timeoutMs),
  };
}

/** Clients read this version to know which features of Prometheus 3 they may use. */
const prometheusVersion = "3.14.0";

function installStatus(app: ApiApp, deps: CatalogueRouteDeps): void {
  const { promql, prng, ingest, nowMs, version } = deps;
  const startedMs = nowMs();
  route(app, ["GET"], "/api/v1/status/buildinfo", "Versions", async (_request, reply) =>
    sendSuccess(reply, {
      version: prometheusVersion,
      revision: `capstan-${version}`,
      branch: "capstan",
      buildUser: "",
      buildDate: "",
      goVersion: "",
    }),
  );
  route(app, ["GET"], "/api/v1/status/runtimeinfo", "This process", async (_request, reply) =>
    sendSuccess(reply, {
      startTime: new Date(startedMs).toISOString(),
      CWD: "",
      reloadConfigSuccess: true,
      lastConfigTime: new Date(startedMs).toISOString(),
      corruptionCount: 0,
      goroutineCount: 0,
      GOMAXPROCS: 0,
      GOMEMLIMIT: 0,
      GOGC: "",
      GODEBUG: "",
      storageRetention: "",
      serverTime: new Date(nowMs()).toISOString(),
    }),
  );
  route(app, ["GET"], "/api/v1/status/flags", "Flags", async (_request, reply) =>
    sendSuccess(reply, {}),
  );
  route(app, ["GET"], "/api/v1/status/config", "Configuration", async (_request, reply) =>
    sendSuccess(reply, { yaml: "" }),
  );
  route(
    app,
    ["GET"],
    "/api/v1/status/tsdb",
    "What is kept",
    async (request, reply) => {
      const limit = countOf(formOf(request), "limit", "a positive number") ?? 10;
      if (limit < 1) throw badData("limit must be a positive number");
      if (limit > 10_000) throw badData("limit must not exceed 10000");
      const stats = await (await ingest()).stats();
      const range = { startMs: nowMs() - 3_600_000, endMs: nowMs() };
      const queryId = queryIdOf(reply);
      const asked = { queryId, matcherSets: [], ...range, limit: 50_000 };
      const { json } = await promql.series(asked, disconnectSignal(reply));
      const series = JSON.parse(Buffer.from(json).toString()) as Record<string, string>[];
      const { pairCount, ...lists } = cardinalities(series, limit);
      return sendSuccess(reply, {
        headStats: {
          numSeries: stats.seriesCount,
          numLabelPairs: pairCount,
          chunkCount: 0,
          minTime: stats.minTs,
          maxTime: stats.maxTs,
        },
        ...lists,
      });
    },
    namesQuery(prng),
  );
  // Capstan evaluates no recording or alerting rules; clients still ask for the lists.
  route(app, ["GET"], "/api/v1/rules", "Rules: none", async (_request, reply) =>
    sendSuccess(reply, { groups: [] }),
  );
  route(app, ["GET"], "/api/v1/alerts", "Alerts: none", async (_request, reply) =>
    sendSuccess(reply, { alerts: [] }),
  );
  route(app, ["GET"], "/api/v1/alertmanagers", "None", async (_request, reply) =>
    sendSuccess(reply, { activeAlertmanagers: [], droppedAlertmanagers: [] }),
  );
}
