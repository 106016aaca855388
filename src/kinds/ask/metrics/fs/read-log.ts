/**
 * Reads the log back: the files of its newest list, record by record. The newest file may end in a
 * record that was never acknowledged, because its writer died or was stopped; it does not count.
 * Everything else that is unreadable or missing is damage. All damage is found, and what is good
 * around it.
 */
import { join } from "node:path";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import { decodeWalRecord, type WalRecord } from "../core/head/wal-record.ts";
import { readLineage } from "./lineage.ts";
import {
  decodeLogList,
  type ListedFile,
  type LogName,
  listFileName,
  parseListName,
  parseLogName,
} from "./log-list.ts";
import {
  type BadBytes,
  isRecord,
  type ReadFrame,
  type ReadFrames,
  readFrames,
  readIdentity,
} from "./wal-frames.ts";

/** A place where the log is not what was written. */
export interface LogDamage {
  readonly file: string;
  readonly what:
    | "missing"
    | "damaged"
    | "shorter than it was"
    | "empty"
    | "not listed"
    | "holds another file"
    | "uses undefined series";
  /** The bad bytes of a file that exists. */
  readonly bytes?: BadBytes;
  /** The file's index in the log, or -1 for the whole log. */
  readonly place: number;
}

export interface LogFileRead {
  readonly file: ListedFile;
  readonly place: number;
  /** The records that count, without marks and the file's name. */
  readonly records: readonly ReadFrame[];
  /** The number of bytes that count. */
  readonly bytes: number;
  /** Bytes at the end of the newest file that were never acknowledged. */
  readonly tornBytes: number;
  /** The bytes from offset `from` on that count but may not have been synced. */
  readonly unsynced: { readonly bytes: Buffer; readonly from: number } | undefined;
}

export interface LogFound {
  /** The highest number of any list, whole or not; 0 when there is none. */
  readonly newestTerm: number;
  /** The number of the list that counts; 0 when there is none. */
  readonly term: number;
  /** Undefined for a new log or one of the first format. */
  readonly lineage: string | undefined;
  /** In the order of their records. */
  readonly files: readonly ListedFile[];
  /** Files of the list's own term that are newer than the listed ones. */
  readonly newer: readonly ListedFile[];
  readonly damage: readonly LogDamage[];
}

export interface LogRead {
  readonly files: readonly LogFileRead[];
  readonly damage: readonly LogDamage[];
}

/** Ignores lists with the number `belowTerm`, which is the reader's own, or a higher one. */
export async function findLog(
  disk: Files,
  directory: string,
  belowTerm: number,
): Promise<LogFound> {
  const names = (await disk.list(directory)).map(({ name }) => name);
  const damage: LogDamage[] = [];
  const list = await readNewestList(disk, directory, names, belowTerm, damage);
  const { newestTerm, lineage } = list;
  const logs = names
    .flatMap((name) => parseLogName(name) ?? [])
    .filter(({ term }) => term < belowTerm);
  const wasListed =
    logs.some(({ term }) => term > 0) || (await readLineage(disk, directory))?.isListed === true;
  if (list.term === 0 && list.begun.length > 0 && wasListed) {
    damage.push({ file: listFileName(Math.min(...list.begun)), what: "empty", place: -1 });
  } else {
    // A list that is lost leaves files of its term behind.
    for (const { name, term } of logs) {
      if (term <= list.term || list.begun.includes(term)) continue;
      damage.push({ file: name, what: "not listed", place: -1 });
    }
    if (newestTerm === 0 && wasListed && damage.length === 0) {
      damage.push({ file: "the list of the log's files", what: "missing", place: -1 });
    }
  }
  const files = list.files ?? filesWithoutList(logs, damage);
  const newestIndex = files.reduce((most, { index }) => Math.max(most, index), -1);
  const newer = logs
    .filter(({ term, index }) => term === list.term && term > 0 && index > newestIndex)
    .sort((a, b) => a.index - b.index)
    .map(unlisted);
  return { newestTerm, term: list.term, lineage, files, newer, damage };
}

