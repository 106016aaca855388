/**
 * A limit to the work of one pattern over all the texts that it is tried on. The time for a text is linear in its
 * length, but the factor is up to the pattern; one that keeps thousands of ways open at every character would still
 * hold a worker for hours.
 */
import { PromqlError } from "../engine-types.ts";

/** Instructions followed: about half a second. */
const spareMax = 5_000_000;
/** Far more than what patterns that people write keep open at a time. */
const perCharacter = 1000;

export class Effort {
  #spare = spareMax;

  /** `steps` were done for so many characters. Throws when it was too much for too long. */
  spend(steps: number, characterCount: number): void {
    this.#spare = Math.min(this.#spare + perCharacter * characterCount - steps, spareMax);
    if (this.#spare < 0) {
      throw new PromqlError("execution", "the regular expression takes too long to match");
    }
  }
}
