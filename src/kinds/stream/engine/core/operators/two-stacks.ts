/**
 * Puts the slices of a sliding window together so that each window costs what its groups cost, not
 * what all of its slices cost: two stacks. The front has, for each of its slices, the groups of all
 * front slices from that one on; the back has the groups of all slices behind the front in one.
 * A window is the first of the front and the back. When the front is used up, it is made anew from
 * the slices of the window, so each slice is put together with others twice at most.
 *
 * Slices that are in here do not change: rows that come for them later are kept apart by their
 * slice, as `extra`, and added to each window; the next front takes them in.
 */
import type { Grouping, GroupState } from "./group-state.ts";

export interface StackSlice {
  readonly index: bigint;
  readonly groups: GroupState;
  /** Rows that came when the slice was in the stacks. */
  readonly extra: GroupState | undefined;
  /** Adds the extra rows to the groups. */
  settle(): void;
}

interface FrontEntry {
  readonly index: bigint;
  readonly groups: GroupState;
}

export class TwoStacks {
  readonly #grouping: Grouping;
  /** The next window's first slice is the last entry. */
  #front: FrontEntry[] = [];
  #back: GroupState;
  #folded: bigint | undefined;
  /** What the last window was given, if it was put together for it. */
  #whole: GroupState | undefined;

  constructor(grouping: Grouping) {
    this.#grouping = grouping;
    this.#back = grouping.take();
  }

  /** Whether a slice is in the stacks, so that its groups must stay as they are. */
  has(index: bigint): boolean {
    return this.#folded !== undefined && index <= this.#folded;
  }

  /** The groups of a window, given its slices in order; they are read before the next call. */
  window(first: bigint, slices: readonly StackSlice[]): GroupState {
    while (this.#front.length > 0 && (this.#front.at(-1) as FrontEntry).index < first) {
      this.#grouping.give((this.#front.pop() as FrontEntry).groups);
    }
    if (this.#whole !== undefined) this.#grouping.give(this.#whole);
    this.#whole = undefined;
    if (this.#front.length === 0) this.#makeFront(slices);
    else this.#foldBack(slices);
    const front = this.#front.at(-1) as FrontEntry;
    const extras = slices.flatMap(({ extra }) => extra ?? []);
    if (this.#back.groupCount === 0 && extras.length === 0) return front.groups;
    const whole = this.#grouping.take();
    this.#whole = whole;
    whole.absorb(front.groups);
    whole.absorb(this.#back);
    for (const extra of extras) whole.absorb(extra);
    return whole;
  }

  #makeFront(slices: readonly StackSlice[]): void {
    this.#grouping.give(this.#back);
    this.#back = this.#grouping.take();
    for (const slice of slices.toReversed()) {
      slice.settle();
      const groups = this.#grouping.take();
      const behind = this.#front.at(-1);
      if (behind !== undefined) groups.absorb(behind.groups);
      groups.absorb(slice.groups);
      this.#front.push({ index: slice.index, groups });
    }
    this.#folded = slices.at(-1)?.index ?? this.#folded;
  }

  #foldBack(slices: readonly StackSlice[]): void {
    for (const { index, groups } of slices) {
      if (this.#folded !== undefined && index <= this.#folded) continue;
      this.#back.absorb(groups);
      this.#folded = index;
    }
  }

  get bytes(): number {
    const whole = this.#whole?.bytes ?? 0;
    return this.#front.reduce((sum, { groups }) => sum + groups.bytes, this.#back.bytes + whole);
  }
}
