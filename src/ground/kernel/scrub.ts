/**
 * Decides which files the scrub reads in a round. Pure.
 *
 * The order: suspected files; files that were damaged when last read, in every round, so that a
 * repair is noticed soon; files without a checksum, which get one; then files that were not read
 * for a whole period, the longest first. A round reads all suspected files and at least one file.
 * Beyond that it reads at most `roundBytes`, or four times the share that reads every file once in
 * a period if that is more.
 */
export interface ScrubFile {
  readonly sizeBytes: number;
  /** Undefined when the file has no checksum yet. */
  readonly checkedAtMs: number | undefined;
  readonly isSuspected: boolean;
  /** Whether the file was damaged when it was last read. */
  readonly isDamaged: boolean;
}

export interface ScrubLimits {
  /** Every file is read once in this time. */
  readonly periodMs: number;
  /** The time between two rounds. */
  readonly everyMs: number;
  /** A round reads more than this only where the period requires it. */
  readonly roundBytes: number;
}

export const scrubPeriodMsDefault: number = 7 * 24 * 3_600_000;
export const scrubLimitsDefault: ScrubLimits = {
  periodMs: scrubPeriodMsDefault,
  everyMs: 60_000,
  roundBytes: 256 * 1024 * 1024,
};

const catchUp = 4;

/** The end of a damage note about a missing file. */
export const missingNote = " is missing";

export function isMissingNote(damage: string): boolean {
  return damage.endsWith(missingNote);
}

/** More texts are dropped: the files that they name are found in their regular turn. */
const suspicionsMax = 10_000;

/**
 * Texts of errors that name damaged files. A text stays until a round has read the files that it
 * names, also across failed rounds.
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
   * Removes `texts`, the oldest, after a round that looked for them. `unread` are names of files
   * that the round could not read; they stay.
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
