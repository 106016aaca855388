/** Analyses the FROM of a SELECT: its leaves, its joins, and the names in it. */
import type { Analysed, Analysis } from "./analysis.ts";
import { componentsOfFrom, sourcesOf } from "./from-components.ts";
import { checkFunctions, settled } from "./functions.ts";
import { sourceIndex } from "./inline.ts";
import type { From, JoinKey, JoinKind } from "./relation.ts";
import { definite } from "./restriction.ts";
import { emptyScope, joinScopes, leavesRead, type Names, resolve, type Scope } from "./scope.ts";
import {
  coalesce,
  comparison,
  conjunctionOf,
  conjunctsOf,
  NotIncremental,
  selectNode,
  type Tree,
  textOf,
  textsOf,
  treeOf,
} from "./syntax.ts";

export interface AnalysedFrom {
  readonly from: From | undefined;
  readonly scope: Scope;
  readonly conditions: readonly Tree[];
}

export class FromAnalysis {
  readonly #analysis: Analysis;
  readonly #relation: (node: Tree) => Promise<Analysed>;
  readonly #leaves = new Set<string>();

  /** One instance for each SELECT, so that leaf names are unique in it. */
  constructor(analysis: Analysis, relation: (node: Tree) => Promise<Analysed>) {
    this.#analysis = analysis;
    this.#relation = relation;
  }

  async from(table: Tree): Promise<AnalysedFrom> {
    if (treeOf(table, "sample") !== undefined) {
      throw new NotIncremental("a sample is another one each time");
    }
    switch (table.type) {
      case "EMPTY":
        return { from: undefined, scope: emptyScope, conditions: [] };
      case "BASE_TABLE":
        return this.#source(table);
      case "SUBQUERY":
        return await this.subquery(
          treeOf(treeOf(table, "subquery") ?? {}, "node") ?? {},
          textOf(table, "alias"),
          textsOf(table, "column_name_alias"),
        );
      case "EXPRESSION_LIST":
        return await this.#fixed(table);
      case "JOIN":
        return await this.#join(table);
      case "TABLE_FUNCTION":
        throw new NotIncremental(
          `the table function ${textOf(treeOf(table, "function") ?? {}, "function_name")}() is not followed`,
        );
      default:
        throw new NotIncremental(`${String(table.type)} in FROM is not followed`);
    }
  }

  #name(wanted: string): string {
    // Names that begin with an underscore are reserved for this module.
    const base = wanted === "" ? "unnamed" : wanted.replace(/^_/, "u_");
    let name = base;
    for (let suffix = 2; this.#leaves.has(name.toLowerCase()); suffix += 1)
      name = `${base}_${suffix}`;
    this.#leaves.add(name.toLowerCase());
    return name;
  }

  #source(table: Tree): AnalysedFrom {
    const name = textOf(table, "table_name");
    const index = sourceIndex(table, this.#analysis.sources);
    const source = this.#analysis.sources[index];
    if (source === undefined) throw new NotIncremental(`${name} is not among its sources`);
    if (treeOf(table, "at_clause") !== undefined) {
      throw new NotIncremental(`it reads ${name} at a moment of its own`);
    }
    const alias = textOf(table, "alias");
    const leaf = this.#name(alias === "" ? name : alias);
    const renamed = textsOf(table, "column_name_alias");
    const columns = source.columns.map((column, position) => ({
      name: column.name,
      as: renamed[position] ?? column.name,
    }));
    const id = this.#analysis.nextId();
    return {
      from: { kind: "source", leaf, id, source: index, columns, rowId: `_rid_${id}` },
      scope: {
        leaves: [
          {
            leaf,
            name: alias === "" ? name : alias,
            columns: columns.map(({ as }) => as),
            unsettled: settled,
          },
        ],
        merged: new Map(),
      },
      conditions: [],
    };
  }

