/**
 * The list of a log's files, `term-<number>`: which files make up the log, in order, and how many
 * bytes of each count. Whoever takes the log over makes a list with a higher number, which fences
 * all earlier owners; the newest list defines the log. Rules: MH11, MH21, MH24.
 *
 * A listed file that is missing or too short is damage; an unlisted one was never acknowledged. An
 * owner writes its list before the first record of a new file. So a file of the list's own term
 * that is newer than the listed ones, and has a record, shows that the list is out of date.
 *
 * A new owner begins with an empty list. It acknowledged nothing yet, so the older whole list
 * counts. Without an older one, log files of the present format show that there was one: then the
 * empty list is damage.
 */
import { crc32 } from "node:zlib";

export interface ListedFile {
  readonly name: string;
  readonly generation: number;
  readonly index: number;
  /** Undefined for the file that was being written: all bytes that it has count. */
  readonly bytes: number | undefined;
  /** A repair left out records of its generation, so definitions of series may be missing. */
  readonly hasGap: boolean;
  /** Whether its first frame names the file; files of earlier versions have no name. */
  readonly isNamed: boolean;
}

export interface LogList {
  readonly term: number;
  /** Undefined when a repair did not find it; then the file `lineage` decides. */
  readonly lineage: string | undefined;
  readonly files: readonly ListedFile[];
}

const listName = /^term-(\d{1,15})$/;
/** Names in the first format have no term. */
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

/** Undefined unless the bytes are a whole list with this number. */
export function decodeLogList(bytes: Buffer, term: number): LogList | undefined {
  const [text = "", checksum, end] = bytes.toString("latin1").split("\n");
  if (checksum !== checksumOf(text) || end !== "") return undefined;
  const found = JSON.parse(text) as {
    readonly version: number;
    readonly term: number;
    readonly lineage: string | null;
    readonly files: readonly (readonly [string, number | null, number, number?])[];
  };
  // A renamed list has another number inside.
  if (found.version > 2 || found.term !== term) return undefined;
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
