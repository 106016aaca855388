/**
 * `info`: adds the data labels of info metrics to series with the same identifying labels.
 *
 * At each step the info series with the newest sample counts; equally new ones are an error. Labels
 * that a series has are not replaced. A series without a match is unchanged, unless a matcher
 * requires a label. Info metrics themselves are not enriched.
 */
import { PromqlError } from "../engine-types.ts";
import type { Labels } from "../labels.ts";
import { metricNameLabel } from "../labels.ts";
import { compileMatcher } from "../leaf/matchers.ts";
import type { Matcher } from "../leaf.ts";
import { type StepSeries, stepAbsent, stepHistogram } from "../model.ts";
import { ExecNode, type VectorNode } from "./exec-node.ts";
import { MatchConflicts } from "./match-conflicts.ts";
import { mergeDuplicates } from "./merge-duplicates.ts";
import { LabelMatching, labelsToText } from "./result-labels.ts";
import { hasSample, masked, presenceOf } from "./step-columns.ts";

export interface InfoSpec {
  readonly nameMatchers: readonly Matcher[];
  /** The matchers of labels other than the name. */
  readonly dataMatchers: readonly Matcher[];
  readonly steps: number;
  readonly singleStep: boolean;
  /** The values of the info metrics; `timestamps` has the times of the same samples. */
  readonly values: VectorNode;
  readonly timestamps: VectorNode;
}

const identifying = ["instance", "job"] as const;

export function infoNode(spec: InfoSpec, source: VectorNode): VectorNode {
  return new ExecNode("info", [source, spec.values, spec.timestamps], (context) => {
    const base = source.eval(context).series;
    const isInfo = nameMatches(spec.nameMatchers);
    const enriched = base.filter(({ labels }) => !isInfo(labels.name));
    const wanted = identityFilter(enriched);
    checkFloats(spec.values.eval(context).series.filter(wanted));
    const infos = spec.timestamps.eval(context).series.filter(wanted);
    const join = new InfoJoin(spec, base, infos, context.budget.make);
    const series = base.flatMap((one) => (isInfo(one.labels.name) ? [one] : join.enrich(one)));
    join.conflicts.throwFirst();
    return { type: "vector", series: mergeDuplicates(series) };
  });
}

function nameMatches(matchers: readonly Matcher[]): (name: string) => boolean {
  const tests = matchers.map(compileMatcher);
  return (name) => tests.every((test) => test(name));
}

/** Skips info series whose identifying labels no base series has. */
function identityFilter(base: readonly StepSeries[]): (info: StepSeries) => boolean {
  const known = identifying.map((name) => {
    const values = new Set(base.map(({ labels }) => labels.get(name)));
    values.delete("");
    return { name, values };
  });
  const asked = known.filter(({ values }) => values.size > 0);
  if (asked.length === 0) return () => false;
  return ({ labels }) => asked.every(({ name, values }) => values.has(labels.get(name)));
}

function checkFloats(infos: readonly StepSeries[]): void {
  const bad = infos.find(({ kinds }) => kinds.includes(stepHistogram));
  if (bad === undefined) return;
  const message = `this should be an info metric, with float samples: ${labelsToText(bad.labels)}`;
  throw new PromqlError("execution", message);
}

/** The steps at which a series has the same matching info series. */
interface InfoPart {
  readonly owners: readonly number[];
  readonly mask: Uint8Array;
}

/** The newest info series at each step, by name and identifying labels. */
class InfoJoin {
  readonly conflicts: MatchConflicts = new MatchConflicts();
  readonly #spec: InfoSpec;
  readonly #infos: readonly StepSeries[];
  readonly #identity = new LabelMatching(true, identifying);
  /** By name, then by identity: the index of the info series at each step, or -1. */
  readonly #newest = new Map<string, Map<string, Int32Array>>();
  readonly #dataNames: ReadonlySet<string>;
  readonly #needsMatch: boolean;

  readonly #make: (labels: Labels) => Labels;