  async subquery(
    node: Tree,
    alias: string,
    renamed: readonly string[] = [],
  ): Promise<AnalysedFrom> {
    const { relation, unsettled } = await this.#relation(node);
    const leaf = this.#name(alias);
    const columns = relation.columns.map(({ name }, position) => ({
      name,
      as: renamed[position] ?? name,
    }));
    const open = columns.flatMap(({ name, as }) => {
      const found = unsettled.columns.get(name);
      return found === undefined ? [] : [[as, found] as const];
    });
    return {
      from: { kind: "relation", leaf, relation, columns },
      scope: {
        leaves: [
          {
            leaf,
            name: alias,
            columns: columns.map(({ as }) => as),
            unsettled: { rows: unsettled.rows, columns: new Map(open) },
          },
        ],
        merged: new Map(),
      },
      conditions: [],
    };
  }

  async #fixed(table: Tree): Promise<AnalysedFrom> {
    checkFunctions(table.values, this.#analysis.functions);
    const star: Tree = {
      class: "STAR",
      type: "STAR",
      alias: "",
      relation_name: "",
      exclude_list: [],
      replace_list: [],
      columns: false,
      expr: null,
      qualified_exclude_list: [],
      rename_list: [],
    };
    const node = selectNode([star], table);
    const alias = textOf(table, "alias");
    const leaf = this.#name(alias);
    const columns = (await this.#analysis.describe(node)).map(({ name }) => name);
    return {
      from: { kind: "fixed", leaf, sql: definite((await this.#analysis.tool.write([node]))[0]) },
      scope: {
        leaves: [{ leaf, name: alias, columns, unsettled: settled }],
        merged: new Map(),
      },
      conditions: [],
    };
  }

  async #join(table: Tree): Promise<AnalysedFrom> {
    const left = await this.from(treeOf(table, "left") ?? {});
    const right = await this.from(treeOf(table, "right") ?? {});
    const kind = joinKind(table);
    const { using, merged } = usingOf(table, left.scope, right.scope, kind);
    const names: Names = {
      scopes: [joinScopes(left.scope, right.scope)],
      aliases: new Map(),
    };
    const condition = treeOf(table, "condition");
    const all = [...using, ...conjunctsOf(condition).map((entry) => resolve(entry, names))];
    const joined = await this.combine(kind, left, right, all);
    const scope =
      kind === "SEMI" || kind === "ANTI" ? left.scope : joinScopes(left.scope, right.scope);
    return {
      from: joined,
      scope: { ...scope, merged: new Map([...scope.merged, ...merged]) },
      conditions: [...left.conditions, ...right.conditions, ...all],
    };
  }

  async combine(
    join: JoinKind,
    left: AnalysedFrom,
    right: AnalysedFrom,
    conditions: readonly Tree[],
  ): Promise<From> {
    if (left.from === undefined || right.from === undefined) {
      throw new NotIncremental("a join without a table is not followed");
    }
    checkFunctions(conditions, this.#analysis.functions);
    const condition = conjunctionOf(conditions);
    return {
      kind: "join",
      join,
      left: left.from,
      right: right.from,
      condition: condition === undefined ? undefined : await this.#analysis.write(condition),
      key: await this.#key(join, left.from, right.from, conditions),
    };
  }

  async #key(
    join: JoinKind,
    left: From,
    right: From,
    conditions: readonly Tree[],
  ): Promise<JoinKey | undefined> {
    if (join === "INNER") return undefined;
    const changing = [
      ...(join === "FULL" || join === "RIGHT" ? componentsOfFrom(left) : []),
      ...(join === "RIGHT" ? [] : componentsOfFrom(right)),
    ];
    if (changing.length === 0) return undefined;
    const pairs = equalities(conditions, leafNames(left), leafNames(right));
    if (pairs.length === 0) {
      throw new NotIncremental(`a ${join} JOIN without an equality between its two sides`);
    }
    // A function can turn the NULLs of an unmatched row into a value that is not the other side's
    // key.
    if (join === "FULL" && pairs.some((pair) => pair.left.class !== "COLUMN_REF")) {
      throw new NotIncremental("a FULL JOIN whose left key is more than a column");
    }
    const analysis = this.#analysis;
    const leftValues = await analysis.values(pairs.map((pair) => pair.left));
    const rightValues = await analysis.values(pairs.map((pair) => pair.right));
    // Keys of both sides are compared in one set, so they must have one type, or be whole numbers.
    const leftTypes = await analysis.typesOf(sqlOf(leftValues), left);
    const rightTypes = await analysis.typesOf(sqlOf(rightValues), right);
    if (leftTypes.some((type, index) => !isOneType(type, rightTypes[index] ?? ""))) {
      throw new NotIncremental(
        `the keys of a ${join} JOIN are of different types (${leftTypes.join(", ")} and ${rightTypes.join(", ")})`,
      );
    }
    const result =
      join === "FULL"
        ? await analysis.values(pairs.map((pair) => coalesce(pair.left, pair.right)))
        : join === "RIGHT"
          ? rightValues
          : leftValues;
    return {
      id: analysis.nextId(),
      left: leftValues,
      right: rightValues,
      result,
      sources: sourcesOf(changing),
    };
  }
}

function isOneType(one: string, other: string): boolean {
  const whole = /^U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)$/;
  return one === other || (whole.test(one) && whole.test(other));
}

function sqlOf(values: readonly { readonly sql: string }[]): readonly string[] {
  return values.map(({ sql }) => sql);
}

function leafNames(from: From): ReadonlySet<string> {
  if (from.kind !== "join") return new Set([from.leaf]);
  return new Set([...leafNames(from.left), ...leafNames(from.right)]);
}

function joinKind(table: Tree): JoinKind {
  const reference = textOf(table, "ref_type");
  if (!["REGULAR", "CROSS", "NATURAL"].includes(reference)) {
    throw new NotIncremental(`a ${reference} join is not followed`);
  }
  const kind = textOf(table, "join_type");
  switch (kind) {
    case "INNER":
    case "LEFT":
    case "RIGHT":
    case "SEMI":
    case "ANTI":
      return kind;
    case "OUTER":
    case "FULL":
      return "FULL";
    default:
      throw new NotIncremental(`a ${kind} join is not followed`);
  }
}

/** USING and NATURAL as equalities, and the meaning of the unqualified names after them. */
function usingOf(table: Tree, left: Scope, right: Scope, kind: JoinKind) {
  const named =
    textOf(table, "ref_type") === "NATURAL"
      ? left.leaves
          .flatMap(({ columns }) => columns)
          .filter((name) =>
            right.leaves.some((leaf) =>
              leaf.columns.some((column) => column.toLowerCase() === name.toLowerCase()),
            ),
          )
      : textsOf(table, "using_columns");
  const columns = [...new Set(named.map((name) => name.toLowerCase()))];
  const using: Tree[] = [];
  const merged = new Map<string, { value: Tree; leaves: readonly string[] }>();
  for (const name of columns) {
    const reference: Tree = {
      class: "COLUMN_REF",
      type: "COLUMN_REF",
      alias: "",
      column_names: [name],
    };
    const ours = resolve(reference, { scopes: [left], aliases: new Map() });
    const theirs = resolve(reference, { scopes: [right], aliases: new Map() });
    using.push(comparison("COMPARE_EQUAL", ours, theirs));
    merged.set(name, {
      value: kind === "FULL" ? coalesce(ours, theirs) : kind === "RIGHT" ? theirs : ours,
      leaves: [...leavesRead(ours), ...leavesRead(theirs), ...mergedLeaves(name, left, right)],
    });
  }
  return { using, merged };
}

function mergedLeaves(name: string, left: Scope, right: Scope): readonly string[] {
  return [left, right].flatMap(({ merged }) => merged.get(name)?.leaves ?? []);
}

/** Conditions `a = b` with columns of a different side on each side. */
function equalities(
  conditions: readonly Tree[],
  left: ReadonlySet<string>,
  right: ReadonlySet<string>,
): readonly { readonly left: Tree; readonly right: Tree }[] {
  return conditions.flatMap((condition) => {
    const isEquality =
      condition.type === "COMPARE_EQUAL" || condition.type === "COMPARE_NOT_DISTINCT_FROM";
    const one = treeOf(condition, "left");
    const other = treeOf(condition, "right");
    if (!isEquality || one === undefined || other === undefined) return [];
    if (isWithin(one, left) && isWithin(other, right)) return [{ left: one, right: other }];
    if (isWithin(one, right) && isWithin(other, left)) return [{ left: other, right: one }];
    return [];
  });
}

function isWithin(expression: Tree, leaves: ReadonlySet<string>): boolean {
  const read = [...leavesRead(expression)];
  return read.length > 0 && read.every((leaf) => leaves.has(leaf));
}
