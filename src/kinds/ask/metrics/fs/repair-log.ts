/**
 * Makes a damaged log usable again (MH23): good records stay, damaged files are kept aside, and the
 * report says what is lost. No process may have the log open meanwhile.
 *
 * Files are copied to `damaged-<term>/` before anything changes. The repaired log is a new term:
 * until its list is written the log is as damaged as before, so an interrupted repair can be
 * repeated.
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
  /** One line for each damaged place; empty when the log was whole and nothing was changed. */
  readonly damage: readonly string[];
  readonly fileCount: number;
  /** The number of good records, which stay. */
  readonly recordCount: number;
  readonly sampleCount: number;
  /** The numbers of good records before and after the first damage. */
  readonly recordsBefore: number;
  readonly recordsAfter: number;
  /** Bytes that could not be read. The size of a missing file is unknown. */
  readonly lostBytes: number;
  readonly missingFileCount: number;
  /** Readable samples whose series was defined in a lost part. */
  readonly lostSampleCount: number;
  /**
   * The sample times of the last good record before the first damage, and of the first after it.
   * The lost records came between the two, but may have any times, because samples may be late.
   */
  readonly before: TimeSpan | undefined;
  readonly after: TimeSpan | undefined;
  readonly keptIn: string | undefined;
}

export async function repairLog(disk: Files, directory: string): Promise<LogRepair> {
  const found = await findLog(disk, directory, (await newestTerm(disk, directory)) + 1);
  const read = await readLog(disk, directory, found, () => true);
  const log = readRecords(read);
  const { damage } = log;
  const report = reportOf(log);
  if (damage.length === 0) return report;
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
  await writeLogList(disk, directory, list); // The repair takes effect here.
  await removeUnlisted(disk, directory, list);
  return { ...report, keptIn };
}

type Decoded = LogRead & {
  /** The readable records of each file. */
  readonly decoded: ReadonlyMap<LogFileRead, readonly WalRecord[]>;
  readonly strayCount: number;
};

/** A record that cannot be decoded is damage, even when its checksum is right. */
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

/** Undefined when the record has no samples. */
function spanOf({ ts }: WalRecord): TimeSpan | undefined {
  if (ts.length === 0) return undefined;
  const oldestMs = ts.reduce((a, b) => Math.min(a, b));
  return { oldestMs, newestMs: ts.reduce((a, b) => Math.max(a, b)) };
}

/** Copies damaged and unlisted log files, unchanged. */
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

/** All log files, because an unlisted one may be a missing one under another name. */
async function logFilesIn(disk: Files, directory: string): Promise<string[]> {
  return (await disk.list(directory))
    .map(({ name }) => name)
    .filter((name) => name.endsWith(".wal"));
}

/** Writes the good records of a file to a new file. */
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

/** Throws when the directory has no log, because then its name is wrong. */
export async function requireLog(disk: Files, directory: string): Promise<void> {
  if ((await disk.stat(directory))?.kind === "directory") return;
  throw new OperatingError("not_found", "never", `there is no metrics log in ${directory}`, {
    hint: `Say where it is with --data-dir or --metrics-dir. A log has a list of its files, ${listFileName(1)} or a later one.`,
  });
}
