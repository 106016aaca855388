/**
 * One evaluation of an operator between the matching samples of two vectors. Series are matched
 * once, by labels; samples at each step. Rules: PE13, PE14, PE16.
 *
 * On the "one" side, a second sample of a group at a step is an error if the other side has any
 * sample then, or is filled. With one-to-one, so is a second sample of the left side that finds a
 * partner; with group_left and group_right, a second result with the same labels in a group.
 *
 * The result is in the order of the "many" (or left) side, then what `fill` added.
 */
import type { VectorMatching } from "../ast.ts";
import { compareLabels, Labels } from "../labels.ts";
import type { Position, StepSeries } from "../model.ts";
import { ColumnOperator } from "./column-operator.ts";
import type { ElementOp } from "./combine-samples.ts";
import type { EvalContext } from "./exec-node.ts";
import { isArithmetic } from "./float-operators.ts";
import { MatchConflicts } from "./match-conflicts.ts";
import { filled, type OneSideGroup, oneSideGroup, onlyFill } from "./one-side.ts";
import { LabelMatching, labelsToText, withoutMetadata } from "./result-labels.ts";
import { hasSample, masked, presenceOf, type StepColumns, seriesOf } from "./step-columns.ts";
import { StepNotes } from "./step-notes.ts";

export interface VectorBinarySpec {
  readonly op: ElementOp;
  readonly returnBool: boolean;
  readonly matching: VectorMatching;
  readonly steps: number;
  readonly singleStep: boolean;
  readonly position: Position;
}

/** `many` and `one` are the sides as matched; with group_right they are swapped. */
export class VectorOperation {
  readonly notes: StepNotes;
  readonly #spec: VectorBinarySpec;
  readonly #many: readonly StepSeries[];
  readonly #one: readonly StepSeries[];
  readonly #swapped: boolean;
  readonly #make: (labels: Labels) => Labels;
  readonly #dropNameNow: boolean;
  readonly #labelMatching: LabelMatching;
  readonly #groups = new Map<string, OneSideGroup>();
  /** By match key: 1 at the steps where a sample of the "many" side found its partner. */
  readonly #matched = new Map<string, Uint8Array>();
  /** The same by match key and result labels, for group_left and group_right. */
  readonly #results = new Map<string, Map<string, Uint8Array>>();
  readonly #conflicts = new MatchConflicts();
  readonly #operator: ColumnOperator;
  readonly #out: StepSeries[] = [];

  constructor(
    spec: VectorBinarySpec,
    left: readonly StepSeries[],
    right: readonly StepSeries[],
    context: EvalContext,
  ) {
    const { matching } = spec;
    this.notes = new StepNotes(spec.steps);
    this.#operator = new ColumnOperator(spec.op, spec.returnBool, this.notes);
    this.#spec = spec;
    this.#swapped = matching.card === "one-to-many";
    this.#many = this.#swapped ? right : left;
    this.#one = this.#swapped ? left : right;
    this.#make = context.budget.make;
    this.#dropNameNow = spec.returnBool && !context.options.delayedNameRemoval;
    this.#labelMatching = new LabelMatching(matching.on, matching.labels);
  }

  run(): readonly StepSeries[] {
    const { fillLeft, fillRight } = this.#spec.matching;
    const filling = fillLeft !== undefined || fillRight !== undefined;
    if (!filling && (this.#many.length === 0 || this.#one.length === 0)) return [];
    this.#groupOneSide(filling);
    this.#many.forEach((series, index) => {
      const key = this.#labelMatching.keyOf(series.labels);
      const partner = this.#partnerOf(this.#groups.get(key));
      if (partner !== undefined) this.#operate(series, index, key, partner);
    });
    if (fillLeft !== undefined) this.#fillManySide(fillLeft);
    this.#conflicts.throwFirst();
    return this.#out;
  }

  #partnerOf(group: OneSideGroup | undefined): OneSideGroup | undefined {
    const { fillRight } = this.#spec.matching;
    if (fillRight === undefined) return group;
    return group === undefined ? onlyFill(this.#spec.steps, fillRight) : filled(group, fillRight);
  }