/** Reads the files that `isNeeded` accepts; others are neither read nor reported as missing. */
export async function readLog(
  disk: Files,
  directory: string,
  found: LogFound,
  isNeeded: (file: ListedFile) => boolean,
): Promise<LogRead> {
  const damage = [...found.damage];
  const files: LogFileRead[] = [];
  const there = new Map<ListedFile, Buffer>();
  for (const file of [...found.files, ...found.newer].filter(isNeeded)) {
    const bytes = await readIfThere(disk, join(directory, file.name));
    if (bytes !== undefined) there.set(file, bytes);
  }
  const listedNow = await listedSince(disk, directory, found);
  const newer = found.newer.filter((file) => hasRecord(there.get(file)) && !listedNow(file));
  const all = [...found.files, ...newer];
  for (const [place, file] of all.entries()) {
    if (!isNeeded(file)) continue;
    const bytes = there.get(file);
    if (newer.includes(file)) damage.push({ file: file.name, what: "not listed", place });
    if (bytes === undefined) {
      damage.push({ file: file.name, what: "missing", place });
      continue;
    }
    const isIt = (content: Buffer): boolean => isContentOf(content, file, found.lineage);
    if (!isIt(bytes)) damage.push({ file: file.name, what: "holds another file", place });
    // It may exist under another name.
    const content = isIt(bytes) ? bytes : [...there.values()].find(isIt);
    const isNewest = file === all.at(-1);
    if (content !== undefined) files.push(readOne(file, place, content, isNewest, damage));
  }
  return { files, damage };
}

/** The files that the list's owner, already fenced, added since it was read. */
async function listedSince(
  disk: Files,
  directory: string,
  { term, newer }: LogFound,
): Promise<(file: ListedFile) => boolean> {
  if (newer.length === 0) return () => false;
  const bytes = await readIfThere(disk, join(directory, listFileName(term)));
  const list = bytes && decodeLogList(bytes, term);
  return ({ name }) => list?.files.some((file) => file.name === name) === true;
}

/** Whether the name inside fits. True when it is unreadable: then the frames show the damage. */
function isContentOf(bytes: Buffer, file: ListedFile, lineage: string | undefined): boolean {
  const said = readIdentity(bytes);
  if (said === undefined || said === "unnamed") return said === undefined || !file.isNamed;
  const isOfLog = lineage === undefined || said.lineage === undefined || said.lineage === lineage;
  return said.name === file.name && isOfLog;
}

function hasRecord(bytes: Buffer | undefined): boolean {
  return bytes !== undefined && readFrames(bytes).frames.some(isRecord);
}

async function readIfThere(disk: Files, path: string): Promise<Buffer | undefined> {
  return (await disk.stat(path)) === undefined ? undefined : await disk.read(path);
}

interface NewestList {
  readonly newestTerm: number;
  /** The number of the list that was read; 0 when there is none. */
  readonly term: number;
  readonly lineage: string | undefined;
  readonly files: readonly ListedFile[] | undefined;
  /** The numbers of newer lists that are empty. */
  readonly begun: readonly number[];
}

async function readNewestList(
  disk: Files,
  directory: string,
  names: readonly string[],
  belowTerm: number,
  damage: LogDamage[],
): Promise<NewestList> {
  const terms = names
    .flatMap((name) => parseListName(name) ?? [])
    .filter((term) => term < belowTerm)
    .sort((a, b) => b - a);
  const begun: number[] = [];
  const newestTerm = terms[0] ?? 0;
  for (const term of terms) {
    const bytes = await disk.read(join(directory, listFileName(term)));
    if (bytes.length === 0) {
      begun.push(term);
      continue;
    }
    const list = decodeLogList(bytes, term);
    if (list !== undefined) {
      return { newestTerm, term, lineage: list.lineage, files: list.files, begun };
    }
    damage.push({
      file: listFileName(term),
      what: "damaged",
      bytes: { from: 0, to: bytes.length },
      place: -1,
    });
    return { newestTerm, term, lineage: undefined, files: undefined, begun };
  }
  return { newestTerm, term: 0, lineage: undefined, files: undefined, begun };
}

/**
 * Finds the files of the first format by their consecutive numbers. An interrupted repair leaves
 * copies under a newer term; the original counts.
 */
