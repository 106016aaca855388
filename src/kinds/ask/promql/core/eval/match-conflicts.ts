/**
 * A series that matches several partners is an error only at a step where the samples exist.
 * Operators work series by series, so the conflict that Prometheus would meet first is chosen at
 * the end.
 */
import { PromqlError } from "../engine-types.ts";

export class MatchConflicts {
  #first: { step: number; rank: number; message: string } | undefined;

  /** Of conflicts at one step, the one with the lowest `rank` comes first. */
  report(step: number, rank: number, message: () => string): void {
    const first = this.#first;
    if (first !== undefined && (first.step < step || (first.step === step && first.rank <= rank))) {
      return;
    }
    this.#first = { step, rank, message: message() };
  }

  throwFirst(): void {
    if (this.#first !== undefined) throw new PromqlError("execution", this.#first.message);
  }
}
