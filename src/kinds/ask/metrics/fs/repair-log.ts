/**
 * Makes a damaged log usable again: everything in it that is good stays, everything else is kept
 * aside, and the report says what is lost. Nobody may have the log open meanwhile.
 *
 *   RL1  A log without damage is left as it is.
 *   RL2  Damaged files, and log files that nobody lists, are copied to `damaged-<term>/`, as they
 *        were, before anything is changed.
 *   RL3  The repaired log is a new term: until its list is written the log is as damaged as before,
 *        and a repair can be repeated.
 */
import { join } from "node:path";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import type { WalRecord } from "../core/head/wal-record.ts";
import { readLineage } from "./lineage.ts";
import { type ListedFile, listFileName, logFileName } from "./log-list.ts";
import {
  describeDamage,
  findLog,
  type LogDamage,
  type LogFileRead,
  type LogRead,
  readLog,
  tryDecode,
} from "./read-log.ts";
import { newestTerm, noLease, raiseFence, removeUnlisted, writeLogList } from "./take-log.ts";
import { encodeFrames, encodeIdentity, frameBytes } from "./wal-frames.ts";

export interface TimeSpan {
  readonly oldestMs: number;
  readonly newestMs: number;
}

export interface LogRepair {
  /** One line for each place; empty: the log was whole, and nothing was changed. */
  readonly damage: readonly string[];
  readonly fileCount: number;
  /** What is good, and stays. */
  readonly recordCount: number;
  readonly sampleCount: number;
  /** Good records before the first damage, and after it. */
  readonly recordsBefore: number;
  readonly recordsAfter: number;
  /** Bytes that could not be read. Those of a missing file are not known. */
  readonly lostBytes: number;
  readonly missingFileCount: number;
  /** Samples that can be read, but whose series was defined in what is lost. */
  readonly lostSampleCount: number;
  /**
   * The times of the samples of the last good record before the first damage, and of the first after
   * it. A log does not know when a record came, and samples may be late: what is lost came between
   * the two, and may have any times of its own.
   */
  readonly before: TimeSpan | undefined;
  readonly after: TimeSpan | undefined;
  /** The directory with the damaged files. */
  readonly keptIn: string | undefined;
}

export async function repairLog(disk: Files, directory: string): Promise<LogRepair> {
  const found = await findLog(disk, directory, (await newestTerm(disk, directory)) + 1);
  const read = await readLog(disk, directory, found, () => true);
  const log = readRecords(read);
  const { damage } = log;
  const report = reportOf(log);
  if (damage.length === 0) return report; // RL1
  const term = await raiseFence(disk, directory, noLease);
  const keptIn = join(directory, `damaged-${term}`);
  const damaged = damage.map(({ file }) => file);
  const strange = (await logFilesIn(disk, directory)).filter((name) => {
    return !found.files.some((file) => file.name === name);
  });
  await keepAside(disk, directory, keptIn, new Set([...damaged, ...strange]));
  const gaps = new Set(damage.flatMap(({ place }) => found.files[place]?.generation ?? []));
  const hasGap = ({ file }: LogFileRead): boolean =>
    file.hasGap || gaps.has(file.generation) || damage.some(({ place }) => place < 0);
  const files: ListedFile[] = [];
  const lineage = found.lineage ?? (await readLineage(disk, directory))?.name;
  for (const one of log.files) {
    const isDamaged = damage.some(({ file }) => file === one.file.name);
    files.push({
      ...(isDamaged
        ? await rewrite(disk, directory, { term, lineage }, one)
        : { ...one.file, bytes: one.bytes }),
      hasGap: hasGap(one),
    });
  }
  const list = { term, lineage: found.lineage, files };
  await writeLogList(disk, directory, list); // RL3
  await removeUnlisted(disk, directory, list);
  return { ...report, keptIn };
}

type Decoded = LogRead & {
  /** For each file, those of its records that can be read. */
  readonly decoded: ReadonlyMap<LogFileRead, readonly WalRecord[]>;
  readonly strayCount: number;
};

