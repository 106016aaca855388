/**
 * `node tools/promql-fuzz.ts --prometheus PATH [--seed S] [--rounds N] [--queries N] [--shards N]`:
 * random samples and random queries, asked of a real Prometheus (3.x) and of our engine in memory.
 * Every difference of result, error or annotation is printed with what reproduces it. Run by hand;
 * the exit code is 1 if there was a difference.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPrometheus } from "../bench/promql/prometheus.ts";
import { createPrng, type Prng } from "../src/ground/kernel/prng.ts";
import {
  defaultEngineOptions,
  formatAnnotation,
  type Grid,
  instantGrid,
  PromqlError,
  type QueryParams,
  type RawSeries,
} from "../src/kinds/ask/promql/core/index.ts";
import { evaluateInMemory } from "../src/kinds/ask/promql/core/testing/evaluate-in-memory.ts";
import { JsonSink } from "../src/kinds/ask/run/json-sink.ts";
import { writeData } from "../src/kinds/ask/run/result-json.ts";
import { type ApiAnswer, differenceOf } from "./promql-fuzz/differences.ts";
import { randomQuery } from "./promql-fuzz/random-query.ts";
import { randomSeries } from "./promql-fuzz/random-series.ts";
import { encodeWriteRequest } from "./promql-fuzz/remote-write.ts";

const { values: options } = parseArgs({
  options: {
    prometheus: { type: "string" },
    seed: { type: "string", default: "1" },
    rounds: { type: "string", default: "5" },
    queries: { type: "string", default: "400" },
    shards: { type: "string", default: "4" },
    verbose: { type: "boolean", default: false },
  },
});

const features = [
  "promql-experimental-functions",
  "promql-delayed-name-removal",
  "promql-duration-expr",
  "promql-extended-range-selectors",
  "promql-binop-fill-modifiers",
];
const baseMs = 1_700_000_000_000;
const lengthMs = 1_800_000;

process.exitCode = await main();

async function main(): Promise<number> {
  const { prometheus } = options;
  if (prometheus === undefined) {
    process.stdout.write(
      "usage: node tools/promql-fuzz.ts --prometheus PATH [--seed S] [--rounds N]\n",
    );
    return 2;
  }
  let differences = 0;
  let asked = 0;
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const prng = createPrng(`${options.seed}/${round}`);
    const series = randomSeries(prng.fork("series"), baseMs, lengthMs);
    const dir = mkdtempSync(join(tmpdir(), "capstan-fuzz-"));
    const dataDir = join(dir, "data");
    mkdirSync(dataDir);
    const binaries = { prometheus, promtool: "", version: "" };
    const server = await startPrometheus(binaries, dataDir, [
      "--web.enable-remote-write-receiver",
      `--enable-feature=${features.join(",")}`,
    ]);
    try {
      await remoteWrite(server.url, series);
      const queries = prng.fork("queries");
      for (let index = 0; index < Number(options.queries); index += 1) {
        const query = randomQuery(queries);
        const params = randomParams(queries);
        const theirs = await ask(server.url, query, params);
        const ours = answer(query, params, series);
        asked += 1;
        const difference = differenceOf(ours, theirs);
        if (difference === undefined) continue;
        differences += 1;
        const { startMs, endMs, stepMs } = params.grid;
        const when = params.instant
          ? `at ${startMs}`
          : `from ${startMs} to ${endMs} step ${stepMs}`;
        process.stdout.write(
          `seed ${options.seed} round ${round} query ${index}\n  ${query}\n  ${when}\n  ${difference}\n`,
        );
      }
    } finally {
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  }
  process.stdout.write(`promql-fuzz: ${asked} queries, ${differences} differences\n`);
  return differences === 0 ? 0 : 1;
}

async function remoteWrite(url: string, series: readonly RawSeries[]): Promise<void> {
  const response = await fetch(`${url}/api/v1/write`, {
    method: "POST",
    headers: {
      "content-type": "application/x-protobuf",
      "content-encoding": "snappy",
      "x-prometheus-remote-write-version": "0.1.0",
    },
    body: Buffer.from(encodeWriteRequest(series)),
  });
  if (!response.ok) throw new Error(`remote write: ${response.status} ${await response.text()}`);
}

function randomParams(prng: Prng): QueryParams {
  // Off the samples' times and on them; before, within and after the data.
  const startMs = baseMs - 120_000 + prng.below((lengthMs + 600_000) / 1000) * 1000 + oddMs(prng);
  if (prng.below(2) === 0) return { instant: true, grid: instantGrid(startMs) };
  const stepMs = [1_000, 15_000, 30_000, 47_000, 60_000, 300_000][prng.below(6)] as number;
  const grid: Grid = { startMs, endMs: startMs + prng.below(30) * stepMs, stepMs };
  return { instant: false, grid };
}

function oddMs(prng: Prng): number {
  return prng.below(3) === 0 ? prng.below(1000) : 0;
}

async function ask(url: string, query: string, params: QueryParams): Promise<ApiAnswer> {
  const { startMs, endMs, stepMs } = params.grid;
  const seconds = (ms: number) => (ms / 1000).toFixed(3);
  const [path, form] = params.instant
    ? ["query", { query, time: seconds(startMs) }]
    : [
        "query_range",
        { query, start: seconds(startMs), end: seconds(endMs), step: seconds(stepMs) },
      ];
  const response = await fetch(`${url}/api/v1/${path}`, {
    method: "POST",
    body: new URLSearchParams(form as Record<string, string>),
  });
  return (await response.json()) as ApiAnswer;
}

/** As our API would say it. */
function answer(query: string, params: QueryParams, series: readonly RawSeries[]): ApiAnswer {
  try {
    const result = evaluateInMemory(
      query,
      params,
      defaultEngineOptions,
      series,
      Number(options.shards),
    );
    const sink = new JsonSink();
    const { instant, grid } = params;
    writeData(sink, [result], { instant, atMs: grid.startMs, limit: 0, bytesMax: 1e9 });
    const data = JSON.parse(`${Buffer.from(sink.take()).toString("utf8")}}`);
    const texts = (level: "warning" | "info") =>
      result.annotations
        .filter((annotation) => annotation.level === level)
        .map((annotation) => formatAnnotation(query, annotation));
    return { status: "success", data, warnings: texts("warning"), infos: texts("info") };
  } catch (error) {
    if (error instanceof PromqlError) return { status: "error", error: error.message };
    return {
      status: "broken",
      error: error instanceof Error ? (error.stack ?? "") : String(error),
    };
  }
}
