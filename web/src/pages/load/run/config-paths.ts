/** A run's settings as lines. Pure. */
import type { Scenario } from "../../../api/gen/types.ts";

/** Leaves out what is not set, and what is shown elsewhere (statements, objectives). */
export function settingsOf(scenario: Scenario): readonly (readonly [path: string, text: string])[] {
  const { operations: _operations, ...workload } = scenario.workload;
  const { load_sql: _load, reset_sql: _reset, ...target } = scenario.target;
  const { slos: _slos, template_id: _id, template_name: _name, ...rest } = scenario;
  return flatten({ ...rest, target, workload }, "");
}

function flatten(value: object, path: string): readonly (readonly [string, string])[] {
  return Object.entries(value).flatMap(([name, own]: [string, unknown]) => {
    const place = path === "" ? name : `${path}.${name}`;
    if (own === null || (Array.isArray(own) && own.length === 0)) return [];
    if (typeof own === "object" && !Array.isArray(own)) return flatten(own, place);
    return [[place, valueText(own)] as const];
  });
}

/** `undefined` stands for a setting that is absent. */
export function valueText(value: unknown): string {
  if (value === undefined) return "not there";
  if (value === null) return "not set";
  return typeof value === "string" ? value : JSON.stringify(value);
}
