/** The distinct leaves of one plan: parts that read the same thing share a leaf. */
import type { LeafExplanation } from "../eval/executable-plan.ts";
import type { BaseExpr, LeafOutput, Matcher } from "../leaf.ts";
import { leafText } from "./leaf-text.ts";

export interface RegisteredLeaf {
  readonly index: number;
  readonly text: string;
}

export class LeafRegistry {
  readonly #indexes = new Map<string, number>();
  readonly #leaves: BaseExpr[] = [];
  readonly #explanations: { readonly text: string; readonly why: Set<string> }[] = [];

  add(leaf: BaseExpr, why: string): RegisteredLeaf {
    const key = leafKey(leaf);
    let index = this.#indexes.get(key);
    if (index === undefined) {
      index = this.#leaves.push(leaf) - 1;
      this.#indexes.set(key, index);
      this.#explanations.push({ text: leafText(leaf), why: new Set() });
    }
    const explanation = this.#explanations[index];
    explanation?.why.add(why);
    return { index, text: explanation?.text ?? "" };
  }

  get leaves(): readonly BaseExpr[] {
    return this.#leaves;
  }

  get explanations(): readonly LeafExplanation[] {
    return this.#explanations.map(({ text, why }) => ({ text, why: [...why].join("; ") }));
  }
}

/** Sorted and without repetitions, so that equal selectors are equal however they were written. */
export function canonicalMatchers(matchers: readonly Matcher[]): readonly Matcher[] {
  const byKey = new Map(matchers.map((matcher) => [matcherKey(matcher), matcher]));
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, matcher]) => matcher);
}

function matcherKey({ name, op, value }: Matcher): string {
  return JSON.stringify([name, op, value]);
}

function leafKey(leaf: BaseExpr): string {
  const { grid, rangeMs, offsetMs, lookbackMs, bounds, useStartTs, output } = leaf;
  return JSON.stringify([
    leaf.matchers.map(matcherKey),
    [grid.startMs, grid.endMs, grid.stepMs],
    [rangeMs ?? "", offsetMs, lookbackMs, bounds ?? "", useStartTs, leaf.histogramStats ?? false],
    outputKey(output),
  ]);
}

/** Numbers as text: JSON has no NaN and no infinities. */
function outputKey(output: LeafOutput): unknown {
  if (output.kind === "raw") return ["raw"];
  const call =
    output.call === undefined ? [] : [output.call.name, ...output.call.args.map(numberKey)];
  if (output.kind === "steps") return ["steps", call];
  const { op, grouping, without, k } = output.aggregate;
  return ["partials", call, op, grouping, without, k ?? ""];
}

function numberKey(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}
