/**
 * The SQL of a refresh: tables of affected values, the stored rows to delete, and the rows to
 * insert. A stored row is deleted if one of its components is affected, and the query's rows of the
 * same component values are inserted. Each row is handled once, however many of its components are
 * affected. Rules: TI1, TI10.
 */

import { quoteName } from "../../../data/sql/core/index.ts";
import { unreachable } from "../../../ground/kernel/errors.ts";
import { componentsOfFrom } from "./from-components.ts";
import { deltaSql, mergedDeletes, mergedInserts, mergedSql } from "./merge-sql.ts";
import type { IncrementalPlan } from "./plan.ts";
import type { Block, Component, From, Relation, SetOperation } from "./relation.ts";
import { outputValue, renderFromRows, renderRelation, renderRows } from "./render.ts";
import { antiJoin, type Image, match, type Rendering, type ValueSet } from "./restriction.ts";
import { emptySelect } from "./sql-tool.ts";

/**
 * For the connection of a refresh. In DuckDB 1.5.6 this optimizer, which only shrinks some sorts
 * and groups, fails in the property test: `INTERNAL Error: Failed to bind column reference`.
 */
export const refreshSettings: readonly string[] = [
  "SET disabled_optimizers = 'compressed_materialization'",
];

/** Texts for a FROM: table names, or SELECTs in parentheses. */
export interface RefreshNames {
  /** A source by its index in the plan. All of them have the source's columns and `_row_id`. */
  source(source: number, rows: "new" | "old" | "added" | "removed"): string;
  /** The dynamic table: its columns, the hidden ones, and `storedKey`. */
  readonly stored: string;
  /** Cheap columns that identify its rows, read for every row; never NULL. */
  readonly storedKey: readonly string[];
  /** A name for a temporary table of this refresh. */
  temporary(name: string): string;
}

export interface RefreshFacts {
  /** Upper bounds of each source's rows among `added` and `removed`. */
  readonly changes: readonly { readonly added: number; readonly removed: number }[];
}

export interface RefreshSql {
  /** `none` when nothing has changed. */
  readonly way: "none" | "merge" | "keys";
  /** Statements to run first, in this order. */
  readonly statements: readonly string[];
  /** Selects the `storedKey` of the stored rows to delete. */
  readonly deletes: string;
  /** Selects the rows to insert: the plan's columns, then its hidden ones. */
  readonly inserts: string;
  readonly cleanup: readonly string[];
}

/** Deliberate errors that the property test must find (TI2). */
export type PlantedError = "nullKeys" | "emptyGroup" | "movedRow" | "outerJoin" | "distinct";

export function initialSql(plan: IncrementalPlan, names: Pick<RefreshNames, "source">): string {
  return renderRelation(
    plan.relation,
    { image: "new", pick: undefined },
    {
      source: (source) => names.source(source, "new"),
      set: () => ({ table: "none", columns: [] }),
      comparison: "IS NOT DISTINCT FROM",
    },
  );
}

export function refreshSql(
  plan: IncrementalPlan,
  names: RefreshNames,
  facts: RefreshFacts,
  planted?: PlantedError,
): RefreshSql {
  return new Refresh(plan, names, facts, planted).sql();
}

type AnyComponent = Pick<Component, "id" | "sources" | "rowsOf">;

class Refresh {
  readonly #plan: IncrementalPlan;
  readonly #names: RefreshNames;
  readonly #facts: RefreshFacts;
  readonly #planted: PlantedError | undefined;
  readonly #tables: { name: string; sql: string }[] = [];
  readonly #rendering: Rendering;
  readonly #sets = new Map<number, ValueSet>();
  readonly #rowsOf = new Map<number, number>();

  constructor(
    plan: IncrementalPlan,
    names: RefreshNames,
    facts: RefreshFacts,
    planted: PlantedError | undefined,
  ) {
    this.#plan = plan;
    this.#names = names;
    this.#facts = facts;
    this.#planted = planted;
    this.#rendering = {
      source: (source, rows) =>
        names.source(source, rows === "old" && !this.#isChanged(source) ? "new" : rows),
      set: (id, image) => this.#set(id, image),
      comparison: planted === "nullKeys" ? "=" : "IS NOT DISTINCT FROM",
    };
  }

  sql(): RefreshSql {
    const { relation, merge } = this.#plan;
    const components = this.#changed(relation.components);
    if (components.length === 0) {
      return this.#result("none", this.#noRows(), emptySelect(this.#plan.allColumns));
    }
    const isAppendOnly = this.#facts.changes.every(({ removed }) => removed === 0);
    if (merge !== undefined && relation.kind === "block" && (isAppendOnly || !merge.needsAppends)) {
      return this.#mergeSql(relation, merge);
    }
    this.#collect(relation, true);
    return this.#result("keys", this.#deletes(components), this.#inserts(components));
  }

