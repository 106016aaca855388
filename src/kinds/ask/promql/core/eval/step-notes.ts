/** Keeps the last note that one operation makes at one step. */
import { type AnnotationSet, annotate, type Note } from "../annotations.ts";
import type { Position } from "../model.ts";

export class StepNotes {
  #last: (Note | undefined)[] | undefined;
  readonly #steps: number;

  constructor(steps: number) {
    this.#steps = steps;
  }

  put(step: number, note: Note): void {
    this.#last ??= new Array<Note | undefined>(this.#steps).fill(undefined);
    this.#last[step] = note;
  }

  addTo(annotations: AnnotationSet<Position>, position: Position): void {
    for (const note of this.#last ?? []) {
      if (note !== undefined) annotate(annotations, note, position);
    }
  }
}
