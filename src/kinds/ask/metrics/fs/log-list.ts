/**
 * The list of a log's files, `term-<number>`: which files make up the log, in order, and how much
 * of each. Whoever takes the log over makes a list with a higher number; so the newest list is the
 * log, and its number is the fence of everybody before.
 *
 *   LL1  A file counts if and only if the newest list has it, and with as many bytes as the list
 *        says.
 *   LL2  A listed file that is not there, or shorter, is damage. One that is not listed was never
 *        acknowledged.
 *   LL3  A list has a checksum and its own number, so that a damaged or renamed one is known as
 *        such.
 *   LL4  A list that was begun is empty. Its owner acknowledged nothing, as long as an older whole
 *        list is there: that one counts. Without one, log files of the present format say that
 *        there was a list: then the empty one is damage, and no log file is left out.
 *   LL6  A file's content is bound to its place: its first frame has its name and the log's lineage,
 *        and the list says that it has one. A file with another name inside, or without one where
 *        the list wants one, is another file in its place.
 *   LL7  The owner of a list writes it before the first record of a new file. So a file of the
 *        list's own term that is newer than those it has, and has a record, says that the list is
 *        an older one than the last.
 *   LL5  The file `lineage` says that a list was written. Where none is there any more it is
 *        missing, whether log files are there or not.
 */
import { crc32 } from "node:zlib";

export interface ListedFile {
  readonly name: string;
  readonly generation: number;
  readonly index: number;
  /** `undefined`: it was being written; as much counts as is there. */
  readonly bytes: number | undefined;
  /**
   * A repair left records of its generation out: samples may lack the definition of their series.
   */
  readonly hasGap: boolean;
  /** Its first frame says which file it is; those of earlier versions have none. LL6 */
  readonly isNamed: boolean;
}

export interface LogList {
  readonly term: number;
  /** `undefined`: a repair did not find it; the file `lineage` counts. */
  readonly lineage: string | undefined;
  readonly files: readonly ListedFile[];
}

const listName = /^term-(\d{1,15})$/;
/** Files of the first format have no term. */
const logName = /^(?:(\d{1,15})-)?(\d{1,15})-(\d{1,10})\.wal$/;

export interface LogName {
  readonly name: string;
  readonly term: number;
  readonly generation: number;
  readonly index: number;
}

export function listFileName(term: number): string {
  return `term-${term}`;
}

export function parseListName(name: string): number | undefined {
  const match = listName.exec(name);
  return match === null ? undefined : Number(match[1]);
}

export function logFileName(term: number, generation: number, index: number): string {
  return `${term}-${generation}-${String(index).padStart(6, "0")}.wal`;
}

export function parseLogName(name: string): LogName | undefined {
  const match = logName.exec(name);
  if (match === null) return undefined;
  const [, term = "0", generation, index] = match;
  return { name, term: Number(term), generation: Number(generation), index: Number(index) };
}

export function encodeLogList(list: LogList): Buffer {
  const text = JSON.stringify({
    version: 2,
    term: list.term,
    lineage: list.lineage ?? null,
    files: list.files.map(({ name, bytes, hasGap, isNamed }) => [
      name,
      bytes ?? null,
      hasGap ? 1 : 0,
      isNamed ? 1 : 0,
    ]),
  });
  return Buffer.from(`${text}\n${checksumOf(text)}\n`);
}

/** `undefined`: it is not what somebody wrote as the list of this number. */
export function decodeLogList(bytes: Buffer, term: number): LogList | undefined {
  const [text = "", checksum, end] = bytes.toString("latin1").split("\n");
  if (checksum !== checksumOf(text) || end !== "") return undefined;
  const found = JSON.parse(text) as {
    readonly version: number;
    readonly term: number;
    readonly lineage: string | null;
    readonly files: readonly (readonly [string, number | null, number, number?])[];
  };
  if (found.version > 2 || found.term !== term) return undefined; // LL3
  const files = found.files.flatMap(([name, length, gap, named]): ListedFile[] => {
    const parsed = parseLogName(name);
    if (parsed === undefined) return [];
    const { generation, index } = parsed;
    const bytes = length ?? undefined;
    return [{ name, generation, index, bytes, hasGap: gap === 1, isNamed: named === 1 }];
  });
  return { term, lineage: found.lineage ?? undefined, files };
}

function checksumOf(text: string): string {
  return crc32(Buffer.from(text, "latin1")).toString(16).padStart(8, "0");
}
