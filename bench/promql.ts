/**
 * The same questions to Capstan and to Prometheus, about the same samples, in one run on one
 * machine. One OpenMetrics file is imported into both; both are real processes (Capstan: `capstan
 * up` with two workers); both are asked over HTTP by turns, and a time counts until the last byte
 * of the answer. The answers must agree. There is no cache of results: the range moves by a step
 * with every repetition.
 *
 *   cold  both were started anew for this one query (the system's page cache stays warm for both)
 *   warm  it was asked before, a step earlier
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CapstanSystem } from "./promql/capstan-system.ts";
import { compareQuery } from "./promql/compare-query.ts";
import { type DataSet, writeDataSet } from "./promql/data-set.ts";
import { measureChecksums } from "./promql/measure-checksums.ts";
import { measureAfter, measureIdle } from "./promql/measure-memory.ts";
import { findPrometheus } from "./promql/prometheus.ts";
import { PrometheusSystem } from "./promql/prometheus-system.ts";
import { benchQueries } from "./promql/queries.ts";
import { diskBytes, type System } from "./promql/system.ts";
import type { BenchOptions, Report } from "./report.ts";

export async function benchPromql(options: BenchOptions, report: Report): Promise<void> {
  const binaries = findPrometheus();
  report.say(
    binaries === undefined
      ? "no prometheus and promtool here ($PROMETHEUS_BIN, $PROMTOOL_BIN): Capstan is measured alone"
      : `compared with Prometheus ${binaries.version}`,
  );
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), "capstan-bench-"));
  const systems: readonly System[] = [
    new CapstanSystem(join(dir, "capstan")),
    ...(binaries === undefined ? [] : [new PrometheusSystem(binaries, join(dir, "prometheus"))]),
  ];
  try {
    mkdirSync(dir, { recursive: true });
    if (options.only === undefined) await measureIdle(dir, binaries, options, report);
    const dataSet = await prepare(dir, systems, options, report);
    for (const query of benchQueries) {
      if (options.only !== undefined && !query.name.includes(options.only)) continue;
      await compareQuery(query, dataSet.endMs, systems, options, report);
    }
    if (options.only === undefined) await measureAfter(dataSet.endMs, systems, report);
    if (options.only === undefined || options.only === "checksums") {
      await systems[0]?.stop();
      await measureChecksums(join(dir, "capstan"), report);
    }
    for (const system of systems) {
      const { name } = system;
      await system.start();
      report.value(`${name}_disk`, "bytes", diskBytes(system.samplesDir));
    }
  } finally {
    for (const system of systems) await system.stop();
    if (options.dir === undefined) rmSync(dir, { recursive: true, force: true });
  }
}

/** Writes the file and imports it, unless `--dir` has both from before. */
async function prepare(
  dir: string,
  systems: readonly System[],
  { samples }: BenchOptions,
  report: Report,
): Promise<DataSet> {
  const notes = join(dir, "data-set.json");
  if (existsSync(notes)) return JSON.parse(readFileSync(notes, "utf8")) as DataSet;
  const dataSet = await writeDataSet(join(dir, "samples.om"), samples, Date.now());
  report.say(`${dataSet.seriesCount} series, ${dataSet.sampleCount} samples`);
  report.value("file", "bytes", statSync(dataSet.file).size);
  for (const system of systems) {
    const startedMs = performance.now();
    await system.import(dataSet.file);
    const seconds = (performance.now() - startedMs) / 1000;
    report.value(`${system.name}_import`, "samples/s", dataSet.sampleCount / seconds);
  }
  rmSync(dataSet.file);
  writeFileSync(notes, JSON.stringify(dataSet));
  return dataSet;
}