  #mergeSql(block: Block, merge: NonNullable<IncrementalPlan["merge"]>): RefreshSql {
    this.#collect(block, false);
    const inner = this.#changed(componentsOfFrom(block.from));
    const pieces = inner.flatMap((component, index) =>
      this.#images(component).map((image) => ({
        component,
        image,
        exclusions: inner
          .slice(0, index)
          .map(({ id, values, guards }) => ({ values, guards, set: this.#set(id, image) })),
      })),
    );
    const delta = this.#table(
      "delta",
      deltaSql(block, merge, pieces, this.#rendering, this.#planted),
    );
    const columns = block.components[0]?.columns ?? [];
    const merged = this.#table(
      "merged",
      mergedSql(columns, merge, delta, this.#names, this.#rendering),
    );
    const inserts = mergedInserts(this.#plan, columns, merge, merged, this.#planted);
    return this.#result("merge", mergedDeletes(merged, this.#names), inserts);
  }

  #result(way: RefreshSql["way"], deletes: string, inserts: string): RefreshSql {
    return {
      way,
      statements: this.#tables.map(({ name, sql }) => `CREATE TEMP TABLE ${name} AS ${sql}`),
      deletes,
      inserts,
      cleanup: this.#tables.map(({ name }) => `DROP TABLE IF EXISTS ${name}`),
    };
  }

  #noRows(): string {
    return emptySelect(this.#names.storedKey.map((name) => ({ name, type: "BIGINT" })));
  }

  #isChanged(source: number): boolean {
    const change = this.#facts.changes[source];
    return change !== undefined && change.added + change.removed > 0;
  }

  /** Components that changes can reach (TI10). */
  #changed<Any extends AnyComponent>(components: readonly Any[]): readonly Any[] {
    for (const { id, rowsOf } of components) if (rowsOf !== undefined) this.#rowsOf.set(id, rowsOf);
    return components.filter(({ sources }) => sources.some((source) => this.#isChanged(source)));
  }

  /** The images in which the component can have affected rows. */
  #images({ rowsOf }: AnyComponent): readonly Image[] {
    if (rowsOf === undefined) return ["old", "new"];
    const change = this.#facts.changes[rowsOf] ?? { added: 0, removed: 0 };
    const images: Image[] = [];
    if (change.removed > 0) images.push("old");
    if (change.added > 0) images.push("new");
    return images;
  }

  #set(id: number, image: Image): ValueSet {
    const source = this.#rowsOf.get(id);
    if (source !== undefined) {
      const table = this.#names.source(source, image === "new" ? "added" : "removed");
      return { table, columns: ["_row_id"] };
    }
    return this.#sets.get(id) ?? { table: "missing", columns: [] };
  }

  #table(name: string, sql: string): string {
    const full = this.#names.temporary(name);
    this.#tables.push({ name: full, sql });
    return full;
  }

  /** Collects tables of affected values, inner relations first. */
  #collect(relation: Relation, withOwn: boolean): void {
    switch (relation.kind) {
      case "block":
        if (relation.from !== undefined) this.#collectFrom(relation.from);
        if (withOwn) this.#collectGroups(relation);
        return;
      case "set":
        for (const branch of relation.branches) this.#collect(branch, true);
        this.#collectSet(relation);
        return;
      default:
        unreachable(relation);
    }
  }

  #collectFrom(from: From): void {
    if (from.kind === "relation") this.#collect(from.relation, true);
    if (from.kind !== "join") {
      this.#changed(componentsOfFrom(from));
      return;
    }
    this.#collectFrom(from.left);
    this.#collectFrom(from.right);
    const { key } = from;
    if (key === undefined || !key.sources.some((source) => this.#isChanged(source))) return;
    const sides = [
      ...(from.join === "RIGHT" || from.join === "FULL"
        ? [{ side: from.left, keys: key.left }]
        : []),
      ...(from.join === "RIGHT" ? [] : [{ side: from.right, keys: key.right }]),
    ];
    const pieces = sides.flatMap(({ side, keys }) =>
      this.#pieces(componentsOfFrom(side), this.#planted === "outerJoin", (choice) =>
        renderFromRows(side, choice, this.#rendering, keyItems(keys)),
      ),
    );
    this.#addSet(key.id, pieces, key.result.length);
  }

  #collectGroups(block: Block): void {
    const { own } = block;
    const inner = componentsOfFrom(block.from);
    if (own === undefined || this.#changed(inner).length === 0) return;
    const pieces = this.#pieces(inner, false, (choice) =>
      renderRows(block, choice, this.#rendering, keyItems(own.keys), []),
    );
    this.#addSet(own.id, pieces, own.keys.length);
  }

  #collectSet(operation: SetOperation): void {
    if (operation.own === undefined) return;
    const { columns } = operation;
    const pieces = operation.branches.flatMap((branch) =>
      this.#pieces(branch.components, false, (choice) => {
        const items = columns.map(({ type }, index) => {
          const name = quoteName(branch.columns[index]?.name ?? "");
          return `CAST(${name} AS ${type}) AS k${index + 1}`;
        });
        return `SELECT ${items.join(", ")} FROM (${renderRelation(branch, choice, this.#rendering)})`;
      }),
    );
    if (pieces.length > 0) this.#addSet(operation.own, pieces, columns.length);
  }

  #pieces(
    components: readonly AnyComponent[],
    onlyOld: boolean,
    render: (choice: { image: Image; pick: number }) => string,
  ): readonly string[] {
    return this.#changed(components).flatMap((component) =>
      this.#images(component)
        .filter((image) => !(onlyOld && image === "new"))
        .filter((image) => !(this.#planted === "movedRow" && image === "old"))
        .map((image) => render({ image, pick: component.id })),
    );
  }

  #addSet(id: number, pieces: readonly string[], width: number): void {
    const columns = Array.from({ length: width }, (_, index) => `k${index + 1}`);
    const all =
      pieces.length === 0
        ? `SELECT ${["0 AS k0", ...columns.map((name) => `NULL AS ${name}`)].join(", ")} WHERE false`
        : `SELECT DISTINCT * FROM (${pieces.map((sql) => `(${sql})`).join(" UNION ALL ")})`;
    this.#sets.set(id, { table: this.#table(`set_${id}`, all), columns });
  }

  #deletes(components: readonly Component[]): string {
    const key = this.#names.storedKey.map((name) => `"_d".${quoteName(name)}`);
    const pieces = components.flatMap((component) => {
      if (!this.#images(component).includes("old")) return [];
      const set = this.#set(component.id, "old");
      const guards = component.guards.map(
        ({ column, branch }) => `"_d".${quoteName(column)} = ${branch}`,
      );
      const values = component.columns.map((column) => outputValue("_d", column));
      const conditions = [
        ...guards,
        ...(values.length === 0 ? [] : [match(values, set, "_s", this.#rendering)]),
      ];
      const kept =
        this.#planted === "emptyGroup" && component.rowsOf === undefined && values.length > 0
          ? ` SEMI JOIN (${this.#inserts(components)}) AS "_n" ON (${component.columns
              .map((name) => `"_d".${quoteName(name)} IS NOT DISTINCT FROM "_n".${quoteName(name)}`)
              .join(" AND ")})`
          : "";
      return [
        `SELECT ${key.join(", ")} FROM ${this.#names.stored} AS "_d" SEMI JOIN ${set.table} AS "_s" ON (${conditions.length === 0 ? "true" : conditions.join(" AND ")})${kept}`,
      ];
    });
    if (pieces.length === 0) return this.#noRows();
    return pieces.length === 1
      ? (pieces[0] ?? "")
      : pieces.map((sql) => `(${sql})`).join(" UNION ");
  }

  #inserts(components: readonly Component[]): string {
    const { relation, allColumns } = this.#plan;
    const pieces = components.flatMap((component, index) => {
      if (!this.#images(component).includes("new")) return [];
      const choice = { image: "new", pick: component.id } as const;
      const exclusions = components.slice(0, index).map((earlier, position) =>
        antiJoin(
          {
            values: earlier.columns.map((column) => outputValue("_p", column)),
            guards: earlier.guards.map(({ column, branch }) => ({
              sql: `"_p".${quoteName(column)}`,
              branch,
            })),
            set: this.#set(earlier.id, "new"),
          },
          `_x${position + 1}`,
          this.#rendering,
        ),
      );
      const items = allColumns.map(
        ({ name, type }) => `CAST("_p".${quoteName(name)} AS ${type}) AS ${quoteName(name)}`,
      );
      const sql = renderRelation(relation, choice, this.#rendering);
      return [`SELECT ${items.join(", ")} FROM (${sql}) AS "_p" ${exclusions.join(" ")}`];
    });
    return pieces.length === 0
      ? emptySelect(allColumns)
      : pieces.map((sql) => `(${sql})`).join(" UNION ALL ");
  }
}

function keyItems(keys: readonly { readonly sql: string }[]): string {
  if (keys.length === 0) return "0 AS k0";
  return keys.map(({ sql }, index) => `${sql} AS k${index + 1}`).join(", ");
}
