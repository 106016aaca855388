/** Parses the relabelling rules of a configuration, with Prometheus's checks. */
import { messageOf } from "../../../../../../ground/kernel/errors.ts";
import type { RelabelAction, RelabelRule } from "./relabel.ts";
import { defaultRegexSource, type RelabelRegex, relabelRegex } from "./relabel-regex.ts";
import type { YamlMap, YamlValue } from "./yaml-reader.ts";

const fields = [
  "action",
  "modulus",
  "regex",
  "replacement",
  "separator",
  "source_labels",
  "target_label",
];

const actions: readonly RelabelAction[] = [
  "replace",
  "keep",
  "drop",
  "keepequal",
  "dropequal",
  "hashmod",
  "labelmap",
  "labeldrop",
  "labelkeep",
  "lowercase",
  "uppercase",
];

const defaultSeparator = ";";
const defaultReplacement = "$1";

const needTarget: readonly RelabelAction[] = [
  "replace",
  "hashmod",
  "lowercase",
  "uppercase",
  "keepequal",
  "dropequal",
];

export function parseRelabelRules(values: readonly YamlValue[]): RelabelRule[] {
  return values.map(parseRule);
}

function parseRule(value: YamlValue): RelabelRule {
  if (value.isNull) throw value.fail("empty or null relabeling rule");
  const map = value.map(fields);
  const rule: RelabelRule = {
    sourceLabels: map.items("source_labels").map((item) => item.text()),
    separator: map.text("separator") ?? defaultSeparator,
    regex: parseRegex(map),
    modulus: BigInt(map.wholeNumber("modulus") ?? 0),
    targetLabel: map.text("target_label") ?? "",
    replacement: map.text("replacement") ?? defaultReplacement,
    action: parseAction(map.get("action")),
  };
  const problem = problemOf(rule, map.get("source_labels") !== undefined);
  if (problem !== undefined) throw value.fail(problem);
  return rule;
}

function parseAction(value: YamlValue | undefined): RelabelAction {
  if (value === undefined) return "replace";
  const text = value.text();
  const action = actions.find((candidate) => candidate === text.toLowerCase());
  if (action === undefined) throw value.fail(`unknown relabel action ${JSON.stringify(text)}`);
  return action;
}

function parseRegex(map: YamlMap): RelabelRegex {
  const value = map.get("regex");
  const source = value?.text() ?? defaultRegexSource;
  try {
    return relabelRegex(source);
  } catch (thrown) {
    throw (value as YamlValue).fail(messageOf(thrown));
  }
}

function problemOf(rule: RelabelRule, hasSource: boolean): string | undefined {
  const { action, targetLabel, replacement, modulus, regex, separator } = rule;
  if (action === "hashmod" && modulus === 0n) {
    return "relabel configuration for hashmod requires non-zero modulus";
  }
  if (needTarget.includes(action) && targetLabel === "") {
    return `relabel configuration for ${action} action requires 'target_label' value`;
  }
  const isPlain = replacement === defaultReplacement;
  if ((action === "lowercase" || action === "uppercase") && !isPlain) {
    return `'replacement' can not be set for ${action} action`;
  }
  if (action === "labelmap" && replacement === "") {
    return `${JSON.stringify(replacement)} is invalid 'replacement' for ${action} action`;
  }
  const isDefault = modulus === 0n && separator === defaultSeparator && isPlain;
  if (action === "keepequal" || action === "dropequal") {
    if (isDefault && regex.source === defaultRegexSource) return undefined;
    return `${action} action requires only 'source_labels' and \`target_label\`, and no other fields`;
  }
  if (action === "labeldrop" || action === "labelkeep") {
    if (isDefault && !hasSource && targetLabel === "") return undefined;
    return `${action} action requires only 'regex', and no other fields`;
  }
  return undefined;
}
