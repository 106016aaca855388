/** The SQL of a delta merge: changes by group, the groups' new states, and the resulting rows. */
import { quoteName } from "../../../data/sql/core/index.ts";
import type { MergePlan, MergeState } from "./merge-plan.ts";
import type { IncrementalPlan } from "./plan.ts";
import type { Block } from "./relation.ts";
import { renderRows } from "./render.ts";
import { type Exclusion, type Image, match, type Rendering } from "./restriction.ts";

export interface DeltaPiece {
  readonly component: { readonly id: number };
  readonly image: Image;
  readonly exclusions: readonly Exclusion[];
}

/** Changes by group: keys `k1` …, states `c0` …. New rows add, old rows subtract. */
export function deltaSql(
  block: Block,
  { states }: MergePlan,
  pieces: readonly DeltaPiece[],
  rendering: Rendering,
  planted: string | undefined,
): string {
  const keys = block.own?.keys ?? [];
  const rows = pieces
    .filter(({ image }) => !(planted === "movedRow" && image === "old"))
    .map(({ component, image, exclusions }) => {
      const items = [
        ...keys.map(({ sql }, index) => `${sql} AS k${index + 1}`),
        ...states.flatMap(({ argument }, index) =>
          argument === undefined ? [] : [`${argument} AS a${index}`],
        ),
        `${image === "new" ? 1 : -1} AS w`,
      ];
      const choice = { image, pick: component.id };
      return `(${renderRows(block, choice, rendering, items.join(", "), exclusions)})`;
    });
  const names = keys.map((_, index) => `k${index + 1}`);
  const items = [...names, ...states.map((state, index) => `${change(state, index)} AS c${index}`)];
  const isDistinct = states.length === 1 && states[0]?.column.startsWith("_state_") === true;
  const counted = items.map((item) =>
    planted === "distinct" && isDistinct && item.endsWith(" AS c0")
      ? "least(greatest(sum(w), -1), 1) AS c0"
      : item,
  );
  const groups = names.length === 0 ? "" : ` GROUP BY ${names.join(", ")}`;
  return `SELECT ${counted.join(", ")} FROM (${rows.join(" UNION ALL ")})${groups}`;
}

function change({ kind, argument }: MergeState, index: number): string {
  const came = `FILTER (WHERE w = 1)`;
  const went = `FILTER (WHERE w = -1)`;
  switch (kind) {
    case "count":
      return argument === undefined
        ? "coalesce(sum(w), 0)"
        : `count(a${index}) ${came} - count(a${index}) ${went}`;
    case "sum":
      return `coalesce(sum(a${index}) ${came}, 0) - coalesce(sum(a${index}) ${went}, 0)`;
    case "min":
    case "max":
      return `${kind}(a${index})`;
  }
}

interface StoredNames {
  readonly stored: string;
  readonly storedKey: readonly string[];
}

/** The new state of every changed group, beside the key of its stored row. */
export function mergedSql(
  columns: readonly string[],
  { states }: MergePlan,
  delta: string,
  { stored, storedKey }: StoredNames,
  rendering: Rendering,
): string {
  const keys = columns.map((_, index) => `k${index + 1}`);
  const next = states.map((state, index) => newState(state, index));
  const changed = states.map(
    ({ column }, index) => `${next[index]} IS DISTINCT FROM "_d".${quoteName(column)}`,
  );
  const items = [
    ...keys.map((key) => `"_c".${key} AS ${key}`),
    ...next.map((sql, index) => `${sql} AS c${index}`),
    ...storedKey.map((name, index) => `"_d".${quoteName(name)} AS d${index}`),
  ];
  const condition =
    columns.length === 0
      ? "true"
      : match(
          columns.map((column) => ({ sql: `"_d".${quoteName(column)}` })),
          { table: delta, columns: keys },
          "_c",
          rendering,
        );
  return (
    `SELECT ${items.join(", ")} FROM ${delta} AS "_c" LEFT JOIN ${stored} AS "_d" ON (${condition}) ` +
    `WHERE "_d".${quoteName(storedKey[0] ?? "")} IS NULL OR ${changed.join(" OR ")}`
  );
}

function newState({ kind, column, type }: MergeState, index: number): string {
  const was = `"_d".${quoteName(column)}`;
  const change = `"_c".c${index}`;
  switch (kind) {
    case "count":
    case "sum":
      return `CAST(coalesce(${was}, 0) + ${change} AS ${type})`;
    case "min":
      return `least(${was}, ${change})`;
    case "max":
      return `greatest(${was}, ${change})`;
  }
}

export function mergedDeletes(merged: string, { storedKey }: StoredNames): string {
  const key = storedKey.map((name, index) => `d${index} AS ${quoteName(name)}`);
  return `SELECT ${key.join(", ")} FROM ${merged} WHERE d0 IS NOT NULL`;
}

export function mergedInserts(
  { hiddenColumns }: IncrementalPlan,
  columns: readonly string[],
  { items, states }: MergePlan,
  merged: string,
  planted: string | undefined,
): string {
  const hidden = hiddenColumns.map(({ name, type }) => {
    const key = columns.indexOf(name);
    const state = states.findIndex(({ column }) => column === name);
    return `CAST("_m".${key === -1 ? `c${state}` : `k${key + 1}`} AS ${type}) AS ${quoteName(name)}`;
  });
  const shown = items.map(({ name, sql }) => `${sql} AS ${quoteName(name)}`);
  // A negative row count means that the stored rows do not match the sources' old image (TI12).
  const isThere = `CASE WHEN "_m".c0 < 0 THEN error('a group has fewer than no rows') ELSE "_m".c0 > 0 END`;
  const where = columns.length === 0 || planted === "emptyGroup" ? "" : ` WHERE ${isThere}`;
  return `SELECT ${[...shown, ...hidden].join(", ")} FROM ${merged} AS "_m"${where}`;
}