function filesWithoutList(logs: readonly LogName[], damage: LogDamage[]): ListedFile[] {
  const sorted = logs
    .toSorted((a, b) => a.generation - b.generation || a.index - b.index || a.term - b.term)
    .filter(({ generation, index }, at, all) => {
      const before = all[at - 1];
      return before?.generation !== generation || before.index !== index;
    });
  sorted.forEach(({ name, index }, at) => {
    const before = sorted[at - 1];
    if (before === undefined || index === before.index + 1) return;
    const file = `what was between ${before.name} and ${name}`;
    damage.push({ file, what: "missing", place: at });
  });
  return sorted.map(unlisted);
}

/** Without a list, the length of the file and whether it is named are unknown. */
function unlisted({ name, generation, index }: LogName): ListedFile {
  return { name, generation, index, bytes: undefined, hasGap: false, isNamed: false };
}

function readOne(
  file: ListedFile,
  place: number,
  whole: Buffer,
  isNewest: boolean,
  damage: LogDamage[],
): LogFileRead {
  const bytes = file.bytes === undefined ? whole : whole.subarray(0, file.bytes);
  if (file.bytes !== undefined && bytes.length < file.bytes) {
    const lost = { from: bytes.length, to: file.bytes };
    damage.push({ file: file.name, what: "shorter than it was", bytes: lost, place });
  }
  const read = readFrames(bytes);
  const isOpen = isNewest && file.bytes === undefined;
  const torn = isOpen ? tornAt(read, bytes.length) : bytes.length;
  for (const bad of read.bad) {
    if (bad.from < torn) damage.push({ file: file.name, what: "damaged", bytes: bad, place });
  }
  const records = read.frames.filter((frame) => frame.at < torn && isRecord(frame));
  const from = isOpen ? Math.min(read.syncedBytes, torn) : torn;
  const unsynced = from === torn ? undefined : { bytes: bytes.subarray(from, torn), from };
  return { file, place, records, bytes: torn, tornBytes: bytes.length - torn, unsynced };
}

/** The start of the unfinished write at the end, which was never acknowledged. */
function tornAt({ bad, syncedBytes }: ReadFrames, length: number): number {
  return bad.find(({ from }) => from >= syncedBytes)?.from ?? length;
}

/** Undefined for a record that this version cannot decode, although its checksum is right. */
export function tryDecode(payload: Uint8Array): WalRecord | undefined {
  try {
    return decodeWalRecord(payload);
  } catch {
    return undefined;
  }
}

/** Checks every file of a copied log. Undefined when it is whole. */
export async function findLogDamage(
  disk: Files,
  directory: string,
): Promise<OperatingError | undefined> {
  const found = await findLog(disk, directory, Number.POSITIVE_INFINITY);
  const read = await readLog(disk, directory, found, () => true);
  return read.damage.length === 0 ? undefined : damagedLog(read);
}

/** The error says where the log is damaged, and what is good before and after. */
export function damagedLog(read: LogRead): OperatingError {
  const [first, ...more] = read.damage;
  assert(first !== undefined, "there is damage to speak of");
  const others = more.length === 0 ? "" : `, and ${countOf(more.length, "more place")}`;
  const { before, after } = goodAround(read);
  const message = `the metrics log is damaged: ${describeDamage(first)}${others}. ${countOf(before, "record")} before it and ${countOf(after, "record")} after it are good`;
  return new OperatingError("store_corrupt", "never", message, {
    hint: "Restore the file from a backup; or run `capstan metrics repair`: it keeps the damaged bytes aside, says what is lost, and makes the log usable. What was sealed into segments is safe.",
  });
}

export function describeDamage({ file, what, bytes }: LogDamage): string {
  return what === "damaged" && bytes !== undefined
    ? `${file} at byte ${bytes.from}, ${countOf(bytes.to - bytes.from, "byte")}`
    : `${file}: ${what}${bytes === undefined ? "" : ` by ${countOf(bytes.to - bytes.from, "byte")}`}`;
}

/** Counts the records before the first damage and after it. */
export function goodAround({ files, damage }: LogRead): {
  readonly before: number;
  readonly after: number;
} {
  const [first] = damage.toSorted((a, b) => a.place - b.place);
  let [before, after] = [0, 0];
  for (const { place, records } of files) {
    for (const { at } of records) {
      const isIt = place === first?.place;
      const isBefore = isIt ? at < (first?.bytes?.from ?? 0) : place < (first?.place ?? 0);
      if (isBefore) before += 1;
      else after += 1;
    }
  }
  return { before, after };
}

function countOf(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`;
}