/** A record may be what was written and still say nothing: then it is damage like any other. */
function readRecords(read: LogRead): Decoded {
  const damage: LogDamage[] = [...read.damage];
  const files: LogFileRead[] = [];
  const decoded = new Map<LogFileRead, readonly WalRecord[]>();
  const defined = new Map<number, Set<number>>();
  let strayCount = 0;
  for (const one of read.files) {
    const { file, place } = one;
    const refs = defined.get(file.generation) ?? new Set<number>();
    defined.set(file.generation, refs);
    const good: WalRecord[] = [];
    const records = one.records.filter(({ at, payload }) => {
      const record = tryDecode(payload);
      if (record === undefined) {
        const bytes = { from: at, to: at + frameBytes + payload.length };
        damage.push({ file: file.name, what: "damaged", bytes, place });
        return false;
      }
      for (const [ref] of record.series) refs.add(ref);
      strayCount += record.refs.reduce((sum, ref) => sum + (refs.has(ref) ? 0 : 1), 0);
      good.push(record);
      return true;
    });
    const kept = { ...one, records };
    files.push(kept);
    decoded.set(kept, good);
    if (strayCount > 0 && damage.length === 0 && !file.hasGap) {
      damage.push({ file: file.name, what: "uses undefined series", place });
    }
  }
  return { files, damage, decoded, strayCount };
}

function reportOf({ files, damage, decoded, strayCount }: Decoded): LogRepair {
  const first = damage.toSorted((a, b) => a.place - b.place)[0];
  let [recordsBefore, recordsAfter, sampleCount] = [0, 0, 0];
  let before: TimeSpan | undefined;
  let after: TimeSpan | undefined;
  for (const file of files) {
    for (const [index, record] of (decoded.get(file) ?? []).entries()) {
      sampleCount += record.count;
      const isIt = file.place === first?.place;
      const at = file.records[index]?.at ?? 0;
      const isBefore =
        first === undefined || (isIt ? at < (first.bytes?.from ?? 0) : file.place < first.place);
      if (isBefore) recordsBefore += 1;
      else recordsAfter += 1;
      if (isBefore) before = spanOf(record) ?? before;
      else after ??= spanOf(record);
    }
  }
  return {
    damage: damage.map(describeDamage),
    fileCount: files.length,
    recordCount: recordsBefore + recordsAfter,
    sampleCount: sampleCount - strayCount,
    recordsBefore,
    recordsAfter,
    lostBytes: damage.reduce((sum, { bytes }) => sum + (bytes ? bytes.to - bytes.from : 0), 0),
    missingFileCount: damage.filter(({ what }) => what === "missing").length,
    lostSampleCount: strayCount,
    before,
    after,
    keptIn: undefined,
  };
}

/** `undefined`: it has no samples. */
function spanOf({ ts }: WalRecord): TimeSpan | undefined {
  if (ts.length === 0) return undefined;
  const oldestMs = ts.reduce((a, b) => Math.min(a, b));
  return { oldestMs, newestMs: ts.reduce((a, b) => Math.max(a, b)) };
}

/** RL2 */
async function keepAside(
  disk: Files,
  directory: string,
  aside: string,
  names: ReadonlySet<string>,
): Promise<void> {
  await disk.makeDirectory(aside);
  for (const name of names) {
    if ((await disk.stat(join(directory, name))) === undefined) continue;
    await disk.copy(join(directory, name), join(aside, name));
    await disk.sync(join(aside, name));
  }
  await disk.sync(aside);
  await disk.sync(directory);
}

/** All log files: one that is not listed may be one that is missing, under another name. */
async function logFilesIn(disk: Files, directory: string): Promise<string[]> {
  return (await disk.list(directory))
    .map(({ name }) => name)
    .filter((name) => name.endsWith(".wal"));
}

/** The good records of a file, in a file of their own. */
async function rewrite(
  disk: Files,
  directory: string,
  { term, lineage }: { readonly term: number; readonly lineage: string | undefined },
  { file, records }: LogFileRead,
): Promise<ListedFile> {
  const { generation, index } = file;
  const name = logFileName(term, generation, index);
  const payloads = records.map(({ payload }) => payload);
  const bytes = encodeFrames([encodeIdentity({ lineage, name }), ...payloads], 0);
  const written = await disk.open(join(directory, name), "new");
  try {
    await written.write(bytes, 0);
    await written.sync();
  } finally {
    await written.close();
  }
  await disk.sync(directory);
  return { name, generation, index, bytes: bytes.length, hasGap: true, isNamed: true };
}

/** Throws where there is no log at all: then it was named wrongly. */
export async function requireLog(disk: Files, directory: string): Promise<void> {
  if ((await disk.stat(directory))?.kind === "directory") return;
  throw new OperatingError("not_found", "never", `there is no metrics log in ${directory}`, {
    hint: `Say where it is with --data-dir or --metrics-dir. A log has a list of its files, ${listFileName(1)} or a later one.`,
  });
}
