/**
 * The slices of a windowed operator that can still matter, in order, and which windows fire when
 * the watermark grows. Windows without rows are never looked at, however far time jumps.
 */
import { endOfTime } from "../operator.ts";
import type { WindowShape } from "./window-shape.ts";

export interface FiredWindow<Slice> {
  readonly index: bigint;
  readonly start: bigint;
  readonly end: bigint;
  /** The slices of the window that have rows, in the order of time; never empty. */
  readonly slices: readonly Slice[];
}

export class Timeline<Slice> {
  readonly #shape: WindowShape;
  readonly #create: (index: bigint) => Slice;
  readonly #slices = new Map<bigint, Slice>();
  /** The numbers of the slices, ascending. */
  #order: bigint[] = [];
  /** The last window that has fired, whether it had rows or not. */
  #fired: bigint | undefined;

  constructor(shape: WindowShape, create: (index: bigint) => Slice) {
    this.#shape = shape;
    this.#create = create;
  }

  /** The slice with this number, made if it is not there. */
  slice(index: bigint): Slice {
    const known = this.#slices.get(index);
    if (known !== undefined) return known;
    const made = this.#create(index);
    this.#slices.set(index, made);
    let at = this.#order.length;
    while (at > 0 && (this.#order[at - 1] as bigint) > index) at -= 1;
    this.#order.splice(at, 0, index);
    return made;
  }

  /** The slices in order. */
  slices(): Slice[] {
    return this.#order.map((index) => this.#slices.get(index) as Slice);
  }

  get size(): number {
    return this.#order.length;
  }

  /** Says which windows have fired when a state is restored. */
  resume(watermark: bigint): void {
    this.#fired = this.#shape.lastFired(watermark);
  }

  /**
   * Calls `fire` for every window with rows whose end is at or before the watermark, in order, and
   * then `drop` for every slice that belongs to no window to come.
   */
  advance(
    watermark: bigint,
    fire: (window: FiredWindow<Slice>) => void,
    drop: (slice: Slice) => void,
  ): void {
    const first = this.#order[0];
    if (first === undefined) {
      if (watermark !== endOfTime) this.#fired = this.#shape.lastFired(watermark);
      return;
    }
    const last =
      watermark === endOfTime
        ? this.#shape.lastWindow(this.#order.at(-1) as bigint)
        : this.#shape.lastFired(watermark);
    if (this.#fired !== undefined && last <= this.#fired) return;
    this.#fireThrough(last, fire);
    this.#fired = last;
    let dead = 0;
    for (const index of this.#order) {
      if (this.#shape.lastWindow(index) > last) break;
      drop(this.#slices.get(index) as Slice);
      this.#slices.delete(index);
      dead += 1;
    }
    if (dead > 0) this.#order = this.#order.slice(dead);
  }

  #fireThrough(last: bigint, fire: (window: FiredWindow<Slice>) => void): void {
    const { perAdvance, perWindow } = this.#shape;
    const order = this.#order;
    let at = 0;
    let window = this.#shape.firstWindow(order[0] as bigint);
    if (this.#fired !== undefined && window <= this.#fired) window = this.#fired + 1n;
    while (window <= last) {
      const from = window * perAdvance;
      const to = from + perWindow;
      while (at < order.length && (order[at] as bigint) < from) at += 1;
      const next = order[at];
      if (next === undefined) return;
      if (next >= to) {
        window = this.#shape.firstWindow(next);
        continue;
      }
      const slices: Slice[] = [];
      for (let i = at; i < order.length && (order[i] as bigint) < to; i += 1) {
        slices.push(this.#slices.get(order[i] as bigint) as Slice);
      }
      const { start, end } = {
        start: this.#shape.windowStart(window),
        end: this.#shape.windowEnd(window),
      };
      fire({ index: window, start, end, slices });
      window += 1n;
    }
  }
}
