/**
 * Operator bugs to plant, one by one. The property test of whole plans must find each of them: that
 * is how we know that it would find others. A text stands once in its file; where it does not any
 * more, the list is out of date and the command says so.
 */
export interface Mutant {
  readonly name: string;
  /** Below src/kinds/stream. */
  readonly file: string;
  readonly text: string;
  readonly planted: string;
  /** Why no plan can tell it from the original; absent where it must be found. */
  readonly equivalent?: string;
}

const operators = "engine/core/operators";

export const mutants: readonly Mutant[] = [
  {
    name: "a row whose last window ends at the watermark is not late",
    file: `${operators}/assign-slices.ts`,
    text: "this.shape.windowEnd(last) <= this.#watermark",
    planted: "this.shape.windowEnd(last) < this.#watermark",
  },
  {
    name: "the watermark promises a millisecond too much",
    file: `${operators}/event-time.ts`,
    text: "const watermark = greatest - this.#bound;",
    planted: "const watermark = greatest - this.#bound + 1n;",
  },
  {
    name: "the greatest time is not restored",
    file: `${operators}/event-time.ts`,
    text: "this.#greatest = reader.number();",
    planted: "reader.number();",
    equivalent:
      "The watermark is restored, and is the greatest time less the bound: a lesser time than the one forgotten makes no later watermark.",
  },
  {
    name: "event time's own watermark is not restored",
    file: `${operators}/event-time.ts`,
    text: "this.#watermark = reader.bigint();",
    planted: "reader.bigint();",
    equivalent:
      "State is saved at the end of a read buffer, where the watermark is the greatest time less the bound. The greatest time is restored, so the next end of a buffer makes the same watermark or a later one, and until then the fragment holds on to what it has promised (SG7).",
  },
  {
    name: "the watermark of a window is not restored",
    file: `${operators}/window-aggregate.ts`,
    text: "if (this.#watermark > startOfTime) this.#timeline.resume(this.#watermark);",
    planted: "",
  },
  {
    name: "a row at the very end of a sliding window belongs to it",
    file: `${operators}/assign-slices.ts`,
    text: "const isBehindEnd = this.#remainder !== 0 && time >= edge;",
    planted: "const isBehindEnd = this.#remainder !== 0 && time > edge;",
  },
  {
    name: "rows that come to a slice in the stacks are forgotten",
    file: `${operators}/two-stacks.ts`,
    text: "for (const extra of extras) whole.absorb(extra);",
    planted: "",
  },
  {
    name: "a session ends a millisecond late",
    file: `${operators}/session-table.ts`,
    text: "return since >= this.#gapMs;",
    planted: "return since > this.#gapMs;",
  },
  {
    name: "an outer join forgets which rows on the right were matched",
    file: `${operators}/window-join.ts`,
    text: "if (keepsRight) markRows(matchedRight, rightRows, passed);",
    planted: "if (keepsRight && passed === undefined) markRows(matchedRight, rightRows, passed);",
  },
  {
    name: "the upper end of an interval does not belong to it",
    file: `${operators}/interval-join.ts`,
    text: "betweenMs > upperMs) continue;",
    planted: "betweenMs >= upperMs) continue;",
  },
  {
    name: "a key is forgotten a millisecond early",
    file: `${operators}/keyed.ts`,
    text: "if (timeBetween(high, low, seenHigh, seenLow) > ttlMs) return true;",
    planted: "if (timeBetween(high, low, seenHigh, seenLow) >= ttlMs) return true;",
  },
  {
    name: "all keys remember the first of the values that are packed",
    file: `${operators}/keyed.ts`,
    text: "this.#rows[i] = next;",
    planted: "this.#rows[i] = 1;",
  },
  {
    name: "NULLs come first in descending order",
    file: `${operators}/compare-rows.ts`,
    text: "if (!hasA || !hasB) return Number(hasB) - Number(hasA);",
    planted: "if (!hasA || !hasB) return (Number(hasB) - Number(hasA)) * (descending ? -1 : 1);",
  },
  {
    name: "a LEFT lookup leaves out rows that met nobody",
    file: `${operators}/lookup-join.ts`,
    text: 'if (keepsAll) this.#output.alone("left", views, matched, rowCount);',
    planted: "",
  },
  {
    name: "senders keep a slice until its last window ends",
    file: `${operators}/partial-aggregate.ts`,
    text: "shape.windowEnd(shape.firstWindow(index)) <= watermark",
    planted: "shape.windowEnd(shape.lastWindow(index)) <= watermark",
  },
  {
    name: "keys are given out by the place of their row",
    file: "engine/core/exchange/sender.ts",
    text: "targets[keyGroupOf(hashes[index] as number)] as number;",
    planted: "(keyGroupOf(hashes[index] as number) + index) % receiverCount;",
  },
  {
    name: "the last input's watermark is that of all",
    file: "engine/core/fragment/station.ts",
    text: "if (watermark < least) least = watermark;",
    planted: "least = watermark;",
  },
  {
    name: "the median of an even number of values is the upper one in the middle",
    file: "engine/core/aggregates/median.ts",
    text: "else if (count % 2 === 1)",
    planted: "else if (count >= 1)",
  },
  {
    name: "filters move below outer joins",
    file: "language/core/optimize/push-filters.ts",
    text: 'if (op.kind === "windowJoin" && op.join !== "inner") return stay(graph, terms, input);',
    planted: "",
  },
];
