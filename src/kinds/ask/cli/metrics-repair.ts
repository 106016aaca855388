/** `capstan metrics repair`: makes a damaged log usable and reports what is lost. */
import { join } from "node:path";
import { decideLakePlaces } from "../../../data/lake/index.ts";
import { formatCount, printable, processTerminal } from "../../../ground/command/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { isoTime } from "../../../ground/kernel/iso-time.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { realFiles } from "../../../ground/kernel/node/real-files.ts";
import { lockDir, openDataDir } from "../../../ground/process/index.ts";
import { type LogRepair, repairLog, requireLog, type TimeSpan } from "../metrics/index.ts";

export interface MetricsRepairOptions {
  readonly dataDir: string;
  readonly lake?: string;
  readonly metricsDir?: string;
  readonly json?: boolean;
}

/**
 * A coordinator with a damaged log tries it again every few seconds, and has it open for a moment
 * then.
 */
const lockWaitMsMax = 4_000;

export async function runMetricsRepair(options: MetricsRepairOptions): Promise<void> {
  const { metricsDir } = decideLakePlaces(options, join(options.dataDir, "lake"));
  const directory = join(metricsDir, "wal");
  await requireLog(realFiles, directory);
  const isOwn = options.metricsDir === undefined && options.lake === undefined;
  if (isOwn) openDataDir(options.dataDir); // One of another layout is refused.
  const lock = await lockDir(directory, "lock", realClock, lockWaitMsMax).catch(() => {
    const message = "a coordinator has the metrics log open";
    throw new OperatingError("data_dir_in_use", "never", message, {
      hint: "Stop it first. One that found its log damaged does not have it open: then this is another process.",
    });
  });
  let repair: LogRepair;
  try {
    repair = await repairLog(realFiles, directory);
  } finally {
    lock.release();
  }
  const terminal = processTerminal();
  terminal.out(options.json === true ? `${JSON.stringify(repair)}\n` : describeRepair(repair));
}

/** The report, for people. */
export function describeRepair(repair: LogRepair): string {
  const records = formatCount(repair.recordCount, "record");
  const samples = formatCount(repair.sampleCount, "sample");
  const files = formatCount(repair.fileCount, "file");
  if (repair.damage.length === 0) {
    return `The metrics log is whole: ${files}, ${records}, ${samples}. Nothing was changed.\n`;
  }
  const before = formatCount(repair.recordsBefore, "record");
  const after = formatCount(repair.recordsAfter, "record");
  return [
    "The metrics log was damaged:",
    ...repair.damage.map((line) => `  ${printable(line)}`),
    `Kept: ${before} before the damage and ${after} after it, ${samples}.`,
    `Lost: ${lostOf(repair)}.`,
    ...betweenOf(repair),
    `The damaged files are in ${printable(repair.keptIn ?? "")}. The log can be used again.`,
    "",
  ].join("\n");
}

function lostOf({ lostBytes, missingFileCount, lostSampleCount }: LogRepair): string {
  const parts = [`${formatCount(lostBytes, "byte")} of the log`];
  if (missingFileCount > 0) parts.push(formatCount(missingFileCount, "missing file"));
  if (lostSampleCount > 0) {
    const samples = formatCount(lostSampleCount, "sample");
    parts.push(`${samples} whose series was defined in what is lost`);
  }
  return parts.join(", ");
}

function betweenOf({ before, after }: LogRepair): string[] {
  const of = ({ oldestMs, newestMs }: TimeSpan): string =>
    oldestMs === newestMs ? isoTime(oldestMs) : `${isoTime(oldestMs)} to ${isoTime(newestMs)}`;
  const places = [
    ...(before === undefined
      ? []
      : [`the last record before the damage has samples of ${of(before)}`]),
    ...(after === undefined ? [] : [`the first record after it has samples of ${of(after)}`]),
  ];
  if (places.length === 0) return [];
  return [
    `In the order in which records came: ${places.join("; ")}.`,
    "What came in between is missing, whatever the times of its samples are.",
  ];
}
