/**
 * Prometheus's relabelling: applies rules in order that change labels or drop their owner. Used for
 * targets before they are scraped and for samples before they are stored.
 */
import { Labels } from "../../../../promql/core/index.ts";
import { md5Tail } from "./md5.ts";
import { expandTemplate, type RelabelRegex } from "./relabel-regex.ts";

export type RelabelAction =
  | "replace"
  | "keep"
  | "drop"
  | "keepequal"
  | "dropequal"
  | "hashmod"
  | "labelmap"
  | "labeldrop"
  | "labelkeep"
  | "lowercase"
  | "uppercase";

export interface RelabelRule {
  readonly sourceLabels: readonly string[];
  readonly separator: string;
  readonly regex: RelabelRegex;
  readonly modulus: bigint;
  readonly targetLabel: string;
  readonly replacement: string;
  readonly action: RelabelAction;
}

/** Undefined when a rule dropped it. */
export function relabel(labels: Labels, rules: readonly RelabelRule[]): Labels | undefined {
  if (rules.length === 0) return labels;
  const record = new Map(labels.entries());
  for (const rule of rules) {
    if (!applyRule(record, rule)) return undefined;
  }
  return Labels.fromPairs([...record]);
}

type LabelMap = Map<string, string>;

/** Returns false when the rule drops it. */
function applyRule(labels: LabelMap, rule: RelabelRule): boolean {
  const value = rule.sourceLabels.map((name) => labels.get(name) ?? "").join(rule.separator);
  switch (rule.action) {
    case "drop":
      return !rule.regex.test(value);
    case "keep":
      return rule.regex.test(value);
    case "dropequal":
      return (labels.get(rule.targetLabel) ?? "") !== value;
    case "keepequal":
      return (labels.get(rule.targetLabel) ?? "") === value;
    case "replace":
      replace(labels, rule, value);
      return true;
    case "lowercase":
      setLabel(labels, rule.targetLabel, value.toLowerCase());
      return true;
    case "uppercase":
      setLabel(labels, rule.targetLabel, value.toUpperCase());
      return true;
    case "hashmod":
      setLabel(labels, rule.targetLabel, String(md5Tail(value) % rule.modulus));
      return true;
    case "labelmap":
      mapLabels(labels, rule);
      return true;
    case "labeldrop":
      removeLabels(labels, (name) => rule.regex.test(name));
      return true;
    case "labelkeep":
      removeLabels(labels, (name) => !rule.regex.test(name));
      return true;
  }
}

function replace(labels: LabelMap, rule: RelabelRule, value: string): void {
  const match = rule.regex.match(value);
  if (match === undefined) return;
  const target = expandTemplate(rule.targetLabel, match);
  if (target === "") return; // An empty name is not a label name.
  setLabel(labels, target, expandTemplate(rule.replacement, match));
}

/** An empty value removes the label. */
function setLabel(labels: LabelMap, name: string, value: string): void {
  if (value === "") labels.delete(name);
  else labels.set(name, value);
}

function mapLabels(labels: LabelMap, rule: RelabelRule): void {
  for (const [name, value] of sortedEntries(labels)) {
    const match = rule.regex.match(name);
    if (match !== undefined) setLabel(labels, expandTemplate(rule.replacement, match), value);
  }
}

function removeLabels(labels: LabelMap, isUnwanted: (name: string) => boolean): void {
  for (const [name] of [...labels]) {
    if (isUnwanted(name)) labels.delete(name);
  }
}

/**
 * A sorted copy: the order decides when two labels map to one name, and the map changes meanwhile.
 */
function sortedEntries(labels: LabelMap): [string, string][] {
  return [...Labels.fromPairs([...labels]).entries()];
}
