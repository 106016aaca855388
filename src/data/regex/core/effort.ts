/**
 * Limits the work of one pattern over all texts. The time is linear in a text's length, but the
 * factor depends on the pattern: one with thousands of open alternatives at every character could
 * occupy a worker for hours.
 */
import { RegexError } from "./regex-error.ts";

/** Instructions executed: about half a second. */
const spareMax = 5_000_000;
/** Far more alternatives than realistic patterns have open. */
const perCharacter = 1000;

export class Effort {
  #spare = spareMax;

  /** Counts `steps` for this many characters. Throws when they were too many for too long. */
  spend(steps: number, characterCount: number): void {
    this.#spare = Math.min(this.#spare + perCharacter * characterCount - steps, spareMax);
    if (this.#spare < 0) {
      throw new RegexError("the regular expression takes too long to match");
    }
  }
}