  constructor(
    spec: InfoSpec,
    base: readonly StepSeries[],
    infos: readonly StepSeries[],
    make: (labels: Labels) => Labels,
  ) {
    this.#make = make;
    this.#spec = spec;
    this.#infos = infos;
    this.#dataNames = new Set(spec.dataMatchers.map(({ name }) => name));
    this.#needsMatch = spec.dataMatchers.some((matcher) => !compileMatcher(matcher)(""));
    const anyBase = presenceOf(base, spec.steps);
    for (const [index, info] of infos.entries()) this.#add(info, index, anyBase);
  }

  #add(info: StepSeries, index: number, anyBase: Uint8Array): void {
    const owners = this.#ownersOf(info.labels);
    for (let step = 0; step < this.#spec.steps; step += 1) {
      if (info.kinds[step] === stepAbsent || anyBase[step] === 0) continue;
      const owner = owners[step] as number;
      const known = this.#infos[owner];
      const time = info.values[step] as number;
      const knownTime = known?.values[step] ?? Number.NEGATIVE_INFINITY;
      if (time > knownTime) owners[step] = index;
      else if (time === knownTime && known !== undefined) {
        const at = Math.round(time * 1000);
        this.conflicts.report(
          step,
          index,
          () =>
            `found duplicate series for info metric: existing ${labelsToText(known.labels)} @ ${at}` +
            `, new ${labelsToText(info.labels)} @ ${at}`,
        );
      }
    }
  }

  #ownersOf(labels: Labels): Int32Array {
    let byIdentity = this.#newest.get(labels.name);
    if (byIdentity === undefined) {
      byIdentity = new Map();
      this.#newest.set(labels.name, byIdentity);
    }
    const key = this.#identity.keyOf(labels);
    let owners = byIdentity.get(key);
    if (owners === undefined) {
      owners = new Int32Array(this.#spec.steps).fill(-1);
      byIdentity.set(key, owners);
    }
    return owners;
  }

  /** Returns one series for each distinct combination of matching info series over time. */
  enrich(series: StepSeries): StepSeries[] {
    const parts = this.#partsOf(series);
    return parts.flatMap(({ owners, mask }) => {
      if (owners.length === 0 && this.#needsMatch) return [];
      const labels = this.#labelsWith(series.labels, owners, mask.indexOf(1));
      const part = masked({ ...series, labels }, mask);
      return hasSample(part.kinds) ? [part] : [];
    });
  }

  #partsOf(series: StepSeries): readonly InfoPart[] {
    const key = this.#identity.keyOf(series.labels);
    const candidates = [...this.#newest.values()].flatMap((byIdentity) => {
      const owners = byIdentity.get(key);
      return owners === undefined ? [] : [owners];
    });
    const parts = new Map<string, InfoPart>();
    let part: InfoPart | undefined;
    let partStep = 0;
    for (let step = 0; step < this.#spec.steps; step += 1) {
      if (series.kinds[step] === stepAbsent) continue;
      // Info series rarely change, so most steps equal the one before.
      if (part === undefined || !candidates.every((one) => one[step] === one[partStep])) {
        const owners = candidates.map((one) => one[step] as number).filter((one) => one !== -1);
        const id = owners.join(",");
        part = parts.get(id) ?? { owners, mask: new Uint8Array(this.#spec.steps) };
        parts.set(id, part);
        partStep = step;
      }
      part.mask[step] = 1;
    }
    return [...parts.values()];
  }

  #labelsWith(base: Labels, owners: readonly number[], step: number): Labels {
    const added = new Map<string, string>();
    for (const owner of owners) {
      for (const [name, value] of (this.#infos[owner] as StepSeries).labels.entries()) {
        if (name === metricNameLabel) continue;
        if (this.#dataNames.size > 0 && !this.#dataNames.has(name)) continue;
        const known = added.get(name);
        if (known !== undefined && known !== value) {
          this.conflicts.report(step, this.#infos.length, () => `conflicting label: ${name}`);
        }
        if (base.get(name) === "") added.set(name, value);
      }
    }
    let labels = base;
    for (const [name, value] of added) labels = labels.with(name, value);
    return this.#make(labels);
  }
}