  #groupOneSide(filling: boolean): void {
    const members = Map.groupBy(this.#one.keys(), (index) =>
      this.#labelMatching.keyOf((this.#one[index] as StepSeries).labels),
    );
    let presence: Uint8Array | undefined;
    for (const [key, indexes] of members) {
      const group = oneSideGroup(this.#one, indexes, (step, first, second) => {
        presence ??= presenceOf(this.#many, this.#spec.steps);
        // Prometheus skips a side while the other is empty.
        if (!filling && presence[step] === 0) return;
        this.#conflicts.report(step, second, () => this.#duplicateText(first, second));
      });
      this.#groups.set(key, group);
    }
  }

  #duplicateText(first: number, second: number): string {
    const pair = [first, second].map((index) => (this.#one[index] as StepSeries).labels);
    const [a = Labels.empty, b = Labels.empty] = pair.sort(compareLabels);
    const group = labelsToText(this.#labelMatching.labelsOf(a));
    const side = this.#swapped ? "left" : "right";
    return (
      `found duplicate series for the match group ${group} on the ${side} hand-side of the operation: ` +
      `[${labelsToText(a)}, ${labelsToText(b)}]` +
      ";many-to-many matching not allowed: matching labels must be unique on one side"
    );
  }

  #operate(series: StepSeries, index: number, key: string, partner: OneSideGroup): void {
    const found = new Uint8Array(this.#spec.steps);
    const columns = this.#combine(series, partner, found);
    const rank = this.#one.length + index;
    const { card, include } = this.#spec.matching;
    if (card === "one-to-one") this.#checkOnePerGroup(key, found, rank);
    else if (this.#spec.matching.fillLeft !== undefined) this.#note(key, found);
    if (include.length === 0 || partner.owners === undefined) {
      const [owner] = partner.members;
      const labels = this.#labelsFor(series, owner ?? -1);
      this.#emit(key, labels, columns, found, rank);
      return;
    }
    // The labels depend on the series of the other side that the step's sample came from.
    for (const owner of new Set(partner.owners)) {
      const mask = Uint8Array.from(partner.owners, (one) => (one === owner ? 1 : 0));
      const labels = this.#labelsFor(series, owner);
      const part = masked(seriesOf(labels, false, columns), mask);
      const partFound = found.map((bit, step) => bit * (mask[step] as number));
      this.#emit(key, labels, part, partFound, rank);
    }
  }

  #labelsFor(series: StepSeries, owner: number): Labels {
    const one =
      owner === -1
        ? this.#labelMatching.labelsOf(series.labels)
        : (this.#one[owner] as StepSeries).labels;
    return this.#resultLabels(series.labels, one);
  }

  /** Adds results for the samples of the "one" side without a match. */
  #fillManySide(fill: number): void {
    this.#one.forEach((series, index) => {
      const key = this.#labelMatching.keyOf(series.labels);
      const matched = this.#matched.get(key);
      const free =
        matched === undefined
          ? series
          : masked(
              series,
              matched.map((bit) => 1 - bit),
            );
      const found = new Uint8Array(this.#spec.steps);
      const columns = this.#combine(onlyFill(this.#spec.steps, fill), free, found);
      const many = this.#labelMatching.labelsOf(series.labels);
      const rank = this.#one.length + this.#many.length + index;
      this.#emit(key, this.#resultLabels(many, series.labels), columns, found, rank);
    });
  }

  #note(key: string, found: Uint8Array): void {
    const matched = this.#matched.get(key);
    if (matched === undefined) {
      this.#matched.set(key, found.slice());
      return;
    }
    for (let step = 0; step < found.length; step += 1) {
      if (found[step] === 1) matched[step] = 1;
    }
  }

  #checkOnePerGroup(key: string, found: Uint8Array, rank: number): void {
    const matched = this.#matched.get(key);
    if (matched !== undefined) {
      const step = firstShared(matched, found);
      if (step !== undefined) this.#conflicts.report(step, rank, manyToOneText);
    }
    this.#note(key, found);
  }

  #emit(key: string, labels: Labels, columns: StepColumns, found: Uint8Array, rank: number): void {
    if (this.#spec.matching.card !== "one-to-one") this.#checkUnique(key, labels, found, rank);
    if (!hasSample(columns.kinds)) return;
    this.#out.push(seriesOf(labels, this.#spec.returnBool, columns));
  }

  #checkUnique(key: string, labels: Labels, found: Uint8Array, rank: number): void {
    let results = this.#results.get(key);
    if (results === undefined) {
      results = new Map();
      this.#results.set(key, results);
    }
    const earlier = results.get(labels.key);
    if (earlier === undefined) {
      results.set(labels.key, found);
      return;
    }
    const step = firstShared(earlier, found);
    if (step !== undefined) this.#conflicts.report(step, rank, notUniqueText);
    results.set(
      labels.key,
      earlier.map((bit, index) => bit | (found[index] as number)),
    );
  }

  #resultLabels(many: Labels, one: Labels): Labels {
    const { op, matching } = this.#spec;
    let labels = this.#dropNameNow || isArithmetic(op) ? withoutMetadata(many) : many;
    if (matching.card === "one-to-one") {
      const names = new Set(matching.labels);
      labels = matching.on ? labels.keep(names) : labels.without(names);
    }
    for (const name of matching.include) labels = labels.with(name, one.get(name));
    return matching.include.length > 0 ? this.#make(labels) : labels;
  }

  #combine(many: StepColumns, one: StepColumns, found: Uint8Array): StepColumns {
    return this.#swapped
      ? this.#operator.apply(one, many, found)
      : this.#operator.apply(many, one, found);
  }
}

function firstShared(a: Uint8Array, b: Uint8Array): number | undefined {
  for (let step = 0; step < a.length; step += 1) {
    if (a[step] === 1 && b[step] === 1) return step;
  }
  return undefined;
}

function manyToOneText(): string {
  return "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)";
}

function notUniqueText(): string {
  return "multiple matches for labels: grouping labels must ensure unique matches";
}
