import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEngine } from "../../data/duckdb/index.ts";
import {
  checkLakeFiles,
  decideLakePlaces,
  type LakeReport,
  openDownloadCache,
  openLakeFiles,
} from "../../data/lake/index.ts";
import { formatCount } from "../../ground/command/output/format.ts";
import { processTerminal } from "../../ground/command/output/terminal.ts";
import { printable } from "../../ground/command/output/terminal-text.ts";
import { OperatingError } from "../../ground/kernel/errors.ts";
import { silentLogger } from "../../ground/kernel/logger.ts";
import { realClock } from "../../ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../ground/kernel/node/system-random.ts";
import {
  type DataDir,
  decideMemory,
  decideMemoryBytes,
  machine,
  openDataDir,
} from "../../ground/process/index.ts";
import { openStore, parseStoreUrl } from "../../ground/store/index.ts";
import { DiskBudget, defaultDiskRatios } from "../../ground/work/index.ts";
import { checkSegments, type SegmentsReport } from "../../kinds/ask/metrics/index.ts";

export interface LakeCheckOptions {
  readonly dataDir: string;
  readonly store?: string;
  readonly lake?: string;
  readonly metricsDir?: string;
  readonly json?: boolean;
}

/** Returns whether nothing is wrong. */
export async function runLakeCheck(
  options: LakeCheckOptions,
  interrupted: AbortSignal,
): Promise<boolean> {
  const report = await check(options, interrupted);
  const terminal = processTerminal();
  if (options.json === true) terminal.out(`${JSON.stringify(report)}\n`);
  else {
    for (const finding of report.findings) terminal.out(`${printable(finding)}\n`);
    terminal.out(`${summaryOf(report)}\n`);
  }
  return report.findings.length === 0;
}

/** The disk space for copies of remote files. */
const copyBytes = 10 * 1024 ** 3;

/** Runs DuckDB in this process, restricted to the lake's directory and a temporary one. */
async function check(options: LakeCheckOptions, signal: AbortSignal): Promise<CheckReport> {
  // A check creates no directories. A missing one is a wrong option.
  const dataDir = (): DataDir => openDataDir(existing(options.dataDir, "--data-dir"));
  const location = parseStoreUrl(options.store ?? dataDir().storePath);
  const ownDir = (): string => dataDir().lakeDir;
  const { tables, metricsDir } = decideLakePlaces(options, options.lake ?? ownDir());
  if (tables.kind === "directory") existing(tables.root, "--lake");
  const isBeside = tables.kind === "directory" || options.metricsDir !== undefined;
  const metrics = isBeside ? metricsDir : join(options.dataDir, "lake");
  const parts = { clock: realClock, logger: silentLogger };
  const store = await openStore({ ...location, ...parts, prng: createSystemPrng() });
  const spoolDir = mkdtempSync(join(tmpdir(), "capstan-check-"));
  const copiesDir = join(spoolDir, "copies");
  const budget = new DiskBudget({
    capacityBytes: copyBytes,
    artifactFloorBytes: 0,
    ...defaultDiskRatios,
  });
  const cache = await openDownloadCache({ dir: copiesDir, budget, ...parts });
  try {
    const { cores, totalBytes } = machine();
    const atOnce = Math.min(4, cores);
    const memoryBytes = decideMemoryBytes("worker", { totalBytes, workers: 1 });
    const engine = await startEngine({
      memoryLimitBytes: decideMemory(memoryBytes, 0).engineBytes,
      treeLimitBytes: memoryBytes,
      threads: cores,
      spoolDir,
      readableDirs: [tables.kind === "directory" ? tables.root : copiesDir],
      connections: atOnce,
      ...parts,
    });
    try {
      const files = await openLakeFiles(tables, { clock: realClock, cache });
      const { objects } = files;
      const tablesReport = await checkLakeFiles({ store, objects, engine, atOnce }, signal).finally(
        files.close,
      );
      return withSegments(tablesReport, await checkSegments({ store, lakeDir: metrics }, signal));
    } finally {
      await engine.close();
    }
  } finally {
    await cache.close();
    await store.close();
    rmSync(spoolDir, { recursive: true, force: true });
  }
}

interface CheckReport extends LakeReport {
  readonly segments: number;
}

function withSegments(tables: LakeReport, metrics: SegmentsReport): CheckReport {
  return {
    ...tables,
    findings: [...tables.findings, ...metrics.findings],
    unverified: tables.unverified + metrics.unverified,
    segments: metrics.segments,
  };
}

function summaryOf({ findings, tables, files, segments, ...rest }: CheckReport): string {
  const { unnamed, unverified } = rest;
  const counts = `${formatCount(findings.length, "finding")} in ${formatCount(tables, "table")}, ${formatCount(files, "file")}, ${formatCount(segments, "segment")}`;
  const unread = unverified === 0 ? "" : `; ${formatCount(unverified, "file")} not verified yet`;
  const more = unnamed.length === 0 ? "" : `; ${formatCount(unnamed.length, "file")} of nobody`;
  return `lake: ${counts}${unread}${more}`;
}

function existing(path: string, option: string): string {
  if (existsSync(path)) return path;
  const hint = `Say where it is with ${option}.`;
  throw new OperatingError("not_found", "never", `there is no directory ${path}`, { hint });
}
