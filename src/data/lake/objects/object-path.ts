/**
 * The names of the lake's files (LO2). They are the same in a directory and in S3, so that a lake
 * can move from one to the other.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";

/** Where a directory store keeps files while writing them. No file of the lake is below it. */
export const writingFolder = ".writing";

/** S3's limit of a key is 1,024 bytes, which the lake's prefix shares. */
const pathBytesMax = 768;
/** The limit of common file systems. */
const segmentBytesMax = 255;

export function isObjectPath(path: string): boolean {
  if (Buffer.byteLength(path) > pathBytesMax || !path.isWellFormed()) return false;
  const segments = path.split("/");
  return segments[0] !== writingFolder && segments.every(isSegment);
}

export function checkObjectPath(path: string): void {
  if (isObjectPath(path)) return;
  throw new OperatingError("bad_request", "never", `${shown(path)} is no name for a lake file`, {
    hint: "Names are relative, with forward slashes, without '.', '..' and control characters.",
  });
}

/** A prefix may end anywhere in a name. The empty prefix matches all names. */
export function checkObjectPrefix(prefix: string): void {
  if (isObjectPath(`${prefix}x`)) return;
  throw new OperatingError("bad_request", "never", `${shown(prefix)} begins no lake file's name`);
}

function isSegment(segment: string): boolean {
  if (segment === "" || segment === "." || segment === "..") return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  return !/[\u0000-\u001f\u007f\\]/.test(segment) && Buffer.byteLength(segment) <= segmentBytesMax;
}

function shown(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}
