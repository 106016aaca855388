/**
 * Which files the scrub reads in a round. Pure.
 *
 *   1  What somebody suspects is read at once; then what was damaged when it was last read, in every
 *      round, so that a mended file is soon known as such; then files without a checksum, which
 *      get one; then those that nobody has read for a whole period, the longest first.
 *   2  A round reads so much that all files have their turn in a period, and a few times as much
 *      when many are due at once. One file is read in any case.
 */
export interface ScrubFile {
  readonly sizeBytes: number;
  /** `undefined`: it has no checksum yet. */
  readonly checkedAtMs: number | undefined;
  readonly isSuspected: boolean;
  /** It was damaged when it was last read. */
  readonly isDamaged: boolean;
}

export interface ScrubLimits {
  /** In which every file is read once. */
  readonly periodMs: number;
  /** From one round to the next. */
  readonly everyMs: number;
  /** Beyond it a round reads on only where the period asks for it. */
  readonly roundBytes: number;
}

export const scrubPeriodMsDefault: number = 7 * 24 * 3_600_000;
export const scrubLimitsDefault: ScrubLimits = {
  periodMs: scrubPeriodMsDefault,
  everyMs: 60_000,
  roundBytes: 256 * 1024 * 1024,
};

const catchUp = 4;

/** How a note of damage ends that says that a file is not there. */
export const missingNote = " is missing";

export function isMissingNote(damage: string): boolean {
  return damage.endsWith(missingNote);
}

/** Texts beyond so many are dropped: what they name is found in its turn. */
const suspicionsMax = 10_000;

/**
 * Where somebody met damage: texts that name files. A text stays until a round has read what it
 * names, also over rounds that fail.
 */
export class Suspicions {
  #texts: string[] = [];

  get texts(): readonly string[] {
    return [...this.#texts];
  }

  add(text: string): void {
    if (this.#texts.length < suspicionsMax) this.#texts.push(text);
  }

  /**
   * After a round that looked for `texts`, which are the first that there are. `unread`: names of
   * what it could not read.
   */
  settle(texts: readonly string[], unread: readonly string[]): void {
    this.#texts = [...unread, ...this.#texts.slice(texts.length)].slice(0, suspicionsMax);
  }
}

export function decideScrub<File extends ScrubFile>(
  files: readonly File[],
  nowMs: number,
  { periodMs, everyMs, roundBytes }: ScrubLimits,
): readonly File[] {
  const due = files.filter(
    ({ checkedAtMs, isSuspected, isDamaged }) =>
      isSuspected || isDamaged || checkedAtMs === undefined || nowMs - checkedAtMs >= periodMs,
  );
  due.sort((a, b) => rank(a) - rank(b) || (a.checkedAtMs ?? 0) - (b.checkedAtMs ?? 0));
  const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const bytesMax = Math.max(roundBytes, (totalBytes * everyMs * catchUp) / periodMs);
  let bytes = 0;
  return due.filter((file) => {
    const isFirst = bytes === 0;
    if (!isFirst && !file.isSuspected && bytes + file.sizeBytes > bytesMax) return false;
    bytes += file.sizeBytes;
    return true;
  });
}

function rank({ isSuspected, isDamaged, checkedAtMs }: ScrubFile): number {
  if (isSuspected) return 0;
  if (isDamaged) return 1;
  return checkedAtMs === undefined ? 2 : 3;
}
